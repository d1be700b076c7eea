"""The node role: what is sampled at every tick, and the rows of an interval. Reads /proc, /sys and the driver."""

import os

from audit_collector.jobs import Jobs
from audit_collector.node import Node
from audit_collector.processes import are_hidden
from audit_collector.segments import lines_of
from audit_collector.wire import COLUMNS

_GPU_SIGNS = ("/dev/nvidiactl", "/dev/nvidia0", "/proc/driver/nvidia/version")


class NodeRole:
    """Jobs, cards and the node."""

    role = "node"
    open_name = "open.seg"

    def __init__(self, settings: object, root: str, log: object) -> None:
        self.root = root
        self.jobs = Jobs(root, settings, log.degraded)
        self.node = Node(root, log.degraded)
        if are_hidden(root) and os.geteuid() != 0:
            log.degraded(
                "processes of jobs: /proc is mounted with hidepid; its gid= group for the collector shows them"
            )
        self.gpus = None
        self.columns = dict(COLUMNS)
        library = settings.nvml_library
        if library or any(os.path.exists(root + sign) for sign in _GPU_SIGNS):
            from audit_collector import gpu

            self.gpus = gpu.Gpus(settings, root or "/", log.event)
            self.columns.update(gpu.COLUMNS)

    def header(self) -> dict:
        """What only this role says in a segment's header."""
        driver = self.gpus.summary().get("driver") if self.gpus else None
        return {"cgroup": _version(self.jobs.layout.name()), "nvidia_driver": driver, "columns": self.columns}

    def sample(self, now_s: float, mono_s: float) -> None:
        """One tick."""
        changed = self.jobs.sample(now_s, mono_s)
        if self.gpus is not None:
            if changed:
                self.gpus.cut(now_s)
            self.gpus.sample(now_s, mono_s, self.jobs)
        self.node.sample()

    def counts(self) -> tuple:
        """(None: every tick is a sample, jobs seen, cgroups not mapped, whether Slurm runs what was not mapped)."""
        return None, self.jobs.seen, self.jobs.unmapped, int(self.jobs.is_busy())

    def rows(self, from_s: float, to_s: float) -> str:
        """The lines of the interval; starts the next."""
        text = lines_of("job", self.jobs.rows())
        if self.gpus is not None:
            for kind, row in self.gpus.rows(from_s, to_s):
                text += lines_of(kind, [row])
        return text + lines_of("node", [self.node.row(from_s, to_s)])

    def new_segment(self) -> None:
        """Nothing is told once per segment here."""

    def shift(self, step_s: float) -> None:
        """The wall clock was stepped."""
        self.jobs.shift(step_s)

    def restore(self, jobs: list, last_s: float) -> None:
        """Goes on with the jobs an earlier run of the same boot knew, which wrote up to `last_s`."""
        self.jobs.restore({(job, inode): known for job, inode, known in jobs}, last_s)

    def summary(self) -> dict:
        """For status."""
        told = self.gpus.summary() if self.gpus else {}
        return {
            "jobs_now": len(self.jobs.by_key),
            "gpus": told.get("gpus", 0),
            "nvml": told.get("nvml", "absent"),
            "dcgm": told.get("dcgm", "absent"),
        }

    def baselines(self) -> list:
        """What `restore` takes."""
        return [[key[0], key[1], known] for key, known in self.jobs.baselines().items()]

    def close(self) -> None:
        """Lets go of everything."""
        self.jobs.close()
        if self.gpus is not None:
            self.gpus.close()


def _version(name: object) -> object:
    return name[:2] if name else None
