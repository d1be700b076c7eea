"""Geometry of the cascade chart: from capacity to what could be won back, as bars on one scale.

Points (1/72 inch) in a drawing as wide as the text. A row whose dollars are NULL has no bar: it is drawn
as a hatched box with the words, so that it cannot be taken for 0.
"""

from dataclasses import dataclass, replace
from itertools import accumulate

from audit.reporting.charts import scale
from audit.reporting.dollars import Dollars
from audit.reporting.numerals import axis_dollars, percent, whole
from audit.reporting.wording import Report, node_sizes_known, sentence

WIDTH = 493.2  # 174 mm
LEFT = 112.0
ROW, DENSE = 22.5, 18.0  # from one line to the next; where there are more than LINES
LINES = 5
BAR = 14.0
TOP = 14.0
_COLUMNS = (WIDTH - 52.0, WIDTH)  # right edges: dollars, share
_PLOT_END = WIDTH - 118.0
_LETTER = 0.52  # mean width of a letter, in parts of its size
_INSIDE = 7.4  # size of the words within a bar
_IDLE = {"capacity": "idle", "installed": "idle or down"}  # what was not held, by what is 100 %


@dataclass(frozen=True)
class Part:
    """A stretch of a bar, with the words in it where they fit."""

    kind: str
    usd: float
    name: str
    x: float = 0.0
    width: float = 0.0
    words: str = ""


@dataclass(frozen=True)
class Row:
    """One line: its dollars of the window (None: not measured), where its bar starts and the parts of that.

    `shown` are the dollars in the unit of the column; `join` is where a line leads down to the next bar.
    """

    label: str
    kind: str
    usd: float | None
    start_usd: float | None
    parts: tuple[Part, ...]
    strong: bool = False
    shown: float | None = None
    share: float | None = None
    y: float = 0.0
    join: float | None = None


