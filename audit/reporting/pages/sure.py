"""How sure the figure is: what would move it, how much of what jobs held was measured, and what the data lack."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from audit.reporting.charts import LyingBar, lying_bars, scale
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.fitting import fitted
from audit.reporting.headline import Headline, expected_through, headline, no_sampling, nothing_won, won_through
from audit.reporting.numerals import axis_dollars, count_of, percent, whole
from audit.reporting.won import ClassWon, by_class, is_expected, lead_usd, lead_words
from audit.reporting.wording import Report, listed, priced_name

LEDE_LETTERS = 205  # two lines
CLASS_ROWS = 5
REASON_ROWS = 6

WIDTH, LEFT, PLOT_END = 493.2, 132.0, 388.0  # points: 174 mm wide, the marks between their names and their numbers
TOP, ROW, MEASURED_END = 14.0, 15.0, 336.0
NODES_LEFT, NODES_END, NODE_ROW = 62.0, 196.0, 12.0  # in half the width: 83 mm
NAME_ROOM, REJECT_ROOM = 100.0, 160.0

_RESOURCES = {"memory": ("Memory", "GiB-hours"), "cores": ("CPU cores", "core-hours"), "gpus": ("GPUs", "GPU-hours")}


@dataclass(frozen=True)
class Mark:
    """What the figure becomes: from low to high, in points and as cells show it; None with `why`: not known.

    `is_unmeasured`: something should have measured it, and did not.
    """

    label: str
    y: float
    ends: tuple[float, float] | None
    low: float | None
    high: float | None
    why: str
    is_unmeasured: bool


@dataclass(frozen=True)
class Moves:
    """The figure on a scale from 0, and below it what it becomes in other days and at other prices."""

    left: float
    width: float
    figure: float
    usd: float
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    height: float
    alt: str


@dataclass(frozen=True)
class AtPrices:
    """What is recoverable of one node class at its lowest price, the one used and the highest; None: no basis.

    `name` None: several summed. Rates are US dollars an hour, `usd` as cells show them. Where the need was not measured
    (`is_measured` False) nothing is counted, and a sum goes without it.
    """

    name: str | None
    members: int
    nodes: int | None
    rates: tuple[float | None, float | None, float | None]
    usd: tuple[float | None, float | None, float | None]
    is_measured: bool = True


@dataclass(frozen=True)
class Covered:
    """How much of one quantity was measured, 0 to 1 (None: none of it was held), with its bar, and of how many."""

    label: str
    share: float | None
    y: float
    length: float
    detail: str


@dataclass(frozen=True)
class NodeBars:
    """How many nodes have how much of their held dollars measured, as bars; `least` names those with least."""

    bars: tuple[tuple[str, int, LyingBar], ...]
    left: float
    height: float
    nodes: int
    least: tuple[Mapping[str, Any], ...]
    alt: str


def sure(report: Report) -> dict[str, Any]:
    """What the page shows; without a headline nothing is drawn of the figure."""
    head = headline(report)
    prices = _at_prices(report)
    ends = _together(prices).usd if prices else (None, None, None)
    at_prices = None if ends[0] is None or ends[2] is None else (ends[0], ends[2])
    money = dollars(report, [row.usd[2] for row in prices])
    rejects = report["rejects"]["by_reason"]
    return {
        "lede": _lede(report, head, at_prices),
        "headline": head is not None,
        "unit": money.unit,
        "words": lead_words(report),
        "has_advice": is_expected(report) or bool(report.get("sizing")),
        "moves": None if head is None or head.usd <= 0 else _moves(head, at_prices, money, no_sampling(report)),
        "prices": [_in_cells(row, money) for row in _cut(prices)],
        "all_prices": _in_cells(_together(prices), money),
        "sampling": report["recoverable"]["expected_sampling" if is_expected(report) else "sampling"],
        "covered": _covered(report),
        "left": LEFT,
        "measured_width": MEASURED_END - LEFT,
        "floor": LEFT + (MEASURED_END - LEFT) * report["coverage"]["floor"],
        "reasons": _reasons(report),
        "nodes": _nodes(report),
        "reject": fitted(rejects[0]["reason"], REJECT_ROOM, 7.2) if rejects else None,
        "elsewhere": sum(file["other_cluster"] or 0 for file in report["evidence"]),
        "asks_too_little": _asks_too_little(report),
    }


def _lede(report: Report, head: Headline | None, at_prices: tuple[float, float] | None) -> str:
    """How much was measured, and what the figure becomes in other days and at other prices."""
    coverage = report["coverage"]
    if coverage["usd"] is None:
        return "Nothing was held that has a price, so nothing can be said of how much of it was measured."
    part = percent(coverage["usd"]) if coverage["usd"] else "none"
    first = f"Use was measured for {part} of the held dollars"
    if head is None:
        return f"{first}; a headline needs {percent(coverage['floor'], 0)}, so this report has none."
    money = dollars(report)
    parts = []
    if at_prices and at_prices[0] < at_prices[1]:
        parts.append(f"between {_from_to(at_prices, money)} at other prices")
    if head.sampling:
        parts.append(f"between {_from_to(head.sampling, money)} with days drawn anew")
    if not head.high and head.usd >= 0:
        return f"{first}. {nothing_won(report)}"
    what = "What advice is expected to win back" if head.is_expected else "The most that could be won back"
    if not parts:
        return f"{first}. {what} is {money.prose(head.usd)}."
    first = f"{first}. {what}, {money.prose(head.usd)}, lies"
    whole_lede = f"{first} {listed(parts)}."
    return whole_lede if len(whole_lede) <= LEDE_LETTERS else f"{first} {parts[0]}."


def _from_to(ends: tuple[float, float], money: Dollars) -> str:
    low, high = (money.prose(usd).removesuffix(f" {money.per}") for usd in ends)
    return f"{low} and {high}"


def _moves(head: Headline, at_prices: tuple[float, float] | None, money: Dollars, no_days: str) -> Moves:
    queued = None if head.contended_usd is None else (0.0, head.contended_usd)
    spans = (
        *_range(head),
        ("Lowest to highest price", at_prices, "no basis", False),
        ("Sampling error, 5 to 95%", head.sampling, no_days, False),
        ("Part that is contended", queued, "not measured", True),
    )
    most = max(head.usd, *(end for _, ends, *_ in spans for end in ends or ()))
    steps = scale(most * money.factor)
    unit = (PLOT_END - LEFT) * money.factor / steps[-1]
    marks = []
    for number, (label, ends, why, measurable) in enumerate(spans):
        low, high = ends or (None, None)
        drawn = None if ends is None else (LEFT + max(0.0, ends[0]) * unit, LEFT + max(0.0, ends[1]) * unit)
        marks.append(
            Mark(
                label,
                TOP + ROW * (number + 1),
                drawn,
                money.cell(low),
                money.cell(high),
                why,
                measurable and ends is None,
            )
        )
    words = [f"{m.label}: {m.why if m.high is None else f'{whole(m.low or 0.0)} to {whole(m.high)}'}" for m in marks]
    return Moves(
        left=LEFT,
        width=PLOT_END - LEFT,
        figure=LEFT + head.usd * unit,
        usd=head.usd * money.factor,
        marks=tuple(marks),
        ticks=tuple(
            (LEFT + (PLOT_END - LEFT) * step / steps[-1], axis_dollars(step / money.factor * money.month_factor))
            for step in steps
        ),
        height=TOP + ROW * (len(marks) + 1),
        alt=f"{'Expected' if head.is_expected else 'At most'} {whole(head.usd * money.factor)} {money.unit}. "
        f"{'; '.join(words)}.",
    )


def _range(head: Headline) -> list[tuple[str, tuple[float, float], str, bool]]:
    """What is expected lies between low, where that is known, and the ceiling."""
    if not head.is_expected:
        return []
    if head.low is None:
        return [("Up to the ceiling", (head.usd, head.high), "", False)]
    return [("Low to high, the ceiling", (head.low, head.high), "", False)]


def _at_prices(report: Report) -> list[AtPrices]:
    """By node class, most dollars first; where node sizes are unknown, by resource as far as it has one price."""
    if lead_usd(report) is None:
        return []
    if report["cost"]["mode"] == "node":
        return [_at_class_prices(row) for row in by_class(report)]
    names = {"core": "cores", "mem_gib": "memory"}
    of_gpus = [price for price in report["prices"] if price["resource"] not in names]
    found = []
    for price in report["prices"]:
        resource = names.get(price["resource"], "gpus")
        known = resource != "gpus" or len(of_gpus) == 1  # several cards: nothing tells whose dollars they are
        counted = (expected_through if is_expected(report) else won_through)(report, resource)
        mine = counted if known else None
        low, used, high = rates = _rates(price)
        ends = [
            None if mine is None or not used else mine * (used if end is None else end) / used for end in (low, high)
        ]
        name, usd = fitted(priced_name(price), NAME_ROOM), (ends[0], mine, ends[1])
        found.append(AtPrices(name, 1, None, rates, usd, is_measured=counted is not None))
    return found


def _at_class_prices(row: ClassWon) -> AtPrices:
    return AtPrices(fitted(row.name, NAME_ROOM), 1, row.nodes, row.rates, row.usd)


def _rates(price: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    return price["low_usd_per_hour"], price["usd_per_hour"], price["high_usd_per_hour"]


def _cut(rows: list[AtPrices]) -> list[AtPrices]:
    cut = CLASS_ROWS if len(rows) <= CLASS_ROWS else CLASS_ROWS - 1
    return rows[:cut] + ([_together(rows[cut:])] if rows[cut:] else [])


def _together(rows: list[AtPrices]) -> AtPrices:
    counted = [row for row in rows if row.is_measured]
    low, used, high = (_sum(row.usd[place] for row in counted) for place in range(3))
    nodes = _sum(row.nodes for row in rows)
    whole_nodes = None if nodes is None else round(nodes)
    return AtPrices(None, len(rows), whole_nodes, (None, None, None), (low, used, high), is_measured=bool(counted))


def _in_cells(row: AtPrices, money: Dollars) -> AtPrices:
    low, used, high = (money.cell(usd) for usd in row.usd)
    return replace(row, usd=(low, used, high))


def _covered(report: Report) -> list[Covered]:
    """Dollars, then hours of each resource, then jobs."""
    coverage = report["coverage"]
    rows = [("Held dollars", coverage["usd"], f"a headline needs {percent(coverage['floor'], 0)}")]
    by_name = {row["resource"]: row for row in report["measured"]}
    for name, (label, unit) in _RESOURCES.items():
        if row := by_name.get(name):
            of = f"{row['attempts']:,} of {count_of(row['of_attempts'], 'attempt')}"
            rows.append((f"{label}, {unit}", row["held_hours_share"], of if row["of_attempts"] else "none held"))
    rows.append(("Jobs, most of their cost", coverage["jobs"], f"of {count_of(report['jobs'], 'job')}"))
    return [
        Covered(label, share, TOP + ROW * number, (MEASURED_END - LEFT) * (share or 0.0), detail)
        for number, (label, share, detail) in enumerate(rows)
    ]


def _reasons(report: Report) -> list[tuple[str, str, int]]:
    """Resource, reason, attempts: the most attempts first, those beyond the limit as one row."""
    rows = [
        (_RESOURCES.get(row["resource"], (row["resource"], ""))[0], why, attempts)
        for row in report["measured"]
        for why, attempts in row["not_measured"].items()
    ]
    rows.sort(key=lambda row: (-row[2], row[0], row[1]))
    cut = REASON_ROWS if len(rows) <= REASON_ROWS else REASON_ROWS - 1
    rest = rows[cut:]
    return rows[:cut] + ([("", f"{len(rest)} other reasons", sum(row[2] for row in rest))] if rest else [])


def _asks_too_little(report: Report) -> tuple[int, int] | None:
    """How many attempts peaked above what they held, of those whose memory was measured; None where none was."""
    peaks = next((row["attempts"] for row in report["measured"] if row["resource"] == "memory"), 0)
    return (sum(row["asks_too_little"] for row in report["families"]), peaks) if peaks else None


def _nodes(report: Report) -> NodeBars | None:
    found = report["node_coverage"]
    if found is None:
        return None
    edges = [percent(share, 0) for share in found["from_share"]]
    labels = [
        f"under {edges[1]}",
        *(f"{a} to {b}" for a, b in pairwise(edges[1:])),
        f"{edges[-1]} or more",
    ]
    numbers = found["nodes_by_share"]
    bars = lying_bars(numbers, peak=max(1, *numbers), length=NODES_END - NODES_LEFT, first=2.0, pitch=NODE_ROW)
    words = "; ".join(f"{label}: {count_of(number, 'node')}" for label, number in zip(labels, numbers, strict=True))
    return NodeBars(
        bars=tuple(zip(labels, numbers, bars, strict=True)),
        left=NODES_LEFT,
        height=2.0 + NODE_ROW * len(numbers),
        nodes=found["nodes"],
        least=tuple(found["least_measured"][:2]),
        alt=f"Share of held dollars measured, by node. {words}.",
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them is not known: a part is not the whole."""
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)
