"""What could be won back: the balanced slice of a node that nobody needed, and every held dollar in one bucket."""

import pytest

from audit.workspace import Policy, Prices
from tests.accounting.cluster import GIB, Cluster, at

DAY_RATE = Prices(classes={"8xT4": 24.0, "4xT4": 24.0, "cpu-100c-100GiB": 10.0, "cpu-200c-200GiB": 20.0})
BUCKETS = ("lost_usd", "not_measured_usd", "recoverable_usd", "used_usd", "kept_usd")


def lab(**values):
    """One node of 100 cores, 100 GiB and 8 GPUs at 24 dollars an hour, watched for one hour."""
    cluster = Cluster(window=(0, 1), prices=DAY_RATE, **values)
    cluster.node("n1", cores=100, mem_gib=100, gpus=8)
    return cluster


def used(cluster, job_id, mem_gib, start=0, end=1, **values):
    """A step that took so much memory throughout."""
    cluster.step(job_id, "0", start, end, rss_bytes=int(mem_gib * GIB), tasks=1, **values)


def touched(cluster, job_id, gpus, of, submit=0):
    """A summary of each GPU: so many were touched, the others never."""
    for number in range(of):
        memory, util = (8 * GIB, 60.0) if number < gpus else (0, 0.0)
        cluster.add(
            "gpu_summary",
            job_id_raw=job_id,
            submit=at(submit),
            node="n1",
            gpu=str(number),
            gpu_util=util,
            gpu_mem_bytes=memory,
        )


def buckets(cluster):
    return {r["job_id_raw"]: {k: r[k] for k in BUCKETS} for r in cluster.relation("attempt", "job_id_raw")}


def usd(cluster, column="usd"):
    return {r["job_id_raw"]: r[column] for r in cluster.relation("attempt", "job_id_raw")}


def two_jobs(a_gpus, b_need_gib):
    """A holds GPUs and 10 % of memory, B no GPU and 90 %; A's use is not measured, B's memory is."""
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=10, gpus=a_gpus)
    cluster.job("B", 0, 1, cores=1, mem_gib=90, gpus=0)
    used(cluster, "B", b_need_gib)
    return cluster


def test_memory_that_nobody_needs_frees_the_node_up_to_the_gpus_that_stay_held():
    # Memory binds: 0.1 + 0.9. A pays 24 x 0.1, B 24 x 0.9. B needs 20 GiB: then A's 4 of 8 GPUs bind, a half.
    cluster = two_jobs(a_gpus=4, b_need_gib=20)
    bound, needed = cluster.relation("binding", "at_s")[0], cluster.relation("needed", "at_s")[0]
    assert (bound["resource"], bound["held"], needed["needed"]) == ("mem", 1.0, 0.5)
    assert usd(cluster) == pytest.approx({"A": 2.40, "B": 21.60})
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 0.0, "B": 12.00})
    report = cluster.report()
    assert report["recoverable"]["high_usd"] == pytest.approx(12.00)
    unknown = dict.fromkeys(("usd_per_month", "expected_usd", "expected_usd_per_month", "killed", "of"))
    assert report["recoverable_by_resource"] == [
        {"resource": "memory", "usd": 12.0, "attempts": 1, "families": 1, **unknown}
    ]


def test_memory_beside_gpus_that_are_all_held_frees_nothing():
    cluster = two_jobs(a_gpus=8, b_need_gib=20)
    # All 8 GPUs are held, and memory as well: the tie goes to the GPUs, which A keeps.
    assert usd(cluster) == pytest.approx({"A": 24.0, "B": 0.0})
    assert cluster.report()["recoverable"]["high_usd"] == 0


def test_it_is_divided_in_proportion_to_what_each_gave_up():
    # Memory binds at 0.9: A holds 60 and needs 20, B holds 30 and needs 20. Needed 0.4: 0.5 x 24 = 12 comes back.
    # They gave up 40 and 10: A gets 9.60, B 2.40.
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=60)
    cluster.job("B", 0, 1, cores=1, mem_gib=30)
    used(cluster, "A", 20)
    used(cluster, "B", 20)
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 9.60, "B": 2.40})


