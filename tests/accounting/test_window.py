"""The measurement window, worked out by hand: what was watched, what it cost, what GPUs waited for, and Slurm's own say."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from audit.accounting.explain import explain
from audit.accounting.glossary import schema
from tests.accounting.cluster import GIB, Cluster, at
from tests.accounting.test_explain import check, leaves

HOUR = 3600.0


def collected(node: str, start: float, end: float, step: float = 1.0, **values: Any) -> list[dict[str, Any]]:
    """Intervals of a node's collector from one hour to another, each `step` hours long."""
    own = {"role": "node", "own_cpu_s": 0.36, "own_rss_bytes": 10 << 20, "own_written_bytes": 1_000_000}
    own |= {"missed": 0, "late_max_s": 0.5, "samples": 360, "unmapped": 0, **values}
    count = round((end - start) / step)
    return [{"node": node, "from_time": at(start + n * step), "interval_s": step * HOUR, **own} for n in range(count)]


def watched(
    *intervals: dict[str, Any], nodes: tuple[str, ...] = ("n1",), window: tuple[float, float] = (0, 10)
) -> Cluster:
    """Nodes of which one ran a job for two hours, with these intervals."""
    cluster = Cluster(window=window)
    for name in nodes:
        cluster.node(name, gpus=4)
    cluster.job("1", 0, 2, cores=4, mem_gib=8, gpus=2)
    for row in intervals:
        cluster.add("sample_interval", **row)
    return cluster


def gpu(cluster: Cluster, hour: int, *, uuid: str = "GPU-1", **values: Any) -> None:
    """One hour of one card."""
    seen = {"util_mean": 10.0, "util_max": 90.0, "mem_bytes_max": 4 * GIB, "processes_max": 1, "holder": "1", "mig": 0}
    cluster.add("sample_gpu", node="n1", uuid=uuid, from_time=at(hour), interval_s=HOUR, **{**seen, **values})


def test_without_telemetry_there_is_no_section_and_a_reason() -> None:
    report = watched().report()
    assert report["telemetry"] is None
    assert "audit deploy" in report["reasons"]["telemetry"]


def test_coverage_is_what_intervals_cover_of_all_nodes_of_the_slice() -> None:
    # n1 is watched for 10 of 10 hours, n2 for 8, n3 has no collector: 18 of 30.
    rows = [*collected("n1", 0, 10), *collected("n2", 0, 4), *collected("n2", 6, 10)]
    cluster = watched(*rows, nodes=("n1", "n2", "n3"))
    cluster.add("collector_gap", node="n2", from_time=at(4), interval_s=2 * HOUR, reason="reboot")
    found = cluster.report()["telemetry"]
    assert (found["watched_hours"], found["window_hours"], found["coverage"]) == pytest.approx((18, 30, 0.6))
    assert (found["nodes"], found["watched_nodes"], found["gaps"]) == (3, 2, 2)
    told = [(row["node"], row["coverage"], row["longest_gap_s"], row["gap_reason"]) for row in found["by_node"]]
    assert told == [
        ("n3", 0, 10 * HOUR, "no collector"),
        ("n2", 0.8, 2 * HOUR, "reboot"),
        ("n1", 1, None, None),
    ]
    gap = {"from": "2026-05-04T04:00:00Z", "to": "2026-05-04T06:00:00Z", "reason": "reboot"}
    assert found["by_node"][1]["gap_spans"] == [gap]


@pytest.mark.parametrize(
    ("intervals", "gaps"),
    [
        (collected("n1", 3, 10), [(0, 3, "not started")]),
        (collected("n1", 0, 7), [(7, 10, "ended")]),
        ([*collected("n1", 0, 2), *collected("n1", 3, 10)], [(2, 3, "not known")]),
        ([*collected("n1", 0, 5), *collected("n1", 2, 10)], []),
        ([*collected("n1", -4, 1), *collected("n1", 2, 12)], [(1, 2, "not known")]),
        ([*collected("n1", 0, 4, own_cpu_s=None), *collected("n1", 4 + 1 / 3600, 10 + 1 / 3600)], []),
        ([*collected("n1", 0, 10), *collected("n1", 0, 1, role="controller")], []),
        ([*collected("n1", 0, 1), *collected("n1", 1, 10, role="controller")], [(1, 10, "ended")]),
    ],
    ids=["late start", "early end", "unexplained", "overlap", "clipped", "a second", "other role", "only other role"],
)
def test_a_gap_is_more_than_a_second_of_the_window_that_no_interval_covers(
    intervals: list[dict[str, Any]], gaps: list[tuple[float, float, str]]
) -> None:
    cluster = watched(*intervals)
    cluster.report()
    found = [(row["from_s"], row["to_s"], row["reason"]) for row in cluster.relation("telemetry_gap", "from_s")]
    first = cluster.made[0].execute("SELECT epoch(from_time) FROM window_bounds").fetchall()[0][0]
    assert [((a - first) / HOUR, (z - first) / HOUR, why) for a, z, why in found] == [
        (pytest.approx(a), pytest.approx(z), why) for a, z, why in gaps
    ]


