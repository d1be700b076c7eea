"""The first process of the booted kernel: makes cgroups as Slurm makes them, jobs of known use in them, a collector.

`node.py OUT` is init: it leaves OUT/known.json and OUT/spool, and switches the machine off. `node.py job NAME` is the
one process of a job: it does what is to be measured and prints, as JSON, what it knows of its own use.
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
HERE = Path("/mnt")
CGROUPS = Path("/sys/fs/cgroup")
SCOPE = CGROUPS / "system.slice" / "slurmstepd.scope"
DISK, SWAP = "/dev/ubda", "/dev/ubdb"
PAUSE_S = 2.5  # two samples of a second and a bit
BURN_S = 4.0

Known = dict[str, float]


def status(*names: str) -> int:
    """Bytes, as the kernel tells them of this process alone."""
    told = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return sum(int(told[name].split()[0]) * 1024 for name in names)


def take(size_bytes: int, kind: int = mmap.MAP_PRIVATE) -> mmap.mmap:
    """Memory that is there: a byte of every page is written."""
    taken = mmap.mmap(-1, size_bytes, mmap.MAP_ANONYMOUS | kind)
    for at in range(0, size_bytes, mmap.PAGESIZE):
        taken[at] = 1
    return taken


def transfer(disk: int, at: int, size_bytes: int, write: bool = False) -> None:
    block = mmap.mmap(-1, MIB)  # aligned, as direct I/O wants it
    for offset in range(at, at + size_bytes, MIB):
        done = os.pwrite(disk, block, offset) if write else os.preadv(disk, [block], offset)
        assert done == MIB


def memory() -> Known:
    held = take(64 * MIB), take(48 * MIB, mmap.MAP_SHARED)
    # The kernel drops a disk's cached pages with the last open file: this one stays open.
    transfer(os.open(DISK, os.O_RDONLY), 0, 64 * MIB)
    used_bytes = status("RssAnon", "RssShmem")
    time.sleep(2 * PAUSE_S)  # the collector comes meanwhile
    del held
    return {"anon_shmem_bytes_max": used_bytes, "file_bytes_max": 64 * MIB, "read_bytes": 64 * MIB, "processes_max": 2}


def spike() -> Known:
    held = take(128 * MIB)
    peak_bytes = status("RssAnon")
    time.sleep(0.3)
    held.close()
    time.sleep(PAUSE_S)
    return {"kernel_peak_bytes": peak_bytes, "swap_bytes_max": 0}


def oom() -> Known:
    for _ in range(2):
        child = os.fork()
        if not child:
            take(256 * MIB)
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 9
    time.sleep(PAUSE_S)
    return {"oom_kills": 2, "limit_bytes": 64 * MIB, "kernel_peak_bytes": 64 * MIB}


def swapped() -> Known:
    held = take(128 * MIB)
    time.sleep(PAUSE_S)
    used_bytes = status("VmSwap")
    del held
    return {"swap_bytes_max": used_bytes, "oom_kills": 0}


def cpu() -> Known:
    while time.process_time() < BURN_S:
        pass
    time.sleep(PAUSE_S)
    return {"cpu_s": BURN_S, "cores_max": 1.0, "throttled_s": 0.0, "processes_max": 2}


def throttled() -> Known:
    while time.process_time() < BURN_S / 4:
        pass
    started_s = int(Path("/proc/self/stat").read_text().split()[21]) / os.sysconf("SC_CLK_TCK")
    waited_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started_s - time.process_time()
    time.sleep(PAUSE_S)
    return {"cpu_s": BURN_S / 4, "cores_max": 0.25, "throttled_s": waited_s}


def direct() -> Known:
    transfer(os.open(DISK, os.O_RDONLY | os.O_DIRECT), 64 * MIB, 16 * MIB)
    transfer(os.open(DISK, os.O_WRONLY | os.O_DIRECT), 96 * MIB, 24 * MIB, write=True)
    time.sleep(PAUSE_S)
    return {"read_bytes": 16 * MIB, "write_bytes": 24 * MIB}


# folder of the job: (what its process does, the files of its cgroup that are written)
JOBS = {
    "job_7": (memory, {}),
    "job_8": (spike, {}),
    "job_9": (oom, {"memory.max": str(64 * MIB), "memory.swap.max": "0"}),
    "job_10": (swapped, {"memory.max": str(64 * MIB)}),
    "job_11": (direct, {}),
    "job_12": (throttled, {"cpu.max": "25000 100000"}),
    "s5M9M8NTDNAA00": (cpu, {}),
}


class Job:
    """A job's cgroups and processes: a daemon that sleeps, and what is measured."""

    def __init__(self, name: str) -> None:
        limits = JOBS[name][1]
        self.folder = SCOPE / name
        self.made_s = time.time()
        group(self.folder)
        for file, text in limits.items():
            (self.folder / file).write_text(text)
        for below in ("step_0", "step_0/user"):
            group(self.folder / below)
        self.daemon = self.start("step_0/slurm", "sleep", "1000")
        self.work = self.start("step_0/user/task_0", sys.executable, "-I", "-B", __file__, "job", name)

    def start(self, below: str, *command: str) -> subprocess.Popen[str]:
        procs = group(self.folder / below, inner=False) / "cgroup.procs"
        inside = ["sh", "-c", 'echo 0 >"$0" && exec "$@"', str(procs)]
        return subprocess.Popen([*inside, *command], stdout=subprocess.PIPE, text=True)

    def end(self) -> Known:
        told = self.work.communicate()[0]
        assert self.work.returncode == 0
        self.daemon.kill()
        self.daemon.wait()
        for below in ("step_1", "step_0/user/task_0", "step_0/slurm", "step_0/user", "step_0", ""):
            if (self.folder / below).exists():
                (self.folder / below).rmdir()
        return {"since_s": self.made_s, **json.loads(told)}


