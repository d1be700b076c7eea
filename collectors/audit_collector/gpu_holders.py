"""Which jobs hold a card: from the devices cgroups of the node's jobs, else from the processes on the card.

Reads the `devices.list` files of the cgroup folders it is given, and nothing else. A job name never is a path here.
"""

import os

from audit_collector.files import read_or_none

NVIDIA_MAJOR = "195"
READS = 3  # a cgroup that does not say is read so often: it may be looked at before Slurm has confined it


def minors_allowed(folder: str) -> object:
    """The minors of the cards that a devices cgroup (v1) lists, or None where it does not say.

    None: no such file, or a cgroup that allows all but some devices: the kernel then shows `a *:* rwm` and never what
    was taken away.
    """
    text = read_or_none(os.path.join(folder, "devices.list"))
    if text is None:
        return None
    found = set()
    for line in text.decode("ascii", "replace").split("\n"):
        words = line.split(" ")
        if words[0] == "a":
            return None
        if words[0] == "c" and len(words) == 3:
            major, _, minor = words[1].partition(":")
            if minor == "*" and major in ("*", NVIDIA_MAJOR):
                return None
            # From 250 on are the driver's control devices, the same for every job.
            if major == NVIDIA_MAJOR and minor.isdigit() and int(minor) < 250:
                found.add(int(minor))
    return found


class Holders:
    """Holders at one poll. `jobs.devices` lists (job, since_s, v1 devices folder or None) of every job on the node."""

    def __init__(self) -> None:
        """Start knowing no cgroup."""
        self.known = {}  # (job, since) -> (minors, None where the cgroup does not say; times read)
        self.by_minor, self.since = {}, {}

    def look(self, jobs: object) -> None:
        """Take the jobs that are on the node now."""
        known, self.by_minor, self.since = {}, {}, {}
        for job, since_s, folder in jobs.devices:
            key = (job, since_s)
            minors, reads = self.known.get(key, (None, 0))
            if not minors and folder is not None and reads < READS:
                minors, reads = minors_allowed(folder), reads + 1
            known[key] = minors, reads
            self.since[job] = since_s
            for minor in minors or ():
                self.by_minor.setdefault(minor, set()).add(job)
        self.known = known

    def of(self, minor: object, processes: object, jobs: object) -> tuple:
        """(holder, source, {job: (bytes or None, processes)}); the holder is None where neither way tells."""
        per_job = jobs_of(processes, jobs)
        holding = self.by_minor.get(minor)
        if holding:
            return ",".join(sorted(holding)), "devices", per_job
        if per_job:
            return ",".join(sorted(per_job)), "processes", per_job
        return None, None, per_job

    def since_of(self, holder: object) -> object:
        """When the newest of these jobs began (its cgroup was made), or None."""
        times = [self.since[job] for job in (holder or "").split(",") if self.since.get(job) is not None]
        return max(times) if times else None


def jobs_of(processes: object, jobs: object) -> dict:
    """{job: (sum of bytes or None, number of processes)} of processes {pid: bytes or None} that belong to jobs."""
    found = {}
    for pid, size in (processes or {}).items():
        job = jobs.job_of_pid(pid)
        if job is not None:
            total, count = found.get(job, (None, 0))
            found[job] = (size if total is None else total if size is None else total + size, count + 1)
    return found