def test_the_main_reason_of_a_gap_is_the_one_that_holds_for_most_of_it() -> None:
    cluster = watched(*collected("n1", 0, 2), *collected("n1", 6, 10))
    cluster.add("collector_gap", node="n1", from_time=at(2), interval_s=HOUR, reason="killed")
    cluster.add("collector_gap", node="n1", from_time=at(3), interval_s=3 * HOUR, reason="disk_full")
    (row,) = cluster.report()["telemetry"]["by_node"]
    assert (row["gaps"], row["gap_reason"]) == (1, "disk_full")


def test_overhead_is_what_collectors_measured_of_themselves() -> None:
    # n1: 0.36 s of CPU an hour for 10 hours; n2: 0.72 s for 8: 9.36 s of 64,800 s. Written: 24 MB and 48 MB a day.
    more = {
        "own_cpu_s": 0.72,
        "own_written_bytes": 2_000_000,
        "missed": 3,
        "late_max_s": 7.5,
        "own_rss_bytes": 12 << 20,
    }
    cluster = watched(*collected("n1", 0, 10), *collected("n2", 0, 8, **more), nodes=("n1", "n2"))
    cost = cluster.report()["telemetry"]["overhead"]
    assert cost["cpu_share"] == pytest.approx(9.36 / 64_800)
    assert (cost["worst_cpu_share"], cost["worst_node"]) == (pytest.approx(0.0002), "n2")
    assert cost["written_bytes_per_day"] == pytest.approx((24e6 * 10 + 48e6 * 8) / 18)
    assert cost["worst_written_bytes_per_day"] == pytest.approx(48e6)
    assert (cost["rss_bytes_max"], cost["missed"], cost["late_max_s"]) == (12 << 20, 24, 7.5)


def test_cost_that_nobody_told_is_not_nothing() -> None:
    untold = {"own_cpu_s": None, "own_rss_bytes": None, "own_written_bytes": None, "missed": None, "late_max_s": None}
    cost = watched(*collected("n1", 0, 10, **untold)).report()["telemetry"]["overhead"]
    assert {value for key, value in cost.items() if key != "nodes"} == {None}


def test_io_bound_is_a_quiet_touched_gpu_whose_node_waits_for_io() -> None:
    # Hours 0 to 6 of one card; 3, 4 and 6 are not I/O-bound: busy, the node did not wait, nobody touched it.
    cluster = watched(*collected("n1", 0, 10))
    waits = {"cores": 10, "iowait_mean": 0.01, "psi_io_some_s": 0.3 * HOUR}
    for hour, node, card in (
        (0, waits, {}),
        (1, {"iowait_mean": 0.2, "psi_io_some_s": None}, {}),
        (2, {"iowait_mean": None, "psi_io_some_s": 0.2 * HOUR}, {"util_mean": 29.9}),
        (3, waits, {"util_mean": 30.0}),
        (4, {"iowait_mean": 0.19, "psi_io_some_s": 0.19 * HOUR}, {}),
        (5, {"iowait_mean": None, "psi_io_some_s": None}, {}),
        (6, waits, {"util_mean": 0.0, "util_max": 0.0, "mem_bytes_max": 500 << 20, "holder": None, "processes_max": 0}),
        (7, waits, {"util_mean": None, "util_max": None}),
        (8, waits, {"util_mean": 0.0, "util_max": 0.0}),
    ):
        gpu(cluster, hour, **card)
        cluster.add("sample_node", node="n1", from_time=at(hour), interval_s=HOUR, **node)
    found = cluster.report()["telemetry"]["gpus"]
    assert found["touched_gpu_hours"] == pytest.approx(8)
    assert found["io_measured_gpu_hours"] == pytest.approx(6)
    assert found["io_bound_gpu_hours"] == pytest.approx(4)


