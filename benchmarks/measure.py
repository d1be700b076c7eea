"""Runs whole processes in turn and says how long they took and how much memory they held."""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Run:
    """One process from start to exit."""

    elapsed_s: float
    """Wall-clock time."""
    peak_rss_bytes: int
    """The largest resident set (`ru_maxrss`), pages of mapped files included. A child starts out with its
    parent's: so the parent stays small, and makes its inputs in other processes."""


class CommandFailedError(Exception):
    """A measured command ended with an error: its time means nothing."""


def run(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Run:
    """Runs `command`, its output dropped; raises CommandFailedError, with what it said, unless it exits 0."""
    said_read, said_write = os.pipe()
    with os.fdopen(said_read, "rb") as said:
        started = time.perf_counter()
        child = os.posix_spawnp(
            command[0],
            list(command),
            {**os.environ, "PYTHONPATH": str(REPOSITORY), **(environment or {})},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, said_write, 2),
                (os.POSIX_SPAWN_CLOSE, said_write),
            ],
        )
        os.close(said_write)
        text = said.read().decode(errors="replace")
        _, status, usage = os.wait4(child, 0)
        elapsed_s = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise CommandFailedError(f"{' '.join(command)}: exit {code}: {text[-2000:]}")
    # Linux counts in KiB, macOS in bytes.
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return Run(elapsed_s=elapsed_s, peak_rss_bytes=usage.ru_maxrss * unit_bytes)


def alternate(subjects: Mapping[str, Callable[[], Run]], runs: int) -> dict[str, list[Run]]:
    """Runs every subject once, then all again, `runs` times: what else the machine does hits all alike."""
    results: dict[str, list[Run]] = {name: [] for name in subjects}
    for _ in range(runs):
        for name, subject in subjects.items():
            results[name].append(subject())
    return results


def median_s(runs: Sequence[Run]) -> float:
    """The median wall-clock time in seconds."""
    return statistics.median(one.elapsed_s for one in runs)


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """The figures of one subject: its median, every run, and the largest memory of any run."""
    return {
        "median_s": round(median_s(runs), 4),
        "runs_s": [round(one.elapsed_s, 4) for one in runs],
        "peak_rss_bytes": max(one.peak_rss_bytes for one in runs),
    }


def finish(figures: Mapping[str, Any], *, passed: bool) -> int:
    """Prints the figures as JSON, with the machine's state; the exit status is 1 where a limit was passed."""
    # A load far above what the runs themselves make says that others had the machine too.
    load = [round(mean, 2) for mean in os.getloadavg()]
    machine = {"cores": os.cpu_count(), "python": sys.version.split()[0], "load_1_5_15_min": load}
    print(json.dumps({**figures, "machine": machine, "within_limits": passed}, indent=2))
    return 0 if passed else 1
