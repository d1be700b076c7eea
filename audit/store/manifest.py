"""`evidence/manifest.json`: what each file of evidence is, its hash, and how it has to be read."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audit.evidence import EvidenceError

NAME = "manifest.json"


@dataclass(frozen=True)
class Entry:
    """One file of evidence. `columns` and `delimiter` are what a dump without header was read with."""

    name: str
    sha256: str
    size_bytes: int
    kind: str
    source: str
    records: int
    first_time: str | None
    last_time: str | None
    columns: tuple[str, ...] = ()
    delimiter: str = ""
    generated: bool = False


def load(evidence: Path) -> dict[str, Entry]:
    """The entries by file name; EvidenceError where the manifest is damaged."""
    path = evidence / NAME
    if not path.exists():
        return {}
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["files"]
        entries = [Entry(**{**item, "columns": tuple(item.get("columns", ()))}) for item in listed]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EvidenceError(
            f"cannot be read ({type(error).__name__})",
            where=str(path),
            remedy="remove it and run `audit ingest` again",
        ) from None
    if not all(isinstance(entry.name, str) and isinstance(entry.sha256, str) for entry in entries):
        raise EvidenceError("names no files", where=str(path), remedy="remove it and run `audit ingest` again")
    return {entry.name: entry for entry in entries}


def save(evidence: Path, entries: dict[str, Entry]) -> None:
    """Writes the manifest whole or not at all."""
    path = evidence / NAME
    lines = ",\n ".join(json.dumps(vars(entries[name])) for name in sorted(entries))  # hundreds, after each file
    text = f'{{"files": [\n {lines}\n]}}\n'
    draft = path.with_suffix(".json.new")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def files(evidence: Path) -> Iterator[Path]:
    """The files of evidence in the folder, in the order of their names."""
    for path in sorted(evidence.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(evidence).parts)
        if path.is_file() and not hidden and path.name not in (NAME, f"{NAME}.new"):
            yield path
