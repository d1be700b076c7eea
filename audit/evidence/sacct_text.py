"""Reader of `sacct` text: any delimiter and column order, with or without header, in blocks of constant size.

Lines whose delimiters fit one record go through polars; the rest go to `recover`. Which is which is told by
counting delimiters, so no record is ever shifted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from audit.evidence.interface import REJECT_SCHEMA, Batch, Context
from audit.evidence.recover import Line, Lost, Recovered, Recovery
from audit.evidence.sacct_fields import FREE_TEXT, SHAPES, Layout, find_layout
from audit.evidence.sacct_rows import Carry, canonical
from audit.evidence.source import opened

_BLOCK_BYTES = 24 << 20
_MOST_HELD = 8 << 20  # of an unfinished record carried from block to block
_STAND_INS = tuple(bytes([code]) for code in (0x1F, 0x1E, 0x1D, 0x1C, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0E))
_JOB_ID, _STATE = f"^(?:{SHAPES['jobid'].pattern})$", f"^(?:{SHAPES['state'].pattern})$"


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The attempts, steps and rejects of a dump; EvidenceError where the file is none."""
    with opened(path) as stream:
        first = stream.read(1 << 16)
        layout = find_layout(first, context.columns, context.delimiter, str(path))
        parser = _Parser(layout, context)
        line = 1
        held = first.removeprefix(b"\xef\xbb\xbf")
        if layout.has_header:
            while b"\n" not in held and (more := stream.read(1 << 16)):
                held += more
            held, line = held.partition(b"\n")[2], 2
        for block, last in _blocks(stream, held):
            yield from parser.block(block, line, last)
            line += block.count(b"\n")


def _blocks(stream: IO[bytes], held: bytes) -> Iterator[tuple[bytes, bool]]:
    """The stream in blocks that end with a line feed (the last gets one)."""
    while True:
        more = stream.read(_BLOCK_BYTES)
        if not more:
            yield (held if held.endswith(b"\n") or not held else held + b"\n"), True
            return
        cut = more.rfind(b"\n") + 1
        if cut:
            yield held + more[:cut], False
            held = more[cut:]
        else:
            held += more


