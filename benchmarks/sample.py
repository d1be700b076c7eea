"""Making the generated month of the reference cluster: 122,000 jobs, 1,000 GPUs, 30 days.

Usage: python -m benchmarks.sample [--runs N] [--work DIR]
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Run, alternate, finish, median_s, run, summary

JOBS, GPUS, DAYS = 122_000, 1_000, 30
LIMIT_S = 30.0


def generate(work: Path) -> Run:
    """One generation into a new folder."""
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sample-", dir=work) as folder:
        size = ["--jobs", str(JOBS), "--gpus", str(GPUS), "--days", str(DAYS)]
        return run([sys.executable, "-m", "audit", "demo", str(Path(folder) / "month"), *size, "--only-generate"])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs; their median counts")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-benchmarks")
    options = parser.parse_args()
    runs = alternate({"sample": lambda: generate(options.work)}, options.runs)["sample"]
    figures = {
        "benchmark": "sample",
        "jobs": JOBS,
        "gpus": GPUS,
        "days": DAYS,
        "sample": summary(runs),
        "limit_s": LIMIT_S,
    }
    return finish(figures, passed=median_s(runs) <= LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
