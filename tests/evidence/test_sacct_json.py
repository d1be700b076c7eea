"""`sacct --json`: the two shapes it came in (22.05, and 23.11 to 26.05) give the rows that the text gives."""

import json
from pathlib import Path
from typing import Any

import pytest

from audit.evidence import EvidenceError
from tests.dumps import dump, job, read, step, utc

START, END = 1777968000, 1777971600  # 2026-05-05 08:00 and 09:00 UTC


def number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def count(kind: str, amount: int, name: str = "") -> dict[str, Any]:
    return {"type": kind, "name": name, "id": 1, "count": amount}


def old_job(**more: Any) -> dict[str, Any]:
    return {
        "job_id": 900, "cluster": "alpha", "user": "u1", "account": "a1", "partition": "batch", "name": "train", "nodes": "n1",
        "allocation_nodes": 1, "array": {"job_id": 0, "task_id": None, "task": None}, "het": {"job_id": 0, "job_offset": None},
        "state": {"current": "COMPLETED"}, "exit_code": {"status": "SUCCESS", "return_code": 0}, "required": {"CPUs": 4, "memory": 200},
        "time": {"submission": START - 3600, "eligible": START - 3600, "start": START, "end": END, "elapsed": 3600, "suspended": 0,
                 "limit": 120, "total": {"seconds": 0, "microseconds": 0}},
        "tres": {"requested": [count("mem", 8192)], "allocated": [count("cpu", 4), count("mem", 8192), count("gres", 2, "gpu:a100"), count("gres", 2, "gpu"), count("energy", -2)]},
        "steps": [{
            "step": {"job_id": 900, "id": "batch"}, "state": "COMPLETED", "nodes": {"count": 1, "range": "n1"}, "tasks": {"count": 1},
            "time": {"start": START, "end": END, "elapsed": 3600, "total": {"seconds": 7200, "microseconds": 500000}},
            "tres": {"requested": {"max": [count("mem", 1 << 30)], "average": [count("mem", 1 << 30)], "total": [count("mem", 2 << 30)]}, "allocated": [count("cpu", 4)]},
        }],
        **more,
    }  # fmt: skip


