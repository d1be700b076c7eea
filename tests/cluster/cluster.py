"""A real Slurm cluster on this machine: controller, accounting database, nodes, SSH. Root only, Debian 12 or 13.

    with up() as cluster:
        job = cluster.submit("alice", "--mem=500M", script="srun burn --anon-mib 400 --hold-s 5")
        cluster.wait([job])
        print(cluster.sacct("-j", job, "-o", "JobID,State,MaxRSS"))

Each machine has its own namespaces, cgroups, disk and network address; nothing of it is on the host but the cluster's
folder, one network link, and one cgroup per controller. `host` says how these are given back.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster import clock, host, listing
from tests.cluster.settings import CLUSTER_NAME, Machine, write_seed

FINAL = frozenset("BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT".split())
"""The states of a job that has ended, as sacct names them."""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_START_S = 120
_BLOCK = 1 << 20


def rootfs() -> Path:
    """The Debian root file system that Slurm is taken from: AUDIT_CLUSTER_ROOT, else the host's own."""
    return Path(os.environ.get("AUDIT_CLUSTER_ROOT", "/"))


class ClusterError(Exception):
    """The cluster did not do what was asked; the text holds the end of the log concerned."""


@dataclass
class _Running:
    """A machine that is on: the process here that holds it and the number of its PID 1 as the host counts."""

    process: subprocess.Popen[str]
    pid: int


