"""Geometry of the cascade chart: where each dollar of the slice went, as bars on one scale.

Points (1/72 inch) in a drawing as wide as the text. A row whose dollars are NULL has no bar: it is drawn
as a hatched box with the words, so that it cannot be taken for 0.
"""

import math
from dataclasses import dataclass, replace

from audit.reporting.numerals import axis_dollars, percent, whole
from audit.reporting.wording import Report, node_sizes_known, sentence

WIDTH = 493.2  # 174 mm
LEFT = 112.0
ROW = 16.5
BAR = 10.5
TOP = 14.0
_COLUMNS = (WIDTH - 106, WIDTH - 52, WIDTH)  # right edges: window, month, share
_GAP = 60.0  # between the bars' end and the first column's right edge


@dataclass(frozen=True)
class Row:
    """One bar. `x` and `width` are None where there is nothing to draw; `join` leads down to the next bar."""

    label: str
    kind: str
    strong: bool
    usd: float | None
    month_usd: float | None
    share: float | None
    y: float = 0.0
    x: float | None = None
    width: float | None = None
    join: float | None = None


@dataclass(frozen=True)
class Cascade:
    """The chart: rows from top to bottom, grid positions with their labels, and the whole in words."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    columns: tuple[float, float | None, float]
    of: str
    left: float
    width: float
    height: float
    plot_end: float
    bar: float
    held_edge: tuple[float, float, float] | None
    alt: str


@dataclass(frozen=True)
class _Span:
    label: str
    kind: str
    usd: float | None
    month_usd: float | None
    start: float | None
    strong: bool = False


def cascade(report: Report) -> Cascade:
    """The chart of this report's dollars of the window, with the month beside them where there is one."""
    cost = report["cost"]
    spans = [*_outside(report), *_inside(report)]
    known = node_sizes_known(report) and cost["installed_usd"]
    base, of = (cost["installed_usd"], "installed") if known else (cost["held_usd"], "held")
    monthly = any(span.month_usd is not None for span in spans)
    columns = (_COLUMNS[0], _COLUMNS[1], _COLUMNS[2]) if monthly else (_COLUMNS[1], None, _COLUMNS[2])
    plot_end = columns[0] - _GAP
    scale = (plot_end - LEFT) / base if base else 0.0
    rows = _placed(spans, base, scale)
    return Cascade(
        rows=rows,
        ticks=tuple((LEFT + scale * usd, axis_dollars(usd)) for usd in _steps(base or 0.0)),
        columns=columns,
        of=of,
        left=LEFT,
        width=WIDTH,
        height=TOP + ROW * len(rows),
        plot_end=plot_end,
        bar=BAR,
        held_edge=_held_edge(rows),
        alt=_in_words(rows, of),
    )


def _outside(report: Report) -> list[_Span]:
    """Installed, down, idle and held; only held where node sizes are unknown."""
    cost = report["cost"]
    held = _span(cost, "Held by jobs", "subtotal", "held_usd", 0.0, strong=True)
    if not node_sizes_known(report):
        return [held]
    capacity, jobs = cost["capacity_usd"], cost["held_usd"]
    spans = [_span(cost, "Installed", "subtotal", "installed_usd", 0.0, strong=True)]
    spans.append(_span(cost, "Nodes down", "down", "down_usd", capacity))
    if cost["idle_usd"] is None and cost["down_usd"] is None and None not in (cost["installed_usd"], jobs):
        month = _rest(cost, "installed_usd_per_month", "held_usd_per_month")
        usd = cost["installed_usd"] - jobs
        spans.append(_Span("Not held: idle or down", "idle", usd, month, jobs))
    else:
        spans.append(_span(cost, "Idle", "idle", "idle_usd", jobs))
    return [*spans, held]


def _inside(report: Report) -> list[_Span]:
    """What was held, split into: ended well and measured, not measured, lost."""
    cost = report["cost"]
    usd = _rest(cost, "held_usd", "not_measured_usd", "lost_usd")
    month = _rest(cost, "held_usd_per_month", "not_measured_usd_per_month", "lost_usd_per_month")
    blind = cost["not_measured_usd"]
    lost_from = None if usd is None or blind is None else usd + blind
    return [
        _Span("Held, use measured", "subtotal", usd, month, 0.0),
        _span(cost, "Held, not measured", "unmeasured", "not_measured_usd", usd),
        _span(cost, "Lost to failed attempts", "lost", "lost_usd", lost_from),
    ]


def _span(cost: Report, label: str, kind: str, key: str, start: float | None, *, strong: bool = False) -> _Span:
    return _Span(label, kind, cost[key], cost.get(f"{key}_per_month"), start, strong)


def _rest(cost: Report, total: str, *parts: str) -> float | None:
    """`total` less its parts; None where one of them is. Never below zero by a rounding error."""
    values = [cost.get(key) for key in (total, *parts)]
    known = [float(value) for value in values if value is not None]
    if len(known) < len(values):
        return None
    rest = known[0] - math.fsum(known[1:])
    return 0.0 if abs(rest) < 1e-6 * abs(known[0]) else rest


def _placed(spans: list[_Span], base: float | None, scale: float) -> tuple[Row, ...]:
    rows: list[Row] = []
    for number, span in enumerate(spans):
        drawn = span.usd is not None and span.start is not None and base
        share = span.usd / base if base and span.usd is not None else None
        row = Row(span.label, span.kind, span.strong, span.usd, span.month_usd, share, y=TOP + ROW * number)
        if drawn and span.usd is not None and span.start is not None:
            row = replace(row, x=LEFT + scale * span.start, width=scale * span.usd)
        rows.append(row)
    return tuple(_joined(rows))


def _joined(rows: list[Row]) -> list[Row]:
    """Each drawn row led down to the next one where their edges meet."""
    joined = []
    for row, below in zip(rows, [*rows[1:], None], strict=True):
        edges = () if below is None else _edges(below)
        meeting = (end for end in _edges(row) for edge in edges if abs(end - edge) < 0.01)
        joined.append(replace(row, join=next(meeting, None)))
    return joined


def _edges(row: Row) -> tuple[float, ...]:
    """Where the bar ends, right before left; not the axis, and nothing where no bar is drawn."""
    if row.x is None or not row.width:
        return ()
    return tuple(edge for edge in (row.x + row.width, row.x) if edge > LEFT)


def _held_edge(rows: tuple[Row, ...]) -> tuple[float, float, float] | None:
    """The dashed line from the end of what was held down to the row that ends there."""
    held = next((row for row in rows if row.strong and row.label == "Held by jobs"), None)
    if held is None or held.x is None or held.width is None or rows[-1].x is None:
        return None
    return (held.x + held.width, held.y + BAR, rows[-1].y)


def _steps(top: float) -> list[float]:
    """Round dollar values from 0 to `top`, three to five of them after 0."""
    if top <= 0:
        return [0.0]
    size = 10.0 ** math.floor(math.log10(top))
    step = next(size * part for part in (0.2, 0.25, 0.5, 1.0, 2.0) if top / (size * part) <= 5.999)
    return [step * number for number in range(int(top / step) + 1)]


def _in_words(rows: tuple[Row, ...], of: str) -> str:
    parts = []
    for row in rows:
        if row.usd is None:
            parts.append(f"{row.label}: not measured")
        else:
            share = "" if row.share is None else f", {percent(row.share)} of {of}"
            parts.append(f"{row.label}: {whole(row.usd)} dollars{share}")
    return sentence("Cascade of the window's dollars. " + "; ".join(parts))