def test_io_that_was_not_measured_is_null_with_its_reason() -> None:
    cluster = watched(*collected("n1", 0, 10))
    gpu(cluster, 0, throttled_s=None)
    report = cluster.report()
    for key in ("io_bound_gpu_hours", "throttled_gpu_hours"):
        assert report["telemetry"]["gpus"][key] is None
        assert report["reasons"][f"telemetry.gpus.{key}"]


def test_throttled_mig_and_shared_hours_are_told() -> None:
    cluster = watched(*collected("n1", 0, 10))
    gpu(cluster, 0, throttled_s=900.0)
    gpu(cluster, 1, throttled_s=0.0, holder="1,2")
    gpu(cluster, 2, throttled_s=None)
    gpu(cluster, 0, uuid="GPU-2", throttled_s=900.0, mig=1, util_mean=None)
    found = cluster.report()["telemetry"]["gpus"]
    assert (found["gpus"], found["mig_gpus"]) == (2, 1)
    assert (found["throttled_gpu_hours"], found["throttle_measured_gpu_hours"]) == pytest.approx((0.5, 3))
    assert (found["mig_gpu_hours"], found["shared_gpu_hours"]) == pytest.approx((1, 1))


def test_memory_by_the_cgroup_stands_beside_what_accounting_alone_would_say() -> None:
    # Four attempts of an hour, peaks by cgroup 4, 8, 10 and 6 GiB; by accounting 3, 8 and 9, of the last none: lower by
    # 25 %, 0 and 10 %; more than 5 % above accounting's: the first and the third.
    cluster = watched(*collected("n1", 0, 10))
    for number, (cgroup, told) in enumerate(((4, 3), (8, 8), (10, 9), (6, None)), 3):
        job_id, start = str(number), float(number)
        cluster.job(job_id, start, start + 1, cores=1, mem_gib=12)
        for minute in range(60):
            cluster.add(
                "sample_job",
                node="n1",
                job=job_id,
                since_time=at(start),
                from_time=at(start + minute / 60),
                interval_s=60.0,
                samples=6,
                cpu_s=30.0,
                anon_shmem_bytes_max=cgroup * GIB,
            )
        if told:
            cluster.step(job_id, "batch", start, start + 1, submit=start, rss_bytes=told * GIB)
    found = cluster.report()["telemetry"]["memory"]
    assert (found["attempts"], found["only_cgroup_attempts"], found["missed_attempts"]) == (3, 1, 2)
    assert (found["cgroup_p50_bytes"], found["accounting_p50_bytes"]) == (8 * GIB, 8 * GIB)
    assert found["lower_p50_share"] == pytest.approx(0.1)


def everything() -> Cluster:
    rows = [*collected("n1", 0, 10, unmapped=2), *collected("n2", 1, 9)]
    cluster = watched(*rows, nodes=("n1", "n2"))
    gpu(cluster, 0, throttled_s=60.0)
    cluster.add("sample_node", node="n1", from_time=at(0), interval_s=HOUR, psi_io_some_s=1800.0)
    cluster.add("collector_event", node="n2", at_time=at(3), kind="clock", text="+3600")
    cluster.add(
        "sample_job", node="n2", job="999", since_time=at(4), from_time=at(4), interval_s=60.0, samples=6, cpu_s=1.0
    )
    return cluster


def test_what_is_nobodys_is_told_by_kind_with_its_hours() -> None:
    found = {row["kind"]: row for row in everything().report()["telemetry"]["unattributed"]}
    assert [found["job cgroup without attempt"][key] for key in ("nodes", "intervals")] == [1, 1]
    assert found["job cgroup without attempt"]["hours"] == pytest.approx(1 / 60)


def test_every_number_of_the_section_can_be_opened_and_its_rows_come_to_it() -> None:
    connection, report = everything().made
    section = {key: value for key, value in report["telemetry"].items() if key != "by_node"}
    opened = 0
    for key, value in leaves(section, "telemetry"):
        if not key.endswith("worst_node"):
            check(explain(connection, report, key, limit=0), value)
            opened += 1
    assert opened > 30


