"""Evidence into the store: each file once, in one transaction, copied into `evidence/` and listed there."""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from audit.errors import AuditError
from audit.store import manifest
from audit.store.database import StaleStoreError, Store, create_views, open_store, remove, settle
from audit.store.take import INCOMING, STANDARD_INPUT, FileResult, Options, Taker, Watch, sha256
from audit.workspace import Workspace

Say = Callable[[str], None]


def ingest(
    workspace: Workspace,
    files: Sequence[str],
    *,
    options: Options | None = None,
    say: Say = lambda line: None,
    watch: Watch = lambda name, records: None,
) -> Iterator[FileResult]:
    """Takes whatever stands in `evidence/` and is not in the store, then `files` (paths, folders, `-`).

    `-` is standard input. One result a file; a file that fails leaves nothing behind and the others go on.
    `say` gets lines for a person, `watch` a file's name and how many of its records were read so far. AuditError
    where nothing can go on.
    """
    options = options or Options()
    taken = _reread(workspace, files, options)
    if taken:
        say(f"{', '.join(taken)}: read anew with the columns given now; rebuilding {workspace.database.name}")
        remove(workspace)
    with _writable(workspace, say) as store, _disk(workspace):
        for stray in workspace.evidence.glob(f"{INCOMING}*"):
            stray.unlink()
        entries = manifest.load(workspace.evidence)
        taker = Taker(store, entries, _hashes(store.connection), watch)
        present = list(manifest.files(workspace.evidence))
        names = {str(path.relative_to(workspace.evidence)) for path in present}
        for name in sorted((set(entries) | _names(store.connection)) - names):
            yield FileResult(name, error=f"{workspace.evidence / name}: was taken as evidence and is gone; put it back")
        for path in present:
            entry = entries.get(str(path.relative_to(workspace.evidence)))
            said = options if entry is None else Options(entry.columns, entry.delimiter, entry.generated)
            digest = sha256(path)
            if entry is not None and entry.sha256 != digest:
                yield FileResult(
                    path.name, error=f"{path}: was changed after it was ingested; put the first version back"
                )
            elif digest not in taker.known:
                yield taker.take(path, path, digest, said)
        for path in _listed(files):
            yield taker.take_from_outside(path, options)
        settle(store.connection)
        create_views(store.connection, workspace)


def _reread(workspace: Workspace, files: Sequence[str], options: Options) -> list[str]:
    """The names of files that were taken before with other columns or another delimiter; the manifest is set right."""
    if not options.columns and not options.delimiter:
        return []
    entries = manifest.load(workspace.evidence)
    given = {sha256(path) for path in _listed(files) if path.is_file()}
    changed = {
        name: replace(entry, columns=options.columns, delimiter=options.delimiter)
        for name, entry in entries.items()
        if entry.sha256 in given and (entry.columns, entry.delimiter) != (options.columns, options.delimiter)
    }
    if changed:
        with open_store(workspace, write=True):  # nobody else may be at it
            manifest.save(workspace.evidence, entries | changed)
    return sorted(changed)


@contextmanager
def _writable(workspace: Workspace, say: Say) -> Iterator[Store]:
    """The store for writing; a store that another version made is removed first, with one line."""
    try:
        workspace.evidence.mkdir(exist_ok=True)
    except OSError as error:
        raise AuditError(f"cannot be made a folder ({error.strerror})", where=str(workspace.evidence)) from None
    try:
        manager = open_store(workspace, write=True)
        store = manager.__enter__()
    except StaleStoreError as stale:
        say(f"{workspace.database.name} {stale.what}; rebuilding it from evidence/")
        remove(workspace)
        manager = open_store(workspace, write=True)
        store = manager.__enter__()
    try:
        yield store
    finally:
        manager.__exit__(None, None, None)


@contextmanager
def open_current(workspace: Workspace, say: Say) -> Iterator[Store]:
    """The store for reading; one that another version made is rebuilt from `evidence/` first, with one line."""
    try:
        with open_store(workspace) as store:
            _check_evidence(store)
            yield store
            return
    except StaleStoreError:
        failed = [result.error for result in ingest(workspace, (), say=say) if result.error]
        if failed:
            raise AuditError(failed[0]) from None
    with open_store(workspace) as store:
        yield store


def _check_evidence(store: Store) -> None:
    """AuditError where the folder's evidence is not what the store was made from, as far as names and sizes tell."""
    evidence = store.workspace.evidence
    rows = store.connection.execute("SELECT name, size_bytes FROM evidence_file").fetchall()
    for name, size_bytes in rows:
        path = evidence / name
        if not path.is_file() or path.stat().st_size != size_bytes:
            raise AuditError(
                "was changed or is gone since it was taken as evidence", where=str(path), remedy="put it back"
            )
    untaken = sorted(set(manifest.load(evidence)) - {name for name, _ in rows})
    if untaken:
        raise AuditError("is not in the store", where=str(evidence / untaken[0]), remedy="run `audit ingest` first")


@contextmanager
def _disk(workspace: Workspace) -> Iterator[None]:
    """A full disk or a folder without write permission, in one line."""
    try:
        yield
    except (OSError, duckdb.IOException, duckdb.FatalException, duckdb.OutOfMemoryException) as error:
        raise _storage_error(error, workspace.root) from None


def _storage_error(error: Exception, where: Path) -> AuditError:
    text = str(error)
    if "No space left" in text or getattr(error, "errno", None) == errno.ENOSPC:
        return AuditError(
            "the disk is full",
            where=str(where),
            remedy="make room and run this again: no file was half taken",
        )
    return AuditError(
        f"cannot be written ({text.splitlines()[0][:160]})",
        where=str(where),
        remedy="mend it and run this again",
    )


def _listed(files: Sequence[str]) -> Iterator[Path]:
    for name in files:
        path = Path(name)
        if name != STANDARD_INPUT and path.is_dir():
            yield from (p for p in sorted(path.rglob("*")) if p.is_file() and not p.name.startswith("."))
        else:
            yield path


def _names(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM evidence_file").fetchall()}


def _hashes(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT sha256 FROM evidence_file").fetchall()}
