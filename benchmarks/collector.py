"""What the collector costs a node, beside Prometheus' node exporter from Debian at the same interval in the same run.

Needs root (it makes cgroups), the package prometheus-node-exporter, and for the case with cards a C compiler.
Usage: python -m benchmarks.collector [--seconds N] [--case NAME]…
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.fleet.bundle import build
from benchmarks.collector_jobs import jobs
from benchmarks.measure import finish

MIB = 1 << 20
DAY_S = 86400.0


@dataclass(frozen=True)
class Case:
    """One load and what it may cost: share of one core, resident bytes, bytes on disk a day; None: no limit."""

    jobs: int
    sample_s: float
    share: float | None
    gpus: int = 0
    cpuacct: bool = True
    rss_bytes: int | None = 25 * MIB
    day_bytes: int | None = None


CASES = {
    "64 jobs, every 10 s": Case(64, 10, 0.001, day_bytes=10 * 10**6),
    "64 jobs, every 10 s, CPU from processes": Case(64, 10, 0.001, cpuacct=False, day_bytes=10 * 10**6),
    "64 jobs, every 1 s": Case(64, 1, 0.02),
    "64 jobs and 8 cards (stand-in driver), every 10 s": Case(64, 10, 0.003, gpus=8, day_bytes=25 * 10**6),
    "1000 jobs, every 10 s": Case(1000, 10, None, rss_bytes=None),
}


def cpu_s(pid: int) -> float:
    """CPU seconds a process and its threads have run, to the nanosecond."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def rss_bytes(pid: int) -> int:
    """The largest resident set so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def start_collector(case: Case, root: Path, folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    """Starts the zip application in a folder of its own."""
    folder.mkdir(parents=True)
    build(folder / "collector.pyz")
    now_s = time.time()
    window: dict[str, Any] = {"format": 1, "cluster": "bench", "node": "n", "roles": ["node"]}
    window |= {"from_s": now_s - 1, "to_s": now_s + seconds + 600, "sample_s": case.sample_s, "interval_s": 60}
    environment = dict(os.environ)
    if case.gpus:
        # The stand-in driver is the tests'.
        from tests.collectors.nvml import build as build_driver
        from tests.collectors.nvml import cards, write

        window["nvml_library"] = str(build_driver(folder))
        moving = [
            line for i in range(case.gpus) for line in (f"gpu {i} util 0:5 300:95", f"gpu {i} used 0:1e9 300:7e10")
        ]
        environment["AUDIT_NVML_SCRIPT"] = str(write(folder / "script", *cards(case.gpus), *moving))
    (folder / "window.json").write_text(json.dumps(window))
    program = [
        sys.executable,
        "-I",
        "-B",
        str(folder / "collector.pyz"),
        "run",
        "--dir",
        str(folder),
        "--root",
        str(root),
    ]
    return subprocess.Popen(program, env=environment)


def start_exporter() -> tuple[subprocess.Popen[bytes], str]:
    """Starts the node exporter on a port of loopback that is free; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    program = ["prometheus-node-exporter", f"--web.listen-address={address}"]
    child = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    return child, f"http://{address}/metrics"


def scrape(address: str) -> int:
    """Takes the exporter's figures once, as Prometheus would; their length in bytes."""
    with urllib.request.urlopen(address) as answer:  # noqa: S310  an address of our own
        return len(answer.read())


def measure(case: Case, work: Path, seconds: float) -> dict[str, Any]:
    """Runs both for that long after a first sample each; what they cost from then on."""
    folder = work / "collector"
    shutil.rmtree(folder, ignore_errors=True)
    with jobs(case.jobs, work, cpuacct=case.cpuacct) as root:
        collector = start_collector(case, root, folder, seconds)
        exporter, address = start_exporter()
        try:
            time.sleep(3)
            scrape(address)
            began_s, scrapes, scraped_bytes = time.monotonic(), 0, 0
            before = {pid: cpu_s(pid) for pid in (collector.pid, exporter.pid)}
            while time.monotonic() < began_s + seconds:
                scraped_bytes += scrape(address)
                scrapes += 1
                time.sleep(max(0.0, began_s + scrapes * case.sample_s - time.monotonic()))
            span_s = time.monotonic() - began_s
            used = {pid: cpu_s(pid) - before[pid] for pid in before}
            resident = {pid: rss_bytes(pid) for pid in before}
        finally:
            exporter.terminate()
            exporter.wait()
            collector.terminate()
            collector.wait()
    status = subprocess.run(
        [sys.executable, str(folder / "collector.pyz"), "status", "--dir", str(folder)], capture_output=True, check=True
    )
    told = json.loads(status.stdout)
    kept = sum(path.stat().st_size for path in (folder / "spool").iterdir())
    return {
        "jobs": case.jobs,
        "gpus": case.gpus,
        "sample_s": case.sample_s,
        "seconds": round(span_s, 1),
        "collector": {
            "cpu_s_per_sample": round(used[collector.pid] / span_s * case.sample_s, 6),
            "share_of_one_core": round(used[collector.pid] / span_s, 6),
            "peak_rss_bytes": resident[collector.pid],
            "on_disk_bytes_per_day": round(kept / told["watched_s"] * DAY_S),
            "written_bytes_per_day": round(told["own_written_bytes"] / told["watched_s"] * DAY_S),
            "missed_samples": told["missed"],
            "late_max_s": told["late_max_s"],
            "gaps": told["gap_count"],
        },
        "node_exporter": {
            "cpu_s_per_scrape": round(used[exporter.pid] / scrapes, 6),
            "share_of_one_core": round(used[exporter.pid] / span_s, 6),
            "peak_rss_bytes": resident[exporter.pid],
            "scraped_bytes_per_day": round(scraped_bytes / span_s * DAY_S),
        },
        "limits": {"share_of_one_core": case.share, "peak_rss_bytes": case.rss_bytes, "bytes_per_day": case.day_bytes},
    }


def within(case: Case, figures: Mapping[str, Any]) -> bool:
    """Whether the collector kept its limits, and missed nothing."""
    cost = figures["collector"]
    pairs = (
        (cost["share_of_one_core"], case.share),
        (cost["peak_rss_bytes"], case.rss_bytes),
        (cost["written_bytes_per_day"], case.day_bytes),
        (cost["gaps"], 0),
    )
    return all(limit is None or value <= limit for value, limit in pairs)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="how long each case runs")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only these")
    options = parser.parse_args()
    found = {}
    for name in options.case or CASES:
        # Its own folder each time: the spool is on the disk the temporary folder is on.
        with tempfile.TemporaryDirectory(prefix="audit-collector-") as work:
            found[name] = measure(CASES[name], Path(work), options.seconds)
    passed = all(within(CASES[name], figures) for name, figures in found.items())
    return finish({"benchmark": "collector", "cases": found}, passed=passed)


if __name__ == "__main__":
    sys.exit(main())
