"""Opens `audit.duckdb`: schema, views, settling; one line where it is locked, a rebuild where it is stale."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import duckdb

from audit import __version__, units
from audit.errors import AuditError
from audit.evidence import OPEN_STATES
from audit.workspace import Workspace

_HERE = Path(__file__).parent
SCRATCH = "scratch"  # a database beside the store for what is worked out of it: compressed, gone when it is closed
_READ_MEMORY_LIMIT = "1200MB"  # of accounting, which joins every attempt with what it used
_MEMORY_LIMIT = "700MB"  # leaves room for the readers' blocks; DuckDB spills beside the database


class StaleStoreError(AuditError):
    """The store was made by another version: it must be rebuilt from the evidence."""


@dataclass(frozen=True)
class Store:
    """An open store. Every view of `views/` is there; `connection` takes any SQL."""

    workspace: Workspace
    connection: duckdb.DuckDBPyConnection


def made_by(workspace: Workspace) -> dict[str, str]:
    """What a store must have been made by, and for which cluster and time zone, to be used as it is."""
    schema = hashlib.sha256((_HERE / "schema.sql").read_bytes()).hexdigest()[:12]
    return {
        "version of audit": f"{__version__} ({schema})",
        "version of DuckDB": duckdb.__version__,
        "cluster": workspace.config.cluster,
        "time zone": workspace.config.timezone,
    }


@contextmanager
def open_store(workspace: Workspace, *, write: bool = False) -> Iterator[Store]:
    """The store of a workspace, settled, with its views.

    AuditError where another command holds it or nothing was ingested; StaleStoreError where another version made it.
    """
    if not write and not workspace.database.exists():
        raise AuditError("nothing was ingested yet", where=str(workspace.root), remedy="run `audit ingest FILE…` first")
    connection = connect(workspace.database, write=write)
    try:
        _check(connection, workspace)
        if not write and not _is_settled(connection):
            connection.close()
            with open_store(workspace, write=True) as store:
                settle(store.connection)
            connection = connect(workspace.database, write=False)
        try:
            create_views(connection, workspace)
        except duckdb.CatalogException:
            raise StaleStoreError("lacks a table", where=str(workspace.database)) from None
        with nullcontext() if write else _scratch(connection, workspace):
            yield Store(workspace, connection)
    finally:
        connection.close()


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _scratch(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> Iterator[None]:
    """Attaches the scratch database; in memory where the folder cannot be written."""
    path = workspace.root / f"{workspace.database.name}.scratch-{os.getpid()}"
    for stray in workspace.root.glob(f"{workspace.database.name}.scratch-*"):
        if not _is_running(stray.name.rpartition("-")[2].partition(".")[0]):
            stray.unlink(missing_ok=True)  # of a command that was killed
    try:
        connection.execute(f"ATTACH {_quoted(path)} AS {SCRATCH}")
    except duckdb.Error:
        connection.execute(f"ATTACH ':memory:' AS {SCRATCH}")
    try:
        yield
    finally:
        connection.close()
        for left in workspace.root.glob(f"{path.name}*"):
            left.unlink(missing_ok=True)


def connect(database: Path, *, write: bool) -> duckdb.DuckDBPyConnection:
    """A connection with our limits; AuditError where the file is held, or cannot be read or written."""
    try:
        connection = duckdb.connect(str(database)) if write else _read_only(database)
    except duckdb.IOException as error:
        raise _unopened(database, str(error)) from None
    except duckdb.Error as error:
        raise StaleStoreError(f"cannot be opened ({str(error).splitlines()[0][:120]})", where=str(database)) from None
    connection.execute(f"SET memory_limit = '{_MEMORY_LIMIT if write else _READ_MEMORY_LIMIT}'")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def _read_only(database: Path) -> duckdb.DuckDBPyConnection:
    """The store attached to a connection of its own, so that a scratch database beside it can be written."""
    connection = duckdb.connect()
    try:
        connection.execute(f"SET temp_directory = {_quoted(f'{database}.tmp')}")
        connection.execute(f"ATTACH {_quoted(database)} AS audit (READ_ONLY)")
        connection.execute("USE audit")
    except duckdb.Error:
        connection.close()
        raise
    return connection


def _quoted(path: object) -> str:
    text = str(path).replace("'", "''")
    return f"'{text}'"


def _unopened(database: Path, text: str) -> AuditError:
    if "lock" in text.lower():
        holder = re.search(r"PID (\d+)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return AuditError(
            f"is in use by {who}", where=str(database), remedy="wait until it is done, then run this again"
        )
    if (
        "enough bytes" in text
        or "not a valid" in text.lower()
        or "version" in text.lower()
        or "corrupt" in text.lower()
    ):
        return StaleStoreError("was made by another version of DuckDB or is damaged", where=str(database))
    return AuditError(
        f"cannot be opened ({text.splitlines()[0][:160]})", where=str(database), remedy="check the folder"
    )


def _check(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> None:
    tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    if ("meta",) not in tables:
        if tables:
            raise StaleStoreError("is no store of ours", where=str(workspace.database))
        connection.begin()
        for statement in statements("schema.sql"):
            connection.execute(statement)
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [*made_by(workspace).items(), ("settled", "yes")])
        connection.commit()
        return
    found = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    other = next((key for key, value in made_by(workspace).items() if found.get(key) != value), None)
    if other:
        raise StaleStoreError(f"was made with another {other}", where=str(workspace.database))


def _is_settled(connection: duckdb.DuckDBPyConnection) -> bool:
    return connection.execute("SELECT value FROM meta WHERE key = 'settled'").fetchall() == [("yes",)]


def settle(connection: duckdb.DuckDBPyConnection) -> None:
    """Decides which records count, in one transaction: the same answer in whichever order the files came."""
    if _is_settled(connection):
        return
    connection.begin()
    connection.execute("CREATE OR REPLACE TEMP TABLE open_state AS SELECT unnest(?) AS state", [list(OPEN_STATES)])
    for path in sorted((_HERE / "settle").glob("*.sql")):
        for statement in statements(f"settle/{path.name}"):
            connection.execute(statement)
    connection.execute("UPDATE meta SET value = 'yes' WHERE key = 'settled'")
    connection.commit()


def statements(name: str) -> list[str]:
    """The statements of one of our .sql files."""
    text = (_HERE / name).read_text(encoding="utf-8")
    bare = re.sub(r"--[^\n]*", "", text)
    return [part for part in (piece.strip() for piece in bare.split(";")) if part]


def create_views(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> None:
    """The views over the tables, and what audit.toml states of window, slice and sizes, for this connection only."""
    config = workspace.config
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE asked_window AS "
        "SELECT CAST(? AS TIMESTAMP) AS window_from, CAST(? AS TIMESTAMP) AS window_to",
        [_naive(config.window_from), _naive(config.window_to)],
    )
    connection.execute("CREATE OR REPLACE TEMP TABLE asked_node (cluster VARCHAR, node VARCHAR)")
    connection.execute("CREATE OR REPLACE TEMP TABLE asked_partition (partition VARCHAR)")
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE node_override (cluster VARCHAR, node VARCHAR, cores DOUBLE, mem_bytes BIGINT, "
        "gpus DOUBLE, gpu_type VARCHAR)"
    )
    asked = [(config.cluster, node) for node in units.hosts(config.slice_nodes)]
    stated = [
        (config.cluster, node, size.cores, size.mem_bytes, size.gpus, size.gpu_type)
        for size in config.node_sizes
        for node in units.hosts(size.names)
    ]
    for table, rows in (
        ("asked_node", asked),
        ("asked_partition", [(p,) for p in config.slice_partitions]),
        ("node_override", stated),
    ):
        if rows:
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    for name in _VIEWS:
        for statement in statements(f"views/{name}.sql"):
            connection.execute(statement)


_VIEWS = (
    "job",
    "attempt_name",
    "span",
    "step",
    "node",
    "node_state",
    "gpu_summary",
    "reject",
    "window_bounds",
    "slice_node",
)


def _naive(moment: object) -> object:
    return moment.replace(tzinfo=None) if moment is not None else None  # type: ignore[attr-defined]


def remove(workspace: Workspace) -> None:
    """Deletes the store and what DuckDB keeps beside it."""
    for path in workspace.root.glob(f"{workspace.database.name}*"):
        if path.is_file():
            path.unlink()
