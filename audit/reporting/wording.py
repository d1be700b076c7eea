"""What a report says in words: the finding, the sentence below it, prices, coverage, why a value is missing.

Sentences are plain text; the templates escape them. A figure that is NULL is named as not measured with
its reason, and never takes part in a sentence as a number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.reporting.numerals import count_of, dollars_prose, percent, whole

Report: TypeAlias = Mapping[str, Any]

NOT_MEASURED = "not measured"
_BASIS = {
    "list": "list price",
    "contract": "your own price",
    "mixed": "list price or your own",
    "owned": "cost of ownership",
}
_RESOURCE = {"memory": ("Memory", "mem"), "cores": ("CPU cores", "core"), "gpus": ("GPUs", "gpu")}


@dataclass(frozen=True)
class Measured:
    """How far one resource was measured. `share` is of the hours held of it, 0 to 1; None: not measured."""

    resource: str
    share: float | None
    detail: str


def reason(report: Report, *keys: str) -> str | None:
    """Why the first of these dotted keys that has a reason is NULL."""
    reasons: Mapping[str, str] = report.get("reasons") or {}
    return next((reasons[key] for key in keys if reasons.get(key)), None)


_BENDING = frozenset({"window.from", "window.to", "hours.held", "cost.held_usd", "data_gaps"})


def reasons_by_sentence(report: Report) -> list[tuple[list[str], str]]:
    """Every reason once, with the dotted keys it holds for: what bends the figures first, then by key."""
    keys: dict[str, list[str]] = {}
    reasons = (report.get("reasons") or {}).items()
    for key, why in sorted(reasons, key=lambda item: (item[0] not in _BENDING, item[0])):
        keys.setdefault(why, []).append(key)
    return [(held, why) for why, held in keys.items()]


def sentence(text: str) -> str:
    """`text` as a sentence: a capital first, one full stop last."""
    bare = text.strip().rstrip(".")
    return f"{bare[:1].upper()}{bare[1:]}." if bare else ""


def basis(report: Report) -> str:
    """The price basis in words: list price."""
    name = str(report["cost"]["basis"])
    return _BASIS.get(name, name)


def priced_name(price: Mapping[str, Any]) -> str:
    """What a price is for: a node class, or one unit of a resource."""
    name = str(price.get("node_class") or price.get("resource") or "(no name)")
    return {"core": "Core", "mem_gib": "Memory, GiB", "gpu": "GPU"}.get(name, name)


def node_sizes_known(report: Report) -> bool:
    """Whether nodes are priced whole; otherwise each resource has its rate and nothing unheld is known."""
    return bool(report["cost"]["mode"] == "node")


def window_hours(report: Report) -> str:
    """The window's length: 336, or 335.5 where it is not whole hours."""
    return f"{report['window']['hours']:,.1f}".removesuffix(".0")


def held_of(report: Report) -> tuple[float, str] | None:
    """The share held, and of what: the capacity, or all installed where down time was not measured."""
    cost = report["cost"]
    for key, name in (("capacity_usd", "the capacity"), ("installed_usd", "what is installed")):
        if cost[key] and cost["held_usd"] is not None:
            return cost["held_usd"] / cost[key], name
    return None


def finding(report: Report) -> str:
    """The page's title: what was held, and for how much of it the use was measured."""
    share = held_of(report)
    held = report["cost"]["held_usd"]
    if share is not None:
        first = f"Jobs held {percent(share[0], 0)} of {share[1]}"
    elif held is not None:
        first = f"Jobs held {_resources(report)} worth {dollars_prose(held)}"
    else:
        first = "What jobs held could not be priced"
    covered = report["coverage"]["usd"]
    if not covered:
        return f"{first}; what they used of it was not measured."
    if covered >= 1:
        return f"{first}; their use was measured throughout."
    return f"{first}; their use was measured for {percent(covered, 0)} of that."


