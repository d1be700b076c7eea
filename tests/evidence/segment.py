"""Writes the smallest collector segments that show a form: what a line says is given by name, all else is left empty."""

import gzip
import json
from typing import Any

T0 = 1777968000  # 2026-05-05T08:00:00Z
COLUMNS = {
    "interval": "from_s to_s mono_s samples missed late_max_s own_cpu_s own_rss_bytes own_written_bytes jobs unmapped busy",
    "job": "job since_s from_s to_s samples cpu_s cpu_source cores_max anon_shmem_bytes_max file_bytes_max kernel_peak_bytes "
    "oom_kills read_bytes write_bytes",
    "gpu": "uuid minor from_s to_s samples util_mean util_max mem_bytes_max mig graphics_active_mean throttled_s holder "
    "holder_source",
    "gpu_job": "uuid job from_s to_s mem_bytes_max processes_max",
    "node": "from_s to_s samples cores iowait_mean",
    "event": "at_s kind text",
    "gap": "from_s to_s reason",
    "alloc": "at_s job_id start_s node gres gpu_index sluid",
    "state": "at_s node state reason",
}


def header(**said: Any) -> str:
    columns = {kind: names.split() for kind, names in COLUMNS.items()}
    told = {"format": 1, "node": "n1", "cluster": "alpha", "role": "node", "boot_id": "boot-1", "columns": columns}
    return f"#{json.dumps({**told, **said})}\n"


def line(kind: str, /, **said: Any) -> str:
    """One line; `span` gives from and to in seconds after T0."""
    if "span" in said:
        first, last = said.pop("span")
        said |= {"from_s": T0 + first, "to_s": T0 + last}
    names = COLUMNS[kind].split()
    assert set(said) <= set(names)
    return "\t".join([kind, *(str(said.get(name, "")) for name in names)]) + "\n"


def interval(first: float, last: float, *lines: str, mono: float | None = None, **said: Any) -> str:
    """An interval with the lines that came in it; the clock from the boot runs 1000 s ahead of T0's count."""
    counted = {"mono_s": first + 1000 if mono is None else mono, "samples": 6, "missed": 0, "own_cpu_s": 0.01}
    return line("interval", span=(first, last), **{**counted, **said}) + "".join(lines)


def member(text: str) -> bytes:
    return gzip.compress(text.encode("utf-8", "surrogateescape"), mtime=0)


def segment(*intervals: str, **said: Any) -> bytes:
    """A segment of one member an interval."""
    first, *rest = intervals or ("",)
    return member(header(**said) + first) + b"".join(member(text) for text in rest)