@dataclass
class _Parser:
    layout: Layout
    context: Context
    carry: Carry = field(default_factory=Carry)
    held: list[Line] = field(default_factory=list)  # the end of the block before: it may go on in the next

    def __post_init__(self) -> None:
        self.recovery = Recovery(self.layout.fields, self.layout.delimiter.decode())
        self.open_end = self.layout.fields[-1] in FREE_TEXT
        self.extra = len(self.layout.fields) - 1

    def block(self, block: bytes, line: int, last: bool) -> Iterator[Batch]:
        """The batch of one block whose first line has the number `line`."""
        try:
            block.decode("utf-8")
        except UnicodeDecodeError:
            block = block.decode("utf-8", "backslashreplace").encode()
        if b"\r\n" in block:
            block = block.replace(b"\r\n", b"\n")
        separator = self.layout.delimiter
        text = block if len(separator) == 1 else _with_one_byte(block, separator)
        mark = separator if len(separator) == 1 else text[:1]
        body = text if len(separator) == 1 else text[1:]
        codes = np.frombuffer(body, dtype=np.uint8)
        ends = np.flatnonzero(codes == 10)
        starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64) if ends.size else ends
        marks = np.flatnonzero(codes == mark[0])
        counts = np.diff(np.searchsorted(marks, ends), prepend=0)
        whole = counts == self.extra
        if not self.extra:
            whole &= ends > starts
        frame = self._parsed(body, mark, starts, ends, whole, line)
        again = (pl.col("jobid").str.to_lowercase() == "jobid") & (pl.col("state").str.to_lowercase() == "state")
        headers = frame.filter(again)["line"].to_list()  # of dumps put together into one file
        if headers:
            frame = frame.filter(~again.fill_null(False))
        odd = self._odd(frame)
        if odd.size:
            whole[odd - line] = False
        yield self._joined(frame, odd, set(headers), body, mark, starts, ends, whole, line, last)

    def _parsed(
        self, body: bytes, mark: bytes, starts: np.ndarray, ends: np.ndarray, whole: np.ndarray, line: int
    ) -> pl.DataFrame:
        """The whole lines as text by field."""
        numbers = np.flatnonzero(whole)
        schema = {name or "trailing": pl.String for name in self.layout.fields}
        if not numbers.size:
            return pl.DataFrame(schema={"line": pl.Int64, **schema})
        if numbers.size < whole.size:
            runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
            body = b"".join(body[starts[run[0]] : ends[run[-1]] + 1] for run in runs)
        frame = pl.read_csv(
            body, has_header=False, separator=mark.decode(), quote_char=None, schema=schema, infer_schema=False,
            glob=False,
        )
        return frame.with_columns(line=pl.Series(numbers + line, dtype=pl.Int64))

    def _odd(self, frame: pl.DataFrame) -> np.ndarray:
        """The numbers of whole-looking lines that hold no record: no job id or state where they should stand."""
        good = pl.col("jobid").str.contains(_JOB_ID) & pl.col("state").str.contains(_STATE)
        if self.layout.fields[-1] == "":
            good &= pl.col("trailing").is_null()
        return frame.filter(~good.fill_null(False))["line"].to_numpy()

    def _joined(
        self, frame: pl.DataFrame, odd: np.ndarray, headers: set[int], body: bytes, mark: bytes, starts: np.ndarray, ends: np.ndarray,
        whole: np.ndarray, line: int, last: bool,
    ) -> Batch:
        """`frame` with the records recovered from the other lines in their places, as one batch."""

        def text(index: int) -> Line:
            chars = body[starts[index] : ends[index]]
            if mark != self.layout.delimiter:
                chars = chars.replace(mark, self.layout.delimiter)
            return Line(line + index, chars.decode(), bool(whole[index]))

        taken: set[int] = set(odd.tolist())
        records: list[Recovered] = []
        losses: list[Lost] = []
        size = whole.size
        for run in self._runs(whole, last):
            lines = [text(i) for i in run if line + i not in headers]
            if self.held and (not run or run[0] == 0):
                lines, self.held = self.held + lines, []
            if not last and run and run[-1] == size - 1 and sum(len(x.text) for x in lines) < _MOST_HELD:
                self.held = lines
                taken.update(x.number for x in lines)
                continue
            for answer in self.recovery.run(lines):
                if isinstance(answer, Recovered):
                    records.append(answer)
                elif answer.text:
                    losses.append(answer)
            taken.update(x.number for x in lines)
        if taken:
            frame = frame.filter(~pl.col("line").is_in(list(taken)))
        if records:
            names = [name or "trailing" for name in self.layout.fields]
            found = pl.DataFrame([r.fields for r in records], schema=dict.fromkeys(names, pl.String), orient="row")
            found = found.select(pl.when(pl.col(name) != "").then(pl.col(name)) for name in names)
            found = found.with_columns(line=pl.Series([r.first for r in records], dtype=pl.Int64))
            frame = pl.concat([frame, found.select(frame.columns)]).sort("line")
        batch = canonical(frame, self.context, self.carry)
        lost = pl.DataFrame([(x.number, x.reason, x.text) for x in losses], schema=REJECT_SCHEMA, orient="row")
        batch.rows["reject"] = pl.concat([batch.rows["reject"], lost])
        return batch

    def _runs(self, whole: np.ndarray, last: bool) -> Iterator[list[int]]:
        """Runs of lines for the exact path: odd ones, islands of whole ones between them, and what may go on."""
        size = whole.size
        wanted = ~whole
        if self.open_end:
            # A free-text last field may go on in the line after: take the record before an odd line along.
            wanted[:-1] |= wanted[1:] & whole[:-1]
            if size and not last:
                wanted[-1] = True
            if size and self.held:
                wanted[0] = True
        elif self.held and size:
            wanted[0] = True
        indices = np.flatnonzero(wanted)
        if not indices.size:
            if self.held and last:
                yield []
            return
        for run in np.split(indices, np.flatnonzero(np.diff(indices) > 8) + 1):
            yield list(range(int(run[0]), int(run[-1]) + 1))


def _with_one_byte(block: bytes, delimiter: bytes) -> bytes:
    """`block` with a delimiter of several bytes replaced by one that the block does not hold; that byte leads."""
    stand_in = next((c for c in _STAND_INS if c not in block), b"\x1f")
    return stand_in + block.replace(delimiter, stand_in)
