"""Geometry of the range mark under the headline: the figure on a scale from 0, with its range or its sampling error.

Points (1/72 inch), as wide as the headline's column.
"""

from dataclasses import dataclass

from audit.reporting.charts import scale
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.headline import Headline
from audit.reporting.numerals import axis_dollars, dollars_prose
from audit.reporting.wording import Report, sentence

WIDTH = 272.0  # points: 96 mm
_DOT = 5.0  # radius of the dot, its outline included
_LETTER = 0.52  # mean width of a letter or digit of the sans, in parts of its size


@dataclass(frozen=True)
class Label:
    """A text with its middle at `x`, kept within the drawing."""

    x: float
    text: str


@dataclass(frozen=True)
class Spread:
    """The figure on a scale from 0: a dot; from low to high a thin line, capped at the ends that are known (`caps`).

    A bar for its sampling error, a tick for what was contended. `label` stands above, about the range, or without one
    about the bar. None: not known, not drawn.
    """

    width: float
    dot: float
    reach: tuple[float, float] | None
    caps: tuple[float, ...]
    bar: tuple[float, float] | None
    label: Label | None
    tick: float | None
    tick_label: Label | None
    scale: tuple[Label, ...]
    grid: tuple[float, ...]
    alt: str


def spread(report: Report, head: Headline) -> Spread | None:
    """The mark, as wide as its column; None where the figure is not above 0, and so not on the scale."""
    if head.usd <= 0:
        return None
    shown = dollars(report)
    grid = scale(max([head.usd, head.high, *(head.sampling or ())]) * shown.month_factor)
    top = grid[-1]

    def at(usd: float, margin: float = 0.5) -> float:
        return min(max(WIDTH * usd * shown.month_factor / top, margin), WIDTH - margin)

    bar = None if head.sampling is None else (at(head.sampling[0]), at(head.sampling[1]))
    reach = (at(head.usd if head.low is None else head.low), at(head.high)) if head.is_expected else None
    error = None if head.sampling is None else f"sampling error {_from_to(head.sampling, shown)}"
    words, middle = (_range(head, shown), reach) if reach else (error, bar)
    tick = None if head.contended_usd is None else at(head.contended_usd)
    queued = "" if head.contended_usd is None else dollars_prose(head.contended_usd * shown.month_factor)
    said = [f"{'expected' if head.is_expected else 'at most'} {shown.prose(head.usd)}"]
    said += [words] if reach and words else []
    said += [error or "sampling error not known", f"contended {queued or 'not known'}"]
    return Spread(
        width=WIDTH,
        dot=at(head.usd, _DOT),
        reach=reach,
        caps=() if reach is None else reach if head.low is not None else reach[1:],
        bar=bar,
        label=None if middle is None or words is None else _label(sum(middle) / 2, words),
        tick=tick,
        tick_label=None if tick is None else _label(tick, f"contended {queued}"),
        scale=tuple(_label(WIDTH * usd / top, axis_dollars(usd)) for usd in grid),
        grid=tuple(WIDTH * usd / top for usd in grid),
        alt=sentence(f"On a scale from 0 to {axis_dollars(grid[-1])}: {'; '.join(said)}"),
    )


def _range(head: Headline, shown: Dollars) -> str:
    high = f"{dollars_prose(head.high * shown.month_factor)}, the ceiling"
    if head.low is None:
        return f"low not known, high {high}"
    return f"low {dollars_prose(head.low * shown.month_factor)}, high {high}"


def _from_to(ends: tuple[float, float], shown: Dollars) -> str:
    low, high = (dollars_prose(usd * shown.month_factor) for usd in ends)
    return f"{low} to {high}"


def _label(x: float, text: str, size: float = 7.8) -> Label:
    half = len(text) * size * _LETTER / 2
    return Label(min(max(x, half), WIDTH - half), text)