def test_the_section_is_what_the_schema_says() -> None:
    report = json.loads(json.dumps(everything().report()))
    part = {**schema()["properties"]["telemetry"], "$defs": schema()["$defs"]}
    assert [error.message for error in Draft202012Validator(part).iter_errors(report["telemetry"])] == []


def rolled_up(cluster: Cluster, start: float, end: float, tres: str, allocated_s: int, **values: Any) -> None:
    span = {"file_id": 1, "from_time": at(start), "to_time": at(end), "down_s": 0}
    cluster.add("sreport_record", **{**span, "tres": tres, "allocated_s": allocated_s, **values})


def test_slurms_roll_up_stands_beside_the_hours_of_its_own_spans() -> None:
    # Held 0 to 2 h: 4 cores, 2 GPUs, 8 GiB. Of the span 0 to 1 h that is 4 core-hours, 2 GPU-hours and 8 GiB-hours.
    cluster = watched(nodes=("n1",))
    rolled_up(cluster, 0, 1, "cpu", 4 * 3600)
    rolled_up(cluster, 0, 1, "gres/gpu", 3600)
    rolled_up(cluster, 0, 1, "mem", 8 * 1024 * 3600, down_s=1024 * 3600)
    found = cluster.report()["sreport"]
    assert (found["from"], found["to"], found["hours"]) == ("2026-05-04T00:00:00Z", "2026-05-04T01:00:00Z", 1)
    told = [(row["unit"], row["report_hours"], row["sreport_hours"], row["difference_share"]) for row in found["units"]]
    assert told == [("core-hours", 4, 4, 0), ("GPU-hours", 2, 1, 1), ("memory GiB-hours", 8, 8, 0)]
    assert [(row["sreport_down_hours"], row["report_down_hours"]) for row in found["units"]] == [
        (0, None),
        (0, None),
        (1, None),
    ]


def test_down_hours_stand_beside_each_other_where_node_states_are_known() -> None:
    cluster = watched(nodes=("n1", "n2"))
    cluster.add("node_state", node="n2", from_time=at(0), to_time=at(3), state="DOWN", is_down=True)
    rolled_up(cluster, 0, 2, "cpu", 8 * 3600, down_s=20 * 3600)
    (row,) = cluster.report()["sreport"]["units"]
    assert (row["report_down_hours"], row["sreport_down_hours"]) == (20, 20)


def test_of_spans_that_overlap_the_longest_counts_and_of_one_span_the_last_file() -> None:
    cluster = watched()
    rolled_up(cluster, 0, 1, "cpu", 1)
    rolled_up(cluster, 0, 2, "cpu", 7 * 3600, file_id=2)
    rolled_up(cluster, 0, 2, "cpu", 8 * 3600, file_id=3)
    rolled_up(cluster, 2, 3, "cpu", 0, file_id=3)
    found = cluster.report()["sreport"]
    assert (found["hours"], found["units"][0]["sreport_hours"]) == (3, 8)


@pytest.mark.parametrize(
    ("spans", "slice_nodes", "why"),
    [
        ([], (), "no sreport"),
        ([(-1, 1)], (), "no span"),
        ([(9, 11)], (), "no span"),
        ([(0, 1)], ("n1",), "part of the cluster"),
    ],
)
def test_where_it_cannot_be_compared_the_report_says_why(
    spans: list[tuple[float, float]], slice_nodes: tuple[str, ...], why: str
) -> None:
    cluster = watched()
    cluster.node("n2")
    cluster.slice_nodes = slice_nodes
    for start, end in spans:
        rolled_up(cluster, start, end, "cpu", 1)
    report = cluster.report()
    assert report["sreport"] is None
    assert why in report["reasons"]["sreport"]


def test_a_slice_that_names_every_node_is_the_whole_cluster() -> None:
    cluster = watched()
    cluster.slice_nodes = ("n1",)
    rolled_up(cluster, 0, 1, "cpu", 3600)
    report = cluster.report()
    assert report["sreport"]["hours"] == 1
    assert report["reconciliation"][0]["accounting_hours"] is not None
