"""Reads logs of jobs for the benchmark of accuracy, whatever they are: told apart by what they hold."""

import gzip
import zlib
from pathlib import Path

from benchmarks.trace import Trace, UnusableError
from benchmarks.traces_swf import LEAST_FIELDS, read_swf
from benchmarks.traces_tasks import read_tasks

MOST_BYTES = 2 << 30  # of a file, unpacked
_GZIP = b"\x1f\x8b"


def read(path: Path) -> Trace:
    """The trace of a log, a table of tasks (either gzipped) or an engagement's folder (or its store).

    UnusableError, one line, where it holds nothing to score.
    """
    if path.is_dir() or path.suffix == ".duckdb":
        from benchmarks.traces_store import read_workspace

        return read_workspace(path if path.is_dir() else path.parent)
    text = _text(path)
    first = next((line for line in text.splitlines()[:1000] if line.strip() and not line.startswith(";")), "")
    numbers = [field for field in first.split() if field.lstrip("+-").replace(".", "", 1).isdigit()]
    if text.lstrip("\ufeff").startswith(";") or ".swf" in path.name or len(numbers) >= LEAST_FIELDS:
        return read_swf(path.name, text)
    return read_tasks(path.name, text)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnusableError(f"{path.name}: cannot be read: {error}") from None
    if len(data) > MOST_BYTES:
        raise UnusableError(f"{path.name}: is larger than {MOST_BYTES >> 30} GiB")
    text = data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise UnusableError(f"{path.name}: is empty")
    return text
