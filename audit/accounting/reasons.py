"""Why a figure is missing, or leaves something out: one sentence for each, by the figure's dotted key."""

from dataclasses import dataclass
from typing import Any

from audit.accounting.in_advance import DOLLARS, NOTHING_MEASURED, TOLD, Advance
from audit.accounting.priced import CostMode

MONTH_FROM_HOURS = 168  # a shorter window says too little of a month
INCOMPLETE_HOURS = 24  # a default window that reaches further before the first end is no basis for a month
SILENT_HOURS = 3  # after the last time the accounting names, before idle there has to be explained
_NODE_FIGURES = (
    "slice.gpus",
    "slice.cores",
    "slice.mem_gib",
    "hours.installed",
    "hours.capacity",
    "hours.down",
    "cost.installed_usd",
    "cost.capacity_usd",
    "cost.down_usd",
    "cost.idle_usd",
    "cost.idle_reserved_usd",
    "recoverable.freed_nodes",
    "by_hour_of_week",
)
_DOWN_FIGURES = (
    "hours.down",
    "hours.capacity",
    "cost.down_usd",
    "cost.capacity_usd",
    "cost.idle_usd",
    "cost.idle_reserved_usd",
)

_OF_ADVICE = (*DOLLARS, *TOLD, "expected_contended_usd", "expected_sampling", "sensitivity")


@dataclass(frozen=True)
class LeftOut:
    """How many attempts a figure leaves out in part: without a node list, beyond a node's size, held for 0 s.

    `unknown` names what audit.toml speaks of and nothing in the slice is: key, names, and what there is. `no_sreport`:
    why Slurm's own roll-up is not held beside the hours.
    """

    unplaced: int
    over_size: int
    over_size_node: str | None
    held_nothing: int
    unknown: tuple[tuple[str, list[str], list[str]], ...]
    advance: Advance
    no_sreport: str | None


def reasons_for(report: dict[str, Any], mode: CostMode, left_out: LeftOut) -> dict[str, str]:
    """The reason of every NULL of `report` that a reader could ask about, and of what a figure leaves out."""
    reasons: dict[str, str] = {}
    if mode.mode == "unbundled":
        sentence = f"{mode.reason}: give the output of scontrol show node, or [[nodes]] in audit.toml"
        reasons |= dict.fromkeys(_NODE_FIGURES, sentence)
        reasons["cost.mode"] = f"what was held is priced by resource, since {mode.reason}"
    elif report["cost"]["down_usd"] is None:
        sentence = "no node states in the evidence: down and idle cannot be told apart"
        reasons |= dict.fromkeys(_DOWN_FIGURES, sentence)
    if mode.mode == "node" and left_out.unplaced:
        reasons["cost.held_usd"] = (
            f"attempts without a node list: {left_out.unplaced}; their hours are counted, their cost is not"
        )
    if left_out.over_size:
        reasons["hours.held"] = (
            f"attempts that held more than the size known of their nodes (such as {left_out.over_size_node}): "
            f"{left_out.over_size}; what is beyond it is left out of hours and cost: check the node sizes"
        )
    if left_out.held_nothing:
        reasons["attempts"] = f"attempts that never ran, or for 0 seconds, held nothing: {left_out.held_nothing}"
    for resource, hours in report["hours"]["held"].items():
        if hours is None:
            reasons[f"hours.held.{resource}"] = "no allocation in the accounting states it"
    window = report["window"]
    if window["is_default"] and window["incomplete_hours"] > INCOMPLETE_HOURS:
        reasons["window.from"] = (
            f"before {window['complete_from']}, when the first attempt ended, the accounting holds only attempts "
            f"that ended later; set from = {window['complete_from']} under [window] in audit.toml"
        )
    if window["silent_hours"] > SILENT_HOURS:
        reasons["window.to"] = (
            f"the last {window['silent_hours']:.1f} hours of the window come after the last time that the accounting "
            "names: they count as idle; set to under [window] in audit.toml if the dumps end there"
        )
    if report["cost"]["held_usd_per_month"] is None:
        reasons["cost.held_usd_per_month"] = (
            "the window begins before the accounting is complete"
            if "window.from" in reasons
            else f"a window of less than {MONTH_FROM_HOURS // 24} days says too little of a month"
        )
    for key, names, known in left_out.unknown:
        there = f": there are {', '.join(known[:8])}" + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        reasons[key] = f"{key} in audit.toml names {', '.join(names)}, which nothing in the evidence is{there}"
    reasons |= _unmeasured(report)
    reasons |= _not_estimated(report["recoverable"], left_out.advance)
    reasons |= _unwatched(report["telemetry"]) | ({"sreport": left_out.no_sreport} if left_out.no_sreport else {})
    if report["data_gaps"]:
        days = len(report["data_gaps"])
        reasons["data_gaps"] = (
            f"in {days} stretch{'es' if days > 1 else ''} of whole days the accounting holds no row: "
            "left out of installed, down and idle alike"
        )
    return reasons


