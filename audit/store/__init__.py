"""The only room that opens DuckDB: the canonical tables, how evidence gets in, and the views over them."""

from audit.store.database import Store, open_store
from audit.store.ingest import FileResult, ingest, open_current

__all__ = ["FileResult", "Store", "ingest", "open_current", "open_store"]
