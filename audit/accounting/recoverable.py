"""What could be won back at most: dollars, what they are in nodes and GPUs, how sure, and what to do first."""

import duckdb
import numpy as np

from audit.accounting.priced import CostMode
from audit.accounting.rows import Row, only, ratio, rows, times

SEED = 20260504  # of the resampling of days: the same figures from the same evidence
RESAMPLES = 2_000
SAMPLED_FROM_DAYS = 7

# What to do about what was found: (what it is about, what to do, the risk, why that risk).
REQUEST_ACTIONS: dict[str, tuple[str, str, str]] = {
    "gpus": ("Lower the GPU count", "low", "GPUs that no process touched"),
    "memory": ("Lower the memory requests", "medium", "a request below a later peak kills the job: leave head-room"),
    "cores": ("Lower the core counts", "low", "too few cores slow a job, they do not kill it"),
}
LOSS_ACTIONS: dict[str, tuple[str, str, str]] = {
    "TIMEOUT": ("Raise time limits, or write checkpoints", "low", "longer limits make backfill harder"),
    "OUT_OF_MEMORY": ("Raise the memory requests that were too small", "low", "takes memory that others ask for"),
    "NODE_FAIL": ("Mend or retire the nodes that fail", "low", "the nodes are away meanwhile"),
    "FAILED": ("Find why jobs fail: a short test run first", "low", "part of it is ordinary development"),
    "PREEMPTED": ("Write checkpoints where jobs can be preempted", "low", "writing them takes time and disk"),
    "REQUEUED": ("Write checkpoints where jobs are requeued", "low", "writing them takes time and disk"),
    "BOOT_FAIL": ("Mend the nodes that do not boot", "low", "the nodes are away meanwhile"),
    "DEADLINE": ("Review deadlines that cut jobs", "low", "jobs may end later"),
}


def recoverable(connection: duckdb.DuckDBPyConnection, mode: CostMode, totals: Row, window: Row) -> Row:
    """The recoverable figures. low and expected need a model of requests made in advance: NULL until there is one.

    high_usd is NULL where nothing was measured: no measurement, nothing to win back that could be defended.
    """
    factor = window["month_factor"]
    high = totals["recoverable_usd"] if totals["measured_attempts"] else None
    waiting = only(connection, "contended")
    contended = waiting["usd"] if high is not None and waiting["eligible_is_known"] else None
    usd = {
        "low_usd": None,
        "expected_usd": None,
        "expected_gross_usd": None,
        "reruns_usd": None,
        "high_usd": high,
        "contended_usd": contended,
    }
    classes = _by_class(connection, mode) if mode.mode == "node" and high is not None else []
    hours = window["observed_hours"]
    freed = {
        f"freed_{name}": ratio(sum(c[key] for c in classes), hours) if classes else None
        for name, key in (
            ("nodes", "recoverable_hours"),
            ("gpus", "recoverable_gpu_hours"),
            ("cores", "recoverable_core_hours"),
        )
    }
    return {
        **usd,
        **{f"{key}_per_month": times(value, factor) for key, value in usd.items()},
        **freed,
        "sampling": _sampling(connection) if high is not None else None,
        "by_class": classes,
    }


def by_resource(connection: duckdb.DuckDBPyConnection, factor: float | None) -> list[Row]:
    """Recoverable dollars by the resource that is to be asked for in smaller numbers, most dollars first."""
    return [
        {"resource": r["resource"], "usd": r["usd"], "usd_per_month": times(r["usd"], factor), **_counts(r)}
        for r in rows(connection, "by_resource")
    ]


def actions(
    connection: duckdb.DuckDBPyConnection, mode: CostMode, resources: list[Row], lost: list[Row], window: Row
) -> list[Row]:
    """What to do first, most dollars first; each counts dollars that no other counts.

    Requests to lower win back what is recoverable, at most; failures to mend, what was lost.
    """
    found = []
    freed = {r["resource"]: r for r in rows(connection, "freed_by_resource")} if mode.mode == "node" else {}
    for r in resources:
        what, risk, why = REQUEST_ACTIONS[r["resource"]]
        hours = freed.get(r["resource"], {})
        found.append(
            {
                "kind": "request",
                "subject": r["resource"],
                "action": what,
                "usd": r["usd"],
                **_counts(r),
                "freed_nodes": ratio(hours.get("node_hours"), window["observed_hours"]),
                "freed_gpus": ratio(hours.get("gpu_hours"), window["observed_hours"]),
                "risk": risk,
                "risk_reason": why,
            }
        )
    for cause in lost:
        if cause["usd"]:
            what, risk, why = LOSS_ACTIONS[cause["cause"]]
            found.append(
                {
                    "kind": "failure",
                    "subject": cause["cause"],
                    "action": what,
                    "usd": cause["usd"],
                    "attempts": cause["attempts"],
                    "families": None,
                    "freed_nodes": None,
                    "freed_gpus": None,
                    "risk": risk,
                    "risk_reason": why,
                }
            )
    found.sort(key=lambda a: (-a["usd"], a["kind"], a["subject"]))
    return [{**a, "usd_per_month": times(a["usd"], window["month_factor"])} for a in found]


def _counts(row: Row) -> Row:
    return {"attempts": row["attempts"], "families": row["families"]}


def _by_class(connection: duckdb.DuckDBPyConnection, mode: CostMode) -> list[Row]:
    """By node class, with what the recoverable part would be at the lowest and highest price, and at the list price."""
    prices = {(p.name, p.rate.usd_per_hour): p for p in mode.prices}
    found = []
    for row in rows(connection, "by_class"):
        price = prices[row["node_class"], row["usd_per_hour"]]
        rate = price.rate
        low, high = rate.low_usd_per_hour, rate.high_usd_per_hour
        found.append(
            {
                **row,
                "low_recoverable_usd": times(row["recoverable_hours"], rate.usd_per_hour if low is None else low),
                "list_recoverable_usd": times(row["recoverable_hours"], price.list_usd_per_hour),
                "high_recoverable_usd": times(row["recoverable_hours"], rate.usd_per_hour if high is None else high),
            }
        )
    return found


def _sampling(connection: duckdb.DuckDBPyConnection) -> Row | None:
    """The spread of high_usd over resampled days (5 to 95 %); None below a week, which says too little of days."""
    values = np.array([row["recoverable_usd"] for row in rows(connection, "recoverable_by_day")])
    if len(values) < SAMPLED_FROM_DAYS:
        return None
    drawn = np.random.default_rng(SEED).integers(0, len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].sum(axis=1), [0.05, 0.95])
    return {"days": len(values), "resamples": RESAMPLES, "low_usd": float(low), "high_usd": float(high)}
