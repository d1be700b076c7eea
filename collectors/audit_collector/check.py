"""Says what a node is like before it gets a collector. Reads /proc and /sys; asks Slurm's programs their version."""

import os
import platform
import subprocess
import time

from audit_collector import VERSION
from audit_collector.files import names, read_or_none
from audit_collector.layout import Layout
from audit_collector.processes import are_hidden
from audit_collector.state import free_bytes

_MODULE = b"Kernel Module"
TIMEOUT_S = 10.0


def check(folder: str, root: str) -> dict:
    """What `check` prints; None for what is not there or cannot be read."""
    gpus = names(root + "/proc/driver/nvidia/gpus")
    return {
        "version": VERSION,
        "python": platform.python_version(),
        "disk_free_bytes": free_bytes(folder),
        "now_s": round(time.time(), 3),
        "cgroup_layout": _layout(root),
        "nvidia_driver": _driver(root),
        "gpus": len(gpus) if gpus else None,
        "slurm_version": _slurm(),
        "collector": _collector(folder),
        "hidepid": are_hidden(root),
    }


def _layout(root: str) -> object:
    layout = Layout(root, "")
    found = layout.name()
    if found is not None:
        return found
    return "v1, no jobs yet" if layout.v1 else "v2, no jobs yet" if layout.v2 else None


def _driver(root: str) -> object:
    text = read_or_none(root + "/proc/driver/nvidia/version") or b""
    at = text.find(_MODULE)
    # The name may be followed by `for x86_64`: the version is the first word of digits and dots.
    for word in text[at + len(_MODULE) :].split() if at >= 0 else ():
        if word[:1].isdigit() and b"." in word:
            return word.decode("ascii", "replace")
    return None


def _slurm() -> object:
    for program in ("slurmd", "scontrol", "slurmctld"):
        try:
            told = subprocess.run(
                [program, "-V"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False
            ).stdout.split()
        except (OSError, subprocess.SubprocessError):
            continue
        if len(told) > 1:
            return told[1].decode("ascii", "replace")
    return None


def _collector(folder: str) -> object:
    """The version of a collector that is installed already."""
    path = os.path.join(folder, "collector.pyz")
    if not os.path.exists(path):
        return None
    import zipfile

    try:
        with zipfile.ZipFile(path) as opened:
            text = opened.read("audit_collector/__init__.py").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile):
        return "unknown"
    return text.partition('VERSION = "')[2].partition('"')[0] or "unknown"
