"""A block of delimited text as lines: which hold one record each, told by counting delimiters. Vectorised."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.evidence.recover import Line

_STAND_INS = tuple(bytes([code]) for code in (0x1F, 0x1E, 0x1D, 0x1C, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0E))
_Positions = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Lines:
    """The lines of a block; line i runs from `starts[i]` to `ends[i]` of `body`, the first has number `first`."""

    body: bytes
    mark: bytes
    delimiter: bytes
    starts: _Positions
    ends: _Positions
    whole: np.ndarray[tuple[int], np.dtype[np.bool_]]
    first: int

    @classmethod
    def of(cls, block: bytes, delimiter: bytes, fields: int, first: int) -> "Lines":
        """The lines of a block that ends with a line feed; bytes that are no UTF-8 become their codes."""
        try:
            block.decode("utf-8")
        except UnicodeDecodeError:
            block = block.decode("utf-8", "backslashreplace").encode()
        if (np.frombuffer(block, dtype=np.uint8) == ord("\r")).any():
            block = block.replace(b"\r\n", b"\n")
        mark = delimiter
        if len(delimiter) > 1:
            mark = next((code for code in _STAND_INS if code not in block), _STAND_INS[0])
            block = block.replace(delimiter, mark)
        codes = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(codes == ord("\n"))
        starts = np.concatenate((ends[:0], [0], ends[:-1] + 1))[: ends.size]
        marks = np.searchsorted(np.flatnonzero(codes == mark[0]), ends)
        whole = (np.diff(marks, prepend=0) == fields - 1) & (ends > starts)
        return cls(block, mark, delimiter, starts, ends, whole, first)

    def text(self, index: int) -> str:
        """One line's text, its delimiters as the file has them."""
        return self.body[self.starts[index] : self.ends[index]].replace(self.mark, self.delimiter).decode()

    def line(self, index: int) -> Line:
        """One line for the exact path."""
        return Line(self.first + index, self.text(index), bool(self.whole[index]))

    def holding(self, word: bytes) -> list[int]:
        """The lines that hold a word."""
        found, at = [], self.body.find(word)
        while at >= 0:
            index = int(np.searchsorted(self.ends, at))
            found.append(index)
            at = self.body.find(word, int(self.ends[index])) if index < self.ends.size else -1
        return found

    def split(self, index: int) -> tuple[bytes, bytes]:
        """The block before a line and from it on, as the file has it."""
        body = self.body.replace(self.mark, self.delimiter) if self.mark != self.delimiter else self.body
        at = int(self.starts[index])
        if self.mark != self.delimiter:
            at += self.body[:at].count(self.mark) * (len(self.delimiter) - 1)
        return body[:at], body[at:]

    def frame(self, names: list[str]) -> pl.DataFrame:
        """The whole lines as text by field (NULL where empty), with their numbers as `line`."""
        indices = np.flatnonzero(self.whole)
        schema = dict.fromkeys(names, pl.String)
        if not indices.size:
            return pl.DataFrame(schema={**schema, "line": pl.Int64})
        body = self.body
        if indices.size < self.whole.size:
            runs = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
            body = b"".join(body[self.starts[run[0]] : self.ends[run[-1]] + 1] for run in runs)
        frame = pl.read_csv(
            body,
            has_header=False,
            separator=self.mark.decode(),
            quote_char=None,
            schema=schema,
            infer_schema=False,
            glob=False,
        )
        return frame.with_columns(line=pl.Series(indices + self.first, dtype=pl.Int64))