@dataclass
class Cluster:
    """A cluster that is up. Node names are those of Slurm, of SSH and of the inventory; the controller is `ctl`."""

    ground: host.Ground
    machines: dict[str, Machine]
    _on: dict[str, _Running] = field(default_factory=dict)

    controller = "ctl"
    name = CLUSTER_NAME

    @property
    def nodes(self) -> list[str]:
        """The compute nodes."""
        return [machine.name for machine in self.machines.values() if machine.cpus]

    @property
    def ssh_config(self) -> Path:
        """A file for `ssh -F`: every machine by its name, as root; `engineer@NAME` works too and may use sudo."""
        return self.ground.base / "ssh/config"

    @property
    def inventory(self) -> Path:
        """An Ansible inventory: group `nodes`, group `controller`."""
        return self.ground.base / "ssh/hosts.ini"

    @property
    def home(self) -> Path:
        """/home of all machines, as the host sees it."""
        return self.ground.base / "home"

    def logs(self, machine: str) -> Path:
        """The host's path of a machine's /var/log/slurm."""
        return self.ground.base / "log" / machine

    # Commands

    def run(
        self,
        machine: str,
        argv: Sequence[str],
        *,
        user: str = "root",
        input: str | None = None,
        check: bool = True,
        timeout_s: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program on a machine (not by SSH), in the user's home. Raises ClusterError on failure if `check`."""
        done = subprocess.run(
            self.command(machine, argv, user),
            check=False,
            input=input or "",
            text=True,
            capture_output=True,
            timeout=timeout_s,
        )
        if check and done.returncode:
            raise ClusterError(
                f"{machine}: {' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()} {done.stdout.strip()}"
            )
        return done

    def command(self, machine: str, argv: Sequence[str], user: str = "root") -> list[str]:
        """The command line, for Popen here, that runs a program on a machine."""
        home = "/root" if user == "root" else f"/home/{user}"
        clean = [
            "env",
            "-i",
            "-C",
            home,
            f"PATH={_PATH}",
            f"HOME={home}",
            f"USER={user}",
            "LANG=C.UTF-8",
            "SHELL=/bin/bash",
        ]
        become = (
            []
            if user == "root"
            else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--inh-caps=-all"]
        )
        spaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--time"]
        return ["nsenter", f"--target={self._on[machine].pid}", *spaces, "--", *become, *clean, *argv]

    def submit(self, user: str, *options: str, script: str) -> str:
        """Submits a batch script (its text without the `#!` line). The job's number; of an array or het job the first."""
        sbatch = ["sbatch", "--parsable", *options]
        return (
            self.run(self.controller, sbatch, user=user, input=f"#!/bin/bash\n{script}\n")
            .stdout.strip()
            .partition(";")[0]
        )

    def sacct(self, *options: str) -> list[list[str]]:
        """The rows of `sacct -n -P OPTIONS`, split at `|`."""
        out = self.run(self.controller, ["sacct", "-n", "-P", *options]).stdout
        return [line.split("|") for line in out.splitlines()]

    def wait(self, jobs: Iterable[str], states: Iterable[str] = FINAL, timeout_s: float = 180) -> dict[str, str]:
        """Waits until the accounting database shows each job (all its tasks and components) in one of the states.

        The states by JobID; ClusterError after the timeout.
        """
        jobs, wanted = list(jobs), set(states)
        end = time.monotonic() + timeout_s
        while True:
            rows = self.sacct("-X", "-j", ",".join(jobs), "-o", "JobID,State")
            found = {job: state.partition(" ")[0] for job, state in rows}
            seen = {job.partition("_")[0].partition("+")[0] for job in found}
            if seen >= set(jobs) and set(found.values()) <= wanted:
                return found
            if time.monotonic() > end:
                raise ClusterError(f"after {timeout_s:g} s jobs are {found}")
            time.sleep(0.5)

    def node_states(self) -> dict[str, str]:
        """Slurm's state of each node, in small letters (`idle`, `mixed`, `down*`); empty where the controller is down."""
        out = self.run(self.controller, ["sinfo", "-h", "-N", "-o", "%N %T"], check=False).stdout
        return dict(line.split() for line in out.splitlines())

    def wait_idle(self, timeout_s: float = 120) -> None:
        """Waits until every node that is on is idle."""
        end = time.monotonic() + timeout_s
        while not all(self.node_states().get(node) == "idle" for node in self.nodes if node in self._on):
            if time.monotonic() > end:
                raise ClusterError(f"after {timeout_s:g} s nodes are {self.node_states()}")
            time.sleep(0.1)

    @property
    def slurm_version(self) -> str:
        """As `22.05.8`."""
        return self.run(self.controller, ["scontrol", "--version"]).stdout.split()[1]

    def files(self, machine: str, path: str) -> dict[str, bytes]:
        """The files below a folder of a machine, by path, read from the host."""
        root = Path(f"/proc/{self._on[machine].pid}/root")
        return {
            f"/{file.relative_to(root)}": file.read_bytes() for file in (root / path[1:]).rglob("*") if file.is_file()
        }

    def listing(self, machine: str) -> list[str]:
        """Its files, processes, users and groups as sorted lines; see `listing.listing`."""
        return listing.listing(Path(f"/proc/{self._on[machine].pid}/root"), rootfs())

    # Faults

    def power_off(self, machine: str) -> None:
        """Takes a machine's power: every process in it ends at once. Its disk stays."""
        running = self._on.pop(machine)
        host.kill(running.process, running.pid)

    def power_on(self, machine: str) -> None:
        """Starts a machine with the disk it had: new boot id, empty /run and /tmp, monotonic clock from 0, its
        start scripts in /etc/rc3.d run. Returns when its daemons are started."""
        self._boot(machine)
        self._go(machine)
        self._await_up(machine)

    def reboot(self, machine: str) -> None:
        """`power_off`, then `power_on`."""
        self.power_off(machine)
        self.power_on(machine)

    def cut_network(self, machine: str) -> None:
        """Pulls a machine's network plug."""
        self.ground.ip("link", "set", machine, "down")

    def mend_network(self, machine: str) -> None:
        """Plugs it in again."""
        self.ground.ip("link", "set", machine, "up")

    def stop_controller(self) -> None:
        """Stops slurmctld; jobs go on."""
        self._stop("slurmctld")

    def start_controller(self) -> None:
        """Starts slurmctld; returns when it answers."""
        self.run(self.controller, ["slurmctld"])
        self._answers("scontrol ping | grep -q 'is UP'")

    def stop_database(self) -> None:
        """Stops slurmdbd: sacct fails."""
        self._stop("slurmdbd")

    def start_database(self) -> None:
        """Starts slurmdbd; returns when it answers."""
        self.run(self.controller, ["slurmdbd"])
        self._answers("sacctmgr -n list cluster | grep -q .")

    def fill_disk(self, machine: str) -> None:
        """Leaves no free byte on a machine's disk (everything but /dev, /proc, /run, /sys, /tmp, /home)."""
        fill = f"fallocate -l $(( $(stat -f -c '%a * %S' /var) - {_BLOCK} )) /.full; cat /dev/zero >>/.full; true"
        self.run(machine, ["bash", "-c", fill])

    def free_disk(self, machine: str) -> None:
        """Takes back `fill_disk`."""
        self.run(machine, ["rm", "/.full"])

    def step_clock(self, machine: str, seconds: float) -> None:
        """Sets a machine's wall clock that far from the host's, for every program started after the first call.

        So call it with 0 before the program starts. Programs that were running then keep the host's clock.
        """
        clock.set_offset(self.ground.base / "clock" / machine, seconds)
        self.run(machine, ["bash", "-c", f"echo {clock.MACHINE_FOLDER}/clock.so >/etc/ld.so.preload"])

    # Starting

    def _boot(self, name: str) -> None:
        """Starts PID 1 of a machine, in its cgroups, and connects its network."""
        machine, base = self.machines[name], self.ground.base
        (base / f"boot-id-{name}").write_text(f"{uuid.uuid4()}\n")
        host.make_cgroups(self.ground.cgroup, name)
        enter = "".join(
            f"echo 0 >/sys/fs/cgroup/{c}/{self.ground.cgroup}/{name}/cgroup.procs; " for c in host.CONTROLLERS
        )
        uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        spaces = (
            f"--uts --ipc --mount --cgroup --net --pid --time --boottime=-{uptime} --monotonic=-{int(time.monotonic())}"
        )
        init = [str(Path(__file__).with_name("init.sh")), str(base), name, str(rootfs()), str(machine.gpus)]
        script = f'{enter} exec unshare {spaces} --fork --kill-child=KILL bash "$@"'
        with (base / "log" / f"{name}.log").open("a") as log:
            process = subprocess.Popen(
                self.ground.inside("bash", "-c", script, "boot", *init),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={"PATH": _PATH, "LANG": "C.UTF-8", "CONTROLLERS": " ".join(host.CONTROLLERS)},
            )  # fmt: skip
        assert process.stdout
        self._on[name] = _Running(process, 0)
        self._on[name].pid = int(self._line(name))
        network = f"/proc/{self._on[name].pid}/ns/net"
        self.ground.ip("link", "del", name, check=False)
        self.ground.ip(*f"link add {name} type veth peer name eth0 netns {self._on[name].pid}".split())
        self.ground.ip(*f"link set {name} master bridge0 up".split())
        for line in (f"addr add {machine.address}/24 dev eth0", "link set eth0 up", "link set lo up"):
            subprocess.run(["nsenter", f"--net={network}", "ip", *line.split()], check=True)
        self._go(name)

    def _go(self, name: str) -> None:
        """Lets PID 1 of a machine pass its next stop."""
        pipe = self._on[name].process.stdin
        assert pipe
        with contextlib.suppress(BrokenPipeError):
            pipe.write("\n")
            pipe.flush()

    def _line(self, name: str) -> str:
        """The next line that PID 1 of a machine says."""
        out = self._on[name].process.stdout
        assert out
        ready, _, _ = select.select([out], [], [], _START_S)
        line = out.readline() if ready else ""
        if not line:
            logs = [self.ground.base / "log" / f"{name}.log", *self.logs(name).iterdir()]
            tails = "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in logs)
            raise ClusterError(f"{name} did not start: {tails}")
        return line.strip()

    def _await_up(self, name: str) -> None:
        while self._line(name) != "up":
            pass

    def _stop(self, daemon: str) -> None:
        wait = f"pid=$(cat /run/{daemon}.pid); kill $pid; while [ -e /proc/$pid ]; do sleep .05; done"
        self.run(self.controller, ["bash", "-c", wait])

    def _answers(self, test: str) -> None:
        self.run(self.controller, ["timeout", "60", "bash", "-c", f"until {test}; do sleep .1; done"])

    def _start(self) -> None:
        for name in self.machines:
            self._boot(name)
        self._await_up(self.controller)
        for name in self.nodes:
            self._go(name)
        for name in self.nodes:
            self._await_up(name)
        self.wait_idle()

    def _stop_all(self) -> None:
        for name in list(self._on):
            self.power_off(name)


@contextlib.contextmanager
def up(
    nodes: Sequence[tuple[int, int]] = ((16, 4), (16, 4), (8, 0)), *, gatherer: str = "linux", cores: bool = True
) -> Iterator[Cluster]:
    """Brings a cluster up and takes it down again, whatever happens in between.

    `nodes`: CPUs and GPUs of node1, node2, …; `gatherer`: jobacct_gather/linux or cgroup; `cores`: ConstrainCores.
    """
    with host.ground() as ground:
        machines = [Machine("ctl", f"{ground.subnet}.2")]
        machines += [
            Machine(f"node{i}", f"{ground.subnet}.{10 + i}", cpus, 16000, gpus)
            for i, (cpus, gpus) in enumerate(nodes, 1)
        ]
        write_seed(ground.base, rootfs(), machines, gatherer, cores)
        shim = clock.build(ground.base)
        for machine in machines:
            _make_disk(ground.base / f"{machine.name}.img")
            (ground.base / "log" / machine.name).mkdir(parents=True)
            folder = ground.base / "clock" / machine.name
            folder.mkdir(parents=True)
            clock.set_offset(folder, 0)
            if shim:
                shutil.copy(shim, folder)
        (ground.base / "disk").mkdir()
        shutil.chown(ground.base / "log/ctl", "slurm")
        cluster = Cluster(ground, {machine.name: machine for machine in machines})
        try:
            cluster._start()
            yield cluster
        finally:
            cluster._stop_all()


def _make_disk(image: Path) -> None:
    with image.open("wb") as file:
        file.truncate(4 << 30)  # sparse: it takes what is written
    subprocess.run(
        ["mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", "-N", "65536", image],
        check=True,
    )
