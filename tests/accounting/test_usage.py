"""Measured use: each measure from the best source there is, or NULL with a reason; absent is never 0."""

import pytest

from tests.accounting.cluster import GIB, Cluster, at

KIB = 1024
MIB = 2**20


def usage(cluster, job_id="1"):
    return next(r for r in cluster.relation("usage", "job_id_raw") if r["job_id_raw"] == job_id)


def watched_gpu(cluster, uuid, **values):
    """An hour of 10-minute samples of one card of n1."""
    for tenth in range(6):
        measures = {"minor": 0, "interval_s": 600, "samples": 60, **values}
        cluster.add("sample_gpu", node="n1", uuid=uuid, from_time=at(tenth / 6), **measures)


def test_memory_is_the_sum_of_task_peaks_not_the_largest_task():
    cluster = Cluster()
    cluster.job("1", 0, 1, cores=8, mem_gib=16000 / 1024)
    peaks = {"max_rss_bytes": 1900000 * KIB, "rss_bytes": 15200000 * KIB}
    cluster.step("1", "0", 0, 1, tasks=8, **peaks)
    assert usage(cluster)["mem_used_bytes"] == 15564800000
    assert cluster.report()["efficiency"]["mem"] == pytest.approx(0.9277, abs=5e-5)


def test_one_fat_task_is_not_taken_for_all():
    cluster = Cluster()
    cluster.job("1", 0, 1, cores=8, mem_gib=16)
    cluster.step("1", "0", 0, 1, tasks=8, max_rss_bytes=4194304 * KIB, rss_bytes=8388608 * KIB)
    row = usage(cluster)
    assert (row["mem_used_bytes"], row["max_task_bytes"], row["mem_source"]) == (
        8589934592,
        4294967296,
        "rss_sum",
    )
    assert cluster.report()["efficiency"]["mem"] == pytest.approx(0.5)


STEPS = {
    "one task's peak x tasks is an upper bound": (
        [("0", 0, 4, {"tasks": 4, "max_rss_bytes": GIB})],
        (4 * GIB, "rss_bound"),
    ),
    "steps that overlapped are added": (
        [
            ("batch", 0, 4, {"rss_bytes": GIB}),
            ("0", 0, 2, {"rss_bytes": 3 * GIB}),
            ("1", 1, 3, {"rss_bytes": 5 * GIB}),
        ],
        (9 * GIB, "rss_sum"),
    ),
    "steps that followed one another are not": (
        [("0", 0, 2, {"rss_bytes": 3 * GIB}), ("1", 2, 4, {"rss_bytes": 5 * GIB})],
        (5 * GIB, "rss_sum"),
    ),
    "a step that ended as it started counts by itself": (
        [("batch", 0, 4, {"rss_bytes": GIB}), ("0", 1, 1, {"rss_bytes": 3 * GIB})],
        (3 * GIB, "rss_sum"),
    ),
    "an .extern without usage takes nothing away": (
        [("batch", 0, 4, {"rss_bytes": GIB}), ("extern", 0, 4, {})],
        (GIB, "rss_sum"),
    ),
    "a long step without a peak leaves the attempt unmeasured": (
        [("batch", 0, 4, {"rss_bytes": GIB}), ("0", 0, 4, {})],
        (None, None),
    ),
    "a short step without a peak does not": (
        [("batch", 0, 4, {"rss_bytes": GIB}), ("0", 0, 0.1, {"max_rss_bytes": 0})],
        (GIB, "rss_sum"),
    ),
    "a peak of 0 was not sampled": ([("batch", 0, 4, {"max_rss_bytes": 0, "rss_bytes": 0})], (None, None)),
    "no step at all": ([], (None, None)),
}


@pytest.mark.parametrize("steps, expected", STEPS.values(), ids=STEPS)
def test_memory_by_steps(steps, expected):
    cluster = Cluster()
    cluster.job("1", 0, 4, mem_gib=16)
    for step_id, start, end, values in steps:
        cluster.step("1", step_id, start, end, **values)
    row = usage(cluster)
    assert (row["mem_used_bytes"], row["mem_source"]) == expected
    assert (row["mem_reason"] is None) == (expected[0] is not None)


