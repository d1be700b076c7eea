"""What could be won back: dollars, what they are in nodes and GPUs, how sure, and what to do first."""

import duckdb
import numpy as np

from audit.accounting.in_advance import Advance
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
_OF_REQUESTS = (
    "freed_nodes",
    "freed_gpus",
    "expected_usd",
    "expected_usd_per_month",
    "expected_freed_nodes",
    "expected_freed_gpus",
    "killed",
    "of",
)  # of actions; no failure has them
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


def recoverable(
    connection: duckdb.DuckDBPyConnection, mode: CostMode, totals: Row, window: Row, advance: Advance
) -> Row:
    """The recoverable figures: with hindsight (high), and by advice given in advance (NULL where there is none).

    high_usd is NULL where nothing was measured: no measurement, nothing to win back that could be defended.
    """
    factor, hours = window["month_factor"], window["observed_hours"]
    high = totals["recoverable_usd"] if totals["measured_attempts"] else None
    waiting = only(connection, "contended")
    is_queued = high is not None and waiting["eligible_is_known"]
    usd = {
        **advance.usd,
        "high_usd": high,
        "contended_usd": waiting["usd"] if is_queued else None,
        "expected_contended_usd": waiting["expected_usd"] if is_queued and advance.is_known else None,
    }
    classes = _by_class(connection, mode, advance) if mode.mode == "node" and high is not None else []
    days = rows(connection, "recoverable_by_day")
    return {
        **usd,
        **{f"{key}_per_month": times(value, factor) for key, value in usd.items()},
        **_freed("freed", classes, "recoverable", hours),
        **_freed("expected_freed", classes if advance.is_known else [], "expected", hours),
        "sampling": _sampling([day["recoverable_usd"] for day in days]) if high is not None else None,
        "expected_sampling": _sampling([day["expected_usd"] for day in days]) if advance.is_known else None,
        **advance.told,
        "by_class": classes,
    }


def _freed(name: str, classes: list[Row], kind: str, hours: float) -> Row:
    """What could be sold again in nodes, their GPUs and cores, the mean over the observed hours; None where unknown."""
    parts = {"nodes": "", "gpus": "gpu_", "cores": "core_"}
    return {
        f"{name}_{what}": ratio(sum(c[f"{kind}_{part}hours"] for c in classes), hours) if classes else None
        for what, part in parts.items()
    }


def by_resource(connection: duckdb.DuckDBPyConnection, factor: float | None, advance: Advance) -> list[Row]:
    """Recoverable dollars by the resource that is to be asked for in smaller numbers, most dollars first.

    By what is expected where that is known, else by what hindsight says.
    """
    found = []
    for row in rows(connection, "by_resource"):
        expected = row["expected_usd"] if advance.is_known else None
        if row["usd"] or advance.is_known:
            found.append(
                {
                    "resource": row["resource"],
                    "usd": row["usd"],
                    "usd_per_month": times(row["usd"], factor),
                    **_counts(row),
                    "expected_usd": expected,
                    "expected_usd_per_month": times(expected, factor),
                    "killed": row["killed"] if advance.is_known else None,
                    "of": row["of"] if advance.is_known else None,
                }
            )
    return sorted(found, key=_most)


def _most(row: Row) -> tuple[float, float]:
    """Most expected dollars first, most dollars where none is expected."""
    return -row["usd"] if row["expected_usd"] is None else -row["expected_usd"], -row["usd"]


def actions(
    connection: duckdb.DuckDBPyConnection, mode: CostMode, resources: list[Row], lost: list[Row], window: Row
) -> list[Row]:
    """What to do first, most dollars first; each counts dollars that no other counts.

    Requests to lower win back what is expected, and at most what is recoverable; one that is expected to win nothing is
    no action. Failures to mend: what was lost.
    """
    found = []
    freed = {r["resource"]: r for r in rows(connection, "freed_by_resource")} if mode.mode == "node" else {}
    for r in resources:
        if r["expected_usd"] is not None and r["expected_usd"] <= 0:
            continue
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
                "expected_usd": r["expected_usd"],
                "expected_usd_per_month": r["expected_usd_per_month"],
                "expected_freed_nodes": _expected(r, hours, "node_hours", window),
                "expected_freed_gpus": _expected(r, hours, "gpu_hours", window),
                "killed": r["killed"],
                "of": r["of"],
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
                    **dict.fromkeys(_OF_REQUESTS),
                    "risk": risk,
                    "risk_reason": why,
                }
            )
    found.sort(key=lambda a: (*_most(a), a["kind"], a["subject"]))
    return [{**a, "usd_per_month": times(a["usd"], window["month_factor"])} for a in found]


def _expected(resource: Row, freed: Row, key: str, window: Row) -> float | None:
    """What advice on a resource would free of nodes or GPUs, reruns not taken off; None where not known."""
    if resource["expected_usd"] is None:
        return None
    return ratio(freed.get(f"expected_{key}"), window["observed_hours"])


def _counts(row: Row) -> Row:
    return {"attempts": row["attempts"], "families": row["families"]}


def _by_class(connection: duckdb.DuckDBPyConnection, mode: CostMode, advance: Advance) -> list[Row]:
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
                **({} if advance.is_known else dict.fromkeys(key for key in row if key.startswith("expected_"))),
                "low_recoverable_usd": times(row["recoverable_hours"], rate.usd_per_hour if low is None else low),
                "list_recoverable_usd": times(row["recoverable_hours"], price.list_usd_per_hour),
                "high_recoverable_usd": times(row["recoverable_hours"], rate.usd_per_hour if high is None else high),
            }
        )
    return found


def _sampling(by_day: list[float]) -> Row | None:
    """The spread of a sum over resampled days (5 to 95 %); None below a week, which says too little of days."""
    values = np.array(by_day)
    if len(values) < SAMPLED_FROM_DAYS:
        return None
    drawn = np.random.default_rng(SEED).integers(0, len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].sum(axis=1), [0.05, 0.95])
    return {"days": len(values), "resamples": RESAMPLES, "low_usd": float(low), "high_usd": float(high)}
