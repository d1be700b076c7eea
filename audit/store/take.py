"""One file into the store: copied into `evidence/`, read in one transaction, listed in the manifest."""

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import polars as pl

from audit.evidence import READERS, TABLES, Context, EvidenceError, recognised
from audit.evidence.ahead import ahead
from audit.evidence.telemetry import TELEMETRY
from audit.store import manifest
from audit.store.database import Store

STANDARD_INPUT = "-"
INCOMING = ".incoming-"


@dataclass(frozen=True)
class FileResult:
    """What came of one file: its rows by kind, or `error`, or `known` where it had been ingested before.

    `samples` are rows of telemetry. `other_cluster` rows were left out; `other_name` is one of the clusters
    they were of.
    """

    name: str
    kind: str = ""
    attempts: int = 0
    steps: int = 0
    nodes: int = 0
    node_states: int = 0
    samples: int = 0
    rejects: int = 0
    first_reject: str = ""
    other_cluster: int = 0
    other_name: str = ""
    known: bool = False
    error: str = ""


@dataclass(frozen=True)
class Options:
    """How files without a header are to be read, and whether what is ingested was generated."""

    columns: tuple[str, ...] = ()
    delimiter: str = ""
    generated: bool = False


Watch = Callable[[str, int], None]


def sha256(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _free_name(evidence: Path, name: str, digest: str) -> Path:
    """Where a file of that name goes in `evidence/`: never hidden, never the manifest, never over another."""
    name = os.fsencode(name).decode("utf-8", "backslashreplace").lstrip(".") or "dump"
    stem, _, ending = name.partition(".")
    if name.startswith(manifest.NAME) or (evidence / name).exists():
        name = f"{stem}-{digest[:8]}{'.' if ending else ''}{ending}"
    return evidence / name


class _UnreadableError(Exception):
    """A file outside that cannot be read."""


def _copy(path: Path, target: Path) -> str:
    """Copies a file (or standard input) onto the disk, and answers its SHA-256."""
    try:
        if path.is_file():
            shutil.copyfile(path, target)
        else:
            piped = str(path) == STANDARD_INPUT
            with nullcontext(sys.stdin.buffer) if piped else path.open("rb") as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise _UnreadableError(error.strerror) from None
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return sha256(target)


@dataclass
class Taker:
    """Takes one file after the other: what is in the manifest, and what is in the store by its hash."""

    store: Store
    entries: dict[str, manifest.Entry]
    known: set[str]
    watch: Watch

    def take_from_outside(self, path: Path, options: Options) -> FileResult:
        """Copies a file into `evidence/` under a name of its own and takes it; leaves no copy of one that fails."""
        evidence = self.store.workspace.evidence
        piped = str(path) == STANDARD_INPUT
        name = "standard-input.txt" if piped else path.name
        draft = evidence / f"{INCOMING}{os.getpid()}"
        try:
            digest = _copy(path, draft)
            if digest in self.known:
                return FileResult(name, known=True)
            shown = name if piped else str(path)
            return self.take(draft, _free_name(evidence, name, digest), digest, options, shown)
        except _UnreadableError as error:
            return FileResult(name, error=f"{path}: cannot be read ({error}); check its name and permissions")
        finally:
            draft.unlink(missing_ok=True)

    def take(self, path: Path, target: Path, digest: str, options: Options, shown: str = "") -> FileResult:
        """Reads one file in one transaction; on success it stands in `evidence/` as `target` and in the manifest."""
        workspace, connection = self.store.workspace, self.store.connection
        shown = os.fsencode(shown or target).decode("utf-8", "backslashreplace")
        name = str(target.relative_to(workspace.evidence))
        if not name.isprintable() and os.fsencode(name).decode("utf-8", "ignore") != name:
            return FileResult(shown, error=f"{shown}: its name is no UTF-8; rename it")
        source = self.entries[name].source if name in self.entries else shown
        config = workspace.config
        context = Context(config.cluster, config.timezone, options.columns, options.delimiter, Path(source).name)
        connection.begin()
        try:
            kind = recognised(path)
            tally = _load(connection, path, kind, context, lambda records: self.watch(Path(shown).name, records))
            entry = manifest.Entry(
                name=name,
                sha256=digest,
                size_bytes=path.stat().st_size,
                kind=kind,
                source=source,
                records=tally.records,
                first_time=_iso(tally.first),
                last_time=_iso(tally.last),
                columns=options.columns,
                delimiter=options.delimiter,
                generated=options.generated,
            )
            _list(connection, entry, tally)
            if path != target:
                path.replace(target)
            self.entries[name] = entry
            manifest.save(workspace.evidence, self.entries)
            connection.commit()
        except EvidenceError as error:
            connection.rollback()
            error.where = error.where or shown
            return FileResult(Path(shown).name, error=str(error).replace(str(path), shown))
        self.known.add(digest)
        return FileResult(
            Path(shown).name,
            kind,
            attempts=tally.count("job_record"),
            steps=tally.count("step_record"),
            nodes=tally.count("node_record"),
            node_states=tally.count("node_state_record"),
            samples=tally.samples,
            rejects=tally.rejects,
            first_reject=tally.first_reject,
            other_cluster=tally.other_cluster,
            other_name=tally.other_name,
        )


def _list(connection: duckdb.DuckDBPyConnection, entry: manifest.Entry, tally: "_Tally") -> None:
    """The file's row among the files of evidence; what counts has to be settled anew."""
    connection.execute(
        "INSERT INTO evidence_file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            tally.file_id,
            entry.sha256,
            entry.name,
            entry.kind,
            entry.size_bytes,
            tally.records,
            tally.count("job_record"),
            tally.count("step_record"),
            tally.rejects,
            tally.samples,
            tally.other_cluster,
            tally.first,
            tally.last,
            entry.generated,
        ],
    )
    connection.execute("UPDATE meta SET value = 'no' WHERE key = 'settled'")