@dataclass(frozen=True)
class Cascade:
    """The chart: rows from top to bottom, grid positions with their labels, and the whole in words."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    columns: tuple[float, float]
    unit: str
    of: str
    left: float
    width: float
    height: float
    bar: float
    row: float
    held_edge: tuple[float, float, float] | None
    alt: str


def cascade(report: Report, shown: Dollars) -> Cascade:
    """The chart of this report's dollars, its column in the page's unit."""
    cost = report["cost"]
    base, of = _base(report)
    across = (_PLOT_END - LEFT) / base if base else 0.0
    lines = _rows(report, base, of)
    pitch = ROW if len(lines) <= LINES else DENSE
    rows = _placed(lines, base, across, shown, pitch)
    ticks = [usd for usd in scale((base or 0.0) * shown.month_factor) if usd <= (base or 0.0) * shown.month_factor]
    return Cascade(
        rows=rows,
        ticks=tuple((LEFT + across * usd / shown.month_factor, axis_dollars(usd)) for usd in ticks),
        columns=_COLUMNS,
        unit=shown.unit,
        of=of,
        left=LEFT,
        width=WIDTH,
        height=TOP + pitch * len(rows),
        bar=BAR,
        row=pitch,
        held_edge=_held_edge(rows, LEFT + across * cost["held_usd"] if cost["held_usd"] is not None else None),
        alt=_in_words(rows, of, shown),
    )


def _base(report: Report) -> tuple[float | None, str]:
    """What is 100 %: the capacity, else all installed, else what was held."""
    cost = report["cost"]
    if node_sizes_known(report):
        for key, name in (("capacity_usd", "capacity"), ("installed_usd", "installed")):
            if cost[key]:
                return float(cost[key]), name
    return cost["held_usd"], "held"


def _rows(report: Report, base: float | None, of: str) -> list[Row]:
    """The lines before they are placed; a bar that starts at an unknown place is not drawn.

    The lines add up to what was held through the ceiling; what is expected of that, less reruns, is the last.
    """
    cost, high, expected = report["cost"], report["recoverable"]["high_usd"], report["recoverable"]["expected_usd"]
    held, lost = cost["held_usd"], cost["lost_usd"]
    rows: list[Row] = []
    unheld: tuple[Part, ...] = ()
    if of != "held" and base is not None:
        rows.append(Row(of.capitalize(), "whole", base, 0.0, _one("subtotal", base), strong=True))
        unheld = _one("idle", None if held is None else max(0.0, base - held), _IDLE[of])
    rows.append(Row("Held by jobs", "held", held, 0.0, _one("subtotal", held) + unheld, strong=True))
    parts = [("used", "used"), ("kept", "kept")] if high is not None else []
    needed = [(kind, name, cost[f"{kind}_usd"]) for kind, name in [*parts, ("not_measured", "not measured")]]
    usd = None if any(part is None for *_, part in needed) else sum(part for *_, part in needed)
    bar = tuple(Part(kind, part, name) for kind, name, part in needed if part)
    rows.append(Row("Used, kept or unknown" if parts else "Not measured", "needed", usd, 0.0, bar))
    rows.append(Row("Lost to failed attempts", "lost", lost, usd, _one("lost", lost)))
    after = None if usd is None or lost is None else usd + lost
    allowed = bool(report["coverage"]["headline_allowed"])
    label = "Recoverable" + ("" if high is None else ", at most" if allowed else ", measured part")
    if expected is None or high is None:
        bar = _one("recoverable", high)
        return [*rows, Row(label, "recoverable", high, after, bar, strong=allowed and high is not None)]
    rows.append(Row(label, "ceiling", high, after, _one("ceiling", high)))
    return [
        *rows,
        Row(
            "Expected, less reruns",
            "recoverable",
            expected,
            after,
            _one("recoverable", max(0.0, expected)),
            strong=allowed,
        ),
    ]


def _one(kind: str, usd: float | None, name: str = "") -> tuple[Part, ...]:
    return () if usd is None else (Part(kind, usd, name),)


def _placed(rows: list[Row], base: float | None, across: float, shown: Dollars, pitch: float) -> tuple[Row, ...]:
    drawn = [replace(row, parts=_parts(row, base, across)) for row in rows]
    return tuple(
        replace(
            row,
            y=TOP + pitch * number,
            shown=shown.cell(row.usd),
            share=row.usd / base if base and row.usd is not None else None,
            join=_join(row, below),
        )
        for number, (row, below) in enumerate(zip(drawn, [*drawn[1:], None], strict=True))
    )


def _parts(row: Row, base: float | None, across: float) -> tuple[Part, ...]:
    """The parts of a bar in their places, one after the other; none where its start is not known."""
    if row.start_usd is None or not base:
        return ()
    ends = list(accumulate((part.usd for part in row.parts), initial=row.start_usd))
    return tuple(
        _part(part, LEFT + across * start, across * part.usd, base)
        for part, start in zip(row.parts, ends[:-1], strict=True)
    )


def _join(row: Row, below: Row | None) -> float | None:
    """Where the next bar starts: at the end of this one, or below the ceiling where this one starts too."""
    joins = ("needed", "lost", "ceiling")
    if below is None or row.kind not in joins or not row.parts or not below.usd or not below.parts:
        return None
    return row.parts[0].x if row.kind == "ceiling" else row.parts[-1].x + row.parts[-1].width


def _part(part: Part, x: float, width: float, base: float) -> Part:
    """The part in its place, with its name and share in it where both fit, else its name, else nothing."""
    full = f"{part.name} {percent(part.usd / base)}" if part.name else ""
    fits = [words for words in (full, part.name) if len(words) * _INSIDE * _LETTER + 8 <= width]
    return replace(part, x=x, width=width, words=fits[0] if fits and part.kind != "not_measured" else "")


def _held_edge(rows: tuple[Row, ...], x: float | None) -> tuple[float, float, float] | None:
    """The dashed line from the end of what was held down to the line of the ceiling, whose bar ends there."""
    held = next(row for row in rows if row.kind == "held")
    ceiling = next((row for row in rows if row.kind == "ceiling"), rows[-1])
    return None if x is None or not held.parts or not ceiling.usd else (x, held.y + BAR, ceiling.y)


def _in_words(rows: tuple[Row, ...], of: str, shown: Dollars) -> str:
    said = []
    for row in rows:
        parts = ", ".join(
            f"{part.name} {whole(part.usd * shown.month_factor)}"
            for part in row.parts
            if part.name and row.kind != "held"
        )
        if row.usd is None:
            said.append(f"{row.label}: not measured")
        else:
            share = "" if row.share is None else f", {percent(row.share)} of {of}"
            detail = f" ({parts})" if parts else ""
            said.append(f"{row.label}: {whole(row.usd * shown.month_factor)} dollars{share}{detail}")
    return sentence(f"Cascade of dollars {shown.per}. " + "; ".join(said))