def new_job(**more: Any) -> dict[str, Any]:
    base = old_job()
    base["array"] = {"job_id": 0, "task_id": number(None), "task": ""}
    base["het"] = {"job_id": 0, "job_offset": number(None)}
    base["state"] = {"current": ["COMPLETED"]}
    base["exit_code"] = {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": number(None)}}
    base["required"] = {"CPUs": 4, "memory_per_cpu": number(2048), "memory_per_node": number(None)}
    base["time"]["limit"] = number(120)
    one = base["steps"][0]
    one["state"] = ["COMPLETED"]
    one["step"] = {"id": "900.batch"}
    one["time"] |= {"start": number(START), "end": number(END)}
    return base | more


def document(*jobs: dict[str, Any]) -> str:
    return json.dumps({"meta": {"Slurm": {"release": "x"}}, "errors": [], "jobs": list(jobs)})


TEXT = dump(
    job("900", AllocTRES="cpu=4,mem=8G,gres/gpu:a100=2,gres/gpu=2", TotalCPU="02:00:00.500"),
    step("900", MaxRSS="1048576K", TRESUsageInTot="mem=2097152K", TotalCPU="02:00:00.500", AllocTRES="cpu=4"),
)
SAME_JOB = [
    "job_id",
    "job_id_raw",
    "submit",
    "user_name",
    "account",
    "partition",
    "job_name",
    "state",
    "start_time",
    "end_time",
    "elapsed_s",
    "node_count",
    "node_list",
    "req_mem_bytes",
    "alloc_cores",
    "alloc_mem_bytes",
    "alloc_gpus",
    "alloc_gres",
    "cpu_s",
]
SAME_STEP = [
    "step_id",
    "submit",
    "state",
    "start_time",
    "end_time",
    "tasks",
    "alloc_cores",
    "max_rss_bytes",
    "rss_bytes",
    "cpu_s",
]


@pytest.mark.parametrize("shape", [old_job, new_job])
def test_the_same_attempt_and_step_as_from_text(tmp_path: Path, shape: Any) -> None:
    text, found = read(tmp_path / "t", TEXT), read(tmp_path / "j", document(shape()))
    for table, names in (("job_record", SAME_JOB), ("step_record", SAME_STEP)):
        assert [{n: r[n] for n in names} for r in found[table]] == [{n: r[n] for n in names} for r in text[table]]
    assert found["job_record"][0]["time_limit_s"] == 7200


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"array": {"job_id": 800, "task_id": number(5), "task": ""}},
            {"job_id": "800_5", "array_task_id": 5},
        ),
        (
            {"array": {"job_id": 800, "task_id": number(None), "task": "5-10%2"}},
            {"job_id": "800_[5-10%2]", "array_tasks": 6},
        ),
        ({"het": {"job_id": 899, "job_offset": number(1)}}, {"job_id": "899+1", "het_offset": 1}),
        ({"state": {"current": ["PENDING", "REQUEUED"]}}, {"state": "REQUEUED"}),
        ({"state": {"current": ["PENDING", "RESIZING"]}}, {"state": "RESIZING"}),
        ({"name": 'a|b\n"c" \u202e'}, {"job_name": 'a|b\n"c" \u202e'}),
        (
            {"sluid": "s5M9M8NTDNAA00", "original_sluid": "s5M9M8NTDN0000"},
            {"original_sluid": "s5M9M8NTDN0000"},
        ),
        (
            {"exit_code": {"status": ["SIGNALED"], "return_code": number(None), "signal": {"id": number(9)}}},
            {"exit_code": "0:9"},
        ),
        ({"exclusive": ["NODE"]}, {"exclusive": True}),
        ({"priority": number(2**64 - 2), "job_id": 900.0}, {"job_id": "900"}),
        (
            {"required": {"memory_per_cpu": number(2**63 + 2800), "CPUs": 4}, "tres": {}},
            {"req_mem_bytes": 4 * 2800 * 2**20},
        ),
        (  # cancelled before it started: Slurm's "no value" as a time
            {
                "state": {"current": ["CANCELLED"]},
                "time": {"submission": START, "start": 4294967294, "end": END, "elapsed": 0},
            },
            {"start_time": None, "state": "CANCELLED", "alloc_cores": None},
        ),
        ({"steps": 5, "tres": {"allocated": 5}}, {"alloc_cores": None, "state": "COMPLETED"}),
        ({"tres": {"requested": [], "allocated": []}}, {"req_mem_bytes": 4 * 2048 * 2**20}),
    ],
)
def test_one_attempt(tmp_path: Path, given: dict[str, Any], expected: dict[str, Any]) -> None:
    (found,) = read(tmp_path / "j", document(new_job(**given)))["job_record"]
    assert {key: found[key] for key in expected} == expected


def test_a_running_step_has_no_end(tmp_path: Path) -> None:
    running = new_job(state={"current": ["RUNNING"]})
    running["time"] |= {"end": 0}
    running["steps"][0]["state"] = ["RUNNING"]
    running["steps"][0]["time"]["end"] = number(0)
    found = read(tmp_path / "j", document(running))
    assert (found["job_record"][0]["end_time"], found["step_record"][0]["end_time"]) == (None, None)
    assert found["job_record"][0]["start_time"] == utc("2026-05-05T08:00:00")


def test_what_is_no_job_is_a_reject(tmp_path: Path) -> None:
    found = read(tmp_path / "j", json.dumps({"errors": [], "jobs": [new_job(), 7, {"job_id": 5, "steps": []}]}))
    assert [r["job_id"] for r in found["job_record"]] == ["900"]
    assert [r["line"] for r in found["reject_record"]] == [2, 3]


def test_bytes_that_are_no_utf8_are_shown_as_codes(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "j", document(new_job(name="MARK")).encode().replace(b"MARK", b"a\xffb"))["job_record"]
    assert found["job_name"] == r"a\xffb"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (document(new_job())[:-30], "cut short"),
        ('{"jobs": [{"job_resources": {}}], "errors": []}', "neither"),
        ('{"a": 1}', "neither"),
        ('{"errors": [], "jobs": [' + "[" * 500 + "]" * 500 + "]}", "nested deeper"),
    ],
)
def test_what_is_no_dump_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        read(tmp_path / "j", text)


def test_no_jobs_is_no_fault(tmp_path: Path) -> None:
    assert read(tmp_path / "j", document())["job_record"] == []
