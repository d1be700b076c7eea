"""What a report says in words wherever a page needs it: units, prices, coverage, why a value is missing.

Sentences are plain text; the templates escape them. A figure that is NULL is named as not measured with
its reason, and never takes part in a sentence as a number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from audit.reporting.numerals import percent

Report: TypeAlias = Mapping[str, Any]

NOT_MEASURED = "not measured"
_BASIS = {
    "list": "list price",
    "contract": "your own price",
    "mixed": "list price or your own",
    "owned": "cost of ownership",
}
_BENDING = frozenset({"window.from", "window.to", "hours.held", "cost.held_usd", "data_gaps"})
_OPTIONAL = frozenset({"telemetry", "sreport"})  # evidence that a report does without; what is shown of it says why

# By resource: its name, its short name in report.json's keys, and what measures it where nothing did.
_RESOURCE = {
    "memory": (
        "Memory",
        "mem",
        "The peak memory of every step: JobAcctGatherType in slurm.conf, or jobstats’ summaries in AdminComment",
    ),
    "cores": ("CPU cores", "core", "The CPU time of every step: JobAcctGatherType in slurm.conf"),
    "gpus": ("GPUs", "gpu", "The activity and memory of every GPU of a job: jobstats’ summaries in AdminComment"),
}


@dataclass(frozen=True)
class Measured:
    """How far one resource was measured.

    `share` is of the hours held of it, 0 to 1; None: not measured. `held`: any was. `remedy`: what would measure it.
    """

    resource: str
    share: float | None
    held: bool
    remedy: str


def reason(report: Report, *keys: str) -> str | None:
    """Why the first of these dotted keys that has a reason is NULL."""
    reasons: Mapping[str, str] = report.get("reasons") or {}
    return next((reasons[key] for key in keys if reasons.get(key)), None)


def reasons_by_sentence(report: Report) -> list[tuple[list[str], str]]:
    """Every reason once, with the dotted keys it holds for: what bends the figures first, then by key."""
    keys: dict[str, list[str]] = {}
    reasons = {key: why for key, why in (report.get("reasons") or {}).items() if key not in _OPTIONAL}
    for key, why in sorted(reasons.items(), key=lambda item: (item[0] not in _BENDING, item[0])):
        keys.setdefault(why, []).append(key)
    return [(held, why) for why, held in keys.items()]


def sentence(text: str) -> str:
    """`text` as a sentence: a capital first, one full stop last."""
    bare = text.strip().rstrip(".")
    return f"{bare[:1].upper()}{bare[1:]}." if bare else ""


def listed(parts: list[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


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
    """The window's length with its unit: 336 hours, 335.5 hours where they are not whole, minutes below one hour."""
    hours = report["window"]["hours"]
    value, unit = (hours, "hour") if hours >= 1 else (60 * hours, "minute")
    shown = f"{value:,.1f}".removesuffix(".0")
    return f"{shown} {unit}{'' if shown == '1' else 's'}"


def status(report: Report) -> str:
    """What stands at the top of every page: that the data is generated, else that no headline is given, else prices."""
    if report["generated_sample"]:
        return "Generated sample, no real cluster"
    if report["recoverable"]["high_usd"] is None or not report["coverage"]["headline_allowed"]:
        return "No headline: too little was measured"
    return sentence(f"{basis(report)}, US dollars").rstrip(".")


def held_of(report: Report) -> tuple[float, str] | None:
    """The share held, and of what: the capacity, or all installed where down time was not measured."""
    cost = report["cost"]
    for key, name in (("capacity_usd", "the capacity"), ("installed_usd", "what is installed")):
        if cost[key] and cost["held_usd"] is not None:
            return cost["held_usd"] / cost[key], name
    return None


def measured(report: Report) -> list[Measured]:
    """One row a resource: memory, cores, GPUs, then any other."""
    order = [*_RESOURCE, *(row["resource"] for row in report["measured"])]
    rows = sorted(report["measured"], key=lambda row: order.index(row["resource"]))
    return [_measured(report, row) for row in rows]


def coverage_sentence(report: Report) -> str:
    """Which resources were measured for what share of the hours held, in one sentence."""
    parts = []
    for row in measured(report):
        if row.held:
            how = NOT_MEASURED if row.share is None else f"measured for {percent(row.share)} of held hours"
            parts.append(f"{row.resource} {how}")
    return sentence("; ".join(parts)) if parts else "No use was measured."


def _measured(report: Report, row: Mapping[str, Any]) -> Measured:
    resource = row["resource"]
    name, short, remedy = _RESOURCE.get(resource, (resource, resource, ""))
    held = report["hours"]["held"].get({"mem": "mem_gib"}.get(short, short)) != 0 and row["of_attempts"] > 0
    share = row["held_hours_share"] if held and row["attempts"] else None
    return Measured(name, share, held, remedy)
