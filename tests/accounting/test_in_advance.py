"""Advice given before attempts started: what it would have won back, killed, slowed, and left alone."""

import math

import pytest

from audit.accounting import figures
from audit.errors import AuditError
from audit.workspace import Policy, Prices
from tests.accounting.cluster import GIB, Cluster, at

PRICES = Prices(classes={"8xT4": 24.0, "cpu-100c-100GiB": 10.0})
UNBUNDLED = Prices(unbundled={"core_hour_usd": 0.05, "mem_gib_hour_usd": 0.01})


def lab(hours=1, **values):
    """One node of 100 cores, 100 GiB and 8 GPUs at 24 dollars an hour."""
    cluster = Cluster(window=(0, hours), prices=PRICES, **values)
    cluster.node("n1", cores=100, mem_gib=100, gpus=8)
    return cluster


def job(cluster, job_id, held_gib, used_gib, advised_gib, *, end=1, **values):
    """An attempt that holds memory, and what was used and advised of it (None: not measured, no advice)."""
    cluster.job(job_id, 0, end, **{"cores": 1, "mem_gib": held_gib, **values})
    if used_gib is not None:
        cluster.step(job_id, "0", 0, end, rss_bytes=int(used_gib * GIB), tasks=1)
    if advised_gib is not None:
        cluster.advise(job_id, mem_bytes=advised_gib * GIB)


def touched(cluster, job_id, gpus, of, mem_gib=None):
    """Telemetry's summary: so many GPUs were touched, the others never; memory of the node beside it."""
    for number in range(of):
        use = {"gpu_util": 60.0, "gpu_mem_bytes": 8 * GIB} if number < gpus else {"gpu_util": 0.0, "gpu_mem_bytes": 0}
        cluster.add("gpu_summary", job_id_raw=job_id, submit=at(0), node="n1", gpu=str(number), **use)
    if mem_gib is not None:
        cluster.add("gpu_summary", job_id_raw=job_id, submit=at(0), node="n1", node_mem_bytes=mem_gib * GIB)


def watched_cores(cluster, job_id, most):
    """An hour of one-minute intervals with so many cores in use in the busiest."""
    for minute in range(60):
        cpu_s = (most if minute == 0 else 1) * 60
        measures = {"interval_s": 60, "cpu_s": cpu_s, "anon_shmem_bytes_max": GIB}
        cluster.add("sample_job", node="n1", job=job_id, from_time=at(minute / 60), **measures)


def won(cluster):
    return cluster.report()["recoverable"]


def test_what_is_killed_saves_nothing_and_runs_once_more():
    # Memory binds at 1. A 40 held, 10 used, 15 advised: 25 % of 24 = 6.00 come back. B 30 held, 20 used, 18 advised:
    # killed; 18 % of 24 = 4.32 to run that again. C abstained on, D not measured: they keep what they held.
    cluster = lab()
    job(cluster, "A", 40, 10, 15)
    job(cluster, "B", 30, 20, 18)
    job(cluster, "C", 20, 5, None)
    cluster.advise("C", abstained=True, mem_bytes=6.0 * GIB)
    job(cluster, "D", 10, None, 2)
    found = won(cluster)
    assert (found["expected_gross_usd"], found["reruns_usd"]) == pytest.approx((6.00, 4.32))
    assert found["expected_usd"] == pytest.approx(1.68)
    assert found["high_usd"] == pytest.approx(0.55 * 24)  # they needed 10, 20, 5 and 10
    assert found["kills"] == {"killed": 1, "of": 2, "by_memory": 1, "of_memory": 2, "by_gpus": 0, "of_gpus": 0}
    assert found["abstained"] == {"attempts": 1, "missing": 0, "of": 4, "usd": pytest.approx(4.80)}
    assert found["slowed"] == {"slowed": 0, "of": 2}


@pytest.mark.parametrize(
    ("advised", "gross", "reruns", "by_gpus"),
    [(4, 0.0, 0.0, 0), (3, 3.0, 0.0, 0), (2, 6.0, 0.0, 0), (1.5, 6.0, 0.0, 0), (1, 0.0, 3.0, 1)],
)
def test_gpus_are_advised_whole_and_too_few_kill(advised, gross, reruns, by_gpus):
    # 4 of 8 GPUs held, 2 touched; each is 3 dollars an hour.
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=1, gpus=4)
    touched(cluster, "A", 2, of=4)
    cluster.advise("A", gpus=advised)
    found = won(cluster)
    assert (found["expected_gross_usd"], found["reruns_usd"]) == pytest.approx((gross, reruns))
    assert (found["kills"]["killed"], found["kills"]["by_gpus"]) == (by_gpus, by_gpus)


