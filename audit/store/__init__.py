"""The only room that opens DuckDB: the canonical tables, how evidence gets in, and the views over them."""

from audit.store.database import SCRATCH, Store, open_store
from audit.store.ingest import ingest, open_current
from audit.store.take import FileResult, Options

__all__ = ["SCRATCH", "FileResult", "Options", "Store", "ingest", "open_current", "open_store"]