def test_an_attempt_without_measurements_adds_nothing_and_lowers_coverage():
    cluster = Cluster()
    cluster.job("A", 0, 1, mem_gib=16)
    cluster.step("A", "batch", 0, 1, rss_bytes=8 * GIB)
    cluster.job("B", 0, 1, mem_gib=16)
    report = cluster.report()
    memory = next(m for m in report["measured"] if m["resource"] == "memory")
    assert (memory["attempts"], memory["of_attempts"]) == (1, 2)
    assert report["coverage"]["mem_hours"] == pytest.approx(0.5)
    assert report["efficiency"]["mem"] == pytest.approx(0.5)
    assert report["efficiency"]["core"] is None


def test_each_attempt_of_a_requeued_job_has_its_own_peak():
    cluster = Cluster()
    cluster.job("903", 1, 2, submit=at(0), state="REQUEUED")
    cluster.step("903", "batch", 1, 2, submit=0, max_rss_bytes=13000000 * KIB, tasks=1)
    cluster.job("903", 3, 4, submit=at(2))
    cluster.step("903", "batch", 3, 4, submit=2, max_rss_bytes=14000000 * KIB, tasks=1)
    rows = cluster.relation("usage", "submit")
    assert [r["mem_used_bytes"] for r in rows] == [13312000000, 14336000000]
    assert [r["is_censored"] for r in rows] == [True, False]


CGROUPS = {
    "page cache is not need": ((3758096384, 10737418240, 6871947673), 3758096384),
    "the kernel saw a peak between samples": ((4 * GIB, 9 * GIB, 1 * GIB), 8 * GIB),
    "a kernel peak within a twentieth is noise": ((4 * GIB, 5 * GIB, 1 * GIB - 1), 4 * GIB),
    "no kernel peak": ((4 * GIB, None, None), 4 * GIB),
}


@pytest.mark.parametrize("peaks, expected", CGROUPS.values(), ids=CGROUPS)
def test_memory_by_cgroup(peaks, expected):
    cluster = Cluster()
    cluster.job("1", 0, 1, mem_gib=10)
    cluster.step("1", "batch", 0, 1, max_rss_bytes=10400000 * KIB, tasks=1)
    sampled, kernel, cache = peaks
    for share, half in [(1, 0), (0.5, 0.5)]:
        measures = {"anon_shmem_bytes_max": int(sampled * share), "file_bytes_max": cache}
        times = {"from_time": at(half), "interval_s": 1800, "kernel_peak_bytes": kernel}
        cluster.add("sample_job", node="n1", job="1", cpu_s=900, **times, **measures)
    row = usage(cluster)
    assert (row["mem_used_bytes"], row["mem_source"]) == (expected, "cgroup")
    assert (row["cores_used"], row["core_source"], row["cores_max"]) == (0.5, "cgroup", 0.5)
    assert row["watched_share"] == 1
    # Page cache lifted the kernel's own peak: said, so that nobody takes that peak for need.
    assert bool(row["is_cache_inflated"]) is (kernel is not None and kernel > 1.05 * expected)


def test_telemetry_that_watched_too_little_only_lifts_what_accounting_says():
    cluster = Cluster()
    cluster.job("1", 0, 4, mem_gib=10)
    cluster.step("1", "batch", 0, 4, rss_bytes=2 * GIB)
    values = {"from_time": at(1), "interval_s": 3600, "anon_shmem_bytes_max": 3 * GIB}
    cluster.add("sample_job", node="n1", job="1", **values)
    assert (usage(cluster)["mem_used_bytes"], usage(cluster)["mem_source"]) == (3 * GIB, "rss_sum")


@pytest.mark.parametrize(
    ("state", "hours", "cpu_s", "expected"),
    [
        ("COMPLETED", 2, 7200, (1.0, False)),
        ("TIMEOUT", 2, 7200, (1.0, True)),
        ("COMPLETED", 2, 0, (None, None)),
        ("COMPLETED", 2, None, (None, None)),
        ("RUNNING", None, None, (None, None)),
    ],
)
def test_mean_cores(state, hours, cpu_s, expected):
    cluster = Cluster()
    cluster.job("1", 0, hours, cores=4, state=state, cpu_s=cpu_s)
    row = usage(cluster)
    assert (row["cores_used"], row["cpu_is_bound"]) == expected
    assert (row["core_reason"] is None) == (expected[0] is not None)


