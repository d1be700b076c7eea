"""Geometry of the small charts: histograms whose ends stand apart, and range marks under a pair of numbers.

Points (1/72 inch) from the top left. The templates only place what stands here. A value of 0 has no bar: its number
is printed where the bar would stand, so that it cannot be taken for something missing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from audit.reporting.numerals import whole

PART = 1.0  # white between two bars, so that they part in grey print too
CLAMP = 1.36  # a range mark ends here, in parts of what was asked
THINNEST = 1.6  # a bar or a range narrower than this could not be seen


@dataclass(frozen=True)
class Column:
    """One bar to draw: its height as a value, the number above it, the words below it (one a line).

    `kind` says what is drawn: "used", "spare" (below half), "untouched" or "unmeasured". `apart`: a gap before it.
    """

    value: float
    shown: str
    words: tuple[str, ...] = ()
    kind: str = "used"
    apart: bool = False


@dataclass(frozen=True)
class Bar:
    """A column in its place; `middle` is where its number and its words are centred."""

    x: float
    y: float
    width: float
    height: float
    middle: float
    column: Column


@dataclass(frozen=True)
class Histogram:
    """Bars on one base line; `grid` are the heights of the grid lines with their labels ("": none)."""

    bars: tuple[Bar, ...]
    grid: tuple[tuple[float, str], ...]
    left: float
    right: float
    top: float
    base: float
    alt: str

    def edge(self, number: int) -> float:
        """Where bar `number` begins: the line between it and the one before."""
        return self.bars[number].x - PART / 2


def histogram(
    columns: Sequence[Column],
    grid: Sequence[tuple[float, str]],
    *,
    left: float,
    right: float,
    top: float,
    height: float,
    gap: float,
    alt: str,
) -> Histogram:
    """Bars of one width from `left` to `right`; the uppermost grid value is the top of the scale.

    `grid` holds values with their labels, at least one; `gap` is the space before a column that stands apart.
    """
    peak = max(value for value, _ in grid)
    gaps = sum(gap for column in columns if column.apart)
    slot = (right - left - gaps) / max(1, len(columns))
    base = top + height
    x, bars = left, []
    for column in columns:
        x += gap if column.apart else 0.0
        tall = height * column.value / peak if peak > 0 else 0.0
        bars.append(Bar(x + PART / 2, base - tall, slot - PART, tall, x + slot / 2, column))
        x += slot
    lines = tuple((base - (height * value / peak if peak > 0 else 0.0), label) for value, label in grid)
    return Histogram(tuple(bars), lines, left, right, top, base, alt)


def scale(top: float) -> list[float]:
    """Round values from 0 to the first that is not below `top`: two to five steps; [0, 1] for nothing."""
    if top <= 0:
        return [0.0, 1.0]
    size = 10.0 ** math.floor(math.log10(top))
    step = next(size * part for part in (0.2, 0.25, 0.5, 1.0, 2.0) if top / (size * part) <= 5)
    return [step * number for number in range(math.ceil(top / step - 1e-9) + 1)]


def hours_scale(top: float) -> list[tuple[float, str]]:
    """The same with labels for hours: 0, 3,000, 6,000."""
    return [(value, short_hours(value) if value >= 10 or value == 0 else f"{value:g}") for value in scale(top)]


def short_hours(hours: float) -> str:
    """Hours where a bar or an axis leaves little room: 12,356; from a million on with three digits, 62.2M."""
    for size, letter in ((1e9, "B"), (1e6, "M")):
        if hours >= 0.9995 * size:
            count = float(f"{hours / size:.3g}")
            return f"{count:,.{max(0, 2 - math.floor(math.log10(count)))}f}{letter}"
    return whole(hours)


@dataclass(frozen=True)
class RangeMark:
    """Need as parts of what was asked: a bar from its 10th to its 90th percentile, a tick where 1 is.

    `dot` stands for a mean, which is no need; `cut`: the bar goes on beyond the drawing.
    """

    width: float
    tick: float
    bar: tuple[float, float] | None
    dot: float | None
    cut: bool
    alt: str


def range_mark(
    asked: float, low: float | None, high: float | None, mean: float | None, *, unit: float, alt: str
) -> RangeMark:
    """The mark of one request above 0; `unit` is the length of what was asked. Without `high`, `mean` is drawn."""
    bar = dot = None
    if high is not None:
        ends = [min(CLAMP, max(0.0, value) / asked) * unit for value in (high if low is None else low, high)]
        middle, size = sum(ends) / 2, max(THINNEST, ends[1] - ends[0])
        bar = (min(max(0.0, middle - size / 2), CLAMP * unit - size), size)
    elif mean is not None:
        dot = min(CLAMP, max(0.0, mean) / asked) * unit
    return RangeMark(
        width=CLAMP * unit,
        tick=unit,
        bar=bar,
        dot=dot,
        cut=high is not None and high > CLAMP * asked,
        alt=alt,
    )


@dataclass(frozen=True)
class LyingBar:
    """One bar of a list, from the list's left edge: its top edge and its length; None: not known, nothing is drawn."""

    y: float
    length: float | None


def lying_bars(
    values: Sequence[float | None], *, peak: float, length: float, first: float, pitch: float
) -> list[LyingBar]:
    """A bar for each value, `pitch` apart from `first` on; `peak` is as long as `length`. What is not 0 can be seen."""
    unit = length / peak if peak > 0 else 0.0
    return [
        LyingBar(first + pitch * number, None if value is None else max(value * unit, 0.8) if value > 0 else 0.0)
        for number, value in enumerate(values)
    ]
