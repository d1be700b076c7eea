"""Telemetry in the store: what it adds to the evidence, clocks set right, scrapes that stand for the time between them."""

import gzip
from datetime import datetime
from pathlib import Path
from typing import Any

from audit.accounting.views import create_use_views, create_window_views
from audit.store import ingest, open_store
from audit.workspace import Workspace
from tests.dumps import FIELDS, dump, job, rows, take, workspace
from tests.evidence.segment import T0, interval, line, segment

GIB = 2**30
HOUR = {"Start": "2026-05-05T08:00:00", "End": "2026-05-05T09:00:00", "ElapsedRaw": "3600"}


def worked_out(space: Workspace, relation: str) -> list[dict[str, Any]]:
    with open_store(space) as store:
        create_use_views(store.connection, space)
        create_window_views(store.connection)
        cursor = store.connection.execute(f"SELECT * FROM {relation} ORDER BY ALL")
        names = [c[0] for c in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def minute(n: int, *lines: str, step_s: float = 0, name: str = "12", **said: Any) -> str:
    """The n-th minute of a job that uses half a core, on a node whose clock is wrong by `step_s`."""
    span = (60 * n + step_s, 60 * n + 60 + step_s)
    use = {"job": name, "since_s": T0, "samples": 6, "cpu_s": 30, "anon_shmem_bytes_max": GIB + n}
    return interval(*span, line("job", span=span, **{**use, **said}), *lines, mono=1000 + 60 * n)


def test_rows_of_telemetry_are_counted_and_found_again_in_any_order(tmp_path: Path) -> None:
    files = [
        dump(job("12", **HOUR)),
        segment(*(minute(n) for n in range(30))),
        segment(*(minute(n) for n in range(30, 60))),
    ]
    found = []
    for name, order in (("a", files), ("b", files[::-1])):
        space = workspace(tmp_path / name)
        taken = take(space, *order)
        assert sorted(r.samples for r in taken) == [0, 60, 60]
        found.append(worked_out(space, "usage"))
        assert [r.known for r in take(space, *order)] == [True, True, True]
    (row,) = found[0]
    assert found[0] == found[1]
    assert (row["mem_used_bytes"], row["mem_source"], row["watched_share"]) == (GIB + 59, "cgroup", 1)
    assert (row["cores_used"], row["core_source"], row["cores_max"]) == (0.5, "cgroup", 0.5)
    assert rows(space, "evidence_file", "samples", "records") == [
        {"samples": 0, "records": 1},
        {"samples": 60, "records": 60},
        {"samples": 60, "records": 60},
    ]


def test_the_store_is_rebuilt_with_its_telemetry(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, dump(job("12", **HOUR)), segment(*(minute(n, step_s=3600 if n > 40 else 0) for n in range(60))))
    before = worked_out(space, "usage"), rows(space, "sample_job", "node", "from_time", "cpu_s")
    space.database.unlink()
    assert [r.error for r in ingest(space, [])] == ["", ""]
    assert (worked_out(space, "usage"), rows(space, "sample_job", "node", "from_time", "cpu_s")) == before


def test_a_clock_that_was_stepped_loses_nothing(tmp_path: Path) -> None:
    for step_s in (3600, -3600):
        space = workspace(tmp_path / f"by{step_s}")
        clock = [step_s if 20 <= n < 40 else 0 for n in range(60)]
        take(space, dump(job("12", **HOUR)), segment(*(minute(n, step_s=s) for n, s in enumerate(clock))))
        (row,) = worked_out(space, "usage")
        assert (row["watched_share"], row["cores_used"]) == (1, 0.5)
        starts = [r["from_time"] for r in rows(space, "sample_interval", "from_time")]
        assert (starts[0], starts[-1], len(set(starts))) == (datetime(2026, 5, 5, 8), datetime(2026, 5, 5, 8, 59), 60)
        (event,) = rows(space, "collector_event", "kind", "text")
        assert event == {"kind": "clock set right", "text": f"20 intervals moved by {-step_s:.1f} s"}


def test_which_clock_is_right_is_decided_anew_as_more_comes(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, segment(*(minute(n) for n in range(10)), *(minute(n, step_s=600) for n in range(10, 15))))
    assert [r["shift_s"] for r in rows(space, "sample_interval", "from_time", "shift_s")].count(-600) == 5
    take(space, segment(*(minute(n, step_s=600) for n in range(15, 40))))
    shifts = [r["shift_s"] for r in rows(space, "sample_interval", "from_time", "shift_s")]
    assert (shifts.count(600), shifts.count(0)) == (10, 30)


def test_a_drift_of_seconds_is_no_step(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, segment(*(minute(n, step_s=n / 4) for n in range(60))))
    assert {r["shift_s"] for r in rows(space, "sample_interval", "shift_s")} == {0}


def scrape(second: int, util: float = 50) -> str:
    labels = '{gpu="0",UUID="GPU-a",Hostname="n1"}'
    return (
        f"# time: {T0 + second}\nDCGM_FI_DEV_GPU_UTIL{labels} {util}\nDCGM_FI_DEV_CLOCK_THROTTLE_REASONS{labels} 64\n"
    )


def test_a_scrape_stands_for_the_time_to_the_next_in_whichever_file(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, scrape(0) + scrape(60), scrape(1000), scrape(1060))
    found = rows(space, "sample_gpu", "from_time", "interval_s", "throttled_s")
    assert [(r["interval_s"], r["throttled_s"]) for r in found] == [(60, 60), (60, 60), (60, 60), (60, 60)]


def test_scrapes_more_than_5_minutes_apart_stand_for_no_time(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    gpu = {"AllocTRES": "billing=4,cpu=4,gres/gpu=1,mem=8G,node=1", **HOUR}
    take(space, dump(job("12", **gpu)), "".join(scrape(600 * n).replace("}", ',hpc_job="12"}') for n in range(6)))
    assert rows(space, "sample_gpu", "DISTINCT interval_s") == [{"interval_s": 0}]
    (row,) = worked_out(space, "usage")
    assert (row["gpus_used"], row["gpu_util"], row["gpu_watched_share"]) == (None, None, 0)


def test_a_card_that_a_collector_watched_is_not_watched_twice(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    seen = (line("gpu", span=(60 * n, 60 * n + 60), uuid="GPU-a", minor=0, samples=6, util_mean=50) for n in range(3))
    take(
        space,
        segment(*(minute(n, gpu) for n, gpu in enumerate(seen))),
        scrape(0) + scrape(60) + scrape(4000) + scrape(4060),
    )
    assert rows(space, "sample_gpu", "sum(interval_s) AS watched_s") == [{"watched_s": 180 + 120}]


def test_a_site_with_an_exporter_needs_no_collector(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    gpu = {"AllocTRES": "billing=4,cpu=4,gres/gpu=1,mem=8G,node=1", **HOUR}
    jobs = "".join(scrape(60 * n, 40 + n % 2).replace("}", ',hpc_job="12"}') for n in range(60))
    take(space, dump(job("12", **gpu)), jobs)
    (row,) = worked_out(space, "usage")
    assert (row["gpus_used"], row["gpu_source"], row["gpu_util"]) == (1, "telemetry", 40.5)
    assert (row["gpu_watched_share"], row["gpu_throttled_s"]) == (1, 3600)
    assert [(r["uuid"], r["source"]) for r in worked_out(space, "gpu_map")] == [("GPU-a", "node")]


def test_the_window_is_what_collectors_watched_unless_stated(tmp_path: Path) -> None:
    watched = segment(interval(600, 660), interval(1740, 1800)), segment(interval(0, 60), role="controller")
    space = workspace(tmp_path / "a")
    take(space, dump(job("12", **HOUR)), *watched)
    (bounds,) = rows(space, "window_bounds")
    told = (bounds["from_time"], bounds["to_time"], bounds["is_default"])
    assert told == (datetime(2026, 5, 5, 8, 10), datetime(2026, 5, 5, 8, 30), False)


def test_a_cgroup_named_by_sluid_is_found_by_any_record_s(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    fields = [*FIELDS, "SLUID", "OriginalSLUID"]
    sluid = "s5M9M8NTDNAA00"
    take(space, dump(job("12", SLUID="s5M9M8NTDNAA01", OriginalSLUID=sluid, **HOUR), fields=fields))
    take(space, segment(*(minute(n, name=sluid) for n in range(60))))
    assert [r["mem_source"] for r in worked_out(space, "usage")] == ["cgroup"]


def test_what_cannot_be_attributed_is_counted(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    gpu = line("gpu", span=(0, 60), uuid="GPU-a", minor=0, samples=6, util_mean=20)
    lost = interval(
        0, 60, line("job", span=(0, 60), job="999", since_s=T0, samples=6, cpu_s=1), gpu, unmapped=2, busy=1
    )
    take(space, dump(job("12", **HOUR)), segment(lost))
    found = {
        r["kind"]: (r["node"], r["intervals"], r["hours"], r["example"]) for r in worked_out(space, "unattributed")
    }
    assert found == {
        "job cgroup without attempt": ("n1", 1, 1 / 60, "999"),
        "active GPU without holder": ("n1", 1, 1 / 60, "GPU-a"),
        "cgroup of no known job": ("n1", 2, 1 / 30, None),
        "node with steps of no known job": ("n1", 1, 1 / 60, None),
    }


def test_coverage_and_cost_of_the_collectors(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a", window_from="2026-05-05T08:00:00", window_to="2026-05-05T10:00:00")
    gap = line("gap", span=(1800, 3600), reason="reboot")
    texts = [*(minute(n) for n in range(30)), minute(60, gap), *(minute(n) for n in range(61, 120))]
    take(space, dump(job("12", **HOUR)), segment(*texts))
    (row,) = worked_out(space, "telemetry_coverage")
    assert (row["node"], row["watched_s"], row["window_s"], row["coverage"]) == ("n1", 5400, 7200, 0.75)
    assert (row["gaps"], row["longest_gap_s"], row["gap_reason"]) == (1, 1800, "reboot")
    (cost,) = worked_out(space, "collector_overhead")
    assert (round(cost["cpu_share"], 9), cost["missed"]) == (round(0.01 / 60, 9), 0)


def test_an_interval_that_comes_again_in_another_file_counts_once(tmp_path: Path) -> None:
    whole = [minute(n) for n in range(60)]
    files = [segment(*whole), segment(*whole[:40]), gzip.compress(gzip.decompress(segment(*whole)), 1)]
    for name, order in (("a", files), ("b", files[::-1])):
        space = workspace(tmp_path / name)
        take(space, dump(job("12", **HOUR)), *order)
        (row,) = worked_out(space, "usage")
        assert (row["cores_used"], row["watched_share"]) == (0.5, 1)
        assert rows(space, "sample_interval", "count(*) AS found") == [{"found": 60}]


def test_a_gap_told_by_a_wrong_clock_is_found_and_the_step_itself_is_no_reason(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a", window_from="2026-05-05T08:00:00", window_to="2026-05-05T09:00:00")
    gaps = line("gap", span=(1200, 4800), reason="clock"), line("gap", span=(5100, 5400), reason="killed")
    texts = [*(minute(n) for n in range(20)), *(minute(n, step_s=3600) for n in range(20, 25))]
    texts += [minute(30, *gaps, step_s=3600), *(minute(n) for n in range(31, 60))]
    take(space, dump(job("12", **HOUR)), segment(*texts))
    assert [(r["to_s"] - r["from_s"], r["reason"]) for r in worked_out(space, "telemetry_gap")] == [(300, "killed")]


def test_numbers_that_cannot_be_are_left_out_and_their_sums_stay_numbers(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    wild = interval(3600, 3660, mono="1e308"), minute(61, cpu_s="1e300"), minute(62, anon_shmem_bytes_max=2**63 - 1)
    (told,) = take(space, segment(*(minute(n) for n in range(60)), *wild))
    assert (told.error, told.rejects) == ("", 3)
    take(space, dump(job("12", **{**HOUR, "End": "2026-05-05T09:03:00", "ElapsedRaw": "3780"})))
    (row,) = worked_out(space, "usage")
    assert (row["mem_used_bytes"], row["mem_source"]) == (GIB + 59, "cgroup")