def test_every_held_dollar_is_in_one_bucket():
    # Memory binds at 0.75 (cost 18). A: 40 held, 12.5 used, 13 advised: used 12.5 % of 24 = 3.00, recoverable 27 % = 6.48,
    # kept the rest of 9.60. B failed: its 20 % = 4.80 is lost. C's 15 % was not measured: 3.60.
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=40)
    cluster.job("B", 0, 1, cores=1, mem_gib=20, state="FAILED")
    cluster.job("C", 0, 1, cores=1, mem_gib=15)
    used(cluster, "A", 12.5)
    used(cluster, "B", 1)
    found = buckets(cluster)
    assert found["A"] == pytest.approx(
        {"lost_usd": 0, "not_measured_usd": 0, "recoverable_usd": 6.48, "used_usd": 3.00, "kept_usd": 0.12}
    )
    assert found["B"] == pytest.approx(dict.fromkeys(BUCKETS, 0) | {"lost_usd": 4.80})
    assert found["C"] == pytest.approx(dict.fromkeys(BUCKETS, 0) | {"not_measured_usd": 3.60})
    cost = cluster.report()["cost"]
    assert cost["held_usd"] == pytest.approx(18)
    assert [cost[k] for k in ("used_usd", "kept_usd", "lost_usd", "not_measured_usd")] == pytest.approx(
        [3, 0.12, 4.8, 3.6]
    )


@pytest.mark.parametrize(
    "state", ["FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "DEADLINE", "PREEMPTED", "REQUEUED"]
)
def test_what_a_failed_or_cut_attempt_held_is_lost_and_never_recoverable(state):
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=50, state=state)
    used(cluster, "A", 1)
    assert buckets(cluster)["A"] == pytest.approx(dict.fromkeys(BUCKETS, 0) | {"lost_usd": 12.0})
    assert cluster.report()["lost"] == [
        {"cause": state, "attempts": 1, "core_hours": 1.0, "gpu_hours": 0.0, "mem_gib_hours": 50.0, "usd": 12.0}
    ]


def test_cancelled_is_an_ordinary_end():
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=50, state="CANCELLED")
    used(cluster, "A", 10)
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 9.60})


def test_a_step_that_ran_out_of_memory_bounds_the_need_and_frees_nothing():
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=50)
    used(cluster, "A", 10, state="OUT_OF_MEMORY")
    assert buckets(cluster)["A"] == pytest.approx(dict.fromkeys(BUCKETS, 0) | {"used_usd": 2.40, "kept_usd": 9.60})


def test_gpus_never_touched_are_freed_whole_and_only_where_they_bind():
    # 4 of 8 GPUs bind; 1 was touched: three eighths of 24 come back.
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=10, gpus=4)
    touched(cluster, "A", 1, of=4)
    used(cluster, "A", 5)
    assert buckets(cluster)["A"] == pytest.approx(dict.fromkeys(BUCKETS, 0) | {"recoverable_usd": 9.0, "used_usd": 3.0})


def test_a_freed_gpu_stops_at_the_memory_beside_it():
    # GPUs bind at 0.5; none was touched, memory of 40 GiB not measured: needed 0.4, so 0.1 x 24 comes back.
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=40, gpus=4)
    touched(cluster, "A", 0, of=4)
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 2.40})


def test_cores_are_lowered_only_from_the_most_in_a_minute():
    # Cores bind at 0.8 of 100. The mean of 10 cores says what was used; without intervals nothing is given up.
    cluster = lab()
    cluster.job("A", 0, 1, cores=80, mem_gib=1, cpu_s=36_000)
    used(cluster, "A", 1)
    assert buckets(cluster)["A"] == pytest.approx(dict.fromkeys(BUCKETS, 0) | {"used_usd": 2.40, "kept_usd": 16.80})
    # The most in an interval was 30.5 cores: 31 are advised.
    watched = lab()
    watched.job("A", 0, 1, cores=80, mem_gib=1, cpu_s=36_000)
    for minute, cores in enumerate([30.5, *[10] * 59]):
        watched.add(
            "sample_job",
            node="n1",
            job="A",
            from_time=at(minute / 60),
            interval_s=60,
            cpu_s=cores * 60,
            anon_shmem_bytes_max=GIB,
        )
    assert usd(watched, "recoverable_usd") == pytest.approx({"A": 49 / 100 * 24})


def test_memory_is_rounded_up_to_the_step_on_each_node():
    # 2 nodes, 20 GiB held on each (of 100): 9 GiB used are 4.5 a node: 5 are advised, 15 % of each node's 10 an hour.
    cluster = Cluster(window=(0, 1), prices=DAY_RATE)
    for name in ("n1", "n2"):
        cluster.node(name, cores=100)
    cluster.job("A", 0, 1, nodes="n1,n2", cores=2, mem_gib=40)
    used(cluster, "A", 9)
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 3.0})
    coarse = Cluster(window=(0, 1), prices=DAY_RATE, policy=Policy(mem_step_bytes=8 * GIB), rows=cluster.rows)
    assert usd(coarse, "recoverable_usd") == pytest.approx({"A": 2.4})


def test_on_uneven_nodes_what_does_not_fit_is_held_elsewhere_and_the_need_goes_with_it():
    # 240 GiB over 100 and 200: 100 on n1, 140 on n2. 24 used: 10 on n1, 14 on n2.
    # n1: 90 % of 10 = 9.00, n2: 126 / 200 of 20 = 12.60.
    cluster = Cluster(window=(0, 1), prices=DAY_RATE)
    cluster.node("n1", cores=100)
    cluster.node("n2", cores=200, mem_gib=200)
    cluster.job("A", 0, 1, nodes="n1,n2", cores=2, mem_gib=240)
    used(cluster, "A", 24)
    assert usd(cluster) == pytest.approx({"A": 10 + 14})
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 21.60})


