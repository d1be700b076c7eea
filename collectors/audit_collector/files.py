"""Reads small kernel files cheaply and without following links. Reads only; opens nothing for writing."""

import os
import resource

# A read takes at most this much of a kernel file; memory.stat and io.stat of any kernel are far smaller.
READ_BYTES = 1 << 16
_HALF_PAGE_BYTES = 2048
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Budget:
    """How many files may be kept open: beside them the collector needs a few for itself."""

    def __init__(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 16384 if hard == resource.RLIM_INFINITY else min(hard, 16384)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                soft = wanted
            except (OSError, ValueError):
                pass
        self.left = (wanted if soft == resource.RLIM_INFINITY else soft) - 64


class Kept:
    """One file that is read at every sample: kept open while the budget lasts, else opened each time."""

    __slots__ = ("budget", "fd", "path")

    def __init__(self, path: str, budget: Budget) -> None:
        self.path = path
        self.budget = budget
        self.fd = -1

    def read(self) -> bytes:
        """Its whole text from the start; raises OSError (ENODEV where its cgroup has gone)."""
        if self.fd >= 0:
            return os.pread(self.fd, READ_BYTES, 0)
        fd = os.open(self.path, _FLAGS)
        if self.budget.left > 0:
            self.budget.left -= 1
            self.fd = fd
            return os.pread(fd, READ_BYTES, 0)
        try:
            return os.pread(fd, READ_BYTES, 0)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Gives the file back; reading it again would open it anew."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self.budget.left += 1


def read(path: str) -> bytes:
    """The text of one file, whole (mountstats can be long); raises OSError. The last component is no link."""
    fd = os.open(path, _FLAGS)
    try:
        parts = []
        while True:
            part = os.read(fd, READ_BYTES)
            parts.append(part)
            # The kernel fills at least half a page as long as there is more.
            if len(part) < _HALF_PAGE_BYTES:
                return b"".join(parts)
    finally:
        os.close(fd)


def read_once(path: str) -> bytes:
    """The text of a file that the kernel gives in one piece; raises OSError."""
    fd = os.open(path, _FLAGS)
    try:
        return os.read(fd, READ_BYTES)
    finally:
        os.close(fd)


def read_or_none(path: str) -> object:
    """The text of one file, or None where it is not there or may not be read."""
    try:
        return read(path)
    except OSError:
        return None


def names(path: str) -> list:
    """What a folder holds; empty where it is not there or may not be read."""
    try:
        return os.listdir(path)
    except OSError:
        return []


def number_after(text: bytes, key: bytes) -> object:
    """The whole number that follows `key` (its blank included) in `text`; None where there is none."""
    at = text.find(key)
    if at < 0:
        return None
    at += len(key)
    end = text.find(b"\n", at)
    try:
        return int(text[at : end if end >= 0 else len(text)])
    except ValueError:
        return None


def whole(text: bytes) -> object:
    """The number a file consists of; None for `max` and whatever else is no number."""
    try:
        return int(text)
    except ValueError:
        return None
