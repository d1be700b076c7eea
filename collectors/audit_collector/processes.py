"""Sums what a job's processes used, where no cgroup counts it. Reads /proc/PID/stat and /proc/PID/io only.

A process that has gone is in its parent's account of waited-for children if that parent is the job's too; else
what was last known of it is kept. So the sum never falls, and loses at most what ran since the last sample.
"""

import os

from audit_collector.files import Budget, Kept, read_once, read_or_none

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


_SHOWN = (b"hidepid=0", b"hidepid=off")
_FILES = ("tasks", "notify_on_release", "release_agent")


def is_group(name: str) -> bool:
    """Whether an entry of a cgroup is a cgroup below it: files have a dot in their name, but for three."""
    if "." in name:
        return name[-6:] in (".scope", ".slice") or name[-8:] == ".service"
    return name not in _FILES


def are_hidden(root: str) -> object:
    """Whether other users' processes are hidden from one without rights; None where that cannot be told."""
    text = read_or_none(root + "/proc/self/mounts")
    for line in text.splitlines() if text is not None else ():
        words = line.split()
        if len(words) > 3 and words[1] == b"/proc":
            options = words[3].split(b",")
            return any(one.startswith(b"hidepid=") and one not in _SHOWN for one in options)
    return None


def stat_of(root: str, pid: int) -> tuple:
    """(parent, own ticks, waited-for children's ticks, start in ticks since boot); raises OSError when it has gone."""
    return _told(read_once("%s/proc/%d/stat" % (root, pid)))


def _told(text: bytes) -> tuple:
    # The name may hold anything, parentheses and blanks too: the last `)` ends it.
    words = text[text.rfind(b")") + 2 :].split(None, 20)
    if len(words) < 20:
        raise OSError("a process's stat is cut short")
    return int(words[1]), int(words[11]) + int(words[12]), int(words[13]) + int(words[14]), int(words[19])


class Processes:
    """The processes of one job, from sample to sample."""

    __slots__ = (
        "alive",
        "budget",
        "files",
        "gone_read_bytes",
        "gone_write_bytes",
        "io",
        "retired_ticks",
        "root",
        "total_ticks",
    )

    def __init__(self, root: str, budget: object = None, retired_ticks: int = 0, total_ticks: int = 0) -> None:
        """`budget`: how many files may be kept open; None: each is opened anew at every sample."""
        self.root = root
        self.budget = budget or Budget(0)
        self.files = {}
        self.alive = {}
        self.retired_ticks = retired_ticks
        self.total_ticks = total_ticks
        self.io = {}
        self.gone_read_bytes = 0
        self.gone_write_bytes = 0

    def sample(self, pids: list) -> float:
        """CPU seconds of all processes of the job so far, given those it has now."""
        now = {}
        listed = set(pids)
        # One that has ended and is not yet waited for is listed no more but still counts.
        for pid in listed.union(self.alive):
            try:
                told = self._stat(pid)
            except (OSError, ValueError):
                continue
            known = self.alive.get(pid)
            if pid in listed or (known is not None and known[3] == told[3]):
                now[pid] = told
        for pid in [pid for pid in self.files if pid not in now]:
            self.files.pop(pid).close()
        self._retire(now)
        self.alive = now
        self.total_ticks = max(self.total_ticks, self.retired_ticks + sum(one[1] + one[2] for one in now.values()))
        return self.total_ticks * TICK_S

    def close(self) -> None:
        """Gives the files back."""
        for kept in self.files.values():
            kept.close()
        self.files = {}

    def _stat(self, pid: int) -> tuple:
        kept = self.files.get(pid)
        if kept is None:
            kept = self.files[pid] = Kept("%s/proc/%d/stat" % (self.root, pid), self.budget)
        try:
            return _told(kept.read())
        except OSError:
            # An open file is of one process for ever: the number may be another's by now.
            kept.close()
            return _told(kept.read())

    def _retire(self, now: dict) -> None:
        """Keeps what is known of the processes that have gone, unless a parent in the job has it by now."""
        inherited = {}
        for pid, told in self.alive.items():
            if pid in now and now[pid][3] == told[3]:
                continue
            heir, steps = told[0], 0
            while heir in self.alive and not (heir in now and now[heir][3] == self.alive[heir][3]):
                heir, steps = self.alive[heir][0], steps + 1
                if steps > len(self.alive):
                    break
            if heir in self.alive and heir in now and now[heir][3] == self.alive[heir][3]:
                inherited[heir] = inherited.get(heir, 0) + told[1] + told[2]
            else:
                self.retired_ticks += told[1] + told[2]
        for heir, ticks in inherited.items():
            gained = now[heir][2] - self.alive[heir][2]
            # A parent that ignores its children's end is not given their time.
            self.retired_ticks += max(0, ticks - gained)

    def sample_io(self, pids: list) -> tuple:
        """(bytes read, bytes written) by the job's processes so far, None where none was ever told; raises
        PermissionError where not readable."""
        now = {}
        for pid in pids:
            try:
                text = read_once("%s/proc/%d/io" % (self.root, pid))
            except PermissionError:
                raise
            except OSError:
                continue
            words = text.split()
            if len(words) >= 12:
                now[pid] = (int(words[9]), int(words[11]))
        for pid, (read_bytes, write_bytes) in self.io.items():
            if pid not in now or now[pid][0] < read_bytes or now[pid][1] < write_bytes:
                self.gone_read_bytes += read_bytes
                self.gone_write_bytes += write_bytes
        self.io = now
        if not now and not self.gone_read_bytes and not self.gone_write_bytes:
            return None, None
        return (
            self.gone_read_bytes + sum(one[0] for one in now.values()),
            self.gone_write_bytes + sum(one[1] for one in now.values()),
        )
