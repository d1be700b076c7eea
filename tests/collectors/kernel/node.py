"""The first process of the booted kernel: makes the cgroups Slurm makes, jobs of known use in them, and a collector.

`node.py OUT` is init; `node.py job NAME` is one job's process. Writes OUT/known.json and OUT/files, then powers off.
"""

import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20
TOP = Path("/sys/fs/cgroup")
SCOPE = TOP / "system.slice" / "slurmstepd.scope"
DISK = Path("/dev/ubda")
TASK = "step_0/user/task_0"
SAMPLE_S = 1
SHOWN = ("memory.stat", "memory.events", "memory.peak", "memory.swap.current", "memory.max", "cpu.stat", "io.stat")


def resident() -> int:
    """Anonymous and shared memory of this process, as the kernel tells it of the process alone."""
    words = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return sum(int(words[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))


def take(size_bytes: int, shared: bool = False) -> mmap.mmap:
    """Memory that is there, every page of it written."""
    taken = mmap.mmap(-1, size_bytes, mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if shared else mmap.MAP_PRIVATE))
    for at in range(0, size_bytes, mmap.PAGESIZE):
        taken[at] = 1
    return taken


def copy(flags: int, at: int, size_bytes: int, write: bool = False) -> None:
    """Reads or writes so much of the disk in blocks of a MiB."""
    block = mmap.mmap(-1, MIB)
    disk = os.open(DISK, flags)
    for offset in range(at, at + size_bytes, MIB):
        done = os.pwrite(disk, block, offset) if write else os.preadv(disk, [block], offset)
        assert done == MIB
    os.close(disk)


def burn(cpu_s: float) -> None:
    while time.process_time() < cpu_s:
        pass


def memory() -> dict[str, float]:
    held = take(64 * MIB), take(48 * MIB, shared=True)
    copy(os.O_RDONLY, 0, 64 * MIB)
    used = resident()
    time.sleep(6 * SAMPLE_S)
    del held
    return {"anon_shmem_bytes_max": used, "file_bytes_max": 64 * MIB, "read_bytes": 64 * MIB}


def spike() -> dict[str, float]:
    held = take(128 * MIB)
    peak = resident()
    time.sleep(0.3)
    held.close()
    low = resident()
    time.sleep(3 * SAMPLE_S)
    return {"kernel_peak_bytes": peak, "anon_shmem_bytes_min": low, "swap_bytes_max": 0}


def oom() -> dict[str, float]:
    for _ in range(2):
        child = os.fork()
        if not child:
            take(256 * MIB)
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 9
    time.sleep(2 * SAMPLE_S)
    return {"oom_kills": 2, "limit_bytes": 64 * MIB, "kernel_peak_bytes": 64 * MIB}


def cpu() -> dict[str, float]:
    burn(4.0)
    used_s = time.process_time()
    time.sleep(2 * SAMPLE_S)
    return {"cpu_s": used_s, "cores_max": 1.0, "throttled_s": 0.0}


def throttled() -> dict[str, float]:
    started_s, before_s = time.monotonic(), time.process_time()
    burn(before_s + 1.5)
    used_s = time.process_time()
    waited_s = time.monotonic() - started_s - (used_s - before_s)
    time.sleep(2 * SAMPLE_S)
    return {"cpu_s": used_s, "throttled_s": waited_s}


def disk() -> dict[str, float]:
    copy(os.O_RDONLY | os.O_DIRECT, 64 * MIB, 16 * MIB)
    copy(os.O_WRONLY | os.O_DIRECT, 96 * MIB, 24 * MIB, write=True)
    time.sleep(2 * SAMPLE_S)
    return {"read_bytes": 16 * MIB, "write_bytes": 24 * MIB}


# (folder of the job, what it does, limits)
JOBS = (
    ("job_7", memory, {}),
    ("job_8", spike, {}),
    ("s5M9M8NTDNAA00", cpu, {}),
    ("job_10", throttled, {"cpu.max": "25000 100000"}),
    ("job_11", oom, {"memory.max": str(64 * MIB)}),
    ("job_12", disk, {}),
)


def enable(folder: Path) -> None:
    (folder / "cgroup.subtree_control").write_text("+cpu +io +memory +pids")


def run(name: str, work: str, limits: dict[str, str], out: Path) -> dict[str, float]:
    """One job from its start to its end, its cgroup removed as slurmstepd does."""
    job = SCOPE / name
    made_s = time.time()
    job.mkdir()
    enable(job)
    for file, text in limits.items():
        (job / file).write_text(text)
    for at in ("step_0", "step_0/user", "step_0/slurm", TASK):
        (job / at).mkdir()
        if at in {"step_0", "step_0/user"}:
            enable(job / at)
    daemon = subprocess.Popen(
        ["sleep", "1000"], preexec_fn=lambda: (job / "step_0/slurm/cgroup.procs").write_text("0") and None
    )
    done = subprocess.run(
        [sys.executable, "-I", "-B", __file__, "job", work],
        stdout=subprocess.PIPE,
        check=True,
        preexec_fn=lambda: (job / TASK / "cgroup.procs").write_text("0") and None,
    )
    for file in SHOWN:
        shutil.copyfile(job / file, out / "files" / (name + "-" + file))
    daemon.kill()
    daemon.wait()
    time.sleep(0.2)
    for at in (TASK, "step_0/slurm", "step_0/user", "step_0", "."):
        (job / at).rmdir()
    return {"since_s": made_s, "processes_max": 2, **json.loads(done.stdout)}


def main(out: Path) -> None:
    for kind, at in (("proc", "/proc"), ("sysfs", "/sys"), ("cgroup2", str(TOP)), ("tmpfs", "/tmp")):
        subprocess.run(["mount", "-t", kind, kind, at], check=True)
    here = Path("/tmp/c")
    subprocess.run(["mount", "-t", "hostfs", "none", "/mnt", "-o", str(out)], check=True)
    out = Path("/mnt")
    (out / "files").mkdir()
    (here / "spool").mkdir(parents=True)
    shutil.copy(out / "collector.pyz", here)
    for folder in (TOP, SCOPE.parent, SCOPE):
        folder.mkdir(exist_ok=True)
        enable(folder)
    (SCOPE / "system").mkdir()
    (SCOPE / "job_1x").mkdir()
    window = {"format": 1, "cluster": "c", "node": "n1", "roles": ["node"], "sample_s": SAMPLE_S, "interval_s": 5}
    window |= {"from_s": time.time() - 1, "to_s": time.time() + 600, "min_free_disk_bytes": 0}
    (here / "window.json").write_text(json.dumps(window))
    program = [sys.executable, "-I", "-B", str(here / "collector.pyz")]
    collector = subprocess.Popen([*program, "run", "--dir", str(here)])
    known = {name.removeprefix("job_"): run(name, work.__name__, limits, out) for name, work, limits in JOBS}
    collector.terminate()
    assert collector.wait() == 0
    (out / "known.json").write_text(json.dumps(known))
    shutil.copytree(here / "spool", out / "spool")


if __name__ == "__main__":
    if sys.argv[1] == "job":
        print(json.dumps(globals()[sys.argv[2]]()))
    else:
        os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
        try:
            main(Path(sys.argv[1]))
        finally:
            Path("/proc/sysrq-trigger").write_text("o")
            time.sleep(60)
