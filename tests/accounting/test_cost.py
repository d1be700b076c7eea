"""Cost: a node is charged through what is scarce on it; held, idle and down add up to what is installed."""

import pytest

from audit.workspace import Policy, Prices
from tests.accounting.cluster import Cluster, at

TEN_DOLLARS = Prices(classes={"4xT4": 10.0, "cpu-10c-100GiB": 10.0})


def lab(**values):
    """One node of 10 cores, 100 GiB and 4 GPUs at 10 dollars an hour, watched for 10 hours."""
    cluster = Cluster(prices=TEN_DOLLARS, **values)
    cluster.node("n1", cores=10, mem_gib=100, gpus=4)
    return cluster


def costs(cluster):
    return {r["job_id_raw"]: r["usd"] for r in cluster.relation("attempt", "job_id_raw")}


def test_the_binding_resource_switches_when_another_becomes_scarcer():
    # 0-2 h: attempt 1 alone, cores bind (0.5): 2 h x 0.5 x 10 = 10.
    # 2-5 h: memory binds (0.2 + 0.6): 1 pays 3 x 0.2 x 10 = 6, 2 pays 3 x 0.6 x 10 = 18.
    # 5-8 h: attempt 2 alone, memory binds: 3 x 0.6 x 10 = 18.
    cluster = lab()
    cluster.job("1", 0, 5, cores=5, mem_gib=20, gpus=1)
    cluster.job("2", 2, 8, cores=1, mem_gib=60)
    bound = [(r["resource"], r["held"]) for r in cluster.relation("binding", "at_s")]
    assert bound == [("core", 0.5), ("mem", 0.8), ("mem", 0.6), (None, 0)]
    assert costs(cluster) == pytest.approx({"1": 16, "2": 36})
    first = cluster.relation("attempt", "job_id_raw")[0]
    assert (first["core_usd"], first["mem_usd"], first["gpu_usd"]) == pytest.approx((10, 6, 0))


@pytest.mark.parametrize(
    ("cores", "mem_gib", "gpus", "resource"),
    [(5, 50, 2, "gpu"), (5, 50, 1, "mem"), (5, 40, 1, "core"), (5, 50, 0, "mem")],
)
def test_ties_go_to_gpu_then_memory_then_core(cores, mem_gib, gpus, resource):
    cluster = lab()
    cluster.job("1", 0, 1, cores=cores, mem_gib=mem_gib, gpus=gpus)
    assert cluster.relation("binding", "at_s")[0]["resource"] == resource


def test_held_idle_and_down_add_up_to_installed_and_costs_to_held():
    # A 10-hour day at 10 dollars. Held 0.5 for 4 h = 20. Down: 6-8 h whole (20), and from 3 h to 4 h the
    # unheld half of a draining node (5). The rest, 55, is idle.
    cluster = lab()
    cluster.job("1", 0, 4, cores=5)
    cluster.add("node_state", node="n1", from_time=at(3), to_time=at(4), state="DRAIN", is_down=True)
    cluster.add("node_state", node="n1", from_time=at(6), to_time=at(8), state="DOWN", is_down=True)
    cluster.add("node_state", node="n1", from_time=at(7), to_time=at(8), state="DOWN+DRAIN", is_down=True)
    cluster.add("node_state", node="n1", from_time=at(8), to_time=at(9), state="RESERVED", is_down=False)
    report = cluster.report()
    cost = report["cost"]
    assert (cost["installed_usd"], cost["held_usd"], cost["down_usd"]) == pytest.approx((100, 20, 25))
    assert (cost["capacity_usd"], cost["idle_usd"]) == pytest.approx((75, 55))
    assert sum(costs(cluster).values()) == pytest.approx(20)
    assert report["hours"]["down"] == pytest.approx({"core": 25, "gpu": 10, "mem_gib": 250})
    assert report["hours"]["capacity"] == pytest.approx({"core": 75, "gpu": 30, "mem_gib": 750})


def test_time_a_job_holds_the_whole_node_is_never_down():
    cluster = lab()
    cluster.job("1", 0, 4, cores=10)
    cluster.add("node_state", node="n1", from_time=at(2), to_time=at(6), state="DOWN", is_down=True)
    assert cluster.report()["cost"]["down_usd"] == pytest.approx(20)


@pytest.mark.parametrize("how", ["flag", "partition"])
def test_an_exclusive_attempt_pays_for_the_whole_node(how):
    policy = Policy(whole_node_partitions=("whole",)) if how == "partition" else Policy()
    cluster = lab(policy=policy)
    cluster.job("1", 0, 2, cores=1, exclusive=how == "flag", partition="whole")
    assert costs(cluster) == pytest.approx({"1": 20})


