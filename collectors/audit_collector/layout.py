"""Finds the job cgroups of this node, v1 and v2, however Slurm was built. Reads folder names only.

v1: <controller>/slurm[_<node>]/uid_<n>/job_<id>; v2: [<slice>/][<node>_]slurmstepd.scope/job_<id> or s<SLUID>.
A folder that should be a job's and cannot be read as one is counted, never guessed at.
"""

import os
import re
import stat

from audit_collector.files import names
from audit_collector.processes import is_group

# Both spellings of a mount that two controllers share, then each by itself.
_V1_FOLDERS = {
    "memory": ("memory",),
    "cpuacct": ("cpuacct", "cpu,cpuacct", "cpuacct,cpu"),
    "cpu": ("cpu", "cpu,cpuacct", "cpuacct,cpu"),
    "freezer": ("freezer",),
    "blkio": ("blkio",),
    "devices": ("devices",),
    "cpuset": ("cpuset",),
}
# Jobs are looked for in the first ones: proctrack makes freezer cgroups, task/cgroup memory ones.
_JOB_CONTROLLERS = ("freezer", "memory", "cpuacct", "devices", "cpuset")
_PROCESS_CONTROLLERS = ("freezer", "memory", "cpuacct", "devices", "cpuset")
_JOB = re.compile(r"job_([0-9]{1,10})\Z")
_UID = re.compile(r"uid_[0-9]{1,10}\Z")
_SLUID = re.compile(r"s[0-9A-HJKMNP-TV-Z]{13}\Z")
# Slurm's own folder below a v2 scope: it holds a process that keeps the scope alive, no job.
_NOT_JOBS = ("system",)


class Place:
    """One job's cgroup: its id as the folder's name gives it, which kernel file system, and where."""

    __slots__ = ("created_s", "inode", "job", "path", "relative", "version")

    def __init__(self, job: str, version: int, path: str, relative: str, told: os.stat_result) -> None:
        self.job = job
        self.version = version
        self.path = path
        self.relative = relative
        """v1: slurm…/uid_…/job_…, the same under every controller; v2: empty."""
        self.inode = told.st_ino
        self.created_s = told.st_mtime


