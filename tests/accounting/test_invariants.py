"""What must hold of any cluster: money and hours add up, and agree with a reckoning hour by hour."""

import math
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.workspace import Prices
from tests.accounting.cluster import GIB, Cluster, at

HOURS = 12
NODES = {"n1": (8, 64, 4), "n2": (16, 32, 0)}
PRICES = Prices(classes={"4xT4": 8.0, "cpu-16c-32GiB": 4.0})
USD = {"n1": 8.0, "n2": 4.0}
HELD = ("used_usd", "kept_usd", "lost_usd", "not_measured_usd")


class Attempt(NamedTuple):
    """What an attempt holds in all, where, from which hour, for how long; and what it used (None: not measured)."""

    nodes: str
    start: int
    length: int
    cores: int
    mem_gib: int
    gpus: int
    exclusive: bool
    failed: bool
    mem_used_gib: float | None
    touched: int | None


attempts = st.lists(
    st.builds(
        Attempt,
        st.sampled_from(["n1", "n2", "n1,n2"]),
        st.integers(-2, HOURS + 1),
        st.integers(1, 8),
        st.integers(0, 8),
        st.integers(0, 64),
        st.integers(0, 2),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([False, False, False, True]),
        st.one_of(st.none(), st.integers(1, 140).map(lambda half: half / 2)),
        st.one_of(st.none(), st.integers(0, 2)),
    ),
    min_size=1,
    max_size=7,
)
outages = st.lists(st.tuples(st.sampled_from(["n1", "n2"]), st.integers(0, HOURS), st.integers(1, 4)), max_size=3)


def on_node(attempt, node):
    """(GPUs, GiB, cores) of an attempt on a node: GPUs only where there are some, all else evenly, capped."""
    names = attempt.nodes.split(",")
    held = []
    for total, index in ((attempt.mem_gib, 1), (attempt.cores, 0)):
        sizes = [NODES[name][index] for name in names]
        wanted, mine = total / len(names), NODES[node][index]
        over = sum(max(0, wanted - size) for size in sizes)
        room = sum(max(0, size - wanted) for size in sizes)
        held.append(min(wanted, mine) + (max(0, mine - wanted) * min(1, over / room) if room else 0))
    return (attempt.gpus if node == "n1" else 0, *held)


def advised(attempt, node):
    """(GPUs, GiB, cores) an attempt would hold on a node by hindsight."""
    gpus, mem, cores = on_node(attempt, node)
    if attempt.failed or attempt.exclusive:
        return gpus, mem, cores
    total = sum(on_node(attempt, name)[1] for name in attempt.nodes.split(","))
    if attempt.mem_used_gib is not None and attempt.mem_used_gib > attempt.mem_gib:
        return gpus, mem, cores  # it asks too little
    if attempt.mem_used_gib is not None and total:
        mem = min(mem, math.ceil(attempt.mem_used_gib * mem / total - 1e-9))
    if attempt.touched is not None and gpus:
        gpus = min(gpus, attempt.touched)
    return gpus, mem, cores


def shares(amounts, node, exclusive):
    """Shares of (GPU, memory, core) of the node."""
    cores, mem_gib, gpus = NODES[node]
    if exclusive:
        return (1.0 if gpus else 0.0, 1.0, 1.0)
    return tuple(min(1, part / size) if size else 0 for part, size in zip(amounts, (gpus, mem_gib, cores), strict=True))


def reckon(given_attempts, given_outages):
    """Dollars by attempt, recoverable dollars by attempt and by hour, dollars down: hour by hour, as all edges are."""
    cost, won, by_hour, down = Counter(), Counter(), Counter(), 0.0
    for node in NODES:
        for hour in range(HOURS):
            there = {
                number: a
                for number, a in enumerate(given_attempts)
                if node in a.nodes.split(",") and a.start <= hour < a.start + a.length
            }
            held = {n: shares(on_node(a, node), node, a.exclusive) for n, a in there.items()}
            kept = {n: shares(advised(a, node), node, a.exclusive) for n, a in there.items()}
            sums = [round(sum(x[r] for x in held.values()), 9) for r in range(3)]
            binding = sums.index(max(sums))
            scale = min(1, 1 / sums[binding]) if sums[binding] else 0
            free = min(1, sums[binding]) - max(sum(x[r] for x in kept.values()) for r in range(3)) if held else 0
            given_up = {n: held[n][binding] - kept[n][binding] for n in there}
            for number in there:
                cost[number] += held[number][binding] * scale * USD[node]
                if free > 1e-9:
                    part = free * given_up[number] / sum(given_up.values()) * USD[node]
                    won[number] += part
                    by_hour[hour] += part
            if any(n == node and start <= hour < start + length for n, start, length in given_outages):
                down += (1 - sums[binding] * scale) * USD[node]
    return cost, won, by_hour, down


