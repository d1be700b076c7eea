"""The page on GPUs: how active those were that jobs held, which were never touched, and their memory peaks."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.reporting import wording
from audit.reporting.charts import Column, Histogram, histogram, hours_scale, short_hours
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.fitting import fitted
from audit.reporting.hostile import visible
from audit.reporting.numerals import count_of, percent, whole
from audit.reporting.wording import Report

WIDTH = 493.2  # 174 mm, the text's width
PARTITIONS = {False: 6, True: 4}  # rows, where telemetry has more to say fewer
CARDS = 4
PARTITION_ROOM = 110.0  # points, of a name
_PLOT_HEIGHT = {False: 112.0, True: 90.0}
_CARD_HEIGHT = 70.0
_CARD_GUTTER = 11.34  # 4 mm
_SOURCES = {
    "telemetry": "samples of every GPU",
    "jobstats": "jobstats’ summaries in the accounting",
    "accounting": "the accounting’s own GPU figures",
}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class UntouchedRow:
    """Attempts with a GPU that was never touched, of those measured, in one partition or several (name None)."""

    partition: str | None
    members: int
    attempts: int
    of_attempts: int
    gpu_hours: float | None
    of_gpu_hours: float | None
    share: float | None
    usd: float | None


@dataclass(frozen=True)
class Card:
    """Memory peaks on one type of card; `chart` None where none was measured. `half` and `full` are GiB as text."""

    name: str
    finding: str
    chart: Histogram | None
    half: str
    full: str


@dataclass(frozen=True)
class Held:
    """GPU-hours of one kind as telemetry saw them (None: not measured), of so many in which it was measured."""

    what: str
    gpu_hours: float | None
    of_gpu_hours: float
    share: float | None


def gpus(report: Report) -> dict[str, Any] | None:
    """What the page shows; None where no attempt held a GPU."""
    found = report["gpus"]
    if found is None:
        return None
    rows = [_row([row], fitted(row["partition"] or "(none)", PARTITION_ROOM)) for row in found["never_touched"]]
    money = dollars(report, [row.usd for row in rows])
    total = _row(found["never_touched"], None)
    cards = sorted(found["vram"], key=lambda card: (-_hours(card), card["card"]))
    held = report["hours"]["held"]["gpu"]
    waits = _waits(report["telemetry"])
    return {
        "lede": _lede(report, total, money),
        "held": held,
        "activity": _activity(found, _PLOT_HEIGHT[bool(waits)]),
        "why": wording.reason(report, "efficiency.gpu") or "nothing watched the GPUs that jobs held",
        "sources": _sources(report),
        "rows": _cut(found["never_touched"], rows, money, PARTITIONS[bool(waits)]),
        "total": _priced(total, money),
        "unit": money.unit,
        "waits": waits,
        "cards": _cards(cards[:CARDS]),
        "card_width": _card_width(cards[:CARDS]),
        "more_cards": len(cards[CARDS:]),
        "without_card": _without_card(held, cards),
    }


def _lede(report: Report, total: UntouchedRow, money: Dollars) -> str:
    never, of = report["gpus"]["never_touched_gpu_hours"], total.of_gpu_hours
    held, allowed = report["hours"]["held"]["gpu"], report["coverage"]["headline_allowed"]
    if never is None:
        hours = "the GPU-hours" if held is None else f"the {_gpu_hours(held)}"
        return f"No GPU was watched: what became of {hours} that jobs held is not known."
    if not never:
        return "Jobs touched every GPU that they held, as far as it was measured."
    share = f"{percent(never / of, 0)} of the GPU-hours" if of else f"{_gpu_hours(never)} of those"
    first = f"Jobs never touched {share} that they held and that were measured."
    if not total.usd or not allowed:
        return first
    return f"{first} Asking for fewer GPUs could win back at most {money.prose(total.usd)}."


def _activity(found: Row, height: float) -> Histogram | None:
    """GPU-hours by mean activity, those never touched and those not measured apart; None where none was measured."""
    never, tenths = found["never_touched_gpu_hours"], found["activity_gpu_hours"] or []
    if never is None or None in tenths:
        return None
    columns = [Column(never, short_hours(never), ("never", "touched"), "untouched")]
    columns += [
        Column(hours, short_hours(hours), (f"{10 * tenth}–{10 * tenth + 10}",), "used", apart=tenth == 0)
        for tenth, hours in enumerate(tenths)
    ]
    unknown, missing = found["activity_unknown_gpu_hours"], found["not_measured_gpu_hours"]
    if unknown:
        columns.append(Column(unknown, short_hours(unknown), ("touched, not", "known how"), "unmeasured", apart=True))
    if missing is not None:
        columns.append(Column(missing, short_hours(missing), ("not", "measured"), "unmeasured", apart=True))
    words = "; ".join(f"{' '.join(column.words)}: {column.shown}" for column in columns)
    return histogram(
        columns,
        hours_scale(max(column.value for column in columns)),
        left=32.0,
        right=WIDTH,
        top=13.0,
        height=height,
        gap=22.0,
        alt=f"GPU-hours by mean activity in percent. {words}",
    )


def _waits(telemetry: Row | None) -> list[Held]:
    """What slowed GPUs down or kept them waiting, by telemetry; and how many hours were of instances or shared."""
    found = None if telemetry is None else telemetry["gpus"]
    if found is None:
        return []
    every = [
        ("Throttled by heat, power brake or hardware", "throttled", found["throttle_measured_gpu_hours"]),
        ("I/O-bound, quiet while the node waited", "io_bound", found["io_measured_gpu_hours"]),
        ("In MIG mode", "mig", found["watched_gpu_hours"]),
        ("Shared by several jobs", "shared", found["watched_gpu_hours"]),
    ]
    rows = []
    for what, key, of_hours in every:
        hours = found[f"{key}_gpu_hours"]
        if hours or key in ("throttled", "io_bound"):
            rows.append(Held(what, hours, of_hours, hours / of_hours if of_hours and hours is not None else None))
    return rows


def _sources(report: Report) -> str | None:
    """What measured the GPUs, most attempts first."""
    row = next((row for row in report["measured"] if row["resource"] == "gpus"), None)
    every = sorted((row or {}).get("sources", {}).items(), key=lambda item: (-item[1], item[0]))
    parts = [f"{_SOURCES.get(name, name)} ({count_of(attempts, 'attempt')})" for name, attempts in every]
    return "; ".join(parts) or None


def _row(rows: Sequence[Row], partition: str | None) -> UntouchedRow:
    hours, of_hours, usd = (_sum(row[key] for row in rows) for key in ("gpu_hours", "of_gpu_hours", "usd"))
    return UntouchedRow(
        partition=partition,
        members=len(rows),
        attempts=sum(row["attempts"] for row in rows),
        of_attempts=sum(row["of_attempts"] for row in rows),
        gpu_hours=hours,
        of_gpu_hours=of_hours,
        share=hours / of_hours if of_hours and hours is not None else None,
        usd=usd,
    )


def _cut(every: Sequence[Row], rows: Sequence[UntouchedRow], money: Dollars, most: int) -> list[UntouchedRow]:
    cut = most if len(rows) <= most else most - 1
    rest = [_row(every[cut:], None)] if every[cut:] else []
    return [_priced(row, money) for row in [*rows[:cut], *rest]]


def _priced(row: UntouchedRow, money: Dollars) -> UntouchedRow:
    return UntouchedRow(**{**vars(row), "usd": money.cell(row.usd)})


def _cards(cards: Sequence[Row]) -> list[Card]:
    """One chart a card on one scale: percent of the GPU-hours held of it, by eighths of its memory."""
    shares = [_shares(card) for card in cards]
    peak = max((share for part in shares if part is not None for share in part), default=1.0)
    return [_card(card, part, peak, _card_width(cards)) for card, part in zip(cards, shares, strict=True)]


def _card(card: Row, shares: list[float] | None, peak: float, width: float) -> Card:
    gib = card["mem_bytes"] / 2**30
    half, full = (f"{size:g}" for size in (gib / 2, gib))
    name = f"{visible(card['card'], 24)}, {full} GiB"
    if shares is None:
        return Card(name, f"{_gpu_hours(_hours(card))} held", None, half, full)
    columns = [
        Column(share, percent(share, 0)[:-1], (), "spare" if eighth < 4 else "used")
        for eighth, share in enumerate(shares[:8])
    ]
    columns.append(Column(shares[8], percent(shares[8], 0)[:-1], ("not", "measured"), "unmeasured", apart=True))
    finding = f"{percent(math.fsum(shares[:4]), 0)} of hours peaked below half"
    eighths = ", ".join(column.shown for column in columns[:8])
    chart = histogram(
        columns,
        [(0.0, ""), (peak, "")],
        left=0.0,
        right=width - 8,
        top=16.0,
        height=_CARD_HEIGHT,
        gap=6.0,
        alt=f"{name}: percent of GPU-hours by memory peak in eighths: {eighths}; not measured: {columns[8].shown}",
    )
    return Card(name, finding, chart, half, full)


def _card_width(cards: Sequence[Row]) -> float:
    across = max(3, len(cards))
    return (WIDTH - _CARD_GUTTER * (across - 1)) / across


def _shares(card: Row) -> list[float] | None:
    """Of the card's GPU-hours: eight eighths, then not measured; None where none was measured."""
    parts = [*card["gpu_hours"], card["not_measured_gpu_hours"]]
    if None in parts or not math.fsum(parts[:8]):
        return None
    return [part / math.fsum(parts) for part in parts]


def _hours(card: Row) -> float:
    return _sum([*card["gpu_hours"], card["not_measured_gpu_hours"]]) or 0.0


def _without_card(held: float | None, cards: Sequence[Row]) -> float:
    """GPU-hours held of no known whole card: parts of cards, and types whose memory is not known."""
    rest = 0.0 if held is None else held - math.fsum(_hours(card) for card in cards)
    return rest if rest >= 0.5 else 0.0


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them was not measured: a part is not the whole."""
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)


def _gpu_hours(hours: float) -> str:
    """GPU-hours with their noun: 62,232 GPU-hours."""
    return f"{whole(hours)} GPU-hour{'' if whole(hours) == '1' else 's'}"
