"""What the controller's role makes of Slurm's answers: a program in scontrol's place prints what Slurm would."""

import json
import time
from pathlib import Path

import pytest

from tests.collectors.program import Installed, install, tree

RECORD = """JobId={id} {more}JobName={name}
   UserId=alice(1001) GroupId=alice(1001) MCS_label=N/A
   Priority=1 Nice=0 Account=physics QOS=normal
   JobState={state} Reason=None Dependency=(null)
   SubmitTime=2026-11-30T08:15:18 EligibleTime=2026-11-30T08:15:18
   StartTime=2026-11-30T08:15:18 EndTime=2026-11-30T08:25:18 Deadline=N/A
   NodeList=node1
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   JOB_GRES=gpu:a100:2
{details}   MinCPUsNode=1 MinMemoryNode=1G MinTmpDiskNode=0
   Command={command}
   Power=


"""
START = "1796026518"  # 2026-11-30T08:15:18 UTC


def job(id: int, *details: str, name: str = "x", state: str = "RUNNING", more: str = "", command: str = "c") -> str:
    lines = "".join(f"     {one}\n" for one in details)
    return RECORD.format(id=id, name=name, state=state, more=more, details=lines, command=command)


def held(nodes: str, gres: str = "", cpus: str = "0", memory: int = 1024) -> str:
    return f"Nodes={nodes} CPU_IDs={cpus} Mem={memory} GRES={gres}"


FORGED = "\n   UserId=root(0) \n   JobState=RUNNING \n   JOB_GRES=\n     " + held("node9", "gpu:1(IDX:7)")
SLUID = "   SLUID=s5M9M8NTDNAA00 \n"

# answer: (what `show job -d` prints, the allocations then as (job, node, GPU indices, count))
ANSWERS: dict[str, tuple[str, list[tuple[str, str, str, str]]]] = {
    "one card": (job(1, held("node1", "gpu:a100:1(IDX:3)")), [("1", "node1", "3", "1")]),
    "a range and a list": (job(1, held("node1", "gpu:a100:4(IDX:0-2,5)")), [("1", "node1", "0,1,2,5", "4")]),
    "no type": (job(1, held("node1", "gpu:2(IDX:1-2)")), [("1", "node1", "1,2", "2")]),
    "two types beside another resource": (
        job(1, held("node1", "gpu:a100:1(IDX:0),craynetwork:1,gpu:v100:1(IDX:6)")),
        [("1", "node1", "0,6", "2")],
    ),
    "several nodes on one line": (
        job(1, held("node[1-2],m[08-09]", "gpu:a100:1(IDX:0)")),
        [("1", name, "0", "1") for name in ("node1", "node2", "m08", "m09")],
    ),
    "several lines": (
        job(1, held("node1", "gpu:1(IDX:0)"), held("node2", "gpu:1(IDX:2)")),
        [("1", "node1", "0", "1"), ("1", "node2", "2", "1")],
    ),
    "no cards": (job(1, held("node1")), [("1", "node1", "", "")]),
    "pending": (job(1, state="PENDING"), []),
    "ended: its cards are no longer shown": (job(1, held("node1"), state="COMPLETED"), [("1", "node1", "", "")]),
    "a name that looks like an allocation": (
        job(1, held("node1", "gpu:1(IDX:0)"), name="x" + FORGED),
        [("1", "node1", "0", "1")],
    ),
    "a command that looks like an allocation": (
        job(1, held("node1", "gpu:1(IDX:0)"), command="c" + FORGED),
        [("1", "node1", "0", "1")],
    ),
    "a name that looks like another job's record": (
        job(1, held("node1", "gpu:1(IDX:0)")) + job(2, held("node2"), name=f"x{FORGED}\n\nJobId=1 JobName=y"),
        [("1", "node1", "0", "1"), ("2", "node2", "", "")],
    ),
}


def scontrol(folder: Path, jobs: str, nodes: str = "") -> str:
    """A program that answers as scontrol does: all jobs, or the one it is asked for."""
    records = {one.split()[0][6:]: one for one in (f"JobId={part}" for part in jobs.split("JobId=")[1:])}
    for name, text in {"jobs": jobs, "nodes": nodes, **{f"job-{id}": text for id, text in records.items()}}.items():
        (folder / name).write_text(text)
    program = folder / "scontrol"
    program.write_text(
        f'#!/bin/sh\n[ -e {folder}/down ] && echo "slurm_load_jobs error: Unable to contact" >&2 && exit 1\n'
        f'case "$2$4" in job) cat {folder}/jobs ;; job*) cat {folder}/alone-$4 ;; *) cat {folder}/nodes ;; esac\n'
    )
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def collector(tmp_path: Path) -> Installed:
    return install(tmp_path / "c", root=tree(tmp_path / "root", {}))


