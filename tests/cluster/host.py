"""What the test cluster takes of the machine that runs the tests, and how it is given back.

Everything of a cluster lives in one set of namespaces whose PID 1 ends when this process does (its standard input
is a pipe from here): the kernel then ends every process in it and drops its mounts and network. What can be left
over after a killed test run is a folder, and empty cgroups; `sweep` removes them at the next start.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids")
PREFIX = "audit-cluster-"
PROGRAMS = (
    "slurmctld",
    "slurmdbd",
    "slurmd",
    "sbatch",
    "sacctmgr",
    "munged",
    "mariadbd",
    "mariadb-install-db",
    "my_print_defaults",
    "sshd",
    "python3",
    "sudo",
)
HOST_PROGRAMS = ("ip", "unshare", "nsenter", "losetup", "mkfs.ext4", "ssh-keygen")
_CGROUPS = Path("/sys/fs/cgroup")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def why_not(rootfs: Path) -> str | None:
    """Why no cluster can be brought up here, in one line; None where it can."""
    if os.geteuid() != 0:
        return "a cluster needs root"
    folders = [rootfs / folder.lstrip("/") for folder in _PATH.split(":")]
    missing = [name for name in PROGRAMS if not any((folder / name).exists() for folder in folders)]
    missing += [name for name in HOST_PROGRAMS if not shutil.which(name, path=_PATH)]
    if missing:
        return f"not installed: {', '.join(missing)} (scripts/cluster-packages brings them)"
    missing = [name for name in CONTROLLERS if not (_CGROUPS / name / "cgroup.procs").exists()]
    if missing:
        return f"cgroup v1 controllers are not mounted: {', '.join(missing)}"
    if not Path("/dev/loop-control").exists():
        return "no loop devices"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--time", "--fork", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return tried.stderr.strip() or None


def started(pid: int) -> str | None:
    """When a process started, in clock ticks since boot: with the number it names one process. None: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


def sweep() -> None:
    """Removes what clusters left whose test run was killed."""
    for base in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            pid, start = (base / "owner").read_text().split()
        except (OSError, ValueError):
            continue
        if started(int(pid)) != start:
            with contextlib.suppress(OSError):  # another test run may be at it as well
                _remove(base)


@dataclass
class Ground:
    """The folder, the namespaces and the network that the machines of one cluster share."""

    base: Path
    subnet: str
    """The first three numbers of its addresses; the host is .1."""
    holder: subprocess.Popen[str]
    holder_pid: int

    @property
    def cgroup(self) -> str:
        """The name of its cgroup below each controller."""
        return self.base.name

    def inside(self, *argv: str) -> list[str]:
        """The command line that runs a program in the cluster's namespaces."""
        return ["nsenter", f"--target={self.holder_pid}", "--mount", "--net", "--pid", "--", *argv]

    def ip(self, *argv: str, check: bool = True) -> None:
        """Runs `ip` in the cluster's network, with the host's process numbers."""
        subprocess.run(
            ["nsenter", f"--net=/proc/{self.holder_pid}/ns/net", "ip", *argv], check=check, capture_output=not check
        )


@contextlib.contextmanager
def ground() -> Iterator[Ground]:
    """Takes a folder, namespaces and a network, and gives them back: no process, mount, cgroup or link is left."""
    sweep()
    base = Path(tempfile.mkdtemp(prefix=PREFIX))
    base.chmod(0o755)
    (base / "owner").write_text(f"{os.getpid()} {started(os.getpid())}")
    wait = 'read -r pid _ </proc/self/stat; echo "$pid"; cat >/dev/null'
    holder = subprocess.Popen(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "sh", "-c", wait],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert holder.stdin and holder.stdout
        place = Ground(base, "", holder, int(holder.stdout.readline()))
        place.subnet = _connect(place)
        yield place
    finally:
        assert holder.stdin
        holder.stdin.close()  # its PID 1 ends
        holder.wait()
        _remove(base)


def _connect(place: Ground) -> str:
    """A bridge in the cluster's network and one link to it from the host. The addresses are free ones."""
    link = _link(place.base)
    lock = os.open(tempfile.gettempdir(), os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        taken = subprocess.run(["ip", "-4", "-o", "addr"], check=True, capture_output=True, text=True).stdout
        subnet = next(s for n in random.sample(range(256), 256) if f" {(s := f'10.77.{n}')}." not in taken)
        for line in (
            f"link add {link} type veth peer name uplink netns {place.holder_pid}",
            f"addr add {subnet}.1/24 dev {link}",
            f"link set {link} up",
        ):
            subprocess.run(["ip", *line.split()], check=True)
    finally:
        os.close(lock)
    for line in (
        "link set lo up",
        "link add bridge0 type bridge",
        "link set bridge0 up",
        "link set uplink master bridge0 up",
    ):
        place.ip(*line.split())
    return subnet


def _link(base: Path) -> str:
    """The host's end of the link to a cluster, named after its folder."""
    return "au" + base.name.removeprefix(PREFIX)


def make_cgroups(cgroup: str, machine: str) -> None:
    """Fresh cgroups for one machine below each controller; those of its life before a reboot go first."""
    for controller in CONTROLLERS:
        top = _CGROUPS / controller
        _remove_cgroup(top / cgroup / machine)
        for group in (top / cgroup, top / cgroup / machine):
            group.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems") if controller == "cpuset" else ():
                (group / file).write_text((group.parent / file).read_text())


def _remove(base: Path) -> None:
    """Removes cgroups and folder of a cluster whose processes were killed, waiting for the kernel to be through."""
    for controller in CONTROLLERS:
        _remove_cgroup(_CGROUPS / controller / base.name)
    subprocess.run(["ip", "link", "del", _link(base)], capture_output=True, check=False)
    _until(lambda: not any(map(_loops, base.glob("*.img"))))
    shutil.rmtree(base, ignore_errors=True)


def _loops(image: Path) -> str:
    return subprocess.run(["losetup", "--associated", image], capture_output=True, text=True, check=True).stdout


def _remove_cgroup(top: Path) -> None:
    def gone() -> bool:
        for folder, _, _ in os.walk(top, topdown=False):
            try:
                Path(folder).rmdir()
            except OSError:
                return False
        return True

    _until(gone)


def _until(done: Callable[[], bool], timeout_s: float = 20) -> None:
    end = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > end:
            raise TimeoutError("what a killed cluster held is still in use")
        time.sleep(0.05)


def kill(process: subprocess.Popen[str], pid: int) -> None:
    """Ends a machine by ending its PID 1 (`pid`), whose ancestor in this process is `process`."""
    if process.poll() is None:
        os.kill(pid, signal.SIGKILL)
    process.wait()
