"""The four figures under the headline. One that was not measured keeps its tile, with the reason in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.numerals import percent, whole
from audit.reporting.wording import Report, held_of, reason, sentence


@dataclass(frozen=True)
class Tile:
    """One figure, already written; `figure` is None where it was not measured and `note` then says why."""

    figure: str | None
    label: str
    note: str


def tiles(report: Report) -> list[Tile]:
    """Held of capacity, GPU-hours held, core-hours held, coverage."""
    return [
        _held(report),
        _hours(report, "gpu", "GPU-hours"),
        _hours(report, "core", "core-hours"),
        _coverage(report),
    ]


def _held(report: Report) -> Tile:
    share = held_of(report)
    if share is None:
        why = reason(report, "cost.capacity_usd", "hours.capacity", "slice.nodes", "slice.cores")
        return Tile(None, "of the capacity was held", sentence(why or "Node sizes unknown"))
    cost = report["cost"]
    whole_usd = cost["capacity_usd"] or cost["installed_usd"]
    note = f"${whole(cost['held_usd'])} of ${whole(whole_usd)}"
    return Tile(percent(share[0]), f"of {share[1]} was held", note)


def _hours(report: Report, resource: str, unit: str) -> Tile:
    hours: Mapping[str, Any] = report["hours"]
    held = (hours["held"] or {}).get(resource)
    label = f"{unit} held"
    if held is None:
        why = reason(report, f"hours.held.{resource}", "hours.held")
        return Tile(None, label, sentence(why or f"The evidence gives no {unit}"))
    capacity = (hours["capacity"] or {}).get(resource)
    installed = (hours["installed"] or {}).get(resource)
    if capacity:
        note = f"{percent(held / capacity)} of a capacity of {whole(capacity)}"
    elif installed:
        note = f"{percent(held / installed)} of {whole(installed)} installed"
    elif installed == 0:
        note = "None in the slice"
    elif held == 0:
        note = "No job held any"
    else:
        note = "Of how many is not known: node sizes unknown"
    return Tile(whole(held), label, note)


def _coverage(report: Report) -> Tile:
    coverage = report["coverage"]
    label = "of held dollars measured"
    if not coverage["usd"]:
        why = reason(report, "coverage.usd") or coverage["reason"]
        return Tile(None, "use of what was held", sentence(why or "No use was measured"))
    floor = coverage["floor"]
    note = "" if floor is None else f"A recoverable figure needs {percent(floor, 0)}"
    return Tile(percent(coverage["usd"]), label, note)
