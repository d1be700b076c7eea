"""The slow, exact path of the text reader: records whose free text holds the delimiter or line feeds.

Lines that do not hold one record each are put together until they do: typed fields (ids, states, times,
sizes, TRES) must read as what they are, and what is left over belongs to the free-text fields. Where more
than one reading fits, the record is rejected by name rather than guessed.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from audit.evidence.sacct_fields import ANYTHING, FREE_TEXT, READ_FIELDS, SHAPES

_MOST_LINES = 400  # of one record
_MOST_EXTRA = 400  # delimiters in one record's free text
_ID_AND_MORE = re.compile(r"\d+[^\w\s]+\d+[^\w\s]")
_ISLAND = 8  # whole-looking lines inside one record's free text


@dataclass(frozen=True)
class Line:
    """One line of the dump; `whole` where its delimiters fit one record."""

    number: int
    text: str
    whole: bool


@dataclass(frozen=True)
class Recovered:
    """One record's fields, and the lines it stood on."""

    first: int
    last: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Lost:
    """A line no reading fits."""

    number: int
    reason: str
    text: str


class Recovery:
    """Reads runs of odd lines of one layout."""

    def __init__(self, fields: tuple[str, ...], delimiter: str) -> None:
        self._delimiter = delimiter
        self._names = fields
        self._shapes = [None if name in FREE_TEXT else SHAPES.get(name, ANYTHING) for name in fields]
        self._read = [i for i, name in enumerate(fields) if name in READ_FIELDS]
        self._free = [i for i, shape in enumerate(self._shapes) if shape is None]
        self._lead = self._free[0] if self._free else len(fields)
        # Only typed fields in front of the first free text can tell a record's first line from its second.
        self._telling = any(name in SHAPES for name in fields[: self._lead])

    def run(self, lines: Sequence[Line]) -> Iterator[Recovered | Lost]:
        """The records in `lines`, which are consecutive; each line ends up in exactly one answer."""
        marks = list(accumulate((line.text.count(self._delimiter) for line in lines), initial=0))
        at = 0
        while at < len(lines):
            end, fields, reason = self._record_at(lines, marks, at)
            if fields is None:
                yield Lost(lines[at].number, reason, lines[at].text)
            else:
                yield Recovered(lines[at].number, lines[end].number, fields)
            at = end + 1

    def _record_at(
        self, lines: Sequence[Line], marks: Sequence[int], at: int
    ) -> tuple[int, tuple[str, ...] | None, str]:
        """The record that begins at `at`: its last line, its fields; or why there is none.

        A line that cannot begin a record belongs to the one before it, so a record goes on as far as such
        lines fit; whole-looking lines before the first that completes it are part of its free text. `marks`
        counts the delimiters before each line.
        """
        if not self._can_start(lines[at].text):
            return at, None, "not a record: no job id, state or time where the columns say so"
        needed = len(self._shapes) - 1
        first = max(at, bisect_left(marks, marks[at] + needed, lo=at) - 1)  # the first line that can complete it
        best: tuple[int, tuple[str, ...]] | None = None
        reason, islands = "too few columns", 0
        for end in range(at, min(len(lines), at + _MOST_LINES, max(first, at) + _MOST_LINES)):
            fragment = not lines[end].whole
            if first - at > _MOST_LINES or marks[end + 1] - marks[at] > needed + _MOST_EXTRA:
                break
            if end > at:
                islands = 0 if fragment else islands + 1
                if self._ends_before(lines[end], islands, complete=best is not None):
                    break
            if end < first or (end > at and not (fragment and lines[end].text)):
                continue
            readings = self.readings("\n".join(line.text for line in lines[at : end + 1]))
            if len(readings) == 1:
                best = end, readings[0]
                if not self._telling:
                    break
            elif readings:
                reason = "ambiguous: its free text can be read in more than one way"
        if best:
            return (*best, "")
        if reason == "too few columns" and marks[at + 1] - marks[at] >= needed:
            reason = "its columns do not hold what their names say"
        return at, None, reason

    def _ends_before(self, line: Line, islands: int, *, complete: bool) -> bool:
        """Whether a record cannot go on in `line`, the last of `islands` whole-looking ones."""
        if not line.whole:
            return self._starts_another(line.text) if complete else self._begins(line.text)
        return islands > (_ISLAND if self._telling and not complete else 0)

    def _begins(self, text: str) -> bool:
        return self._telling and self._can_start(text)

    def _starts_another(self, text: str) -> bool:
        """Whether a line after a complete record is a broken record of its own, not the rest of a free text.

        The rest of a name holds few delimiters and does not begin as ids do.
        """
        if text.count(self._delimiter) * 2 >= len(self._shapes) - 1:
            return True
        return self._begins(text) or (self._names[0] == "jobid" and bool(_ID_AND_MORE.match(text)))

    def _can_start(self, text: str) -> bool:
        """Whether the fields up to the first free text read as a record's, as far as they are there."""
        tokens = text.split(self._delimiter, self._lead)[: self._lead]
        said = dict(zip(self._names, tokens, strict=False))
        plain = re.fullmatch(r"\d+(\..+)?", said.get("jobid", ""))
        raw = said.get("jobidraw")
        cut = raw is not None and self._names[len(tokens) - 1] == "jobidraw"  # the line may end inside it
        if plain and raw is not None and not (raw == said["jobid"] or (cut and said["jobid"].startswith(raw))):
            return False  # of an id that is no array's or het job's, the raw id is the same
        return len(tokens) >= min(2, self._lead) and all(
            shape is None or shape.fullmatch(token) for shape, token in zip(self._shapes, tokens, strict=False)
        )

    def readings(self, text: str) -> list[tuple[str, ...]]:
        """The ways `text` reads as one record, two at most, that differ in a field that is used."""
        tokens = text.split(self._delimiter)
        extra = len(tokens) - len(self._shapes)
        if not 0 <= extra <= _MOST_EXTRA or (extra and not self._free):
            return []
        if len(self._free) <= 1:
            return self._only_reading(tokens, extra)
        known: dict[tuple[int, int], list[tuple[str, ...]]] = {}

        def rest(column: int, at: int) -> list[tuple[str, ...]]:
            """The readings of the fields from `column` on, out of the tokens from `at` on."""
            if column == len(self._shapes):
                return [()] if at == len(tokens) else []
            if (column, at) not in known:
                known[column, at] = self._distinct(column, at, tokens, rest)
            return known[column, at]

        return rest(0, 0)

    def _only_reading(self, tokens: list[str], extra: int) -> list[tuple[str, ...]]:
        """With one free text, it holds whatever is left over."""
        if self._free:
            at = self._free[0]
            tokens = [*tokens[:at], self._delimiter.join(tokens[at : at + extra + 1]), *tokens[at + extra + 1 :]]
        fits = all(shape is None or shape.fullmatch(value) for shape, value in zip(self._shapes, tokens, strict=True))
        return [tuple(tokens)] if fits else []

    def _distinct(
        self, column: int, at: int, tokens: list[str], rest: Callable[[int, int], list[tuple[str, ...]]]
    ) -> list[tuple[str, ...]]:
        shape = self._shapes[column]
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        most = len(tokens) - at - (len(self._shapes) - column - 1)
        sizes = range(1, min(most, 1) + 1) if shape else range(1, most + 1)
        if shape is None and column == self._free[-1]:
            sizes = range(most, most + 1) if most > 0 else range(0)  # the last free text takes what is left
        for size in sizes:
            head = self._delimiter.join(tokens[at : at + size])
            if shape is not None and not shape.fullmatch(head):
                continue
            for tail in rest(column + 1, at + size):
                reading = (head, *tail)
                found.setdefault(tuple(reading[i - column] for i in self._read if i >= column), reading)
                if len(found) == 2:
                    return list(found.values())
        return list(found.values())