def group(folder: Path, inner: bool = True) -> Path:
    """A cgroup as slurmstepd makes it: it sets the owner, from when on its time moves with what is made in it."""
    folder.mkdir(exist_ok=True)
    os.chown(folder, 0, 0)
    if inner:
        (folder / "cgroup.subtree_control").write_text("+cpu +io +memory +pids")
    return folder


def mount(kind: str, at: Path, *more: str) -> None:
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, kind, str(at), *more], check=True)


def main(out: str) -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    for kind, at in (("proc", Path("/proc")), ("sysfs", Path("/sys")), ("cgroup2", CGROUPS), ("tmpfs", HERE)):
        mount(kind, at)
    mount("hostfs", HERE / "out", "-o", out)
    subprocess.run(["mkswap", "-q", SWAP], check=True)
    subprocess.run(["swapon", SWAP], check=True)
    for folder in (CGROUPS, SCOPE.parent, SCOPE):
        group(folder)
    group(SCOPE / "system")
    group(SCOPE / "job_1x")
    (HERE / "spool").mkdir()
    program = shutil.copy(HERE / "out" / "collector.pyz", HERE)
    window = {"format": 1, "cluster": "c", "node": "n1", "roles": ["node"], "sample_s": 1, "interval_s": 5}
    window |= {"from_s": time.time(), "to_s": time.time() + 600, "min_free_disk_bytes": 0}
    (HERE / "window.json").write_text(json.dumps(window))
    # The first job is older than the collector and has begun a step since.
    jobs = {"job_7": Job("job_7")}
    time.sleep(1.5)
    group(jobs["job_7"].folder / "step_1")
    collector = subprocess.Popen([sys.executable, "-I", "-B", program, "run", "--dir", str(HERE)])
    known: dict[str, Known] = {}
    for name in JOBS:
        known[name.removeprefix("job_")] = (jobs.pop(name, None) or Job(name)).end()
    collector.terminate()
    assert collector.wait() == 0
    shutil.copytree(HERE / "spool", HERE / "out" / "spool")
    (HERE / "out" / "known.json").write_text(json.dumps(known))


if __name__ == "__main__":
    if sys.argv[1] == "job":
        print(json.dumps(JOBS[sys.argv[2]][0]()))
    else:
        try:
            main(sys.argv[1])
        finally:
            Path("/proc/sysrq-trigger").write_text("o")
            time.sleep(60)
