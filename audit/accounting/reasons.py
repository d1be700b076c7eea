"""Why a figure is missing, or leaves something out: one sentence for each, by the figure's dotted key."""

from typing import Any

from audit.accounting.views import CostMode

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
)
_DOWN_FIGURES = ("hours.down", "hours.capacity", "cost.down_usd", "cost.capacity_usd", "cost.idle_usd")


def reasons_for(report: dict[str, Any], mode: CostMode, unplaced_attempts: int) -> dict[str, str]:
    """The reason of every NULL of `report` that a reader could ask about, and of what a figure leaves out."""
    reasons: dict[str, str] = {}
    if mode.mode == "unbundled":
        sentence = f"{mode.reason}: give `scontrol show node` output or [[nodes]] in audit.toml"
        reasons |= dict.fromkeys(_NODE_FIGURES, sentence)
        reasons["cost.mode"] = f"what was held is priced by resource, since {mode.reason}"
    elif report["cost"]["down_usd"] is None:
        sentence = "no node states in the evidence: down and idle cannot be told apart"
        reasons |= dict.fromkeys(_DOWN_FIGURES, sentence)
    if mode.mode == "node" and unplaced_attempts:
        reasons["cost.held_usd"] = (
            f"attempts without a node list: {unplaced_attempts}; their hours are counted, their cost is not"
        )
    for resource, hours in report["hours"]["held"].items():
        if hours is None:
            reasons[f"hours.held.{resource}"] = "no allocation in the accounting states it"
    if report["window"]["hours"] < 168:
        reasons["cost.held_usd_per_month"] = "a window of less than 7 days says too little of a month"
    reasons |= _unmeasured(report)
    if report["data_gaps"]:
        days = len(report["data_gaps"])
        reasons["data_gaps"] = (
            f"in {days} stretch{'es' if days > 1 else ''} of whole days the accounting holds no row: "
            "left out of installed, down and idle alike"
        )
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
    if report["coverage"]["reason"]:
        reasons["coverage.headline_allowed"] = report["coverage"]["reason"]
    return reasons
