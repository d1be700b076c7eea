"""Geometry of the coverage plot: promised against realised, one small square a target.

Points (1/72 inch). Both axes count nines: 50, 90, 95 and 99 % stand apart, as they would not on a plain scale. On the
diagonal as many needs lay at or below the forecast as was promised; below it fewer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from audit.reporting.back_test import LEVELS, TargetRow
from audit.reporting.numerals import percent

WIDTH = 493.2  # 174 mm
SIDE = 64.0
LEFT, TOP = 20.0, 14.0
_ALL = 3.0  # three nines: what is above is drawn at the edge
_LEAST = 0.2
_UNNAMED = (0.95,)  # its words would touch those of 90 %


@dataclass(frozen=True)
class Point:
    """One level: where it is drawn, and the interval about it from `low` to `high`; None: not known."""

    x: float
    y: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Panel:
    """One target's square from `x` on, its points and its ticks (place, words)."""

    x: float
    name: str
    points: tuple[Point, ...]
    alt: str


@dataclass(frozen=True)
class CoveragePlot:
    """The squares beside each other; `ticks` are places along an axis with their words, `base` the bottom of the
    squares.
    """

    panels: tuple[Panel, ...]
    ticks: tuple[tuple[float, str], ...]
    side: float
    base: float
    height: float
    alt: str


def coverage_plot(rows: Sequence[TargetRow]) -> CoveragePlot | None:
    """The plot; None where nothing was judged."""
    if not rows:
        return None
    pitch = (WIDTH - LEFT) / max(6, len(rows))
    panels = tuple(_panel(row, LEFT + pitch * number) for number, row in enumerate(rows))
    ticks = tuple((place(level), "" if level in _UNNAMED else f"{100 * level:g}") for level in LEVELS)
    return CoveragePlot(panels, ticks, SIDE, TOP + SIDE, TOP + SIDE + 13.0, " ".join(panel.alt for panel in panels))


def place(share: float) -> float:
    """Where a share of 1 lies along an axis, from its start, in points."""
    nines = _ALL if share >= 1 - 10**-_ALL else max(_LEAST, -math.log10(1 - max(0.0, share)))
    return SIDE * (nines - _LEAST) / (_ALL - _LEAST)


def _panel(row: TargetRow, x: float) -> Panel:
    known = [one for one in row.coverage if one.share is not None]
    points = tuple(
        Point(
            x + place(one.level),
            _y(one.share),
            None if one.low is None else _y(one.low),
            None if one.high is None else _y(one.high),
        )
        for one in known
        if one.share is not None
    )
    words = [f"of {percent(one.level, 0)} promised {percent(one.share or 0.0)}" for one in known]
    return Panel(x, row.name, points, f"{row.name}: {', '.join(words) or 'nothing known'}.")


def _y(share: float) -> float:
    return TOP + SIDE - place(share)
