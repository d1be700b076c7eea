"""The processes of a job's cgroups, listed with folders and files kept open: in real v1 cgroups, which needs root."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "collectors"))
from audit_collector.files import Budget
from audit_collector.members import Members, pids_below
from audit_collector.processes import Processes

FREEZER = Path("/sys/fs/cgroup/freezer")
# The kernel gives out the list of a moment ago for a second.
STALE_S = 1.2

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not FREEZER.is_dir(), reason="makes v1 cgroups, which needs root and a kernel that has them"
)


@pytest.fixture
def job() -> Iterator[Path]:
    top = FREEZER / f"audit-members-{os.getpid()}"
    (top / "step_0").mkdir(parents=True)
    try:
        yield top
    finally:
        for folder in sorted(top.rglob("*/"), reverse=True):
            folder.rmdir()
        top.rmdir()


@pytest.fixture
def sleepers() -> Iterator[list[subprocess.Popen[bytes]]]:
    running = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    yield running
    for one in running:
        one.kill()
        one.wait()
    time.sleep(0.1)


# budget of open files: all, some, none
@pytest.mark.parametrize("files", [100, 2, 0])
def test_steps_that_come_and_go(job: Path, sleepers: list[subprocess.Popen[bytes]], files: int) -> None:
    first, second, third = (one.pid for one in sleepers)
    budget = Budget(files)
    members = Members(str(job), budget, fresh=False)
    (job / "step_0/cgroup.procs").write_text(str(first))
    assert members.pids(anew=True) == [first]
    # A step below a cgroup that had none of its own processes.
    (job / "step_1").mkdir()
    (job / "step_1/cgroup.procs").write_text(str(second))
    assert sorted(members.pids(anew=False)) == sorted([first, second])
    # One that goes as another comes: as many as before.
    (job / "step_0/cgroup.procs").write_text(str(second))
    (job / "step_1").rmdir()
    (job / "step_2").mkdir()
    (job / "step_2/cgroup.procs").write_text(str(third))
    time.sleep(STALE_S)
    assert sorted(members.pids(anew=False)) == sorted([first, second, third])
    # A task in a cgroup below the step's.
    (job / "step_2/task_0").mkdir()
    (job / "step_2/task_0/cgroup.procs").write_text(str(third))
    time.sleep(STALE_S)
    assert sorted(members.pids(anew=False)) == sorted([first, second, third]) == sorted(pids_below(str(job)))
    members.close()
    assert budget.left == files
    for one in sleepers:
        one.kill()
        one.wait()


def test_a_process_that_ends_keeps_what_it_used(job: Path) -> None:
    """The test itself is the parent, outside the job: what the child used is known from the last sample only."""
    budget = Budget(10)
    processes = Processes("", budget)
    work = "import time\nwhile time.process_time() < 0.6: pass\ntime.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", work])
    used_s = 0.0
    while used_s < 0.5:
        time.sleep(0.05)
        used_s = processes.sample([child.pid])
    assert budget.left == 9
    child.kill()
    child.wait()
    assert processes.sample([]) == used_s
    assert budget.left == 10


def test_it_keeps_no_more_than_a_thousand_cgroups(job: Path) -> None:
    for number in range(1200):
        (job / f"step_0/x{number}").mkdir()
    members = Members(str(job), Budget(0), fresh=True)
    assert members.pids(anew=True) == []
    assert len(members.groups) == 1000
