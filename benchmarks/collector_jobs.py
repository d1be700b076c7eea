"""Real cgroups (v1) as Slurm makes them, with a sleeping process in each job: what a collector meets on a full node.

Needs root and the memory, cpuacct and freezer controllers; makes and removes cgroups of its own name only.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "cpuacct", "freezer")
STEPS = ("step_extern", "step_batch", "step_0")


@contextmanager
def jobs(count: int, work: Path, *, cpuacct: bool = True) -> Iterator[Path]:
    """A root to read from, with so many jobs below it; without `cpuacct` CPU has to come from processes."""
    root = work / f"root-{count}"
    name = f"bench-{os.getpid()}-{count}"
    controllers = [one for one in CONTROLLERS if cpuacct or one != "cpuacct"]
    made: list[Path] = []
    sleepers: list[subprocess.Popen[bytes]] = []
    try:
        (root / "sys/fs/cgroup").mkdir(parents=True)
        (root / "proc").symlink_to("/proc")
        for controller in controllers:
            top = CGROUPS / controller / name
            (root / "sys/fs/cgroup" / controller).symlink_to(top)
            for job in range(count):
                for step in STEPS:
                    # The freezer has no level for tasks.
                    leaf = top / f"slurm/uid_{1000 + job % 20}/job_{job}" / step
                    _make(leaf if controller == "freezer" else leaf / "task_0", made)
        for job in range(count):
            sleeper = subprocess.Popen(["sleep", "infinity"])
            sleepers.append(sleeper)
            for controller in controllers:
                leaf = CGROUPS / controller / name / f"slurm/uid_{1000 + job % 20}/job_{job}/step_0"
                target = leaf if controller == "freezer" else leaf / "task_0"
                (target / "cgroup.procs").write_text(str(sleeper.pid))
        yield root
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
        for folder in reversed(made):
            _remove(folder)
        for link in root.rglob("*"):
            if link.is_symlink():
                link.unlink()


def _make(folder: Path, made: list[Path]) -> None:
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        if not one.exists():
            one.mkdir()
            made.append(one)


def _remove(folder: Path) -> None:
    # A killed process leaves its cgroup a moment after it was waited for.
    for _ in range(100):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.02)
