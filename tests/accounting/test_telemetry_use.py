"""Whose what telemetry saw is: cgroups by name and the time they were made, GPUs by UUID through who tells best."""

from typing import Any

import pytest

from tests.accounting.cluster import GIB, Cluster, at

MIB = 2**20


def usage(cluster: Cluster, job_id: str = "1") -> dict[str, Any]:
    return next(r for r in cluster.relation("usage", "job_id_raw") if r["job_id_raw"] == job_id)


def watch(cluster: Cluster, job: str, first: float, last: float, since: float | None = None, **values: Any) -> None:
    """10-minute samples of a job's cgroup on n1 that was made at `since`."""
    made = at(first if since is None else since)
    for tenth in range(round(first * 6), round(last * 6)):
        measures = {"node": "n1", "interval_s": 600, "samples": 60, "cpu_s": 300, "anon_shmem_bytes_max": GIB, **values}
        cluster.add("sample_job", job=job, since_time=made, from_time=at(tenth / 6), **measures)


def watch_gpu(cluster: Cluster, minor: int, first: float, last: float, **values: Any) -> None:
    """10-minute samples of the card of n1 with this number."""
    for tenth in range(round(first * 6), round(last * 6)):
        measures = {"node": "n1", "interval_s": 600, "samples": 60, "util_mean": 0, "mem_bytes_max": 0, **values}
        cluster.add("sample_gpu", uuid=f"GPU-{minor}", minor=minor, from_time=at(tenth / 6), **measures)


def test_two_runs_of_a_requeued_job_on_one_node_are_told_apart():
    cluster = Cluster()
    cluster.job("1", 0, 1, state="REQUEUED", submit=at(0))
    cluster.job("1", 1.1, 2.1, submit=at(1))
    watch(cluster, "1", 0, 1, since=0.002, anon_shmem_bytes_max=GIB)
    watch(cluster, "1", 7 / 6, 2.2, since=1.102, anon_shmem_bytes_max=2 * GIB)
    rows = cluster.relation("usage", "submit")
    assert [(r["mem_used_bytes"], r["mem_source"]) for r in rows] == [(GIB, "cgroup"), (2 * GIB, "cgroup")]


def test_an_id_that_was_used_before_is_not_the_same_job():
    cluster = Cluster(window=(0, 100))
    cluster.job("1", 0, 1)
    cluster.job("1", 90, 91, submit=at(90))
    watch(cluster, "1", 50, 51)
    assert [r["mem_source"] for r in cluster.relation("usage", "submit")] == [None, None]
    (lost,) = cluster.relation("unattributed")
    assert (lost["kind"], lost["hours"], lost["example"]) == ("job cgroup without attempt", 1, "1")


def test_a_cgroup_made_by_a_wrong_clock_is_found_by_when_it_was_seen():
    cluster = Cluster()
    cluster.job("1", 4, 5)
    watch(cluster, "1", 4, 5, since=2)
    assert usage(cluster)["mem_source"] == "cgroup"


def test_what_was_not_sampled_before_the_collector_came_was_not_watched():
    cluster = Cluster()
    cluster.job("1", 0, 4)
    # The first record counts all CPU time since the cgroup was made; memory was looked at six times in it.
    first = {"from_time": at(0), "interval_s": 3 * 3600, "samples": 6, "cpu_s": 5400}
    cluster.add("sample_job", node="n1", job="1", since_time=at(0), anon_shmem_bytes_max=GIB, **first)
    watch(cluster, "1", 3, 4, since=0)
    row = usage(cluster)
    assert (row["core_source"], row["cores_used"], row["core_watched_share"]) == ("cgroup", 0.5, 1)
    assert (row["mem_source"], row["watched_share"]) == (None, (360 + 3600) / 14400)


def test_input_and_output_by_telemetry_else_by_the_accounting_s_steps():
    cluster = Cluster()
    for job_id in ("1", "2", "3"):
        cluster.job(job_id, 0, 1)
    watch(cluster, "1", 0, 1, read_bytes=100, write_bytes=7)
    cluster.step("2", "0", 0, 1, read_bytes=5, write_bytes=6)
    rows = cluster.relation("usage", "job_id_raw")
    told = [(r["io_read_bytes"], r["io_write_bytes"], r["io_source"]) for r in rows]
    assert told == [(600, 42, "cgroup"), (5, 6, "accounting"), (None, None, None)]