def test_gpus_are_found_by_uuid_and_the_first_in_the_cgroup_is_not_the_first_of_the_node():
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=1)
    cluster.hold_gpus("1", 0, "1")
    watched_gpu(cluster, "GPU-aaaa", util_mean=0, mem_bytes_max=200 * MIB)
    watched_gpu(cluster, "GPU-bbbb", minor=1, util_mean=98, mem_bytes_max=24000 * MIB)
    row = usage(cluster)
    assert (row["gpu_util"], row["vram_peak_bytes"], row["gpus_used"]) == (98, 24000 * MIB, 1)


GPUS = {
    "busy": ({"util_mean": 40, "mem_bytes_max": 9 * GIB}, 1),
    "hardly active is under-used, not free": ({"util_mean": 0.1, "mem_bytes_max": 0}, 1),
    "idle with memory held": (
        {"util_mean": 0, "graphics_active_mean": 0.0, "mem_bytes_max": 70000 * MIB},
        1,
    ),
    "never touched": ({"util_mean": 0, "mem_bytes_max": 450 * MIB}, 0),
    "no activity, but memory beyond the driver's own": (
        {"util_mean": 0, "mem_bytes_max": 500 * MIB},
        1,
    ),
    "two counters contradict": (
        {"util_mean": 99, "graphics_active_mean": 0.0, "mem_bytes_max": 70000 * MIB},
        "two GPU counters contradict each other",
    ),
    "MIG has no utilisation": ({"mem_bytes_max": 9 * GIB}, "no GPU utilisation was recorded"),
    "idle but watched for too little": (
        {"util_mean": 0, "mem_bytes_max": 0, "interval_s": 300},
        "watched for less than 95 % of its time",
    ),
}


@pytest.mark.parametrize("measures, expected", GPUS.values(), ids=GPUS)
def test_gpus_touched_by_telemetry(measures, expected):
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=1)
    cluster.hold_gpus("1", 0, "0")
    watched_gpu(cluster, "GPU-a", **measures)
    free = {"from_time": at(5), "interval_s": 600, "util_mean": 0, "mem_bytes_max": 400 * MIB}
    cluster.add("sample_gpu", node="n1", uuid="GPU-a", minor=0, **free)
    row = usage(cluster)
    if isinstance(expected, str):
        assert (row["gpus_used"], row["gpu_reason"]) == (None, expected)
    else:
        assert (row["gpus_used"], row["gpu_reason"], row["gpu_source"]) == (expected, None, "telemetry")


def test_a_sample_belongs_to_the_attempt_that_held_the_card_then():
    cluster = Cluster()
    for job_id, start in [("1", 0), ("2", 0.5)]:
        cluster.job(job_id, start, start + 0.5, gpus=1)
        cluster.hold_gpus(job_id, start, "0")
    for tenth in range(6):
        busy = {"util_mean": 90 if tenth >= 3 else 0, "mem_bytes_max": GIB if tenth >= 3 else MIB}
        cluster.add("sample_gpu", node="n1", uuid="GPU-a", minor=0, from_time=at(tenth / 6), interval_s=600, **busy)
    assert [r["gpus_used"] for r in cluster.relation("usage", "job_id_raw")] == [0, 1]


def jobstats(cluster, utils, mem=9 * GIB):
    for gpu, util in enumerate(utils):
        values = {"gpu": str(gpu), "gpu_util": util, "gpu_mem_bytes": 0 if util == 0 else mem}
        cluster.add("gpu_summary", job_id_raw="1", submit=at(0), node="n1", **values)


def test_only_whole_gpus_that_were_never_touched_are_unused():
    cluster = Cluster()
    cluster.job("1", 0, 10, gpus=8)
    jobstats(cluster, [90] * 6 + [0] * 2)
    assert (usage(cluster)["gpus_used"], usage(cluster)["gpu_source"]) == (6, "jobstats")
    assert usage(cluster)["gpu_util"] == pytest.approx(90)  # of the six
    report = cluster.report()
    assert report["hours"]["held"]["gpu"] == pytest.approx(80)
    assert (1 - report["efficiency"]["gpu"]) * 80 == pytest.approx(20)


