"""Reading accounting: `audit ingest` of a dump beside DuckDB's plain CSV reader on the same file.

Both are whole processes, each into a new folder. With --memory only ours runs, once, for its peak memory.
Usage: python -m benchmarks.ingest [--rows N] [--runs N] [--work DIR] [--memory]
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import Run, alternate, finish, median_s, run, summary
from benchmarks.sacct_file import cached

# Beyond the plain reading: typed columns, rejects, merged attempts, a hash and a copy of the evidence.
LIMIT_RATIO = 4.0
AIM_RATIO = 3.0
# A laptop with 4 GiB holds it beside its desktop.
LIMIT_PEAK_RSS_BYTES = 3 * 1024**3 // 2


def audit_ingest(file: Path, work: Path) -> Callable[[], Run]:
    """One `audit ingest FILE` into a folder made for it (the making is not timed)."""

    def once() -> Run:
        folder = Path(tempfile.mkdtemp(prefix="audit-", dir=work)) / "engagement"
        audit = [sys.executable, "-m", "audit"]
        try:
            run([*audit, "init", str(folder), "--cluster", "big", "--timezone", "UTC"])
            return run([*audit, "ingest", str(file), "--dir", str(folder)])
        finally:
            shutil.rmtree(folder.parent)

    return once


def baseline(file: Path, work: Path) -> Callable[[], Run]:
    """One run of baseline_read_csv.sql into a new database file."""

    def once() -> Run:
        folder = Path(tempfile.mkdtemp(prefix="baseline-", dir=work))
        try:
            database = str(folder / "baseline.duckdb")
            return run([sys.executable, "-m", "benchmarks.baseline_read_csv", str(file), database])
        finally:
            shutil.rmtree(folder)

    return once


def measure(work: Path, rows: int, runs: int, *, memory_only: bool) -> tuple[dict[str, Any], bool]:
    """The figures, and whether they are within the limits."""
    file = cached(work, rows)
    subjects = {"audit_ingest": audit_ingest(file, work)}
    if not memory_only:
        subjects["baseline_read_csv"] = baseline(file, work)
    results = alternate(subjects, 1 if memory_only else runs)
    peak_rss_bytes = max(one.peak_rss_bytes for one in results["audit_ingest"])
    figures: dict[str, Any] = {
        "benchmark": "ingest",
        "rows": rows,
        "file_bytes": file.stat().st_size,
        **{name: summary(of_one) for name, of_one in results.items()},
        "peak_rss_limit_bytes": LIMIT_PEAK_RSS_BYTES,
    }
    passed = peak_rss_bytes <= LIMIT_PEAK_RSS_BYTES
    if not memory_only:
        ratio = median_s(results["audit_ingest"]) / median_s(results["baseline_read_csv"])
        figures |= {"ratio": round(ratio, 2), "ratio_limit": LIMIT_RATIO, "ratio_aim": AIM_RATIO}
        passed = passed and ratio <= LIMIT_RATIO
    return figures, passed


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the dump, four a job")
    parser.add_argument("--runs", type=int, default=5, help="alternating runs; their median counts")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-benchmarks")
    parser.add_argument("--memory", action="store_true", help="run ours once, for its peak memory only")
    options = parser.parse_args()
    figures, passed = measure(options.work, options.rows, options.runs, memory_only=options.memory)
    return finish(figures, passed=passed)


if __name__ == "__main__":
    sys.exit(main())