def test_what_accounting_alone_would_have_said_stands_beside():
    cluster = Cluster()
    cluster.job("1", 0, 1, mem_gib=8)
    cluster.step("1", "batch", 0, 1, rss_bytes=GIB // 2)
    watch(cluster, "1", 0, 1, kernel_peak_bytes=3 * GIB, file_bytes_max=0, oom_kills=1)
    row = usage(cluster)
    assert (row["mem_used_bytes"], row["mem_accounting_bytes"], row["kernel_peak_bytes"]) == (
        3 * GIB,
        GIB // 2,
        3 * GIB,
    )
    assert (row["oom_kills"], row["is_censored"]) == (1, True)


def test_a_job_on_gpus_1_and_2_is_charged_these():
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=2)
    cluster.hold_gpus("1", 0, "1,2")
    for minor, util in enumerate([90, 30, 50, 90]):
        watch_gpu(cluster, minor, 0, 1, util_mean=util, throttled_s=6)
    row = usage(cluster)
    assert [(r["gpu_index"], r["source"]) for r in cluster.relation("gpu_map", "gpu_index")] == [
        (1, "controller"),
        (2, "controller"),
    ]
    assert (row["gpus_used"], row["gpu_util"], row["gpu_throttled_s"], row["gpu_watched_share"]) == (2, 40, 72, 1)


def test_which_cards_were_held_is_known_where_no_telemetry_saw_them():
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=2)
    cluster.hold_gpus("1", 0, "1,2")
    told = [(r["gpu_index"], r["uuid"], r["is_shared"]) for r in cluster.relation("gpu_map", "gpu_index")]
    assert told == [(1, None, False), (2, None, False)]
    assert (usage(cluster)["gpus_used"], usage(cluster)["gpu_reason"]) == (None, "nothing watched all of its GPUs")


MAPS = {
    "the controller's word wins": ("0", {"holder": "1", "holder_source": "devices"}, 0, "controller"),
    "else the node's devices": (None, {"holder": "9,1", "holder_source": "devices"}, 1, "node"),
    "else the processes on the card": (None, {"holder": "1", "holder_source": "processes"}, 1, "processes"),
}


@pytest.mark.parametrize("index, holder, minor, source", MAPS.values(), ids=MAPS)
def test_who_tells_which_card_a_job_held(index, holder, minor, source):
    cluster = Cluster()
    cluster.node("n1", gpus=2)
    cluster.job("1", 0, 1, gpus=1)
    if index is not None:
        cluster.hold_gpus("1", 0, index)
    watch_gpu(cluster, 0, 0, 1)
    watch_gpu(cluster, 1, 0, 1, **holder)
    assert [(r["uuid"], r["source"]) for r in cluster.relation("gpu_map")] == [(f"GPU-{minor}", source)]


@pytest.mark.parametrize(("held", "known"), [(2, ["GPU-0", "GPU-1"]), (1, [])])
def test_where_nobody_tells_a_job_that_held_all_of_the_node_s_cards_held_each(held, known):
    cluster = Cluster()
    cluster.node("n1", gpus=2)
    cluster.job("1", 0, 1, gpus=held)
    for minor in (0, 1):
        watch_gpu(cluster, minor, 0, 1)
    assert [r["uuid"] for r in cluster.relation("gpu_map", "uuid")] == known


def test_each_job_on_a_shared_card_has_the_memory_of_its_own_processes():
    cluster = Cluster()
    cluster.node("n1", gpus=2)
    for job_id in ("1", "2"):
        cluster.job(job_id, 0, 1, gpus=1)
        seen = {"node": "n1", "uuid": "GPU-0", "from_time": at(0), "interval_s": 3600}
        cluster.add("sample_gpu_job", job=job_id, mem_bytes_max=int(job_id) * GIB, **seen)
    watch_gpu(cluster, 0, 0, 1, holder="1,2", holder_source="devices", util_mean=60, mem_bytes_max=3 * GIB)
    rows = cluster.relation("usage", "job_id_raw")
    assert [(r["vram_peak_bytes"], r["gpu_util"]) for r in rows] == [(GIB, 60), (2 * GIB, 60)]