class Layout:
    """Where this node's cgroups are; looked for anew once per interval, since Slurm makes them late."""

    def __init__(self, root: str, node: str) -> None:
        self.root = root
        self.node = node
        self.base = root + "/sys/fs/cgroup"
        self.v1 = {}
        self.v2 = []
        self.scopes = []
        self.foreign = 0
        self.listed = {}
        self.look()

    def look(self) -> None:
        """Finds the mounts again, and lists everything anew."""
        self.listed = {}
        self.v1 = {}
        for controller, folders in _V1_FOLDERS.items():
            for folder in folders:
                path = os.path.join(self.base, folder)
                if os.path.isdir(path) and not os.path.exists(os.path.join(path, "cgroup.controllers")):
                    self.v1[controller] = path
                    break
        self.v2 = [
            path
            for path in (self.base, os.path.join(self.base, "unified"))
            if os.path.exists(os.path.join(path, "cgroup.controllers"))
        ]
        self.scopes = self._scopes()

    def name(self) -> object:
        """`v1`, `v1+cpuacct` (jobs have cpuacct cgroups), `v2`; None where Slurm has made no cgroup yet."""
        if any(self._tops(path, _is_slurm, _v1_node)[0] for path in self.v1.values()):
            cpuacct = self.v1.get("cpuacct")
            return "v1+cpuacct" if cpuacct and self._tops(cpuacct, _is_slurm, _v1_node)[0] else "v1"
        if self.scopes:
            return "v2"
        return None

    def find(self) -> tuple:
        """(places by (job, inode), how many folders could not be mapped to a job)."""
        places = {}
        seen = set()
        unmapped = self.foreign = 0
        for controller in _JOB_CONTROLLERS:
            if controller in self.v1 and (controller in _JOB_CONTROLLERS[:2] or not places):
                unmapped = max(unmapped, self._find_v1(self.v1[controller], places, seen))
        self.scopes = self.scopes or self._scopes()
        for scope in self.scopes:
            for name in names(scope):
                path = os.path.join(scope, name)
                if name in _NOT_JOBS:
                    continue
                told = _folder(path)
                if told is None:
                    continue
                job = job_name(name)
                if job is None:
                    unmapped += 1
                elif job not in seen:
                    seen.add(job)
                    places[job, told.st_ino] = Place(job, 2, path, "", told)
        return places, unmapped + self.foreign

    def controllers(self, place: Place) -> dict:
        """v1: the folders of one job by controller, those that are there; v2: one folder under ``."""
        if place.version == 2:
            return {"": place.path}
        found = {}
        for controller, base in self.v1.items():
            path = os.path.join(base, place.relative)
            if _folder(path):
                found[controller] = path
        return found

    def tree(self, found: dict) -> str:
        """The folder below which a job's processes are listed."""
        for controller in ("",) + _PROCESS_CONTROLLERS:
            if controller in found:
                return str(found[controller])
        return ""

    def is_foreign(self, text: bytes) -> bool:
        """Whether a process, by its /proc/PID/cgroup, is below a Slurm folder of another node."""
        found = _OF_PROCESS.search(text.decode("utf-8", "replace"))
        top = found and (found.group(1) or found.group(3))
        return bool(top) and not _same_node(top, self.node)

    def _find_v1(self, base: str, places: dict, seen: set) -> int:
        unmapped = 0
        tops, foreign = self._tops(base, _is_slurm, _v1_node)
        self.foreign = max(self.foreign, foreign)
        for top in tops:
            for uid in names(os.path.join(base, top)):
                if not uid.startswith("uid_"):
                    continue
                relative = top + "/" + uid
                folder = base + "/" + relative
                told = _folder(folder) if _UID.match(uid) else None
                if told is None:
                    unmapped += 1
                elif not self._known(folder, relative, told.st_nlink, places, seen):
                    unmapped += self._look_v1(folder, relative, told.st_nlink, places, seen)
        return unmapped

    def _known(self, folder: str, relative: str, links: int, places: dict, seen: set) -> bool:
        """Takes a user's jobs as they were found last, where the kernel counts as many cgroups and each is there."""
        before = self.listed.get(folder)
        if before is None or before[0] != links:
            return False
        found = []
        for job, name in before[1]:
            if job in seen:
                continue
            told = _folder(folder + "/" + name)
            if told is None:
                return False
            found.append(Place(job, 1, folder + "/" + name, relative + "/" + name, told))
        for place in found:
            seen.add(place.job)
            places[place.job, place.inode] = place
        return True

    def _look_v1(self, folder: str, relative: str, links: int, places: dict, seen: set) -> int:
        unmapped = 0
        jobs = []
        for name in names(folder):
            if not name.startswith("job_"):
                continue
            matched = _JOB.match(name)
            job = matched.group(1) if matched else None
            if job not in seen:
                path = folder + "/" + name
                told = _folder(path)
                if job is None or told is None:
                    # One that went away since it was listed is no fault.
                    unmapped += int(job is None or os.path.lexists(path))
                    continue
                seen.add(job)
                places[job, told.st_ino] = Place(job, 1, path, relative + "/" + name, told)
            jobs.append((job, name))
        # Two links are the folder's own and its parent's; where they are not counted so, all is listed every time.
        if links == len(jobs) + 2:
            self.listed[folder] = links, jobs
        else:
            self.listed.pop(folder, None)
        return unmapped

    def _tops(self, base: str, wanted: object, node_of: object) -> tuple:
        """Slurm's top folders that are this node's, and 1 where there are several and none is this node's."""
        tops = [name for name in names(base) if wanted(name) and _folder(os.path.join(base, name))]
        if len(tops) < 2:
            return tops, 0
        own = [name for name in tops if _same_node(node_of(name) or "", self.node)]
        own = own or [name for name in tops if node_of(name) is None]
        return own, int(not own)

    def _scopes(self) -> list:
        """The v2 scopes of this node: at the top, or one level below it."""
        found = []
        for base in self.v2:
            # Files of a cgroup are named controller.what; folders below the top are slices, mostly.
            for folder in [base] + [os.path.join(base, name) for name in names(base) if is_group(name)]:
                tops, foreign = self._tops(folder, _is_scope, _v2_node)
                self.foreign = max(self.foreign, foreign)
                found += [os.path.join(folder, name) for name in tops]
        return found


def job_name(folder: str) -> object:
    """The job id or SLUID a job's folder is named by; None where it is neither."""
    matched = _JOB.match(folder)
    if matched:
        return matched.group(1)
    return folder if _SLUID.match(folder) else None


_OF_PROCESS = re.compile(
    r"(?m)^[0-9]+:[^:\n]*:(?:/[^\n]*)?/(?:slurm(?:_([^/\n]+))?/uid_[0-9]+/(job_[0-9]+)"
    r"|(?:([^/\n]+)_)?slurmstepd\.scope/([^/\n]+))(?:/|$)"
)


def job_of_cgroups(text: bytes, node: str) -> object:
    """The job a process belongs to, from its /proc/PID/cgroup; None where it is no job's or another node's."""
    for top, job, scope, folder in _OF_PROCESS.findall(text.decode("utf-8", "replace")):
        if (top or scope) and not _same_node(top or scope, node):
            continue
        name = job_name(job or folder)
        if name is not None:
            return name
    return None


def _same_node(found: str, node: str) -> bool:
    # Slurm may name the folder by the short form of a long node name.
    return found == node or found.split(".", maxsplit=1)[0] == node.split(".", maxsplit=1)[0]


def _is_slurm(name: str) -> bool:
    return name == "slurm" or name.startswith("slurm_")


def _v1_node(name: str) -> object:
    return name[6:] or None


def _is_scope(name: str) -> bool:
    return name == "slurmstepd.scope" or name.endswith("_slurmstepd.scope")


def _v2_node(name: str) -> object:
    return name[: -len("_slurmstepd.scope")] if name != "slurmstepd.scope" else None


def _folder(path: str) -> object:
    """What the kernel tells of a folder that is no link; None where it is none."""
    try:
        told = os.lstat(path)
    except OSError:
        return None
    return told if stat.S_ISDIR(told.st_mode) else None