def run(collector: Installed, program: str, length_s: float = 1.3) -> None:
    collector.window(length_s, roles=["controller"], slurm_commands={"scontrol": program})
    assert collector.do("run").returncode == 0


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer(collector: Installed, tmp_path: Path, answer: str) -> None:
    printed, expected = ANSWERS[answer]
    program = scontrol(tmp_path, printed)
    # Asked for alone, a job's answer holds its record only, whatever is in its name.
    (tmp_path / "alone-1").write_text(job(1, held("node1", "gpu:1(IDX:0)")))
    (tmp_path / "alone-2").write_text(job(2, held("node2"), name=f"x{FORGED}\n\nJobId=1 JobName=y"))
    run(collector, program)
    rows = collector.rows("alloc")
    assert [(row["job_id"], row["node"], row["gpu_index"], row["gpu_count"]) for row in rows] == expected
    assert {row["start_s"] for row in rows} <= {START}
    assert {row["mem_bytes"] for row in rows} <= {"1073741824"}


def test_what_a_record_says_of_its_job(collector: Installed, tmp_path: Path) -> None:
    printed = job(22, held("node1"), more="ArrayJobId=8 ArrayTaskId=1 ", name="a HetJobId=5")
    printed += job(17, held("node1"), more="HetJobId=17 HetJobOffset=0 ", name="b\n" + SLUID.rstrip("\n"))
    run(collector, scontrol(tmp_path, printed.replace("   UserId", SLUID + "   UserId")))
    told = {row["job_id"]: row for row in collector.rows("alloc")}
    assert (told["22"]["array_job_id"], told["22"]["array_task_id"], told["22"]["het_job_id"]) == ("8", "1", "")
    assert (told["17"]["array_job_id"], told["17"]["het_job_id"]) == ("", "17")
    assert told["22"]["sluid"] == "s5M9M8NTDNAA00"


def test_only_what_changes_is_told_again(collector: Installed, tmp_path: Path) -> None:
    program = scontrol(tmp_path, job(1, held("node1", "gpu:1(IDX:0)")), "NodeName=node1 OS=L #1  State=MIXED X=1\n")
    collector.window(4, roles=["controller"], slurm_commands={"scontrol": program})
    running = collector.start()
    time.sleep(1.5)
    (tmp_path / "jobs").write_text(job(1, held("node1"), state="COMPLETED") + job(3, held("node1")))
    told = "NodeName=node1 OS=L #1  State=DOWN+DRAIN X=1   Reason=bad\tdisk [root@2026-11-30T08:00:00]\n"
    (tmp_path / "nodes").write_text(told)
    assert running.wait(20) == 0
    assert [(row["job_id"], row["gpu_index"]) for row in collector.rows("alloc")] == [("1", "0"), ("3", "")]
    states = [(row["node"], row["state"], row["reason"]) for row in collector.rows("state")]
    assert states == [("node1", "MIXED", ""), ("node1", "DOWN+DRAIN", "bad\\x09disk")]


def test_a_controller_that_is_down_is_told_and_waited_for(collector: Installed, tmp_path: Path) -> None:
    program = scontrol(tmp_path, job(1, held("node1")))
    (tmp_path / "down").touch()
    collector.window(6, roles=["controller"], slurm_commands={"scontrol": program})
    running = collector.start()
    time.sleep(1.2)
    (tmp_path / "down").unlink()
    assert running.wait(20) == 0
    told = [row["text"] for row in collector.rows("event") if row["kind"] == "degraded"]
    assert len(told) == 2
    assert "Unable to contact" in told[0]
    assert [row["job_id"] for row in collector.rows("alloc")] == ["1"]
    assert json.loads(collector.do("status").stdout)["ended"] == "window"


def test_both_roles_in_one(collector: Installed, tmp_path: Path) -> None:
    program = scontrol(tmp_path, job(1, held("node1")))
    collector.window(1.3, roles=["node", "controller"], slurm_commands={"scontrol": program})
    assert collector.do("run").returncode == 0
    assert [path.name.split("-")[1] for path in collector.segments()] == ["controller", "node"]
