"""Reads small kernel files cheaply and without following links. Reads only; opens nothing for writing."""

import errno
import os
import resource
import stat

# A read takes at most this much of a kernel file; memory.stat and io.stat of any kernel are far smaller.
READ_BYTES = 1 << 16
_HALF_PAGE_BYTES = 2048
# No kernel file that is read is longer; what is has no end.
LARGEST_BYTES = 4 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Budget:
    """How many files may be kept open: beside them the collector needs a few for itself."""

    def __init__(self, left: object = None) -> None:
        """`left`: so many; None: as many as the system allows this process."""
        self.left = self._allowed() if left is None else left

    def _allowed(self) -> int:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 16384 if hard == resource.RLIM_INFINITY else min(hard, 16384)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                soft = wanted
            except (OSError, ValueError):
                pass
        return (wanted if soft == resource.RLIM_INFINITY else soft) - 64

    def take(self) -> bool:
        """Whether one more file may be kept open; counts it if so."""
        if self.left <= 0:
            return False
        self.left -= 1
        return True


class Kept:
    """One file that is read at every sample: kept open while the budget lasts, else opened each time."""

    __slots__ = ("budget", "fd", "keeps", "path")

    def __init__(self, path: str, budget: Budget, keeps: bool = True) -> None:
        self.path = path
        self.budget = budget
        self.keeps = keeps
        self.fd = -1

    def read(self) -> bytes:
        """Its text from the start, as much as the kernel gives in one piece; raises OSError (ENODEV where its cgroup,
        ESRCH where its process has gone)."""
        return self._with(_piece)

    def read_all(self) -> bytes:
        """Its whole text; raises OSError."""
        return self._with(_pieces)

    def _with(self, reader: object) -> bytes:
        if self.fd >= 0:
            return reader(self.fd)
        fd = _open(self.path)
        if self.keeps and self.budget.take():
            self.fd = fd
            return reader(fd)
        try:
            return reader(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Gives the file back; reading it again would open it anew."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self.budget.left += 1


def _open(path: str) -> int:
    fd = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "is no plain file", path)
    return fd


def _piece(fd: int) -> bytes:
    return os.pread(fd, READ_BYTES, 0)


def _pieces(fd: int) -> bytes:
    parts = []
    length = 0
    while True:
        part = os.pread(fd, READ_BYTES, length)
        parts.append(part)
        length += len(part)
        # The kernel fills at least half a page as long as there is more.
        if len(part) < _HALF_PAGE_BYTES:
            return b"".join(parts)
        if length > LARGEST_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def read(path: str) -> bytes:
    """The text of one file, whole (mountstats can be long); raises OSError. The last component is no link."""
    fd = _open(path)
    try:
        return _pieces(fd)
    finally:
        os.close(fd)


def read_once(path: str) -> bytes:
    """The text of a file that the kernel gives in one piece; raises OSError."""
    fd = _open(path)
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