def _not_estimated(won: dict[str, Any], advance: Advance) -> dict[str, str]:
    """Of the recoverable figures."""
    found = {}
    if advance.reason:
        found = {f"recoverable.{key}": advance.reason for key in _OF_ADVICE}
    if advance.low_reason:
        found |= dict.fromkeys(("recoverable.low_usd", "recoverable.low_kills"), advance.low_reason)
    if advance.bold_reason:
        found["recoverable.policy_too_bold"] = advance.bold_reason
    if advance.missing:
        found["recoverable.abstained"] = (
            f"attempts that came after the model was trained, so that its replay lacks them: {advance.missing}; they "
            "keep what they asked for: run `audit train` again"
        )
    if won["high_usd"] is None:
        keys = ("recoverable.high_usd", "recoverable.contended_usd", "recoverable.sampling")
        return found | dict.fromkeys(keys, NOTHING_MEASURED)
    if won["contended_usd"] is None:
        unsaid = "the accounting does not say since when requests were eligible to start"
        found["recoverable.contended_usd"] = unsaid
        found.setdefault("recoverable.expected_contended_usd", unsaid)
    if won["sampling"] is None:
        few = "too few days to say how much the figure depends on which were watched"
        found["recoverable.sampling"] = few
        found.setdefault("recoverable.expected_sampling", few)
    return found


def _unwatched(found: dict[str, Any] | None) -> dict[str, str]:
    """Of the measurement window."""
    if found is None:
        return {"telemetry": "no collector's segments in the evidence: see `audit deploy`"}
    reasons, gpus = {}, found["gpus"]
    if found["overhead"] is None:
        reasons["telemetry.overhead"] = "no collector on the nodes of the slice tells what it took"
    if gpus is not None and gpus["throttled_gpu_hours"] is None:
        reasons["telemetry.gpus.throttled_gpu_hours"] = "the driver told of no GPU why its clocks were slowed"
    if gpus is not None and gpus["io_bound_gpu_hours"] is None:
        reasons["telemetry.gpus.io_bound_gpu_hours"] = (
            "no touched GPU's activity was measured together with the I/O waits of its node"
        )
    if not found["memory"]["attempts"]:
        keys = ("cgroup_p50_bytes", "accounting_p50_bytes", "lower_p50_share")
        no_pair = "no attempt has a peak both by its cgroup and by the accounting"
        reasons |= dict.fromkeys((f"telemetry.memory.{key}" for key in keys), no_pair)
    return reasons


def _unmeasured(report: dict[str, Any]) -> dict[str, str]:
    reasons = {}
    short = {"memory": "mem", "cores": "core", "gpus": "gpu"}
    for measured in report["measured"]:
        if not measured["of_attempts"]:
            reasons[f"coverage.{short[measured['resource']]}_hours"] = (
                "no attempt held any, as far as accounting states"
            )
        elif not measured["attempts"]:
            why = max(measured["not_measured"].items(), key=lambda item: item[1])[0]
            reasons[f"efficiency.{short[measured['resource']]}"] = f"measured for no attempt: {why}"
        elif report["efficiency"][short[measured["resource"]]] is None:
            seen = "accounting tells only of GPUs that were active, so not of those that were never touched"
            reasons |= {"efficiency.gpu": seen, "gpus.never_touched_gpu_hours": seen}
    if report["coverage"]["reason"]:
        reasons["coverage.headline_allowed"] = report["coverage"]["reason"]
    return reasons