def test_an_exclusive_attempt_holds_uses_and_needs_the_whole_node():
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=50, exclusive=True)
    used(cluster, "A", 1)
    touched(cluster, "A", 0, of=8)
    assert usd(cluster) == pytest.approx({"A": 24})
    assert usd(cluster, "recoverable_usd") == {"A": 0}


def test_suspended_time_holds_memory_but_not_cores():
    # Half of the hour suspended: 0.8 of cores for half the time is 0.4 on average; memory binds at 0.5.
    cluster = lab()
    cluster.job("A", 0, 1, cores=80, mem_gib=50, suspended_s=1800)
    used(cluster, "A", 9.5)
    assert usd(cluster) == pytest.approx({"A": 12.0})
    # Needed: cores 0.4 stay. So of 0.5 only 0.1 comes back.
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 2.40})


def test_a_resized_attempt_needs_its_peak_of_whatever_it_holds():
    # First half hour 80 GiB, then 20; the peak of 30 GiB is more than the second span holds: 50 % of 24 x 0.5 h = 6.
    cluster = lab()
    spans = [
        {"from_time": at(0), "to_time": at(0.5), "mem_bytes": 80 * GIB},
        {"from_time": at(0.5), "to_time": at(1), "mem_bytes": 20 * GIB},
    ]
    cluster.job("A", 0, 1, cores=1, spans=spans)
    used(cluster, "A", 30)
    assert usd(cluster) == pytest.approx({"A": 9.6 + 2.4})
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 6.0})
    assert usd(cluster, "asks_too_little") == {"A": False}


def test_the_windows_edge_and_the_slices_cut_what_counts():
    # From -1 h to 2 h on two nodes, one of them in the slice: one hour of one node counts, 40 of 50 GiB come back.
    cluster = lab(slice_nodes=("n1",))
    cluster.node("n2", cores=100, mem_gib=100, gpus=8)
    cluster.job("A", -1, 2, nodes="n1,n2", cores=2, mem_gib=100)
    used(cluster, "A", 20, start=-1, end=2, submit=-1)
    assert usd(cluster) == pytest.approx({"A": 12.0})
    assert usd(cluster, "recoverable_usd") == pytest.approx({"A": 9.60})


def test_a_peak_above_what_was_held_saves_nothing_and_is_listed():
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=50)
    used(cluster, "A", 60)
    assert usd(cluster, "recoverable_usd") == {"A": 0}
    assert usd(cluster, "asks_too_little") == {"A": True}


def test_asking_too_little_of_one_resource_keeps_all_of_them():
    cluster = lab()
    cluster.job("A", 0, 1, cores=1, mem_gib=10, gpus=4)
    used(cluster, "A", 20)
    touched(cluster, "A", 1, of=4)
    assert usd(cluster, "recoverable_usd") == {"A": 0}


@pytest.mark.parametrize(("need_gib", "won"), [(50, 0.0), (30, 0.1 * 24)])
def test_a_node_that_was_given_out_twice_has_at_most_itself_to_win_back(need_gib, won):
    # 3 x 60 GiB of 100 are held: 1 at most. They need 3 x 50: nothing is free; 3 x 30: a tenth.
    cluster = lab()
    for job in "ABC":
        cluster.job(job, 0, 1, cores=1, mem_gib=60)
        used(cluster, job, need_gib)
    assert cluster.report()["recoverable"]["high_usd"] == pytest.approx(won)


def test_an_exclusive_attempt_on_a_gpu_node_uses_it_all_if_any_use_of_it_was_measured():
    cluster = lab()
    cluster.job("A", 0, 0.5, cores=1, mem_gib=10, exclusive=True)
    used(cluster, "A", 1, end=0.5)
    cluster.job("B", 0.5, 1, cores=1, mem_gib=10, exclusive=True)
    assert usd(cluster, "used_usd") == pytest.approx({"A": 12.0, "B": 0.0})
    assert usd(cluster, "not_measured_usd") == pytest.approx({"A": 0.0, "B": 12.0})


