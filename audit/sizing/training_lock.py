"""One training at a time in a folder, and none that could not write there in the end."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from audit.errors import AuditError

NAME: Final = ".lock"


@contextmanager
def training_lock(folder: Path) -> Iterator[None]:
    """Holds the folder of the models (made if need be) for one training; it goes again where nothing was written.

    The lock is the kernel's: it ends with its process, however that ends. AuditError: another training runs, the
    folder cannot be written, or a folder stands where a file belongs.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        what = f"models cannot be written here: {error.strerror}"
        raise AuditError(what, where=str(folder), remedy="mend the folder or its permissions") from error
    try:
        _take(lock, folder)
        try:
            _check_places(folder)
            yield
        finally:
            (folder / NAME).unlink(missing_ok=True)
            with suppress(OSError):  # it holds models
                folder.rmdir()
    finally:
        os.close(lock)


def _take(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A training that just ended removed the file that was opened: what is locked then keeps nobody out.
        is_ours = os.path.samestat(os.fstat(lock), (folder / NAME).stat())
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    if not is_ours:
        raise AuditError("another training runs", where=str(folder), remedy="wait for its end, then train again")


def _check_places(folder: Path) -> None:
    for path in folder.iterdir():
        if path.suffix in (".json", ".parquet", ".arrays") and path.is_dir() and not path.is_symlink():
            raise AuditError("is a folder where a file of the models belongs", where=str(path), remedy="move it away")
