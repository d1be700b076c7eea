"""What the command line prints: plain tables, JSON, progress on standard error where it is a terminal."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from audit.reporting.hostile import visible

_WIDEST = 40  # characters of a cell in a table of many columns
_WIDEST_OF_FEW = 160
_FEW_COLUMNS = 6


def print_json(value: Any, *, out: TextIO | None = None) -> None:
    """One JSON document; times as ISO UTC."""
    json.dump(value, out or sys.stdout, default=_plain, ensure_ascii=True, allow_nan=False, indent=1)
    (out or sys.stdout).write("\n")


def _plain(value: Any) -> Any:
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else str(value)


def print_json_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A JSON array of objects, written as the rows come."""
    first = True
    for row in rows:
        sys.stdout.write("[\n" if first else ",\n")
        first = False
        sys.stdout.write(json.dumps(dict(zip(names, row, strict=True)), default=_plain, ensure_ascii=True))
    sys.stdout.write("[]\n" if first else "\n]\n")


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Columns aligned, numbers to the right, `–` for NULL; nothing a name holds can move the cursor."""
    if not rows:
        print("no rows")
        return
    names = list(rows[0])
    numeric = {n for n in names if all(isinstance(r[n], int | float) or r[n] is None for r in rows)}
    widest = _WIDEST_OF_FEW if len(names) <= _FEW_COLUMNS else _WIDEST
    cells = [[_cell(row[name], widest) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    for line in [names, *cells]:
        parts = [
            text.rjust(width) if name in numeric else text.ljust(width)
            for text, width, name in zip(line, widths, names, strict=True)
        ]
        print("  ".join(parts).rstrip())


def _cell(value: Any, widest: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:.10g}"
    return visible(str(value), widest)


def say(line: str) -> None:
    """A line on standard error; what hostile names hold is made visible."""
    print(visible(line, 2000), file=sys.stderr)


class Progress:
    """One line on standard error that is rewritten; silent where that is no terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """Replaces the line."""
        if self._shown:
            sys.stderr.write(f"\r\x1b[2K{visible(text, 100)}")
            sys.stderr.flush()

    def done(self) -> None:
        """Clears the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
