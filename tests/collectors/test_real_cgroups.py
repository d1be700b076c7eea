"""A real process in real v1 cgroups, laid out as Slurm lays them out: memory and CPU within 5 %. Needs root."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collectors.program import Installed, install

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "cpuacct", "freezer")
MEMORY_BYTES = 150 << 20
SPIKE_BYTES = 300 << 20
BURN_S = 1.5
# Holds memory, burns CPU by its own clock, takes twice the memory for a moment, and waits.
WORK = f"""
import time
held = b"x" * {MEMORY_BYTES}
while time.process_time() < {BURN_S}: pass
time.sleep(0.5)
spike = b"y" * {SPIKE_BYTES - MEMORY_BYTES}
del spike
time.sleep(60)
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all((CGROUPS / one).is_dir() for one in CONTROLLERS),
    reason="makes v1 cgroups, which needs root and a kernel that has them",
)


@pytest.fixture(params=["cpuacct", "processes"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Installed, str, subprocess.Popen[bytes]]]:
    """A job at work, and a collector whose root has it; with and without a cgroup that counts its CPU time."""
    name = f"audit-test-{os.getpid()}"
    root = tmp_path / "root"
    (root / "sys/fs/cgroup").mkdir(parents=True)
    (root / "proc").symlink_to("/proc")
    made: list[Path] = []
    leaves: list[Path] = []
    for controller in CONTROLLERS if request.param == "cpuacct" else ("memory", "freezer"):
        (root / "sys/fs/cgroup" / controller).symlink_to(CGROUPS / controller / name)
        levels = [name, "slurm_n1", "uid_1", "job_1", "step_0", *([] if controller == "freezer" else ["task_0"])]
        folder = CGROUPS / controller
        for level in levels:
            folder /= level
            folder.mkdir()
            made.append(folder)
        leaves.append(folder)
    line = " && ".join(f"echo $$ > {leaf}/cgroup.procs" for leaf in leaves)
    running = subprocess.Popen(["sh", "-c", f'{line} && exec "$0" -c "$1"', sys.executable, WORK])
    try:
        yield install(tmp_path / "c", root=root), request.param, running
    finally:
        running.kill()
        running.wait()
        for folder in reversed(made):
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.02)


def test_a_job_of_known_use(job: tuple[Installed, str, subprocess.Popen[bytes]]) -> None:
    collector, source, running = job
    collector.window(8, sample_s=1, interval_s=4)
    assert collector.do("run").returncode == 0
    rows = collector.rows("job")
    used = running.pid
    ticks = Path(f"/proc/{used}/stat").read_text().rpartition(")")[2].split()[11:13]
    known_s = sum(int(one) for one in ticks) / os.sysconf("SC_CLK_TCK")
    assert {row["cpu_source"] for row in rows} == {source}
    assert sum(float(row["cpu_s"]) for row in rows) == pytest.approx(known_s, rel=0.05)
    assert int(rows[-1]["anon_shmem_bytes_max"]) == pytest.approx(MEMORY_BYTES, rel=0.05)
    # The spike is shorter than the time between samples; the kernel kept it.
    assert int(rows[-1]["kernel_peak_bytes"]) == pytest.approx(SPIKE_BYTES, rel=0.05)
    assert rows[-1]["processes_max"] == "1"