def test_a_mig_instance_that_nobody_watched_is_not_free_because_another_was_idle():
    cluster = Cluster(window=(0, 1), prices=Prices(classes={"2xT4": 24.0, "1xT4": 24.0}))
    cluster.node("n1", cores=100, mem_gib=100, gpus=1, gres="gpu:t4_3g.40gb=2")
    cluster.job("A", 0, 1, cores=1, mem_gib=1, gpus=1, gres="gpu:t4_3g.40gb=2")
    touched(cluster, "A", 0, of=1)
    assert usd(cluster, "recoverable_usd") == {"A": 0}
    assert usd(cluster, "not_measured_usd") == pytest.approx({"A": 24.0})


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("train_7b_0001", "train_#b_#"),
        ("run-2026-05-04T10:30:00", "run-#"),
        ("2026-05-04_12-30 sweep", "# sweep"),
        ("x_1_2_3", "x_#"),
        ("ab1cdefa", "#"),
        ("c0ffeeab", "#"),
        ("run_e1abcdefabcdef", "run_#"),
        ("deadbeef", "deadbeef"),
        ("job.3f2504e0-4f89-11d3-9a0c-0305e82c3301.sh", "job.#.sh"),
        ("röntgen_12", "röntgen_#"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_family_is_a_name_without_its_numbers(name, family):
    cluster = lab()
    cluster.job("A", 0, 1, job_name=name)
    assert usd(cluster, "family") == {"A": family}


def test_without_node_sizes_each_resource_is_won_back_at_its_own_rate():
    # 10 GiB-hours at 0.01 and 2 core-hours at 0.05; 4 GiB are advised: 6 x 0.01 come back.
    cluster = Cluster(window=(0, 1), prices=Prices(unbundled={"core_hour_usd": 0.05, "mem_gib_hour_usd": 0.01}))
    cluster.job("A", 0, 1, cores=2, mem_gib=10, cpu_s=3600)
    used(cluster, "A", 3.2)
    assert cluster.report()["cost"]["mode"] == "unbundled"
    assert buckets(cluster)["A"] == pytest.approx(
        {
            "lost_usd": 0,
            "not_measured_usd": 0,
            "recoverable_usd": 0.06,
            "used_usd": 0.032 + 0.05,
            "kept_usd": 0.008 + 0.05,
        }
    )


def test_contended_is_what_somebody_was_queueing_for():
    # Memory of A: 90 held, 10 needed; 80 % of 24 = 19.20 an hour. From 0:30 to 1:00 a request for 50 of 100 GiB waits:
    # 12 dollars an hour, half an hour: 6. In the second hour three such wait (36): all of 19.20 is contended.
    cluster = Cluster(window=(0, 2), prices=DAY_RATE)
    cluster.node("n1", cores=100, mem_gib=100, gpus=8, partitions="main")
    cluster.job("A", 0, 2, cores=1, mem_gib=90)
    used(cluster, "A", 10, end=2)
    half = {"partition": "main", "req_mem_bytes": 50 * GIB, "state": "PENDING"}
    cluster.add("job", job_id_raw="B", submit=at(0.5), eligible=at(0.5), **half)
    cluster.add("job", job_id_raw="C", submit=at(0.1), eligible=at(1), array_tasks=2, **half)
    cluster.add("job", job_id_raw="D", submit=at(0.1), partition="main", req_mem_bytes=GIB, state="PENDING")
    report = cluster.report()
    assert report["recoverable"]["high_usd"] == pytest.approx(38.40)
    assert report["recoverable"]["contended_usd"] == pytest.approx(6 + 19.20)


def test_without_node_sizes_what_waits_is_priced_by_the_same_rates():
    # 6 GiB at 0.01 come back in the hour: 0.06. One core at 0.05 waits for half of it: 0.025 of that is contended.
    cluster = Cluster(window=(0, 1), prices=Prices(unbundled={"core_hour_usd": 0.05, "mem_gib_hour_usd": 0.01}))
    cluster.job("A", 0, 1, cores=2, mem_gib=10)
    used(cluster, "A", 3.2)
    cluster.add("job", job_id_raw="B", submit=at(0), eligible=at(0.5), partition="main", req_cores=1, state="PENDING")
    assert cluster.report()["recoverable"]["high_usd"] == pytest.approx(0.06)
    assert cluster.report()["recoverable"]["contended_usd"] == pytest.approx(0.025)


def test_a_request_for_gpus_costs_its_part_of_the_nodes_that_have_some():
    # 8 of 10 dollars come back on the CPU node; one of 8 GPUs of the 24-dollar node waits: 3 of them are contended.
    cluster = lab()
    cluster.node("c1", cores=100, mem_gib=100, partitions="main")
    cluster.rows["node"][0]["partitions"] = "main"
    cluster.job("A", 0, 1, nodes="c1", cores=1, mem_gib=90)
    used(cluster, "A", 10)
    request = {"partition": "main", "req_mem_bytes": GIB, "req_gpus": 1, "state": "PENDING"}
    cluster.add("job", job_id_raw="B", submit=at(0), eligible=at(0), **request)
    report = cluster.report()
    assert report["recoverable"]["high_usd"] == pytest.approx(8.0)
    assert report["recoverable"]["contended_usd"] == pytest.approx(3.0)