@dataclass
class _Tally:
    """How many rows of each table one file gave, and the span of time they cover."""

    file_id: int
    rows: dict[str, int]
    other_cluster: int = 0
    other_name: str = ""
    first_reject: str = ""
    first: datetime | None = None
    last: datetime | None = None

    def count(self, table: str) -> int:
        return self.rows.get(table, 0)

    @property
    def rejects(self) -> int:
        return self.count("reject_record")

    @property
    def samples(self) -> int:
        return sum(self.count(table) for table in TELEMETRY)

    @property
    def records(self) -> int:
        kept = ("job_record", "step_record", "node_record", "node_state_record", "sreport_record", "reject_record")
        return sum(self.count(table) for table in kept) + self.samples + self.other_cluster


class _Incoming:
    """One table's coming rows as an Arrow stream that DuckDB takes without another library.

    Registered once a table: what is registered inside a transaction stays in memory until the transaction ends.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


def _load(
    connection: duckdb.DuckDBPyConnection, path: Path, kind: str, context: Context, watch: Callable[[int], None]
) -> _Tally:
    [(last_id,)] = connection.execute("SELECT coalesce(max(file_id), 0) FROM evidence_file").fetchall()
    tally = _Tally(file_id=last_id + 1, rows={})
    incoming: dict[str, _Incoming] = {}
    try:
        for batch in ahead(READERS[kind](path, context)):
            tally.other_cluster += batch.other_cluster
            tally.other_name = batch.other_name or tally.other_name
            for table, frame in batch.rows.items():
                tally.rows[table] = tally.count(table) + frame.height
                if table == "reject_record" and frame.height and not tally.first_reject:
                    tally.first_reject = str(frame["reason"][0])
                if frame.height:
                    given = frame.select(list(TABLES[table]))
                    if table not in incoming:
                        incoming[table] = _Incoming(given)
                        connection.register(f"incoming_{table}", incoming[table])
                    incoming[table].frame = given
                    connection.execute(_insert(table, tally.file_id))
                    incoming[table].frame = given.clear()
                    _widen(tally, frame)
            watch(tally.records)
    finally:
        for table in incoming:
            connection.unregister(f"incoming_{table}")
    return tally


def _insert(table: str, file_id: int) -> str:
    names = ", ".join(f'"{name}"' for name in TABLES[table])
    if table == "host_list":
        return f"INSERT OR IGNORE INTO host_list ({names}) SELECT {names} FROM incoming_host_list"
    return f"INSERT INTO {table} (file_id, {names}) SELECT {file_id}, {names} FROM incoming_{table}"


_TIMES = ("submit", "start_time", "end_time", "seen", "from_time", "to_time", "at_time")


def _widen(tally: _Tally, frame: pl.DataFrame) -> None:
    for name in set(_TIMES) & set(frame.columns):
        low, high = frame[name].min(), frame[name].max()
        if isinstance(low, datetime) and isinstance(high, datetime):
            tally.first = min(tally.first or low, low)
            tally.last = max(tally.last or high, high)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat() + "Z"
