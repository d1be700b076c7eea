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

from audit.evidence.ahead import ahead
from audit.evidence.interface import REJECT_SCHEMA, Batch, Context, EvidenceError
from audit.evidence.lines import Lines
from audit.evidence.recover import Line, Lost, Recovered, Recovery
from audit.evidence.sacct_fields import FREE_TEXT, SHAPES, Layout, find_layout, header, missing_fields
from audit.evidence.sacct_rows import Carry, canonical
from audit.evidence.source import opened

_BLOCK_BYTES = 24 << 20
_LONGEST_LINE = 256 << 20
_MOST_HELD = 8 << 20  # of an unfinished record carried from block to block
_APART = 8  # lines between two odd ones that may belong to one record
_JOB_ID, _STATE = f"^(?:{SHAPES['jobid'].pattern})$", f"^(?:{SHAPES['state'].pattern})$"


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The attempts, steps and rejects of a dump; EvidenceError where the file is none."""
    with opened(path) as stream:
        first = stream.read(1 << 16)
        layout = find_layout(first, context.columns, context.delimiter, str(path))
        line = 1
        held = first.removeprefix(b"\xef\xbb\xbf")
        if layout.has_header:
            while b"\n" not in held and (more := stream.read(1 << 16)):
                held += more
            held, line = held.partition(b"\n")[2], 2
        carry = Carry()
        for frame, lost in ahead(_frames(_blocks(stream, held), line, layout, str(path))):
            batch = canonical(frame, context, carry)
            batch.rows["reject_record"] = pl.concat([batch.rows["reject_record"], lost])
            yield batch


Frames = Iterator[tuple[pl.DataFrame, pl.DataFrame]]


def _frames(blocks: Iterator[tuple[bytes, bool]], number: int, layout: Layout, where: str) -> Frames:
    """For each block its records as text by field, and its rejects; `number` is the first line's.

    A file may hold several dumps one after the other, each under a header of its own.
    """
    parser = _Parser(layout)
    for block, last in blocks:
        if len(block) > _LONGEST_LINE:
            raise EvidenceError("its lines have no end", where=where, remedy="it is no dump of sacct")
        lines = Lines.of(block, layout.delimiter, len(layout.fields), number)
        while (at := parser.other_header(lines)) is not None:
            before, rest = lines.split(at)
            yield parser.parsed(Lines.of(before, layout.delimiter, len(layout.fields), number), last=True)
            number += at + 1
            head, _, rest = rest.partition(b"\n")
            layout = find_layout(head, (), "", f"{where}:{number - 1}")
            parser = _Parser(layout)
            lines = Lines.of(rest, layout.delimiter, len(layout.fields), number)
        yield parser.parsed(lines, last=last)
        number += lines.ends.size


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
            if len(held) > _LONGEST_LINE:
                yield held, True
                return


@dataclass
class _Parser:
    """Reads one block of a layout after the other; what may go on in the next block is held back."""

    layout: Layout
    held: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.recovery = Recovery(self.layout.fields, self.layout.delimiter.decode())
        self.names = [name or "trailing" for name in self.layout.fields]
        self.open_end = self.layout.fields[-1] in FREE_TEXT

    def other_header(self, lines: Lines) -> int | None:
        """The first line that is a header of another layout; None where there is none.

        A line in the midst of a record is part of a name, whatever it says.
        """
        for index in lines.holding(b"JobID"):
            found = header(lines.text(index))
            if found is None or missing_fields(found.fields):
                continue
            same = (found.fields, found.delimiter) == (self.layout.fields, self.layout.delimiter)
            if not same and (self.open_end or self._stands_free(lines, index)):
                return index
        return None

    def _stands_free(self, lines: Lines, index: int) -> bool:
        return bool(lines.whole[index - 1]) if index else not self.held

    def parsed(self, lines: Lines, *, last: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The records of a block as text by field, and its rejects."""
        frame = lines.frame(self.names)
        again = (pl.col("jobid").str.to_lowercase() == "jobid") & (pl.col("state").str.to_lowercase() == "state")
        headers = set(frame.filter(again)["line"].to_list())  # of dumps put together into one file
        odd = self._odd(frame)
        lines.whole[odd - lines.first] = False
        records, losses, taken = self._recovered(lines, headers, last)
        taken.update(odd.tolist())
        if taken:
            frame = frame.filter(~pl.col("line").is_in(list(taken)))
        if records:
            frame = pl.concat([frame, self._frame(records).select(frame.columns)]).sort("line")
        lost = pl.DataFrame([(x.number, x.reason, x.text) for x in losses], schema=REJECT_SCHEMA, orient="row")
        return frame, lost

    def _odd(self, frame: pl.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """The numbers of whole-looking lines that hold no record: no job id or state where they should stand."""
        good = pl.col("jobid").str.contains(_JOB_ID) & pl.col("state").str.contains(_STATE)
        if self.layout.fields[-1] == "":
            good &= pl.col("trailing").is_null()
        return frame.filter(~good.fill_null(False))["line"].to_numpy()

    def _recovered(self, lines: Lines, headers: set[int], last: bool) -> tuple[list[Recovered], list[Lost], set[int]]:
        """What the exact path makes of the odd lines, and the numbers of the lines that went through it."""
        records: list[Recovered] = []
        losses: list[Lost] = []
        taken = set(headers)
        for run in self._runs(lines, last):
            texts = [line for line in map(lines.line, run) if line.number not in headers]
            if self.held and (not run or run[0] == 0):
                texts, self.held = self.held + texts, []
            taken.update(line.number for line in texts)
            at_end = not last and run[-1:] == [lines.whole.size - 1]
            if at_end and sum(len(line.text) for line in texts) < _MOST_HELD:
                self.held = texts
                continue
            for answer in self.recovery.run(texts):
                if isinstance(answer, Recovered):
                    records.append(answer)
                elif answer.text:
                    losses.append(answer)
        return records, losses, taken

    def _runs(self, lines: Lines, last: bool) -> Iterator[list[int]]:
        """Runs of lines for the exact path: odd ones, whole ones between them, and what may go on."""
        whole = lines.whole
        wanted = ~whole & (lines.ends > lines.starts)
        if whole.size and self.open_end:
            # A free-text last field may go on in the line after: take the record before an odd line along.
            filled = np.where(lines.ends > lines.starts, np.arange(whole.size), 0)
            before = np.concatenate(([0], np.maximum.accumulate(filled)[:-1]))[np.flatnonzero(wanted)]
            wanted[before] |= whole[before]
            wanted[-1] |= not last
        if whole.size and self.held:
            wanted[0] = True
        indices = np.flatnonzero(wanted)
        if not indices.size:
            if self.held and last:
                yield []
            return
        for run in np.split(indices, np.flatnonzero(np.diff(indices) > _APART) + 1):
            yield list(range(int(run[0]), int(run[-1]) + 1))

    def _frame(self, records: list[Recovered]) -> pl.DataFrame:
        """Recovered records as the frame of whole lines: an empty field is NULL."""
        found = pl.DataFrame([r.fields for r in records], schema=dict.fromkeys(self.names, pl.String), orient="row")
        found = found.select(pl.when(pl.col(name) != "").then(pl.col(name)) for name in self.names)
        return found.with_columns(line=pl.Series([r.first for r in records], dtype=pl.Int64))
