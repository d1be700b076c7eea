"""Node inventory as text and as JSON, and jobstats' comments in accounting."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import FIELDS, dump, job, read

LONG = """NodeName=n1 Arch=x86_64 CoresPerSocket=8
   CPUAlloc=14 CPUEfctv=30 CPUTot=32 CPULoad=2.23
   Gres=gpu:a100:4(S:0-1)
   OS=Linux 6.1 #1 SMP PREEMPT_DYNAMIC @0
   RealMemory=16000 AllocMem=9648 MemSpecLimit=1000 Sockets=2 Boards=1
   State=MIXED ThreadsPerCore=2 Weight=1
   Partitions=gpu,batch
   BootTime=2026-05-01T07:53:58 SlurmdStartTime=2026-05-02T08:14:59
   LastBusyTime=Unknown
   Reason=fan = broken, State=odd [root@2026-05-01T00:00:00]

NodeName=n2 CPUTot=8 CoreSpecCount=1 RealMemory=8000 Gres=(null) ThreadsPerCore=2 Partitions=batch
NodeName=n3 Arch=x86_64 State=DOWN
"""
JSON = {
    "nodes": [
        {"name": "n1", "cpus": 32, "effective_cpus": 30, "real_memory": 16000, "specialized_memory": 1000, "gres": "gpu:a100:4(S:0-1)",
         "threads": 2, "partitions": ["gpu", "batch"], "slurmd_start_time": {"set": True, "infinite": False, "number": 1777709699}},
        {"name": "n2", "cpus": 6, "real_memory": 8000, "gres": "", "threads": 2, "partitions": ["batch"]},
    ]
}  # fmt: skip


def test_text_and_json_give_the_same_nodes(tmp_path: Path) -> None:
    text, found = read(tmp_path / "t", LONG), read(tmp_path / "j", json.dumps(JSON))
    assert text["node_record"] == found["node_record"]
    first = text["node_record"][0]
    assert (first["cores"], first["mem_bytes"], first["gpus"], first["gpu_type"]) == (
        30,
        15000 * 2**20,
        4,
        "a100",
    )
    assert [r["line"] for r in text["reject_record"]] == [13]


@pytest.mark.parametrize(
    ("text", "nodes", "rejects"),
    [
        ("\ufeffNodeName=n1 CPUTot=16 RealMemory=64000\n", [("n1", 16, 0)], 0),
        (
            "NodeName=n1 CPUTot=16 RealMemory=64000 Gres=(null) Reason=set Gres=gpu:9 CPUTot=1 NodeName=n9 [root]\n",
            [("n1", 16, 0)],
            0,
        ),
        ("NodeName=f1 CPUTot=16 RealMemory=64000 State=FUTURE\n", [], 1),
        (
            json.dumps(
                {"nodes": [{"name": "n1", "cpus": 4, "real_memory": 10, "partitions": "p2,p1", "free_mem": 2**64 - 2}]}
            ),
            [("n1", 4, 0)],
            0,
        ),
        (
            json.dumps(
                {"nodes": [{"name": "n1", "cpus": 4, "real_memory": 10, "specialized_memory": 99, "partitions": 5}]}
            ),
            [],
            1,
        ),
        (
            json.dumps({"nodes": [{"name": "n1", "cpus": 4, "real_memory": 2**64 - 2}, {"name": "n2", "cpus": 1e300}]}),
            [],
            2,
        ),
    ],
)
def test_odd_inventories(tmp_path: Path, text: str, nodes: list[Any], rejects: int) -> None:
    found = read(tmp_path / "t", text)
    assert [(r["node"], r["cores"], r["gpus"]) for r in found["node_record"]] == nodes
    assert len(found["reject_record"]) == rejects


def js1(summary: Any) -> str:
    return "JS1:" + base64.b64encode(gzip.compress(json.dumps(summary).encode(), mtime=0)).decode()


SEEN = {"nodes": {"n1": {"total_memory": 100, "used_memory": 60, "total_time": 7.5, "cpus": 4, "gpu_utilization": {"0": 93.5},
                         "gpu_used_memory": {"0": 5, "1": 7}, "gpu_total_memory": {"0": 10, "1": 10}}}}  # fmt: skip


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        (
            js1(SEEN),
            [(None, None, None, 60), ("0", 93.5, 5, None), ("1", None, 7, None)],
        ),  # GPU 1 has no utilisation: not 0
        ("JS1:Short", []),
        ("JS1:None", []),
        ("JS1:damaged==", []),
        (js1(SEEN)[:60], []),
        (js1([1, 2]), []),
        (js1({"nodes": {"n1": 5}}), []),
        ("a person's remark", []),
        ("", []),
    ],
)
def test_jobstats(tmp_path: Path, comment: str, expected: list[Any]) -> None:
    found = read(
        tmp_path / "t",
        dump(job("900", AdminComment=comment), fields=[*FIELDS[:-1], "AdminComment", "JobName"]),
    )
    assert len(found["job_record"]) == 1
    rows = [(r["gpu"], r["gpu_util"], r["gpu_mem_bytes"], r["node_mem_bytes"]) for r in found.get("gpu_record", [])]
    assert rows == expected