def test_more_held_than_there_is_costs_no_more_than_the_node():
    cluster = lab()
    cluster.job("1", 0, 2, cores=8)
    cluster.job("2", 1, 3, cores=8)
    assert costs(cluster) == pytest.approx({"1": 8 + 5, "2": 5 + 8})
    assert cluster.report()["cost"]["held_usd"] == pytest.approx(26)


def test_an_attempt_over_two_nodes_pays_on_each_and_idle_nodes_stay_idle():
    cluster = lab()
    cluster.node("n2", cores=10, mem_gib=100)
    cluster.node("n3", cores=10, mem_gib=100)
    cluster.add("node_state", node="n3", from_time=at(0), to_time=at(10), state="DOWN", is_down=True)
    cluster.job("1", 0, 4, nodes="n1,n2", cores=10)
    cost = cluster.report()["cost"]
    assert (cost["installed_usd"], cost["held_usd"], cost["idle_usd"]) == pytest.approx((300, 40, 160))


def test_a_node_that_grew_is_taken_at_its_size_at_the_time():
    cluster = Cluster(prices=Prices(classes={"cpu-10c-100GiB": 10.0, "cpu-20c-200GiB": 20.0}))
    cluster.node("n1", cores=10, mem_gib=100, to_time=at(4))
    cluster.node("n1", cores=20, mem_gib=200, from_time=at(4))
    cluster.job("1", 2, 6, cores=5)
    # 2 h x 0.5 x 10 + 2 h x 0.25 x 20
    assert costs(cluster) == pytest.approx({"1": 20})
    assert cluster.report()["cost"]["installed_usd"] == pytest.approx(4 * 10 + 6 * 20)


def test_without_node_states_down_is_not_measured_and_only_installed_is_shown():
    cluster = lab()
    cluster.job("1", 0, 4)
    report = cluster.report()
    for key in ("down_usd", "capacity_usd", "idle_usd"):
        assert report["cost"][key] is None
        assert report["reasons"][f"cost.{key}"]
    assert report["cost"]["installed_usd"] == pytest.approx(100)


def test_a_dump_of_node_states_that_names_none_says_that_nothing_was_down():
    cluster = lab()
    cluster.job("1", 0, 4)
    cluster.rows["evidence_file"] = [{"file_id": 1, "name": "events.txt", "kind": "sacctmgr events"}]
    assert cluster.report()["cost"]["down_usd"] == 0


@pytest.mark.parametrize("unknown", ["size", "gpus", "a time"])
def test_where_node_sizes_are_unknown_what_was_held_is_priced_by_resource(unknown):
    rates = {"core_hour_usd": 0.1, "mem_gib_hour_usd": 0.01, "gpu_hour_usd": 2.0}
    cluster = Cluster(prices=Prices(unbundled=rates))
    if unknown != "size":
        cluster.node("n1", gpus=0 if unknown == "gpus" else 4, from_time=at(1) if unknown == "a time" else None)
    cluster.job("1", 0, 2, cores=4, mem_gib=10, gpus=1)
    report = cluster.report()
    assert report["cost"]["mode"] == "unbundled"
    assert report["cost"]["held_usd"] == pytest.approx(2 * (4 * 0.1 + 10 * 0.01 + 2.0))
    assert report["hours"]["held"] == pytest.approx({"core": 8, "gpu": 2, "mem_gib": 20})
    for key in ("installed_usd", "capacity_usd", "idle_usd", "down_usd"):
        assert report["cost"][key] is None
        assert "n1" in report["reasons"][f"cost.{key}"]


def test_lost_is_what_failed_or_was_cut_by_cause_and_cancelled_is_an_ordinary_end():
    cluster = lab()
    for number, state in enumerate(["FAILED", "TIMEOUT", "REQUEUED", "PREEMPTED", "CANCELLED", "COMPLETED"]):
        cluster.job(str(number), number, number + 1, cores=5, state=state)
    cluster.job("x", 7, 9, cores=5, state="FAILED")
    report = cluster.report()
    assert {r["cause"]: (r["attempts"], r["usd"]) for r in report["lost"]} == {
        "FAILED": (2, pytest.approx(15)),
        "TIMEOUT": (1, pytest.approx(5)),
        "REQUEUED": (1, pytest.approx(5)),
        "PREEMPTED": (1, pytest.approx(5)),
    }
    assert report["cost"]["lost_usd"] == pytest.approx(30)
    assert report["cost"]["not_measured_usd"] == pytest.approx(10)