def lede(report: Report) -> str:
    """Where the installed dollars went; what is not known is left out here and named beside the chart."""
    cost = report["cost"]
    outside = [
        f"{dollars_prose(cost[key])} {words}"
        for key, words in (("held_usd", "was held by jobs"), ("idle_usd", "idle"), ("down_usd", "down"))
        if cost[key] is not None
    ]
    if not node_sizes_known(report):
        first = "Node sizes unknown: only what was held is priced."
    elif cost["installed_usd"] is None:
        first = f"{_listed(outside)}."
    else:
        first = f"Of {dollars_prose(cost['installed_usd'])} installed, {_listed(outside)}."
    lost, blind = cost["lost_usd"], cost["not_measured_usd"]
    inside = []
    if lost is not None:
        inside.append(f"{dollars_prose(lost) if lost else 'nothing'} was lost to failed attempts")
    if blind:
        everything = cost["held_usd"] is not None and blind >= cost["held_usd"]
        inside.append(f"for {'all of it' if everything else dollars_prose(blind)} the use was not measured")
    return f"{first} Of what jobs held, {_listed(inside)}." if inside else first


def no_recoverable_figure(report: Report) -> str:
    """Why the page gives no recoverable figure: the coverage's reason first, then this edition's limit."""
    limit = "this edition does not yet model what jobs need"
    coverage = report["coverage"]
    if coverage["headline_allowed"]:
        return sentence(limit)
    why = coverage["reason"] or "too little of what jobs held was measured"
    return f"{sentence(why)} Also, {limit}."


def measured(report: Report) -> list[Measured]:
    """One row a resource: memory, cores, GPUs, then any other."""
    order = [*_RESOURCE, *(row["resource"] for row in report["measured"])]
    rows = sorted(report["measured"], key=lambda row: order.index(row["resource"]))
    return [_measured(report, row) for row in rows]


def coverage_sentence(report: Report) -> str:
    """Which resources were measured for what share of the hours held, in one sentence."""
    parts = []
    for row in measured(report):
        how = NOT_MEASURED if row.share is None else f"measured for {percent(row.share)} of held hours"
        parts.append(f"{row.resource} {how}")
    return sentence("; ".join(parts)) if parts else "No use was measured."


def _measured(report: Report, row: Mapping[str, Any]) -> Measured:
    resource = row["resource"]
    name, short = _RESOURCE.get(resource, (resource, resource))
    held = report["hours"]["held"].get({"mem": "mem_gib"}.get(short, short))
    if held == 0:
        return Measured(name, None, "none held")
    if not row["attempts"] or row["held_hours_share"] is None:
        why = reason(report, f"efficiency.{short}", f"measured.{resource}", f"coverage.{short}_hours")
        return Measured(name, None, sentence(why or "No attempt in the evidence carries a value"))
    used = (report.get("efficiency") or {}).get(short)
    tail = "" if used is None else f"; {percent(used)} of it used"
    detail = f"{row['attempts']:,} of {count_of(row['of_attempts'], 'attempt')}{tail}"
    return Measured(name, row["held_hours_share"], detail)


def lost_causes(report: Report, top: int = 5) -> str | None:
    """Lost dollars by how attempts ended: TIMEOUT 812 (31 attempts); …"""
    rows = sorted(report["lost"], key=lambda row: (-(row["usd"] or 0.0), row["cause"]))
    shown = [_cause(row["cause"], [row]) for row in rows[:top]]
    if rows[top:]:
        shown.append(_cause(count_of(len(rows) - top, "more cause"), rows[top:]))
    return "; ".join(shown) or None


def _cause(name: str, rows: list[Mapping[str, Any]]) -> str:
    dollars = [row["usd"] for row in rows if row["usd"] is not None]
    usd = whole(sum(dollars)) if len(dollars) == len(rows) else "not priced"
    return f"{name} {usd} ({count_of(sum(row['attempts'] for row in rows), 'attempt')})"


def _resources(report: Report) -> str:
    """Which resources jobs held any of: cores, memory and GPUs."""
    held = report["hours"]["held"]
    names = (("core", "cores"), ("mem_gib", "memory"), ("gpu", "GPUs"))
    return _listed([name for key, name in names if held[key]]) or "resources"


def _listed(parts: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
