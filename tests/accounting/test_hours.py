"""Hours held: what counts inside the window and the slice, and how it is split over nodes."""

import pytest

from audit.workspace import Prices
from tests.accounting.cluster import Cluster, at


def held(cluster):
    return cluster.report()["hours"]["held"]


def test_jobs_over_the_windows_edges_are_clipped_and_running_ones_held_to_its_end():
    cluster = Cluster(window=(0, 14 * 24))
    cluster.job("a", -72, 48, gpus=4)
    cluster.job("b", 13.5 * 24, None, gpus=4, state="RUNNING")
    cluster.job("c", -33 * 24, 28 * 24, gpus=1)
    cluster.job("d", -14 * 24, 0, gpus=2)
    hours = {r["job_id_raw"]: r["gpu_hours"] for r in cluster.relation("attempt", "job_id_raw")}
    assert hours == pytest.approx({"a": 192, "b": 48, "c": 336})
    assert held(cluster)["gpu"] == pytest.approx(576)
    walltimes = {r["job_id_raw"] for r in cluster.relation("usage", "job_id_raw") if r["walltime_s"]}
    assert walltimes == {"a"}


@pytest.mark.parametrize("middle", [0.5, 3, 7.25, 9])
def test_adjacent_windows_add_up_to_their_union(middle):
    reports = []
    for window in [(0, middle), (middle, 10), (0, 10)]:
        cluster = Cluster(window=window)
        cluster.node("n1", gpus=4)
        cluster.job("1", -2, 4, cores=6, mem_gib=10, gpus=1)
        cluster.job("2", 2, 9.5, cores=2, mem_gib=70, gpus=2)
        cluster.job("3", 8, None, cores=2, mem_gib=5, state="RUNNING")
        cluster.add("node_state", node="n1", from_time=at(3), to_time=at(5), state="DRAIN", is_down=True)
        reports.append(cluster.report())
    first, second, both = reports
    for key in ("installed_usd", "held_usd", "down_usd", "idle_usd"):
        assert first["cost"][key] + second["cost"][key] == pytest.approx(both["cost"][key])
    for key in ("core", "gpu", "mem_gib"):
        assert first["hours"]["held"][key] + second["hours"]["held"][key] == pytest.approx(both["hours"]["held"][key])


def test_suspended_time_holds_memory_and_gpus_but_not_cores():
    cluster = Cluster()
    cluster.job("1", 0, 4, cores=8, mem_gib=16, gpus=2, suspended_s=3600)
    assert held(cluster) == pytest.approx({"core": 24, "gpu": 8, "mem_gib": 64})


def test_a_resized_attempt_holds_each_span_as_it_was():
    cluster = Cluster()
    first = {"from_time": at(0), "to_time": at(2), "cores": 8}
    second = {"from_time": at(2), "to_time": at(6), "cores": 2}
    cluster.job("1", 0, 6, mem_gib=None, spans=[first, second])
    assert held(cluster)["core"] == pytest.approx(2 * 8 + 4 * 2)


def test_components_of_a_heterogeneous_job_are_one_job_and_their_hours_add_up():
    cluster = Cluster()
    cluster.job("700", 0, 1, cores=1, mem_gib=4, het_job_id="700")
    cluster.job("701", 0, 1, cores=64, mem_gib=256, het_job_id="700")
    report = cluster.report()
    assert (report["attempts"], report["jobs"]) == (2, 1)
    assert report["hours"]["held"]["core"] == pytest.approx(65)


def test_a_requeued_job_is_one_job_with_two_attempts_both_billed():
    cluster = Cluster()
    cluster.job("903", 1, 1 + 3000 / 3600, state="REQUEUED", submit=at(0))
    cluster.job("903", 3, 3 + 2000 / 3600, submit=at(2))
    report = cluster.report()
    assert (report["attempts"], report["jobs"]) == (2, 1)
    assert report["hours"]["held"]["core"] == pytest.approx(5000 / 3600)
    assert [r["walltime_s"] for r in cluster.relation("usage", "submit")] == [None, pytest.approx(2000)]


