"""The four figures under the headline. One that was not measured keeps its tile, with the reason in it."""

from dataclasses import dataclass

from audit.reporting.dollars import Dollars, dollars
from audit.reporting.headline import Headline, headline
from audit.reporting.numerals import MINUS, amount, count_of, percent, whole
from audit.reporting.won import is_expected, lead_words
from audit.reporting.wording import Report, held_of, node_sizes_known, reason, sentence


@dataclass(frozen=True)
class Tile:
    """One figure, already written; `figure` is None where it was not measured and `note` then says why."""

    figure: str | None
    label: str
    note: str


def tiles(report: Report) -> list[Tile]:
    """With a headline: its share, what it frees, coverage, held; without: held, lost, coverage, hours."""
    head, shown = headline(report), dollars(report)
    if head is None:
        return [_held(report, shown), _lost(report, shown), _coverage(report), _hours(report)]
    return [_won(report, head, shown), _freed(report), _coverage(report), _held(report, shown)]


def _won(report: Report, head: Headline, shown: Dollars) -> Tile:
    label = f"of held dollars recoverable, {lead_words(report)}"
    if head.share is None:
        return Tile(None, label, sentence(reason(report, "cost.held_usd") or "What jobs held could not be priced"))
    held = head.usd / head.share if head.share else report["cost"]["held_usd"]
    return Tile(percent(head.share), label, f"{_usd(head.usd, shown)} of {_usd(held, shown)} {shown.per}")


def _freed(report: Report) -> Tile:
    """Whole cards and nodes, as a mean over the window: what the dollars are in hardware."""
    won, name = report["recoverable"], "expected_freed" if is_expected(report) else "freed"
    nodes, gpus, cores = (won[f"{name}_{what}"] for what in ("nodes", "gpus", "cores"))
    label = f"freed on average at any hour, {lead_words(report)}"
    if nodes is None:
        return Tile(
            None, label, "Not known" if node_sizes_known(report) else "Node sizes unknown: each resource by itself"
        )
    of_cores = "" if cores is None else f" and {amount(cores)} cores"
    if gpus:
        return Tile(f"{amount(gpus)} GPUs", label, f"The same as {amount(nodes)} nodes, or these GPUs{of_cores}")
    return Tile(f"{amount(nodes)} nodes", label, f"The same as{of_cores.removeprefix(' and')}" if of_cores else "")


def _coverage(report: Report) -> Tile:
    coverage = report["coverage"]
    label = "of held dollars measured"
    if not coverage["usd"]:
        return Tile(None, "use of what was held", "What was not measured counts as needed")
    parts = [
        f"{name} {percent(coverage[key])}"
        for name, key in (("GPU-hours", "gpu_hours"), ("memory", "mem_hours"), ("core-hours", "core_hours"))
        if coverage[key] is not None
    ]
    floor = coverage["floor"]
    needs = "" if floor is None or coverage["headline_allowed"] else f"; a headline needs {percent(floor, 0)}"
    return Tile(percent(coverage["usd"]), label, f"Of the hours held: {', '.join(parts)}{needs}")


def _held(report: Report, shown: Dollars) -> Tile:
    share, cost = held_of(report), report["cost"]
    if share is None:
        what = "dollars held by jobs" if cost["held_usd"] is not None else "of the capacity was held"
        if cost["held_usd"] is None:
            return Tile(None, what, sentence(reason(report, "cost.held_usd") or "What jobs held could not be priced"))
        return Tile(_usd(cost["held_usd"], shown), f"held by jobs {shown.per}", "Of how much is not known: node sizes")
    of_usd = cost["capacity_usd"] or cost["installed_usd"]
    return Tile(
        percent(share[0]),
        f"of {share[1]} was held",
        f"{_usd(cost['held_usd'], shown)} of {_usd(of_usd, shown)} {shown.per}",
    )


def _lost(report: Report, shown: Dollars) -> Tile:
    label = "of held dollars lost to failed attempts"
    lost, held = report["cost"]["lost_usd"], report["cost"]["held_usd"]
    if lost is None or not held:
        return Tile(None, label, sentence(reason(report, "cost.lost_usd", "cost.held_usd") or "Not priced"))
    attempts = sum(row["attempts"] for row in report["lost"])
    return Tile(percent(lost / held), label, f"{_usd(lost, shown)} {shown.per}, by {count_of(attempts, 'attempt')}")


def _hours(report: Report) -> Tile:
    """GPU-hours held where jobs held any, else core-hours, beside all there were."""
    held = report["hours"]["held"]
    key, unit = ("gpu", "GPU-hours") if held["gpu"] else ("core", "core-hours")
    label = f"{unit} held"
    if held[key] is None:
        why = reason(report, f"hours.held.{key}", "hours.held")
        return Tile(None, label, sentence(why or f"The evidence gives no {unit}"))
    every = (report["hours"]["capacity"] or {}).get(key) or (report["hours"]["installed"] or {}).get(key)
    note = f"In the window, {percent(held[key] / every)} of {whole(every)}" if every else "In the window"
    return Tile(whole(held[key]), label, note)


def _usd(usd: float, shown: Dollars) -> str:
    text = whole(usd * shown.month_factor)
    return f"{MINUS}${text.removeprefix(MINUS)}" if text.startswith(MINUS) else f"${text}"
