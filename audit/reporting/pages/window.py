"""The page on the measurement window: what collectors watched of each node, what they cost, what stayed unexplained."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from audit.reporting.fitting import fitted
from audit.reporting.hostile import visible
from audit.reporting.numerals import count_of, percent, whole
from audit.reporting.period import local_time
from audit.reporting.wording import Report

NODE_ROWS = 36
KIND_ROWS = 4
LEFT, END = 66.0, 322.0  # points, of 493.2 (174 mm): the bars between the nodes' names and their numbers
TOP, ROW, TALLEST, BARS = 13.0, 8.6, 12.0, 300.0  # a row is taller where there are few
NAME_ROOM, REASON_ROOM, KIND_ROOM = 60.0, 66.0, 240.0  # of a kind, two lines
SMALL = 7.4  # the size of text beside the bars
_LEAST = 0.7  # points: no gap is drawn thinner
_MOST_TICKS = 8
_REASONS = {
    "late": "node too busy",
    "clock": "clock step",
    "disk_full": "disk full",
    "ended": "ended before",
    "removed": "data removed on the node",
}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class NodeRow:
    """One node's line: its name and numbers as text, and where in points it was not watched (start, width)."""

    y: float
    name: str
    coverage: str
    gaps: str
    longest: str
    unwatched: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Picture:
    """A line a node over the window; `rest` sums up the nodes that are not drawn."""

    rows: tuple[NodeRow, ...]
    ticks: tuple[tuple[float, str], ...]
    thick: float
    base: float
    height: float
    rest: str
    alt: str


@dataclass(frozen=True)
class Cost:
    """One measure of what collectors cost: over all nodes, and on the node where it is worst; None: not measured."""

    name: str
    over_all: str | None
    worst: str | None


@dataclass(frozen=True)
class Kind:
    """What could not be laid to an attempt, of one kind or of several (name None)."""

    name: str | None
    members: int
    intervals: float
    hours: float


def window(report: Report) -> dict[str, Any] | None:
    """What the page shows; None where no collector watched."""
    found = report["telemetry"]
    if found is None:
        return None
    kinds = [Kind(fitted(r["kind"], KIND_ROOM), 1, r["intervals"], r["hours"]) for r in found["unattributed"]]
    return {
        "lede": _lede(found),
        "picture": _picture(found, report),
        "left": LEFT,
        "end": END,
        "costs": _costs(found["overhead"]),
        "kinds": _cut(kinds),
        "clock": _clock(found),
        "memory": _memory(found["memory"]),
    }


def watched(report: Report) -> str | None:
    """Page one's line: what was watched, and what that cost as measured; None without collectors."""
    found = report["telemetry"]
    if found is None or found["coverage"] is None:
        return None
    first = f"Collectors watched {percent(found['coverage'])} of node-hours"
    cost = found["overhead"]
    if cost is None or cost["cpu_share"] is None:
        return f"{first}; what they took was not measured"
    return f"{first} at {percent(cost['cpu_share'], 2)} of one core, worst {percent(cost['worst_cpu_share'], 2)}"


def _lede(found: Row) -> str:
    first = f"Collectors watched {percent(found['coverage'] or 0.0)} of {_node_hours(found)}."
    longest = max(found["by_node"], key=lambda row: row["longest_gap_s"] or 0.0)
    if not longest["longest_gap_s"]:
        return f"{first} There is no gap."
    unwatched = found["nodes"] - found["watched_nodes"]
    if unwatched:
        return f"{first} On {count_of(unwatched, 'node')} there was no collector."
    gap = f"{duration(longest['longest_gap_s'])} on {visible(longest['node'], 24)} ({_why(longest['gap_reason'])})"
    return f"{first} The longest gap is {gap}."


def _node_hours(found: Row) -> str:
    return f"the {whole(found['window_hours'])} node-hours of {count_of(found['nodes'], 'node')}"


def _picture(found: Row, report: Report) -> Picture:
    start, end = (datetime.fromisoformat(report["window"][key]) for key in ("from", "to"))
    nodes = found["by_node"]
    cut = min(len(nodes), NODE_ROWS) if len(nodes) <= NODE_ROWS else NODE_ROWS - 1
    pitch = min(TALLEST, max(ROW, BARS / (cut + 1)))
    rows = tuple(_row(row, TOP + pitch * number, start, end) for number, row in enumerate(nodes[:cut]))
    rest = nodes[cut:]
    others = ""
    if rest:
        hours = math.fsum(row["window_hours"] for row in rest)
        share = percent(math.fsum(row["watched_hours"] for row in rest) / hours) if hours else "none"
        others = f"{count_of(len(rest), 'other node')}, watched {share}; each for more than those above"
    base = TOP + pitch * len(rows) + 1
    worst = "; ".join(f"{row.name} {row.coverage}" for row in rows[:3])
    alt = f"Watched time by node, least first: {worst}. {others}".strip()
    ticks = _ticks(start, end, report["timezone"])
    return Picture(rows, ticks, pitch - 3.6, base, base + (pitch if others else 0), others, alt)


