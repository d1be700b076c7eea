"""What must hold of any cluster: money and hours add up, and agree with a reckoning hour by hour."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.workspace import Prices
from tests.accounting.cluster import Cluster, at

HOURS = 12
NODES = {"n1": (8, 64, 4), "n2": (16, 32, 0)}
PRICES = Prices(classes={"4xT4": 8.0, "cpu-16c-32GiB": 4.0})
USD = {"n1": 8.0, "n2": 4.0}

attempts = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2", "n1,n2"]),
        st.integers(-2, HOURS + 1),
        st.integers(1, 8),
        st.integers(0, 8),
        st.integers(0, 64),
        st.integers(0, 2),
        st.sampled_from([False, False, False, True]),
    ),
    min_size=1,
    max_size=7,
)
outages = st.lists(st.tuples(st.sampled_from(["n1", "n2"]), st.integers(0, HOURS), st.integers(1, 4)), max_size=3)


def on_node(attempt, node):
    """(cores, GiB, GPUs) of an attempt on a node: GPUs only where there are some, all else evenly, capped."""
    nodes, _, _, cores, mem_gib, gpus, exclusive = attempt
    names = nodes.split(",")
    if exclusive:
        return NODES[node]
    sizes = [NODES[name] for name in names]
    even = [total / len(names) for total in (cores, mem_gib)]
    held = []
    for index, wanted in enumerate(even):
        over = sum(max(0, wanted - size[index]) for size in sizes)
        room = sum(max(0, size[index] - wanted) for size in sizes)
        mine = NODES[node][index]
        held.append(min(wanted, mine) + (max(0, mine - wanted) * min(1, over / room) if room else 0))
    return (*held, gpus if node == "n1" else 0)


def reckon(given_attempts, given_outages):
    """Dollars by attempt and dollars down, hour by hour: allocations start and end on the hour."""
    cost = [0.0] * len(given_attempts)
    down = 0.0
    for node, (cores, mem_gib, gpus) in NODES.items():
        for hour in range(HOURS):
            shares = {}
            for number, attempt in enumerate(given_attempts):
                if node in attempt[0].split(",") and attempt[1] <= hour < attempt[1] + attempt[2]:
                    c, m, g = on_node(attempt, node)
                    shares[number] = (min(1, g / gpus) if gpus else 0, min(1, m / mem_gib), min(1, c / cores))
            totals = [round(sum(x[r] for x in shares.values()), 9) for r in range(3)]
            binding = totals.index(max(totals))
            scale = min(1, 1 / totals[binding]) if totals[binding] else 0
            for number, x in shares.items():
                cost[number] += x[binding] * scale * USD[node]
            if any(n == node and start <= hour < start + length for n, start, length in given_outages):
                down += (1 - totals[binding] * scale) * USD[node]
    return cost, down


def cluster_of(given_attempts, given_outages, window=(0, HOURS)):
    cluster = Cluster(window=window, prices=PRICES)
    for name, (cores, mem_gib, gpus) in NODES.items():
        cluster.node(name, cores, mem_gib, gpus)
    cluster.job("always", 0, HOURS, cores=0, mem_gib=0, gpus=0)
    for number, (nodes, start, length, cores, mem_gib, gpus, exclusive) in enumerate(given_attempts):
        shape = {"cores": cores, "mem_gib": mem_gib, "gpus": gpus if "n1" in nodes else 0}
        cluster.job(str(number), start, start + length, nodes=nodes, exclusive=exclusive, **shape)
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
    for key in ("installed_usd", "down_usd", "held_usd", "idle_usd", "lost_usd", "not_measured_usd"):
        assert first["cost"][key] + second["cost"][key] == pytest.approx(both["cost"][key], abs=1e-6)
    for kind in ("installed", "down", "held"):
        for key, hours in both["hours"][kind].items():
            assert first["hours"][kind][key] + second["hours"][kind][key] == pytest.approx(hours, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(attempts, outages)
def test_costs_agree_with_a_reckoning_by_hour_and_everything_adds_up(given_attempts, given_outages):
    cluster = cluster_of(given_attempts, given_outages)
    report = cluster.report()
    cost, down = reckon(given_attempts, given_outages)
    found = {r["job_id_raw"]: r["usd"] for r in cluster.relation("attempt", "job_id_raw")}
    for number, usd in enumerate(cost):
        assert found.get(str(number), 0) == pytest.approx(usd, abs=1e-6)
    money = report["cost"]
    assert money["held_usd"] == pytest.approx(sum(cost), abs=1e-6)
    assert money["down_usd"] == pytest.approx(down, abs=1e-6)
    assert money["held_usd"] + money["idle_usd"] + money["down_usd"] == pytest.approx(money["installed_usd"])
    assert money["installed_usd"] == pytest.approx(HOURS * sum(USD.values()))
    assert money["idle_usd"] >= -1e-6
    nodes = cluster.relation("node_hours", "node")
    assert sum(n["held_hours"] * n["usd_per_hour"] for n in nodes) == pytest.approx(money["held_usd"], abs=1e-6)
    assert money["lost_usd"] + money["not_measured_usd"] <= money["held_usd"] + 1e-6
    assert report["coverage"]["usd"] in (None, 0)