@pytest.mark.parametrize("left_by_others, used", [([], 1), ([450], 0), ([30], 1), ([20000], 1)])
def test_what_the_driver_takes_is_what_two_attempts_left_alike(left_by_others, used):
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=1)
    cluster.add("gpu_summary", job_id_raw="1", submit=at(0), node="n1", gpu="0", gpu_util=0, gpu_mem_bytes=480 * MIB)
    for number, mem_mib in enumerate(left_by_others):
        values = {"submit": at(2), "gpu": "0", "gpu_util": 50, "gpu_mem_bytes": mem_mib * MIB}
        cluster.add("gpu_summary", job_id_raw=f"other{number}", node="n1", **values)
    assert usage(cluster)["gpus_used"] == used


@pytest.mark.parametrize("utils", [[90, None], [90]], ids=["one without utilisation", "one missing"])
def test_one_gpu_unmeasured_leaves_the_attempt_unmeasured(utils):
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=2)
    jobstats(cluster, utils)
    assert usage(cluster)["gpus_used"] is None
    assert usage(cluster)["gpu_reason"]


def test_jobstats_tells_memory_and_cpu_where_it_saw_every_node():
    cluster = Cluster()
    for job_id, nodes in [("1", "n1,n2"), ("2", "n1,n2")]:
        cluster.job(job_id, 0, 1, nodes=nodes, mem_gib=16)
    for job_id, node in [("1", "n1"), ("1", "n2"), ("2", "n1")]:
        values = {"node_mem_bytes": 3 * GIB, "node_cpu_s": 1800}
        cluster.add("gpu_summary", job_id_raw=job_id, submit=at(0), node=node, **values)
    first, second = cluster.relation("usage", "job_id_raw")
    assert (first["mem_used_bytes"], first["mem_source"], first["cores_used"]) == (6 * GIB, "jobstats", 1)
    assert (second["mem_used_bytes"], second["cores_used"]) == (None, None)


def test_accounting_tells_of_a_single_gpu_that_was_active():
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=1)
    cluster.step("1", "0", 0, 1, gpu_util=35, gpu_mem_bytes=GIB)
    cluster.job("2", 0, 1, gpus=2)
    cluster.step("2", "0", 0, 1, gpu_util=35)
    assert [r["gpus_used"] for r in cluster.relation("usage", "job_id_raw")] == [1, None]


@pytest.mark.parametrize(
    ("job", "step", "censored"),
    [
        ({}, {}, False),
        ({}, {"state": "OUT_OF_MEMORY"}, True),  # the job went on and was COMPLETED
        ({"derived_exit_code": "0:125"}, {}, True),
        ({"state": "TIMEOUT"}, {}, True),
    ],
)
def test_a_peak_at_which_something_was_killed_is_a_bound(job, step, censored):
    cluster = Cluster()
    cluster.job("1", 0, 1, **job)
    cluster.step("1", "0", 0, 1, rss_bytes=GIB, **step)
    assert usage(cluster)["is_censored"] is censored


def test_cpu_of_steps_that_a_resize_closed_is_not_measured():
    cluster = Cluster()
    cluster.job("1", 0, 2, cpu_s=7)
    cluster.step("1", "0", 0, 1, state="RESIZING")
    assert (usage(cluster)["cores_used"], usage(cluster)["core_reason"]) == (None, "no CPU time was recorded")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"max_rss_bytes": 13000000 * KIB}, 13000000 * KIB),
        ({"max_rss_bytes": GIB, "tasks": 4}, 4 * GIB),
        ({"max_rss_bytes": GIB, "rss_bytes": 3 * GIB, "tasks": 4}, 3 * GIB),
        ({"max_rss_bytes": GIB, "nodes": "n1,n2"}, None),  # how many tasks there were, nobody says
    ],
)
def test_a_peak_on_the_attempt_s_own_row_counts_where_there_are_no_steps(own, expected):
    cluster = Cluster()
    cluster.job("1", 0, 1, **own)
    assert usage(cluster)["mem_used_bytes"] == expected