def _row(row: Row, y: float, start: datetime, end: datetime) -> NodeRow:
    spans = []
    for gap in row["gap_spans"]:
        first, last = (place(datetime.fromisoformat(gap[key]), start, end) for key in ("from", "to"))
        spans.append((first, max(_LEAST, last - first)))
    longest = row["longest_gap_s"]
    why = f"{duration(longest)}, {fitted(_why(row['gap_reason']), REASON_ROOM, SMALL)}" if longest else ""
    coverage = "none" if not row["coverage"] else percent(row["coverage"])
    return NodeRow(y, fitted(row["node"], NAME_ROOM, SMALL), coverage, whole(row["gaps"]), why, tuple(spans))


def place(at: datetime, start: datetime, end: datetime) -> float:
    """Where an instant lies along the bars, in points; the window is their whole length."""
    part = (at - start) / (end - start) if end > start else 0.0
    return LEFT + (END - LEFT) * min(1.0, max(0.0, part))


def _ticks(start: datetime, end: datetime, timezone: str) -> tuple[tuple[float, str], ...]:
    """Midnights at the site with their date, so many that their words do not touch; of less than two days, hours."""
    here = local_time(start, timezone)
    days = (end - start) / timedelta(days=1)
    if days < 2:
        step, first = timedelta(hours=max(1, math.ceil(24 * days / _MOST_TICKS))), here.replace(minute=0, second=0)
    else:
        step, first = timedelta(days=math.ceil(days / _MOST_TICKS)), here.replace(hour=0, minute=0, second=0)
    ticks, at = [], first if first >= here else first + step
    while at < end:
        ticks.append((place(at, start, end), f"{at:%H:%M}" if days < 2 else f"{at.day} {at:%b}"))
        at += step
    return tuple(ticks)


def duration(seconds: float) -> str:
    """A length of time in one unit: 42 s, 12 min, 3.5 h, 2.1 days."""
    for size, unit, decimals in ((172800.0, "days", 1), (3600.0, "h", 1), (60.0, "min", 0)):
        if seconds >= size:
            return f"{seconds / min(size, 86400.0):.{decimals}f} {unit}"
    return f"{seconds:.0f} s"


def _why(reason: str | None) -> str:
    return "reason not known" if reason is None else _REASONS.get(reason, reason)


def _costs(cost: Row | None) -> list[Cost]:
    if cost is None:
        return []
    node = f" ({fitted(cost['worst_node'], 52.0)})" if cost["worst_node"] is not None else ""
    return [
        Cost("CPU, of one core", _part(cost["cpu_share"]), None if cost["worst_cpu_share"] is None
             else f"{_part(cost['worst_cpu_share'])}{node}"),
        Cost("Memory, resident", "", _mebi(cost["rss_bytes_max"])),
        Cost("Written a day", _mega(cost["written_bytes_per_day"]), _mega(cost["worst_written_bytes_per_day"])),
        Cost("Samples missed", None if cost["missed"] is None else whole(cost["missed"]), ""),
        Cost("Latest sample", "", None if cost["late_max_s"] is None else f"{cost['late_max_s']:.1f} s late"),
    ]  # fmt: skip


def _part(share: float | None) -> str | None:
    return None if share is None else percent(share, 2)


def _mebi(size: float | None) -> str | None:
    return None if size is None else f"{size / 2**20:.1f} MiB"


def _mega(size: float | None) -> str | None:
    return None if size is None else f"{size / 1e6:.1f} MB"


def _cut(kinds: Sequence[Kind]) -> list[Kind]:
    cut = KIND_ROWS if len(kinds) <= KIND_ROWS else KIND_ROWS - 1
    rest = kinds[cut:]
    if not rest:
        return list(kinds)
    other = Kind(None, len(rest), sum(k.intervals for k in rest), math.fsum(k.hours for k in rest))
    return [*kinds[:cut], other]


def _clock(found: Row) -> str:
    if not found["clock_steps"]:
        return "No clock was stepped."
    return f"Clocks were stepped {count_of(found['clock_steps'], 'time')} on {count_of(found['clock_nodes'], 'node')}; \
what was seen stands at the time that the node’s clock shows for most of its run."


def _memory(found: Row) -> dict[str, str] | None:
    """The cgroup's peaks beside accounting's, as texts; None where no attempt has both."""
    if not found["attempts"]:
        return None
    lower, attempts = found["lower_p50_share"], found["attempts"]
    if lower is None or abs(lower) < 0.0005:
        said = "the same"
    else:
        said = f"{'lower' if lower > 0 else 'higher'} by {percent(abs(lower))}"
    return {
        "said": said,
        "cgroup": _gibi(found["cgroup_p50_bytes"]),
        "accounting": _gibi(found["accounting_p50_bytes"]),
        "attempts": count_of(attempts, "attempt"),
        "missed": f"{whole(found['missed_attempts'])} of {whole(attempts)}",
        "alone": count_of(found["only_cgroup_attempts"], "attempt"),
    }


def _gibi(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"
