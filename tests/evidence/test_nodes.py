"""Node inventory as text and as JSON, and jobstats' comments in accounting."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from audit.workspace import config_text, create_workspace
from tests.dumps import FIELDS, dump, job, read, rows, take, workspace

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
         "boards": 1, "sockets": 2, "cores": 8, "threads": 2, "partitions": ["gpu", "batch"], "slurmd_start_time": {"set": True, "infinite": False, "number": 1777709699}},
        {"name": "n2", "cpus": 6, "real_memory": 8000, "gres": "", "threads": 2, "partitions": ["batch"]},
    ]
}  # fmt: skip


def test_text_and_json_give_the_same_nodes(tmp_path: Path) -> None:
    text, found = read(tmp_path / "t", LONG), read(tmp_path / "j", json.dumps(JSON))
    assert text["node_record"] == found["node_record"]
    first = text["node_record"][0]
    assert (first["cores"], first["vcpus"], first["mem_bytes"], first["gpus"], first["gpu_type"]) == (
        30,
        32,
        15000 * 2**20,
        4,
        "a100",
    )
    assert [r["line"] for r in text["reject_record"]] == [13]


@pytest.mark.parametrize(
    ("total", "sockets", "cores", "threads", "vcpus"),
    [
        (64, 2, 16, 2, 64),  # a Slurm CPU is a hardware thread
        (32, 2, 16, 2, 64),  # a Slurm CPU is a core with two of them
        (2, 2, 16, 2, 64),  # a Slurm CPU is a socket
        (32, 2, 16, 1, 32),  # no threads
        (48, 2, 16, 2, 48),  # none of them: they contradict
        (128, 2, 16, 2, 128),
        (32, None, 16, 2, None),  # not told
        (32, 2, None, 2, None),
        (32, 2, 16, None, None),
        (32, 2, 16, 0, None),
        (32, 2, 16, 65534, None),  # Slurm's "no value"
    ],
)
def test_hardware_threads_of_the_whole_node(
    tmp_path: Path, total: int, sockets: int | None, cores: int | None, threads: int | None, vcpus: int | None
) -> None:
    said = {"Sockets": sockets, "CoresPerSocket": cores, "ThreadsPerCore": threads}
    told = " ".join(f"{name}={value}" for name, value in said.items() if value is not None)
    text = f"NodeName=n1 CPUTot={total} CPUEfctv={total - 1} RealMemory=1000 {told}\n"
    node = {"name": "n1", "cpus": total, "effective_cpus": total - 1, "real_memory": 1000}
    node |= {k: v for k, v in {"sockets": sockets, "cores": cores, "threads": threads}.items() if v is not None}
    for given in (text, json.dumps({"nodes": [node]})):
        (row,) = read(tmp_path / "t", given)["node_record"]
        assert (row["cores"], row["vcpus"]) == (total - 1, vcpus)


SMT = "NodeName=n1 CPUTot=32 RealMemory=1000 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2{}\n"


@pytest.mark.parametrize(
    ("stated", "cores", "vcpus"),
    [
        ("", 32, 64),
        ("cores = 30", 30, 64),
        ("cores = 64", 64, 64),
        ("cores = 96", 96, None),  # the inventory is of another machine
        ("mem_gib = 2", 32, 64),
    ],
)
def test_hardware_threads_stand_beside_what_audit_toml_states(
    tmp_path: Path, stated: str, cores: float, vcpus: float | None
) -> None:
    text = config_text(cluster="alpha", timezone="UTC")
    size = f'[[nodes]]\nnames = "n1"\n{stated}\n' if stated else ""
    space = create_workspace(tmp_path / "a", text + size)
    take(space, SMT.format(""))
    assert rows(space, "node", "cores", "vcpus") == [{"cores": cores, "vcpus": vcpus}]


def test_hardware_threads_that_change_are_another_size(tmp_path: Path) -> None:
    off, on = " BootTime=2026-05-01T00:00:00", " BootTime=2026-05-03T00:00:00"
    space = workspace(tmp_path / "a")
    take(space, SMT.format(on), SMT.replace("ThreadsPerCore=2", "ThreadsPerCore=1").format(off))
    found = rows(space, "node", "from_time IS NULL AS is_first", "cores", "vcpus")
    assert [(r["is_first"], r["cores"], r["vcpus"]) for r in found] == [(False, 32, 64), (True, 32, 32)]


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
