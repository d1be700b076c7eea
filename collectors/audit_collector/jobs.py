"""Follows the jobs of this node: which there are, what each used, and one row per job and interval. Reads only.

Counters are cumulative in the kernel; a row holds what was added between its from_s and to_s. The first row of a
job starts at the creation of its cgroup, where all counters were 0.
"""

import os

from audit_collector.files import Budget, names, read_or_none
from audit_collector.job import Job
from audit_collector.layout import Layout, job_of_cgroups
from audit_collector.members import LARGEST_GROUPS, Members, pids_below
from audit_collector.processes import TICK_S, stat_of

_IO_FILES = {"io1", "io2"}
# Slurm makes a job's cgroups one after another: for so many samples they are all looked for.
_YOUNG = 3
# A v1 kernel keeps a list of processes for a second: asked for this rarely it is always a new one.
_KEEP_FROM_S = 2.0


class Jobs:
    """All jobs of the node."""

    def __init__(self, root: str, settings: object, degraded: object) -> None:
        self.root = root
        self.node = settings.node
        self.layout = Layout(root, self.node)
        self.budget = Budget()
        self.degraded = degraded
        self.by_key = {}
        self.ended = []
        self.known = {}
        self.written_s = 0.0
        self.unmapped = 0
        self.seen = 0
        self.turn = 0
        # Each job's processes are listed once per interval, a share of the jobs at every sample.
        self.turns = max(1, int(settings.interval_s / settings.sample_s))
        self.fresh = settings.sample_s < _KEEP_FROM_S
        self.io_readable = True
        # The fastest use of CPU is told between samples that are about a sampling interval apart.
        self.least_span_s = settings.sample_s / 2
        self.of_pid = {}
        self.boot_s = 0.0

    def restore(self, known: dict, last_s: float) -> None:
        """What an earlier run wrote last: by (job, inode), the job's `baseline()`; it wrote up to `last_s`."""
        self.known = known
        self.written_s = last_s

    def sample(self, now_s: float, mono_s: float) -> bool:
        """Takes one sample of every job; True when the set of jobs is another than before."""
        places, unmapped = self.layout.find()
        self.unmapped = max(self.unmapped, unmapped)
        self.of_pid = {}
        self.boot_s = now_s - mono_s
        self.turn += 1
        self._same_jobs(places)
        changed = False
        for key in [key for key in self.by_key if key not in places]:
            self._end(key)
            changed = True
        for key, place in places.items():
            job = self.by_key.get(key)
            if job is None:
                job = self.by_key[key] = self._start(place, key)
                job.turn = (len(self.by_key) + self.turn) % self.turns
                changed = True
                self._list(job)
            elif job.turn == self.turn % self.turns:
                self._list(job)
            else:
                if job.age < _YOUNG:
                    job.find_files(self.layout.controllers(place))
                if job.by_processes:
                    job.pids = self._members(job).pids(anew=False)
            job.sample(now_s, mono_s)
        # Jobs of an earlier run that are not there now have ended.
        self.known = {}
        self.seen = max(self.seen, len(places))
        return changed

    @property
    def devices(self) -> list:
        """(job, since_s, its v1 devices cgroup or None) of every job there is now."""
        return [(job.place.job, job.since_s, job.folders.get("devices")) for job in self.by_key.values()]

    def job_of_pid(self, pid: int) -> object:
        """The job a process belongs to; None where it is no job's of this node. Remembered until the next sample."""
        if pid not in self.of_pid:
            text = read_or_none("%s/proc/%d/cgroup" % (self.root, pid))
            self.of_pid[pid] = None if text is None else job_of_cgroups(text, self.node)
        return self.of_pid[pid]

    def rows(self) -> list:
        """One `job` row per job that was sampled since the last call; starts the next interval."""
        sampled = [job for job in self.ended + list(self.by_key.values()) if job.samples]
        if any(not job.mem_samples for job in sampled):
            self.degraded("memory of jobs: no memory cgroup; ConstrainRAMSpace=yes in cgroup.conf would make them")
        if any(job.no_shmem for job in sampled):
            self.degraded("memory of jobs: this kernel does not tell shared memory; only anonymous memory is counted")
        rows = [job.row() for job in sampled]
        self.ended = []
        self.seen = self.unmapped = 0
        self.layout.look()
        return rows

    def shift(self, step_s: float) -> None:
        """The wall clock was stepped: where each job's next row starts is told in the new time."""
        for job in self.by_key.values():
            job.from_s += step_s

    def baselines(self) -> dict:
        """By (job, inode): what must be known to go on after a restart without counting anything twice."""
        # Before the first sample: what the earlier run left, in case this one ends as soon.
        known = dict(self.known)
        known.update((key, job.baseline()) for key, job in self.by_key.items())
        return known

    def is_busy(self) -> bool:
        """Whether a slurmstepd of this node runs although no job was mapped: then the node is not idle."""
        if self.seen:
            return False
        keepers = set()
        for scope in self.layout.scopes:
            keepers.update(pids_below(scope + "/system"))
        for name in names(self.root + "/proc"):
            if not name.isdigit() or int(name) in keepers:
                continue
            if read_or_none("%s/proc/%s/comm" % (self.root, name)) != b"slurmstepd\n" or not self._is_ours(name):
                continue
            if not self.layout.is_foreign(read_or_none("%s/proc/%s/cgroup" % (self.root, name)) or b""):
                return True
        return False

    def _is_ours(self, pid: str) -> bool:
        """Whether a process is root's (or this one's user's): any user may name a process as Slurm names its own."""
        try:
            return os.lstat("%s/proc/%s" % (self.root, pid)).st_uid in (0, os.geteuid())
        except OSError:
            return False

    def close(self) -> None:
        """Gives all files back."""
        for job in self.by_key.values():
            job.close()

    def _same_jobs(self, places: dict) -> None:
        """Slurm makes and removes a job's cgroups one controller after another: found below another controller it is
        the same instance, found anew below the same one it is the next."""
        known = {key[0]: key for key in self.by_key}
        for key in list(places):
            before = known.get(key[0])
            if before is None or before == key or before in places:
                continue
            if self.by_key[before].place.path != places[key].path:
                places[before] = places.pop(key)

    def _start(self, place: object, key: tuple) -> object:
        job = Job(self.root, place, self.budget, self.least_span_s)
        known = self.known.pop(key, None)
        if known is not None:
            job.restore(known)
            return job
        job.since_s = job.from_s = place.created_s
        # An earlier run counted it and what it counted is not known: it is followed from now on.
        job.from_now = place.created_s < self.written_s
        return job

    def _list(self, job: object) -> None:
        """Lists the job's processes: how many, since when at the latest, and their I/O where it may be read."""
        job.find_files(self.layout.controllers(job.place))
        pids = self._members(job).pids(anew=True) if job.by_processes else pids_below(self.layout.tree(job.folders))
        job.pids = pids
        if job.members is not None and len(job.members.groups) >= LARGEST_GROUPS:
            self.degraded(
                "CPU of job %s: it has %d cgroups or more; what is in others is not counted"
                % (job.place.job, LARGEST_GROUPS)
            )
        if not job.listed:
            self._date(job, pids)
        job.listed = True
        if self.io_readable and not (job.files.keys() & _IO_FILES):
            try:
                job.sample_io(pids)
            except PermissionError:
                self.io_readable = False
                self.degraded("I/O of jobs: /proc/PID/io is not readable; CAP_SYS_PTRACE or root would make it so")

    def _members(self, job: object) -> Members:
        path = self.layout.tree(job.folders)
        if job.members is None or job.members.path != path:
            if job.members is not None:
                job.members.close()
            job.members = Members(path, self.budget, self.fresh)
        return job.members

    def _date(self, job: object, pids: list) -> None:
        """A folder's time is when something was last made in it, since slurmstepd sets its owner, or else when the
        kernel loaded it: the oldest process may be older than that."""
        if job.restored or not pids:
            return
        for pid in pids:
            try:
                started_s = self.boot_s + stat_of(self.root, pid)[3] * TICK_S
            except (OSError, ValueError):
                continue
            if started_s < job.since_s:
                job.since_s = job.from_s = started_s

    def _end(self, key: tuple) -> None:
        job = self.by_key.pop(key)
        job.close()
        if job.samples:
            self.ended.append(job)
