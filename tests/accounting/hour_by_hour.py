"""Small clusters drawn at random, and their money reckoned node by node and hour by hour, as all edges are: no SQL."""

import math
from collections import Counter
from typing import NamedTuple

from hypothesis import strategies as st

from audit.workspace import Prices
from tests.accounting.cluster import GIB, Cluster, at

HOURS = 12
NODES = {"n1": (8, 64, 4), "n2": (16, 32, 0)}
PRICES = Prices(classes={"4xT4": 8.0, "cpu-16c-32GiB": 4.0})
USD = {"n1": 8.0, "n2": 4.0}
WATCHED = (True, False, True)  # GPUs by a summary, memory by the accounting's steps, cores by samples


class Advice(NamedTuple):
    """What was advised over all nodes before an attempt started (None: no advice on that)."""

    gpus: int | None
    mem_gib: float | None
    cores: float | None
    abstained: bool


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
    busy: float | None  # the share of its cores that it used in its busiest interval
    expected: Advice
    low: Advice


def _maybe(strategy):
    return st.one_of(st.none(), strategy)


_halves = st.integers(1, 140).map(lambda half: half / 2)
_advice = st.builds(
    Advice, _maybe(st.integers(0, 2)), _maybe(_halves), _maybe(st.integers(0, 8)), st.sampled_from([False, False, True])
)
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
        _maybe(_halves),
        _maybe(st.integers(0, 2)),
        _maybe(st.sampled_from([0.1, 0.5, 0.9])),
        _advice,
        _advice,
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


def _rounded(attempt, node, totals):
    """Totals of (GPUs, GiB, cores) spread as they are held, rounded up, at most what is held there; None stays None."""
    found = []
    for resource, (held, total) in enumerate(zip(on_node(attempt, node), totals, strict=True)):
        of = sum(on_node(attempt, name)[resource] for name in attempt.nodes.split(","))
        found.append(min(held, math.ceil(total * held / of - 1e-9)) if total is not None and of else None)
    return found


def needs(attempt, node):
    """(GPUs, GiB, cores) that it needed on a node, rounded up; None where it keeps what it held."""
    asks_too_little = attempt.mem_used_gib is not None and attempt.mem_used_gib > attempt.mem_gib
    if attempt.failed or attempt.exclusive or asks_too_little:
        return [None] * 3
    busiest = attempt.busy * attempt.cores if attempt.busy and attempt.cores else None
    touched = attempt.touched if attempt.gpus and "n1" in attempt.nodes else None
    return _rounded(attempt, node, (touched, attempt.mem_used_gib, busiest))


def by_hindsight(attempt, node):
    """What it keeps on a node, and that nothing is killed."""
    held = on_node(attempt, node)
    return tuple(h if n is None else n for h, n in zip(held, needs(attempt, node), strict=True)), False


def in_advance(plan, watched=(True, True, True)):
    """The same by what was advised before it started: `plan` names it, of the resources that are watched."""

    def asked(attempt, node):
        advice = getattr(attempt, plan)
        if advice.abstained:
            return [None] * 3
        asks, needed = _rounded(attempt, node, advice[:3]), needs(attempt, node)
        known = [a is not None and n is not None and w for a, n, w in zip(asks, needed, watched, strict=True)]
        return [ask if k else None for ask, k in zip(asks, known, strict=True)]

    def keep(attempt, node):
        short = [
            ask is not None and ask < need
            for name in attempt.nodes.split(",")
            for ask, need in list(zip(asked(attempt, name), needs(attempt, name), strict=True))[:2]
        ]
        kept = [h if a is None else a for h, a in zip(on_node(attempt, node), asked(attempt, node), strict=True)]
        need = needs(attempt, node)[2]
        return (*kept[:2], kept[2] if need is None or asked(attempt, node)[2] is None else max(kept[2], need)), any(
            short
        )

    return keep


def _shares(amounts, node, exclusive):
    """Shares of (GPU, memory, core) of the node."""
    cores, mem_gib, gpus = NODES[node]
    if exclusive:
        return (1.0 if gpus else 0.0, 1.0, 1.0)
    return tuple(min(1, part / size) if size else 0 for part, size in zip(amounts, (gpus, mem_gib, cores), strict=True))


class Reckoned(NamedTuple):
    """Dollars by attempt: cost, won back, run again; won back by node and hour; down."""

    cost: Counter
    won: Counter
    again: Counter
    by_hour: Counter
    down: float


def reckon(given_attempts, given_outages, keep=by_hindsight):
    """The money, were each attempt to ask for what `keep` says; a killed one keeps what it held and runs once more."""
    cost, won, again, by_hour, down = Counter(), Counter(), Counter(), Counter(), 0.0
    for node in NODES:
        for hour in range(HOURS):
            there = {
                number: a
                for number, a in enumerate(given_attempts)
                if node in a.nodes.split(",") and a.start <= hour < a.start + a.length
            }
            held = {n: _shares(on_node(a, node), node, a.exclusive) for n, a in there.items()}
            asked = {n: (_shares(keep(a, node)[0], node, a.exclusive), keep(a, node)[1]) for n, a in there.items()}
            kept = {n: held[n] if killed else shares for n, (shares, killed) in asked.items()}
            sums = [round(sum(x[r] for x in held.values()), 9) for r in range(3)]
            binding = sums.index(max(sums))
            scale = min(1, 1 / sums[binding]) if sums[binding] else 0
            free = min(1, sums[binding]) - max(sum(x[r] for x in kept.values()) for r in range(3)) if held else 0
            given_up = {n: held[n][binding] - kept[n][binding] for n in there}
            for number in there:
                cost[number] += held[number][binding] * scale * USD[node]
                if asked[number][1]:
                    again[number] += asked[number][0][binding] * scale * USD[node]
                if free > 1e-9:
                    part = free * given_up[number] / sum(given_up.values()) * USD[node]
                    won[number] += part
                    by_hour[node, hour] += part
            if any(n == node and start <= hour < start + length for n, start, length in given_outages):
                down += (1 - sums[binding] * scale) * USD[node]
    return Reckoned(cost, won, again, by_hour, down)


def cluster_of(given_attempts, given_outages, window=(0, HOURS), *, advised=False):
    """The cluster they make; with the replay of what was advised."""
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
        for node in a.nodes.split(",") if a.busy and a.cores else ():
            busiest = a.busy * a.cores / len(a.nodes.split(","))
            interval = {"from_time": at(a.start), "interval_s": a.length * 3600, "cpu_s": busiest * a.length * 3600}
            cluster.add("sample_job", node=node, job=str(number), **interval)
        for quantile, advice in ((0.99, a.expected), (0.995, a.low)) if advised else ():
            mem_bytes = None if advice.mem_gib is None else advice.mem_gib * GIB
            told = {"gpus": advice.gpus, "mem_bytes": mem_bytes, "cores": advice.cores, "abstained": advice.abstained}
            cluster.advise(str(number), submit=a.start, quantiles=(quantile,), **told)
    cluster.add("node_state", node="n1", from_time=at(-9), to_time=at(-8), state="DOWN", is_down=True)
    for node, start, length in given_outages:
        times = {"from_time": at(start), "to_time": at(start + length)}
        cluster.add("node_state", node=node, state="DRAIN", is_down=True, **times)
    return cluster
