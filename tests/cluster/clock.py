"""Stepping the wall clock of single programs: a small library of our own that they are started with.

The kernel has no namespace for the wall clock, and the machine that runs the tests needs its own.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

MACHINE_FOLDER = "/run/test-clock"
"""Where a machine of the cluster has the library and its offset."""


def build(folder: Path) -> Path | None:
    """Compiles the library into the folder (clock.so); None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    target = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", target, source, "-lm"], check=True)
    return target


def set_offset(folder: Path, seconds: float) -> None:
    """Sets the offset in the folder; programs that run with it see it at once."""
    file = os.open(folder / "offset", os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.pwrite(file, struct.pack("d", seconds), 0)
    finally:
        os.close(file)


def environment(folder: Path) -> dict[str, str]:
    """What to add to the environment of a program on this machine so that it follows the folder's offset."""
    return {"LD_PRELOAD": str(folder / "clock.so"), "AUDIT_TEST_CLOCK": str(folder / "offset")}