def cluster_of(given_attempts, given_outages, window=(0, HOURS)):
    cluster = Cluster(window=window, prices=PRICES)
    for name, (cores, mem_gib, gpus) in NODES.items():
        cluster.node(name, cores, mem_gib, gpus)
    cluster.job("always", 0, HOURS, cores=0, mem_gib=0, gpus=0)
    for number, a in enumerate(given_attempts):
        gpus = a.gpus if "n1" in a.nodes else 0
        key = {"nodes": a.nodes, "exclusive": a.exclusive, "state": "FAILED" if a.failed else "COMPLETED"}
        cluster.job(str(number), a.start, a.start + a.length, cores=a.cores, mem_gib=a.mem_gib, gpus=gpus, **key)
        if a.mem_used_gib is not None:
            peak = int(a.mem_used_gib * GIB)
            cluster.step(str(number), "0", a.start, a.start + a.length, submit=a.start, rss_bytes=peak, tasks=1)
        for gpu in range(gpus if a.touched is not None else 0):
            active = gpu < a.touched
            use = {"gpu_util": 50.0 if active else 0.0, "gpu_mem_bytes": 4 * GIB if active else 0}
            cluster.add("gpu_summary", job_id_raw=str(number), submit=at(a.start), node="n1", gpu=str(gpu), **use)
    cluster.add("node_state", node="n1", from_time=at(-9), to_time=at(-8), state="DOWN", is_down=True)
    for node, start, length in given_outages:
        times = {"from_time": at(start), "to_time": at(start + length)}
        cluster.add("node_state", node=node, state="DRAIN", is_down=True, **times)
    return cluster


@settings(max_examples=25, deadline=None)
@given(attempts, outages, st.integers(1, HOURS - 1))
def test_adjacent_windows_add_up_to_their_union(given_attempts, given_outages, middle):
    windows = [(0, middle), (middle, HOURS), (0, HOURS)]
    first, second, both = (cluster_of(given_attempts, given_outages, window).report() for window in windows)
    for key in ("installed_usd", "down_usd", "held_usd", "idle_usd", *HELD):
        parts = [report["cost"][key] or 0 for report in (first, second)]  # NULL: nothing there was measured
        assert sum(parts) == pytest.approx(both["cost"][key] or 0, abs=1e-6)
    parts = [report["recoverable"]["high_usd"] or 0 for report in (first, second)]
    assert sum(parts) == pytest.approx(both["recoverable"]["high_usd"] or 0, abs=1e-6)
    for kind in ("installed", "down", "held"):
        for key, hours in both["hours"][kind].items():
            assert first["hours"][kind][key] + second["hours"][kind][key] == pytest.approx(hours, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(attempts, outages)
def test_money_agrees_with_a_reckoning_by_hour_and_everything_adds_up(given_attempts, given_outages):
    cluster = cluster_of(given_attempts, given_outages)
    report = cluster.report()
    cost, won, by_hour, down = reckon(given_attempts, given_outages)
    found = {r["job_id_raw"]: r for r in cluster.relation("attempt", "job_id_raw")}
    for number, attempt in enumerate(given_attempts):
        row = found.get(str(number))
        if row is None:
            continue
        assert row["usd"] == pytest.approx(cost[number], abs=1e-6)
        assert row["recoverable_usd"] == pytest.approx(won[number], abs=1e-6)
        assert row["recoverable_usd"] <= row["usd"] + 1e-6
        buckets = [row[key] for key in (*HELD, "recoverable_usd")]
        assert min(buckets) >= -1e-6
        assert sum(buckets) == pytest.approx(row["usd"], abs=1e-6)
        if attempt.failed:
            assert row["lost_usd"] == row["usd"]
        elif attempt.mem_used_gib is None and (attempt.touched is None or not attempt.gpus):
            assert row["recoverable_usd"] == 0
    money = report["cost"]
    high = report["recoverable"]["high_usd"] or 0
    assert money["held_usd"] == pytest.approx(sum(cost.values()), abs=1e-6)
    assert money["down_usd"] == pytest.approx(down, abs=1e-6)
    assert money["held_usd"] + money["idle_usd"] + money["down_usd"] == pytest.approx(money["installed_usd"])
    assert money["installed_usd"] == pytest.approx(HOURS * sum(USD.values()))
    assert money["idle_usd"] >= -1e-6
    assert sum(money[key] or 0 for key in HELD) + high == pytest.approx(money["held_usd"], abs=1e-6)
    nodes = cluster.relation("node_hours", "node")
    assert sum(n["held_hours"] * n["usd_per_hour"] for n in nodes) == pytest.approx(money["held_usd"], abs=1e-6)
    assert sum(n["recoverable_hours"] * n["usd_per_hour"] for n in nodes) == pytest.approx(high, abs=1e-6)
    assert sum(r["usd"] for r in report["recoverable_by_resource"]) == pytest.approx(high, abs=1e-6)
    first_hour = int(cluster.connect().execute("SELECT epoch(from_time) / 3600 FROM window_bounds").fetchall()[0][0])
    for relation in ("hourly", "partition_hour"):
        hours = Counter()
        for row in cluster.relation(relation):
            hours[row["hour"] - first_hour] += row["recoverable_usd"]
        assert [hours[h] for h in range(HOURS)] == pytest.approx([by_hour[h] for h in range(HOURS)], abs=1e-6)
    slots = report["by_hour_of_week"]
    assert sum(s["held_usd"] for s in slots) == pytest.approx(money["held_usd"], abs=1e-6)
    assert sum(s["installed_usd"] for s in slots) == pytest.approx(money["installed_usd"])
