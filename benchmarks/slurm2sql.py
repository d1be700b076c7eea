"""Reading accounting: time per row of `audit ingest` beside slurm2sql 0.9.9, each on its own columns.

Ours reads the large dump; slurm2sql, slower by far, a small one of the same kind of jobs.
Usage: python -m benchmarks.slurm2sql [--rows N] [--peer-rows N] [--runs N] [--work DIR]
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.ingest import audit_ingest
from benchmarks.measure import Run, alternate, finish, median_s, run, summary
from benchmarks.sacct_file import cached

LIMIT_TIMES_FASTER = 20.0


def slurm2sql(file: Path, work: Path) -> Callable[[], Run]:
    """One import of a CSV dump by slurm2sql's own command into a new database."""

    def once() -> Run:
        with tempfile.TemporaryDirectory(prefix="slurm2sql-", dir=work) as folder:
            command = [sys.executable, "-m", "slurm2sql", "--quiet", "--csv-input", str(file)]
            return run([*command, str(Path(folder) / "slurm.db")], environment={"TZ": "UTC"})

    return once


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows that ours reads")
    parser.add_argument("--peer-rows", type=int, default=100_000, help="rows that slurm2sql reads")
    parser.add_argument("--runs", type=int, default=5, help="alternating runs; their median counts")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-benchmarks")
    options = parser.parse_args()
    ours = cached(options.work, options.rows)
    theirs = cached(options.work, options.peer_rows, for_slurm2sql=True)
    subjects = {
        "audit_ingest": audit_ingest(ours, options.work),
        "slurm2sql": slurm2sql(theirs, options.work),
    }
    results = alternate(subjects, options.runs)
    ours_us = median_s(results["audit_ingest"]) / options.rows * 1e6
    theirs_us = median_s(results["slurm2sql"]) / options.peer_rows * 1e6
    figures = {
        "benchmark": "slurm2sql",
        "audit_ingest": {
            "rows": options.rows,
            "us_per_row": round(ours_us, 3),
            **summary(results["audit_ingest"]),
        },
        "slurm2sql": {
            "rows": options.peer_rows,
            "us_per_row": round(theirs_us, 3),
            **summary(results["slurm2sql"]),
        },
        "times_faster": round(theirs_us / ours_us, 1),
        "times_faster_limit": LIMIT_TIMES_FASTER,
    }
    return finish(figures, passed=theirs_us / ours_us >= LIMIT_TIMES_FASTER)


if __name__ == "__main__":
    sys.exit(main())
