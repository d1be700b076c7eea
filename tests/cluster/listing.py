"""What there is on a machine of the test cluster, to compare before and after something came and went.

Read from the host: a machine's files are its root file system, which all share, and what it changed (its overlay).
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

ACCOUNT_FILES = ("passwd", "group", "shadow", "gshadow", "subuid", "subgid")
"""In /etc: rewritten by any program that adds and removes a user, so their content is compared."""

LEFT_OUT = (
    *(f"/etc/{file}{ending}" for file in ACCOUNT_FILES for ending in ("", "-")),
    "/home", "/var/log", "/var/spool/slurmd", "/var/spool/slurmctld", "/var/lib/accounting", "/var/lib/munge", "/mnt",
)  # fmt: skip
"""What jobs, Slurm, munge and logins change, and other places where this looks apart."""

VOLATILE = ("/run", "/tmp", "/dev")
"""In memory: what is there is compared, not when it was written."""


def listing(root: Path, rootfs: Path) -> list[str]:
    """Lines, sorted, for each file, process, user and group of the machine whose file system is at `root`.

    `file PATH MODE OWNER [SIZE MTIME | -> TARGET]` for what differs from `rootfs` (links to start scripts and
    systemd units are files), `gone PATH`, `process USER COMMAND`, `passwd LINE`, `group LINE` and so on.
    Left out: LEFT_OUT, `__pycache__`, SSH sessions, and jobs with their slurmstepd.
    """
    lines = set(_changed(root / "mnt", rootfs))
    for top in VOLATILE:
        for path in _walk(root / top[1:], skip="pts"):
            lines.add(_line("/" + str(path.relative_to(root)), path, timed=False))
    for path in _walk(root / "home/engineer"):
        lines.add(_line("/" + str(path.relative_to(root)), path))
    for file in ACCOUNT_FILES:
        path = root / "etc" / file
        lines.update(f"{file} {line}" for line in (path.read_text().splitlines() if path.exists() else ()))
    lines.update(_processes(root / "proc"))
    return sorted(lines)


def _walk(top: Path, skip: str = "__pycache__") -> Iterator[Path]:
    for path in sorted(top.iterdir()) if top.is_dir() and not top.is_symlink() else ():
        if path.name != skip:
            yield path
            yield from _walk(path, skip)


def _changed(upper: Path, rootfs: Path) -> Iterator[str]:
    for path in _walk(upper):
        name = "/" + str(path.relative_to(upper))
        if any(name == left or name.startswith(left + "/") for left in LEFT_OUT):
            continue
        here, below = path.lstat(), rootfs / name[1:]
        if stat.S_ISCHR(here.st_mode) and here.st_rdev == 0:  # how an overlay notes a removal
            yield f"gone {name}"
        elif not below.is_symlink() and not below.exists():
            yield _line(name, path)
        elif (line := _line(name, path)) != _line(name, below):
            yield line


def _line(name: str, path: Path, *, timed: bool = True) -> str:
    status = path.lstat()
    line = f"file {name} {stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid}"
    if path.is_symlink():
        return f"{line} -> {path.readlink()}"
    return f"{line} {status.st_size} {status.st_mtime_ns}" if timed and path.is_file() else line


def _processes(proc: Path) -> Iterator[str]:
    for folder in proc.iterdir():
        try:
            if not folder.name.isdigit() or "/job_" in (folder / "cgroup").read_text():
                continue
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            owner = folder.stat().st_uid
        except OSError:  # it has ended
            continue
        if command and not command.startswith(("sshd: ", "slurmstepd: ")):
            yield f"process {owner} {command}"