def test_a_card_used_while_nobody_is_known_to_hold_it_is_shown():
    cluster = Cluster()
    cluster.job("1", 0, 1, gpus=1)
    cluster.hold_gpus("1", 0, "0")
    watch_gpu(cluster, 0, 0, 1, util_mean=80)
    watch_gpu(cluster, 0, 1, 3, util_mean=80)
    watch_gpu(cluster, 0, 3, 4)
    (lost,) = cluster.relation("unattributed")
    assert (lost["kind"], lost["hours"], lost["example"]) == ("active GPU without holder", 2, "GPU-0")


def test_of_an_instance_the_memory_is_known_and_the_activity_is_not():
    cluster = Cluster()
    cluster.node("n1", gpus=1)
    cluster.job("1", 0, 1, gpus=1, gres="gpu:a100_1g.5gb=1")
    for gi, holder, hour, size in (
        (1, "1", 0.5, 2),
        (2, "1", 0.5, 3),
        (3, "9", 0.5, 5),
        (1, "1,9", 0.6, 6),
        (1, "1", 2, 7),
    ):
        seen = {"node": "n1", "uuid": "GPU-0", "mig_uuid": f"MIG-{gi}", "from_time": at(hour), "interval_s": 60}
        cluster.add("sample_mig", gi=gi, holder=holder, mem_bytes_max=size * GIB, **seen)
    watch_gpu(cluster, 0, 0, 1, mig=1, util_mean=None)
    row = usage(cluster)
    assert (row["vram_peak_bytes"], row["gpus_used"], row["gpu_util"]) == (3 * GIB, None, None)


def test_what_nothing_watched_has_no_watched_share():
    cluster = Cluster()
    cluster.job("1", 0, 1)
    row = usage(cluster)
    assert (row["watched_share"], row["core_watched_share"]) == (None, None)


def test_a_node_that_was_not_watched_is_missed_however_many_were():
    cluster = Cluster()
    cluster.job("1", 0, 1, nodes=",".join(f"n{n}" for n in range(1, 21)))
    for n in range(2, 21):
        watch(cluster, "1", 0, 1, node=f"n{n}")
    row = usage(cluster)
    assert (row["watched_share"], row["mem_source"], row["core_source"]) == (0.95, None, None)


def test_time_in_suspension_has_to_be_watched_too():
    cluster = Cluster()
    cluster.job("1", 0, 2, gpus=1, elapsed_s=3600, suspended_s=3600)
    cluster.hold_gpus("1", 0, "0")
    watch(cluster, "1", 0, 1)
    watch_gpu(cluster, 0, 0, 1)
    row = usage(cluster)
    assert (row["watched_share"], row["mem_source"], row["core_source"]) == (0.5, None, None)
    assert (row["gpus_used"], row["gpu_watched_share"]) == (None, 0.5)


def test_a_cgroup_made_while_the_clock_was_wrong_is_not_the_run_s_before():
    cluster = Cluster()
    cluster.job("1", 0, 1, state="REQUEUED", submit=at(0))
    cluster.job("1", 7 / 6, 2, submit=at(1))
    watch(cluster, "1", 7 / 6, 2, since=1 / 6, shift_s=3600)
    assert [r["mem_source"] for r in cluster.relation("usage", "submit")] == [None, "cgroup"]


def test_of_two_runs_at_once_each_has_the_cards_that_the_controller_told_of_it():
    cluster = Cluster()
    cluster.job("1", 0, 0.01, gpus=1, state="REQUEUED", submit=at(0))
    cluster.job("1", 0.015, 1, gpus=1, submit=at(0.01))
    cluster.hold_gpus("1", 0, "0")
    cluster.hold_gpus("1", 0.015, "1")
    told = [(r["submit"], r["gpu_index"]) for r in cluster.relation("gpu_map", "submit")]
    assert told == [(at(0), 0), (at(0.01), 1)]
