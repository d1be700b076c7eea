"""Lists the processes of one job's cgroups at every sample, cheaply. Reads cgroup.procs below one folder only.

Folders and files are kept open; a folder is listed anew only where a cgroup below it came or went, which the kernel
tells by the folder's link count, or by an error where the cgroup itself has gone.
"""

import os

from audit_collector.files import Budget, Kept, names
from audit_collector.processes import is_group

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 6
# A job that may make cgroups of its own could make any number.
LARGEST_GROUPS = 1000


class Members:
    """The processes of a cgroup and of those below it."""

    __slots__ = ("budget", "fresh", "groups", "path")

    def __init__(self, path: str, budget: object, fresh: bool) -> None:
        """`fresh`: opens every list anew. A v1 kernel hands out a list it has for another second, and for another
        one each time it is asked, so a list kept open must be asked less often than that."""
        self.path = path
        self.budget = budget
        self.fresh = fresh
        self.groups = []

    def pids(self, anew: bool) -> list:
        """The process ids; `anew` looks for folders whether or not one seems to have come. Raises nothing."""
        if not anew and self.groups:
            found = self._read()
            if found is not None:
                return found
        self.close()
        self._add(self.path, _DEEPEST)
        return self._read(strict=False)

    def close(self) -> None:
        """Gives everything back."""
        for group in self.groups:
            group.close()
        self.groups = []

    def _read(self, strict: bool = True) -> object:
        """`strict`: None where the folders are no longer those that were found; else one that has gone is left out."""
        found = []
        for group in self.groups:
            try:
                found += group.pids()
            except OSError:
                if strict:
                    return None
        return found

    def _add(self, path: str, depth: int) -> None:
        if len(self.groups) >= LARGEST_GROUPS:
            return
        try:
            fd = os.open(path, _FOLDER_FLAGS)
        except OSError:
            return
        group = _Group(path, fd, self.budget, self.fresh)
        self.groups.append(group)
        # Two links are the folder's own and its parent's.
        if depth and group.links != 2:
            for name in names(path):
                if is_group(name):
                    self._add(path + "/" + name, depth - 1)


def pids_below(path: str) -> list:
    """The processes of a cgroup and of those below it, asked for once; raises nothing."""
    members = Members(path, Budget(0), True)
    found = members.pids(True)
    members.close()
    return found


class _Group:
    """One cgroup's folder and list."""

    __slots__ = ("budget", "fd", "idle", "kept", "links", "path")

    def __init__(self, path: str, fd: int, budget: object, fresh: bool) -> None:
        self.path = path
        self.budget = budget
        self.links = os.fstat(fd).st_nlink
        self.kept = Kept(path + "/cgroup.procs", budget, keeps=not fresh)
        self.idle = False
        self.fd = fd if budget.take() else -1
        if self.fd < 0:
            os.close(fd)

    def pids(self) -> list:
        told = os.fstat(self.fd) if self.fd >= 0 else os.lstat(self.path)
        if told.st_nlink != self.links:
            raise OSError("a cgroup below %s came or went" % self.path)
        if self.idle:
            return []
        # A 0 is a process outside this PID namespace.
        found = [int(word) for word in self.kept.read_all().split() if word.isdigit() and word != b"0"]
        # Slurm puts processes into the innermost cgroups: one above that is empty is read when folders are looked for.
        self.idle = not found and self.links > 2
        return found

    def close(self) -> None:
        self.kept.close()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self.budget.left += 1