SPLITS = {
    "evenly over nodes": (
        [("n1", 16, 64, 0, ""), ("n2", 16, 64, 0, "")],
        {"cores": 6, "mem_gib": 20, "gpus": 0},
        {"n1": (3, 10, 0), "n2": (3, 10, 0)},
    ),
    "not beyond a node's size": (
        [("n1", 2, 64, 0, ""), ("n2", 16, 64, 0, "")],
        {"cores": 12, "mem_gib": 20, "gpus": 0},
        {"n1": (2, 10, 0), "n2": (10, 10, 0)},
    ),
    "GPUs of a type over the nodes that have it": (
        [("n1", 16, 64, 4, "gpu:a100=4"), ("n2", 16, 64, 4, "gpu:t4=4"), ("n3", 16, 64, 0, "")],
        {"cores": 6, "mem_gib": 30, "gpus": 3, "gres": "gpu:a100=1,gpu:t4=2"},
        {"n1": (2, 10, 1), "n2": (2, 10, 2), "n3": (2, 10, 0)},
    ),
    "untyped GPUs over the nodes that have some": (
        [("n1", 16, 64, 4, "gpu:a100=4"), ("n2", 16, 64, 0, "")],
        {"cores": 2, "mem_gib": 2, "gpus": 2, "gres": "gpu=2"},
        {"n1": (1, 1, 2), "n2": (1, 1, 0)},
    ),
    "shards by their part of a card": (
        [("n1", 16, 64, 2, "gpu:t4=2,shard=8")],
        {"cores": 2, "mem_gib": 2, "gpus": 0, "shards": 2, "gres": "shard=2"},
        {"n1": (2, 2, 0.5)},
    ),
}


@pytest.mark.parametrize("nodes, allocated, expected", SPLITS.values(), ids=SPLITS)
def test_what_is_not_known_by_node_is_split(nodes, allocated, expected):
    cluster = Cluster(prices=Prices(accelerators={"a100": "A100-80GB"}))
    for name, cores, mem_gib, gpus, gres in nodes:
        cluster.node(name, cores, mem_gib, gpus, gres=gres, shards=8 if "shard" in gres else 0)
    cluster.job("1", 0, 1, nodes=",".join(expected), **allocated)
    rows = cluster.relation("allocation", "node")
    assert {r["node"]: (r["cores"], r["mem_bytes"] / 2**30, r["gpus"]) for r in rows} == {
        name: pytest.approx(held) for name, held in expected.items()
    }


def test_of_an_attempt_only_its_hours_on_the_slices_nodes_count():
    cluster = Cluster(slice_nodes=("n1",))
    cluster.node("n1")
    cluster.node("n2")
    cluster.job("1", 0, 3, nodes="n1,n2", cores=8)
    cluster.job("2", 0, 3, nodes="n2", cores=8)
    report = cluster.report()
    assert report["attempts"] == 1
    assert report["hours"]["held"]["core"] == pytest.approx(12)
    assert report["slice"]["nodes"] == 1


def test_an_attempt_without_a_node_list_counts_its_hours_and_says_that_its_cost_is_missing():
    cluster = Cluster()
    cluster.node("n1")
    cluster.job("1", 0, 2, cores=5)
    cluster.job("2", 0, 2, cores=3, nodes="")
    report = cluster.report()
    assert report["hours"]["held"]["core"] == pytest.approx(16)
    assert "without a node list: 1;" in report["reasons"]["cost.held_usd"]


def test_memory_that_accounting_does_not_state_is_null_with_a_reason():
    cluster = Cluster()
    cluster.node("n1")
    cluster.job("1", 0, 2, mem_gib=None)
    report = cluster.report()
    assert report["hours"]["held"]["mem_gib"] is None
    assert report["reasons"]["hours.held.mem_gib"]


def test_a_fully_held_slice_is_idle_for_exactly_nothing():
    cluster = Cluster(window=(0, 10))
    cluster.node("m1", cores=20, mem_gib=64)
    cluster.job("1", 0, 10, nodes="m1", cores=20, mem_gib=1.1)
    cluster.add("node_state", node="m1", from_time=at(-9), to_time=at(-8), state="DOWN", is_down=True)
    assert cluster.report()["cost"]["idle_usd"] == 0


def test_shards_are_held_on_the_nodes_that_have_some():
    cluster = Cluster(window=(0, 10))
    cluster.node("m1", gpus=2, shards=8)
    cluster.node("m2")
    cluster.job("1", 0, 10, nodes="m1,m2", shards=4)
    assert held(cluster)["gpu"] == pytest.approx(10)


def test_hours_after_the_last_word_of_the_accounting_are_said():
    cluster = Cluster(window=(0, 24))
    cluster.node("m1")
    cluster.job("1", 0, 2, nodes="m1")
    report = cluster.report()
    assert report["window"]["silent_hours"] == 22
    assert report["reasons"]["window.to"]
