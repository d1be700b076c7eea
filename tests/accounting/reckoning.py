"""The money of a generated month, reckoned attempt by attempt from its dumps and its truth: no SQL, no running sums.

Which attempts were measured is read off the dumps; what they needed is the truth. Only the node prices are taken over.
"""

import math
from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from tests.sample.dump import Month

GIB = 1 << 30
LOST = {"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "REQUEUED", "PREEMPTED"}
RESOURCES = ("gpus", "memory", "cores")


class Need(NamedTuple):
    """Of a whole attempt, by resource in the order GPUs, memory, cores: what it used; None: not measured."""

    lost: bool
    keeps: bool
    used: tuple[float | None, float | None, float | None]
    nodes: int


def reckon(month: Month, usd_per_hour: dict[str, float]) -> dict[str, float]:
    """Dollars by bucket and by binding resource, and held hours, in the month's window."""
    first, last = (int(moment.timestamp()) for moment in (month.summary.window_from, month.summary.window_to))
    needs = _needs(month)
    sizes = {r["node"]: (r["size_gpus"], r["size_mem"], r["size_cores"]) for r in month.nodes.iter_rows(named=True)}
    on_node = defaultdict(list)
    found: Counter[str] = Counter()
    for row in month.held.iter_rows(named=True):
        start, end = max(row["Start"], first), min(row["End"], last)
        if start < end:
            held = (row["gpus"], row["mem"], row["cores"])
            on_node[row["node"]].append((start, end, held, needs[row["JobIDRaw"], row["Submit"]]))
            for name, amount in zip(("gpu_hours", "mem_gib_hours", "core_hours"), held, strict=True):
                found[name] += amount * (end - start) / 3600 / (GIB if name == "mem_gib_hours" else 1)
    for node, attempts in on_node.items():
        found += _node(attempts, sizes[node], usd_per_hour[node])
    return dict(found)


def _node(attempts: list, size: tuple, usd_per_hour: float) -> Counter:
    """One node: at every instant all that is there is added up anew."""
    found: Counter[str] = Counter()
    times = sorted({t for start, end, *_ in attempts for t in (start, end)})
    starting, ending = defaultdict(list), defaultdict(list)
    for number, (start, end, *_) in enumerate(attempts):
        starting[start].append(number)
        ending[end].append(number)
    parts = [(need, *_shares(held, need, size)) for _, _, held, need in attempts]
    there: set[int] = set()
    for now, then in pairwise(times):
        there -= set(ending[now])
        there |= set(starting[now])
        if not there:
            continue
        sums = [round(sum(parts[n][1][r] for n in there), 9) for r in range(3)]
        bind = sums.index(max(sums))
        assert sums[bind] <= 1
        free = sums[bind] - max(sum(parts[n][2][r] for n in there) for r in range(3))
        given_up = sum(parts[n][1][bind] - parts[n][2][bind] for n in there)
        price = usd_per_hour * (then - now) / 3600
        for n in there:
            need, x, kept, used = parts[n]
            cost = price * x[bind]
            found["held_usd"] += cost
            won = price * free * (x[bind] - kept[bind]) / given_up if free > 1e-9 and given_up > 1e-9 else 0.0
            found["recoverable_usd"] += won
            found[f"{RESOURCES[bind]}_recoverable_usd"] += won
            if need.lost:
                found["lost_usd"] += cost
            elif need.used[bind] is None:
                found["not_measured_usd"] += cost
            else:
                found["used_usd"] += price * used[bind]
                found["kept_usd"] += cost - won - price * used[bind]
    return found


def _shares(held: tuple, need: Need, size: tuple) -> tuple[list[float], list[float], list[float]]:
    """Shares of the node that were held, that hindsight would have advised, and that were used of these."""
    x, kept, used = [], [], []
    for resource, (amount, whole) in enumerate(zip(held, size, strict=True)):
        seen = need.used[resource]
        mine = None if seen is None else seen / need.nodes
        advised = amount
        if mine is not None and not need.keeps and not need.lost and resource < 2:
            step = GIB if resource == 1 else 1
            advised = min(amount, math.ceil(mine / step - 1e-9) * step)
        x.append(amount / whole if whole else 0.0)
        kept.append(advised / whole if whole else 0.0)
        used.append(min(mine, advised) / whole if mine is not None and whole else 0.0)
    return x, kept, used


def _needs(month: Month) -> dict[tuple[str, int], Need]:
    """By JobIDRaw and submit."""
    unseen = pl.col("total_bytes").is_null() & (pl.col("step") != "extern")
    key = month.jobs.select("DBIndex", attempt_submit="Submit")
    steps = (
        month.steps.join(key, on="DBIndex")
        .group_by("raw", "attempt_submit")
        .agg(
            unseen_s=pl.col("ElapsedRaw").filter(unseen).sum(),
            has_peak=(pl.col("total_bytes") > 0).any(),
            ran_out=(pl.col("state") == "OUT_OF_MEMORY").any(),
        )
    )
    told = month.known.join(
        steps, left_on=["JobIDRaw", "Submit"], right_on=["raw", "attempt_submit"], how="left", maintain_order="left"
    )
    needs = {}
    for row in told.filter(pl.col("Start").is_not_null()).iter_rows(named=True):
        summed_up = len(row["AdminComment"]) > 20
        by_steps = bool(row["has_peak"]) and row["unseen_s"] <= 0.05 * row["ElapsedRaw"]
        cpu_s = _seconds(row["TotalCPU"])
        used = (
            row["gpus_used"] if summed_up else None,
            row["mem_reached_bytes"] if summed_up or by_steps else None,
            cpu_s / row["ElapsedRaw"] if cpu_s and row["ElapsedRaw"] else None,
        )
        keeps = row["End"] is None or bool(row["ran_out"]) or row["DerivedExitCode"].endswith(":125")
        needs[row["JobIDRaw"], row["Submit"]] = Need(row["state"] in LOST, keeps, used, int(row["NNodes"]))
    return needs


def _seconds(text: str) -> float:
    """1-02:03:04 or 03:04.567 in seconds."""
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)