@pytest.mark.parametrize(("advised", "kept", "slowed"), [(50, 50, 0), (30.2, 31, 0), (20, 31, 1)])
def test_too_few_cores_slow_and_are_lowered_to_the_need_only(advised, kept, slowed):
    # 80 of 100 cores held, 30.5 in use in the busiest minute: 31 are needed.
    cluster = lab()
    cluster.job("A", 0, 1, cores=80, mem_gib=1)
    watched_cores(cluster, "A", 30.5)
    cluster.advise("A", cores=advised)
    found = won(cluster)
    assert found["expected_gross_usd"] == pytest.approx((80 - kept) / 100 * 24)
    assert (found["slowed"], found["kills"]["killed"]) == ({"slowed": slowed, "of": 1}, 0)


@pytest.mark.parametrize(("advised", "gross", "killed"), [(9, 3.0, 0), (8, 0.0, 1)])
def test_advice_is_spread_and_rounded_up_on_each_node_before_it_is_judged(advised, gross, killed):
    # 2 nodes, 20 GiB held on each: 9.5 used are 4.75 a node, so 5; 9 advised are 4.5, so 5 as well: 15 % of 10 on each.
    cluster = Cluster(window=(0, 1), prices=PRICES)
    for name in ("n1", "n2"):
        cluster.node(name, cores=100)
    job(cluster, "A", 40, 9.5, advised, nodes="n1,n2", cores=2)
    found = won(cluster)
    assert (found["expected_gross_usd"], found["kills"]["killed"]) == (pytest.approx(gross), killed)
    assert found["reruns_usd"] == pytest.approx(0.8 * killed)  # 4 % of 10 on each


@pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED"])
def test_what_was_lost_or_cut_short_keeps_what_it_held(state):
    cluster = lab()
    job(cluster, "A", 50, 40, 20, state=state)
    found = won(cluster)
    assert (found["expected_gross_usd"], found["reruns_usd"], found["kills"]["of"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "values",
    [
        {"used_gib": 60, "advised_gib": 55},  # it asks too little: more than it held was used
        {"used_gib": 10, "advised_gib": 50},
        {"used_gib": 10, "advised_gib": 500},
        {"used_gib": 10, "advised_gib": 20, "exclusive": True},
        *({"used_gib": 10, "advised_gib": odd} for odd in (math.nan, math.inf, -math.inf, -1.0)),
    ],
)
def test_advice_that_lowers_nothing_counts_as_none(values):
    cluster = lab()
    job(cluster, "A", 50, **values)
    found = won(cluster)
    assert (found["expected_usd"], found["reruns_usd"], found["kills"]["of"]) == (0, 0, 0)


def test_memory_freed_beside_gpus_that_stay_held_wins_nothing_but_may_still_kill():
    # All 8 GPUs bind: lower memory frees nothing. Too little of it kills: the run again holds the 8 GPUs for 24.
    for advised, killed in ((30, 0), (15, 1)):
        cluster = lab()
        job(cluster, "A", 50, 20, advised, gpus=8)
        found = won(cluster)
        assert (found["expected_gross_usd"], found["reruns_usd"]) == pytest.approx((0, 24 * killed))
        assert found["kills"]["killed"] == killed
        (memory,) = cluster.report()["recoverable_by_resource"] or [{"expected_usd": 0, "killed": 0}]
        assert (memory["expected_usd"], memory["killed"]) == (pytest.approx(-24 * killed), killed)


def two_watched(bold_gib):
    """A is watched by telemetry, B by its steps alone: 40 GiB held and 10 used each."""
    cluster = lab()
    job(cluster, "A", 40, None, None)
    touched(cluster, "A", 0, of=0, mem_gib=10)
    job(cluster, "B", 40, 10, None)
    for name in "AB":
        cluster.advise(name, quantiles=(0.9, 0.95, 0.99), mem_bytes=bold_gib * GIB)
        cluster.advise(name, quantiles=(0.995,), mem_bytes=20.0 * GIB)
    return cluster


def test_low_is_the_cautious_quantile_of_what_telemetry_watched():
    # Expected: 28 of 40 come back of each: 56 % of 24 = 13.44. Low: 20 of A only: 4.80.
    found = won(two_watched(bold_gib=12))
    assert (found["expected_usd"], found["low_usd"]) == pytest.approx((13.44, 4.80))
    assert found["low_kills"] == {"killed": 0, "of": 1}
    assert found["policy_too_bold"] is False  # at 0.995 both give up 20: 9.60


def test_a_policy_whose_kills_cost_more_than_caution_is_too_bold():
    # 8 GiB advised kill both: each runs 8 % of 24 = 1.92 once more. At 0.995 both give up 20: 9.60.
    found = won(two_watched(bold_gib=8))
    assert (found["expected_usd"], found["low_usd"]) == pytest.approx((-3.84, 4.80))
    assert found["policy_too_bold"] is True
    assert found["sensitivity"][-1]["net_usd"] == pytest.approx(9.60)
    assert found["high_usd"] == pytest.approx(0.6 * 24)


def test_without_telemetry_there_is_no_low():
    cluster = lab()
    job(cluster, "A", 40, 10, 20)
    found, reasons = won(cluster), cluster.report()["reasons"]
    assert found["expected_usd"] == pytest.approx(4.80)
    assert (found["low_usd"], found["low_kills"]) == (None, None)
    assert reasons["recoverable.low_usd"] == reasons["recoverable.low_kills"]
    assert found["policy_too_bold"] is False  # that is told of the same attempts, watched or not
    assert "recoverable.expected_usd" not in reasons


def test_each_quantile_says_what_it_would_have_won_and_killed():
    # 30 GiB used of 80 held: 28 advised kill (6.72 once more), 40 save 40 % of 24, 60 save 20 %.
    cluster = lab(policy=Policy(quantile=0.95))
    job(cluster, "A", 80, 30, None)
    for quantile, advised in ((0.9, 28.0), (0.95, 40.0), (0.99, 60.0)):
        cluster.advise("A", quantiles=(quantile,), mem_bytes=advised * GIB)
    found = won(cluster)
    assert [list(row.values()) for row in found["sensitivity"]] == [
        pytest.approx(row)
        for row in ([0.9, 0, 6.72, 1, 1, 0, -6.72], [0.95, 9.6, 0, 0, 1, 0, 9.6], [0.99, 4.8, 0, 0, 1, 0, 4.8])
    ]
    assert (found["quantile"], found["expected_usd"]) == (0.95, pytest.approx(9.6))
    for key in ("low_usd", "low_kills", "policy_too_bold"):
        assert found[key] is None and "0.995" in cluster.report()["reasons"][f"recoverable.{key}"]


def test_a_family_tells_what_is_expected_of_it_and_what_would_break():
    # Of run-#: 1 saves 20 % of 24, 2 is killed and runs 8 % once more. Of idle: nothing was advised.
    cluster = lab()
    job(cluster, "1", 40, 10, 20, job_name="run-1")
    job(cluster, "2", 30, 10, 8, job_name="run-2")
    job(cluster, "3", 10, 5, None, job_name="idle")
    found = {row["family"]: row for row in cluster.report()["families"]}
    keys = ("expected_usd", "killed", "of", "slowed")
    assert [found["run-#"][key] for key in keys] == pytest.approx([4.80 - 1.92, 1, 2, 0])
    assert [found["idle"][key] for key in keys] == [0, 0, 0, 0]


def test_nodes_and_gpus_expected_free_and_those_that_reruns_take():
    # 8 GPUs held through 2 hours by A (6 touched, 7 advised) and for one hour by B on n2 (all touched, 4 advised).
    # A: an eighth of a node for 2 h. B: killed; half a node for an hour. Over 2 hours: (0.25 - 0.5) / 2 of a node.
    cluster = lab(hours=2)
    cluster.node("n2", cores=100, mem_gib=100, gpus=8)
    cluster.job("A", 0, 2, cores=1, mem_gib=1, gpus=8)
    touched(cluster, "A", 6, of=8)
    cluster.advise("A", gpus=7.0)
    cluster.job("B", 0, 1, nodes="n2", cores=1, mem_gib=1, gpus=8)
    for gpu in range(8):
        use = {"gpu_util": 60.0, "gpu_mem_bytes": GIB}
        cluster.add("gpu_summary", job_id_raw="B", submit=at(0), node="n2", gpu=str(gpu), **use)
    cluster.advise("B", gpus=4.0)
    found = won(cluster)
    assert found["freed_nodes"] == pytest.approx(0.25)
    freed = [found[f"expected_freed_{what}"] for what in ("nodes", "gpus", "cores")]
    assert freed == pytest.approx([-0.125, -1.0, -12.5])
    assert sum(row["expected_usd"] for row in found["by_class"]) == pytest.approx(found["expected_usd"])
    (row,) = cluster.report()["recoverable_by_resource"]
    assert (row["expected_usd"], row["killed"], row["of"]) == pytest.approx((-6.0, 1, 2))
    assert cluster.report()["actions"] == []  # what loses is nothing to do


def test_an_action_frees_before_reruns_what_it_wins_back_less_them():
    # A: 2 of 8 GPUs touched, 4 advised: half a node of 24 for an hour of two. B, an hour on n2: killed at 2 of 4 GPUs,
    # all touched: a quarter of 24 once more.
    cluster = lab(hours=2)
    cluster.node("n2", cores=100, mem_gib=100, gpus=8)
    cluster.job("A", 0, 1, cores=1, mem_gib=1, gpus=8)
    touched(cluster, "A", 2, of=8)
    cluster.advise("A", gpus=4.0)
    cluster.job("B", 0, 1, nodes="n2", cores=1, mem_gib=1, gpus=4)
    for gpu in range(4):
        use = {"gpu_util": 60.0, "gpu_mem_bytes": GIB}
        cluster.add("gpu_summary", job_id_raw="B", submit=at(0), node="n2", gpu=str(gpu), **use)
    cluster.advise("B", gpus=2.0)
    (action,) = cluster.report()["actions"]
    assert (action["expected_usd"], action["killed"], action["of"]) == pytest.approx((12.0 - 6.0, 1, 2))
    assert (action["expected_freed_nodes"], action["expected_freed_gpus"]) == pytest.approx((0.25, 2.0))


def test_kills_by_a_resource_are_of_the_attempts_advised_less_of_that_resource():
    # A: 40 GiB held, 10 used, 15 advised. B: 8 GiB advised: killed. C: 4 GPUs held, 2 touched, 1 advised: killed; of its
    # memory nothing was measured. D: 20 of 25 cores advised, 10 in use; as much memory as it held.
    cluster = lab()
    job(cluster, "A", 40, 10, 15)
    job(cluster, "B", 20, 10, 8)
    cluster.job("C", 0, 1, cores=1, mem_gib=10, gpus=4)
    touched(cluster, "C", 2, of=4)
    cluster.advise("C", gpus=1.0, mem_bytes=5.0 * GIB)
    cluster.job("D", 0, 1, cores=25, mem_gib=10)
    watched_cores(cluster, "D", 10)
    cluster.advise("D", cores=20.0, mem_bytes=10.0 * GIB)
    kills, rows = won(cluster)["kills"], cluster.report()["recoverable_by_resource"]
    assert kills == {"killed": 2, "of": 4, "by_memory": 1, "of_memory": 2, "by_gpus": 1, "of_gpus": 1}
    by_resource = {row["resource"]: (row["killed"], row["of"]) for row in rows}
    assert by_resource == {"memory": (1, 2), "gpus": (1, 1), "cores": (0, 1)}


@pytest.mark.parametrize("policy", [0.99, 0.995])
def test_low_above_expected_for_what_it_leaves_out_is_not_too_bold(policy):
    # A is watched: 20 of 40 GiB come back, 4.80. B is not: killed at any quantile, 8 % of 24 = 1.92 once more.
    cluster = lab(policy=Policy(quantile=policy))
    job(cluster, "A", 40, None, None)
    touched(cluster, "A", 0, of=0, mem_gib=10)
    cluster.advise("A", mem_bytes=20.0 * GIB)
    job(cluster, "B", 40, 10, 8)
    found, reasons = won(cluster), cluster.report()["reasons"]
    assert (found["expected_usd"], found["low_usd"]) == pytest.approx((4.80 - 1.92, 4.80))
    assert (found["kills"]["killed"], found["low_kills"]["killed"]) == (1, 0)
    assert found["policy_too_bold"] is (None if policy == 0.995 else False)
    assert ("recoverable.policy_too_bold" in reasons) is (policy == 0.995)


def test_expected_and_queued_for_is_the_smaller_of_the_two_in_each_hour():
    # A gives up 40 of 90 GiB: 9.60 an hour. In the first hour a request for a quarter waits: 6; in the second one for
    # half the node: 12.
    cluster = lab(hours=2)
    cluster.rows["node"][0]["partitions"] = "main"
    job(cluster, "A", 90, 10, 50, end=2)
    request = {"partition": "main", "state": "PENDING"}
    cluster.add("job", job_id_raw="B", submit=at(0), eligible=at(0), req_mem_bytes=25 * GIB, **request)
    cluster.add("job", job_id_raw="C", submit=at(0), eligible=at(1), req_mem_bytes=25 * GIB, **request)
    found = won(cluster)
    assert found["expected_contended_usd"] == pytest.approx(6 + 9.6)
    assert found["contended_usd"] == pytest.approx(6 + 12)


def test_days_drawn_again_bound_what_is_expected():
    # Two weeks with 9.60 a day in the first hour, but for one day on which the attempt is killed: 20 % of 24 for an hour.
    cluster = lab(hours=14 * 24)
    for day in range(14):
        name, start = str(day), 24 * day
        cluster.job(name, start, start + 1, cores=1, mem_gib=80)
        cluster.step(name, "0", start, start + 1, submit=start, rss_bytes=30 * GIB, tasks=1)
        cluster.advise(name, submit=start, mem_bytes=(20.0 if day == 3 else 40.0) * GIB)
    found = won(cluster)
    assert found["expected_usd"] == pytest.approx(13 * 9.6 - 4.8)
    drawn = found["expected_sampling"]
    assert (drawn["days"], drawn["high_usd"]) == (14, pytest.approx(14 * 9.6))
    assert drawn["low_usd"] < found["expected_usd"]


def test_without_node_sizes_a_run_again_is_priced_by_the_same_rates():
    # A: 5 of 10 GiB-hours at 0.01 come back. B: 8 used, 6 advised: killed, 6 x 0.01 + 2 cores x 0.05 once more.
    cluster = Cluster(window=(0, 1), prices=UNBUNDLED)
    job(cluster, "A", 10, 3.2, 5, cores=2)
    job(cluster, "B", 10, 8, 6, cores=2)
    found = won(cluster)
    assert (found["expected_gross_usd"], found["reruns_usd"]) == pytest.approx((0.05, 0.16))
    assert found["high_usd"] == pytest.approx(0.06 + 0.02)
    assert (found["expected_freed_nodes"], found["kills"]["killed"]) == (None, 1)


KEYS = ("low_usd", "expected_usd", "expected_gross_usd", "reruns_usd", "expected_contended_usd", "expected_freed_nodes")


@pytest.mark.parametrize("others", [False, True], ids=["no replay", "a replay of other attempts"])
def test_without_a_replay_nothing_is_expected_and_the_reason_is_said(others):
    cluster = lab()
    job(cluster, "A", 40, 10, None)
    if others:
        cluster.advise("Z", mem_bytes=GIB)
    found, report = won(cluster), cluster.report()
    for key in (*KEYS, "kills", "low_kills", "slowed", "abstained", "policy_too_bold", "expected_sampling"):
        assert found[key] is None
    assert found["sensitivity"] == []
    assert report["families"][0]["expected_usd"] is None
    assert "audit train" in report["reasons"]["recoverable.expected_usd"]


def test_attempts_that_the_replay_lacks_are_said_and_keep_what_they_held():
    cluster = lab()
    job(cluster, "A", 40, 10, 20)
    job(cluster, "B", 40, 10, None)
    assert won(cluster)["abstained"] == {"attempts": 1, "missing": 1, "of": 2, "usd": pytest.approx(9.6)}
    assert won(cluster)["expected_usd"] == pytest.approx(4.8)
    assert "lacks" in cluster.report()["reasons"]["recoverable.abstained"]


def test_a_replay_that_says_nothing_at_the_policys_quantile_is_no_basis():
    cluster = lab()
    job(cluster, "A", 40, 10, None)
    cluster.advise("A", quantiles=(0.9,), mem_bytes=20.0 * GIB)
    assert won(cluster)["expected_usd"] is None
    assert "0.99" in cluster.report()["reasons"]["recoverable.expected_usd"]


def test_two_rows_for_one_attempt_count_once():
    cluster = lab()
    job(cluster, "A", 40, 10, 20)
    cluster.advise("A", mem_bytes=15.0 * GIB)
    assert won(cluster)["expected_usd"] == pytest.approx(4.8)  # the larger of them


@pytest.mark.parametrize("query", ["SELECT 1 AS cores", "SELECT *, 1 AS extra FROM (SELECT 'x' AS quantile)", None])
def test_a_replay_that_cannot_be_read_says_where_and_what_to_do(query):
    cluster = lab()
    job(cluster, "A", 40, 10, 20)
    workspace = cluster.workspace()
    if query is None:
        workspace.replay.write_bytes(b"PAR1, but no more of it")
    else:
        path = {"path": str(workspace.replay)}
        cluster.connect().execute(f"COPY ({query}) TO $path (FORMAT parquet)", path)
    with pytest.raises(AuditError, match="audit train") as caught:
        figures(cluster.connect(), workspace)
    assert "replay.parquet" in str(caught.value)
