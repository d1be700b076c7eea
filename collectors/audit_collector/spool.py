"""The spool folder: opened once, checked, locked; every file in it is opened relative to it and never through a link.

Touches DIR/spool and nothing else.
"""

import errno
import fcntl
import os
import stat
import time

# O_NONBLOCK: a pipe in the spool must not hold whoever opens it.
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class SpoolError(Exception):
    """The spool cannot be used; the text is one line."""


class Busy(SpoolError):
    """Another collector holds the spool."""


class Removed(SpoolError):
    """The spool was taken away from a collector that runs."""


class Spool:
    """DIR/spool of one collector."""

    def __init__(self, folder: str, create: bool = True) -> None:
        self.path = os.path.join(folder, "spool")
        try:
            if create:
                try:
                    os.mkdir(self.path, 0o700)
                except OSError as error:
                    if error.errno != errno.EEXIST:
                        raise
            self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
        except OSError as error:
            raise SpoolError("%s: %s" % (self.path, error.strerror)) from error
        told = os.fstat(self.fd)
        if told.st_uid not in (os.geteuid(),) and os.geteuid() != 0:
            raise SpoolError("%s: belongs to user %d, not to %d" % (self.path, told.st_uid, os.geteuid()))
        if create and told.st_uid != os.geteuid():
            raise SpoolError("%s: belongs to user %d: run as that user" % (self.path, told.st_uid))
        if stat.S_IMODE(told.st_mode) & 0o022:
            raise SpoolError("%s: may be written by others (mode %o)" % (self.path, stat.S_IMODE(told.st_mode)))
        self.lock_fd = -1

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Opens a file of the spool; raises OSError, and SpoolError where it is a link, a second name of a file, or no
        file at all: what root opens here must be the collector's."""
        try:
            fd = os.open(name, flags | _FLAGS, mode, dir_fd=self.fd)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise SpoolError("%s/%s: is a link" % (self.path, name)) from error
        told = os.fstat(fd)
        if not stat.S_ISREG(told.st_mode) or told.st_nlink > 1:
            os.close(fd)
            raise SpoolError("%s/%s: is no file of its own" % (self.path, name))
        return fd

    def is_in_place(self) -> bool:
        """Whether the folder is still there under its name."""
        try:
            told = os.lstat(self.path)
        except OSError:
            return False
        return os.path.samestat(told, os.fstat(self.fd))

    def names(self) -> list:
        """What is in it."""
        return os.listdir(self.fd)

    def size_bytes(self) -> int:
        """How much its files hold together."""
        total = 0
        for name in self.names():
            try:
                total += os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_size
            except OSError:
                continue
        return total

    def free_bytes(self) -> int:
        """How much of its disk a user without special rights may still fill."""
        told = os.fstatvfs(self.fd)
        return told.f_bavail * told.f_frsize

    def rename(self, old: str, new: str) -> None:
        """Gives a file of the spool another name, for good once this returns."""
        os.rename(old, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        os.fsync(self.fd)

    def remove(self, name: str) -> None:
        """Removes a file of the spool if it is there."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise

    def lock(self) -> None:
        """Takes the spool for this process as long as it lives; raises Busy where another has it."""
        self.lock_fd = self.open("lock", os.O_RDWR | os.O_CREAT)
        told = os.fstat(self.fd)
        if os.geteuid() == 0 and told.st_uid != 0:
            # Root closing what is left over must not take the file from the collector's user.
            os.fchown(self.lock_fd, told.st_uid, told.st_gid)
        # A status command holds the lock for a moment to see whether anyone does.
        for attempt in range(20):
            try:
                fcntl.flock(self.lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if attempt == 19:
                    raise Busy("%s: another collector runs here" % self.path) from error
                time.sleep(0.02)
        os.ftruncate(self.lock_fd, 0)
        os.write(self.lock_fd, b"%d\n" % os.getpid())

    def holder(self) -> object:
        """The process that holds the spool; None where none does."""
        try:
            fd = self.open("lock", os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except OSError:
            text = os.read(fd, 32).strip()
            return int(text) if text.isdigit() else 0
        finally:
            os.close(fd)

    def read(self, name: str, most_bytes: int) -> bytes:
        """The text of a file of the spool; raises OSError."""
        fd = self.open(name, os.O_RDONLY)
        with os.fdopen(fd, "rb") as opened:
            return opened.read(most_bytes)

    def replace(self, name: str, text: bytes) -> None:
        """Writes a file of the spool whole or not at all; raises OSError."""
        fd = self.open(name + ".new", os.O_WRONLY | os.O_CREAT)
        try:
            os.ftruncate(fd, 0)
            if os.write(fd, text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(fd)
        os.rename(name + ".new", name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
