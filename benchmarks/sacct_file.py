"""Writes accounting files of any size, the same bytes for the same size.

Usage: python -m benchmarks.sacct_file ROWS FILE, with --slurm2sql for the columns that slurm2sql wants.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import REPOSITORY

ROWS_PER_JOB = 4
SEPARATOR = "\x1f"
JOBS_PER_BATCH = 100_000


def write(path: Path, rows: int, *, for_slurm2sql: bool = False) -> None:
    """Writes `rows` accounting rows (a multiple of four), a batch of jobs at a time: memory does not grow."""
    from benchmarks.sacct_rows import sacct_rows, slurm2sql_rows

    partial = path.with_suffix(".partial")
    jobs = rows // ROWS_PER_JOB
    with partial.open("wb") as file:
        for first in range(0, jobs, JOBS_PER_BATCH):
            count, header = min(JOBS_PER_BATCH, jobs - first), first == 0
            if for_slurm2sql:
                slurm2sql_rows(first, count).collect().write_csv(file, include_header=header)
            else:
                frame = sacct_rows(first, count).collect()
                frame.write_csv(file, include_header=header, separator=SEPARATOR, quote_style="never")
    partial.rename(path)


def cached(work: Path, rows: int, *, for_slurm2sql: bool = False) -> Path:
    """The file of that size under `work`; where it is not there, a process of its own writes it first."""
    work.mkdir(parents=True, exist_ok=True)
    path = work / (f"slurm2sql-{rows}.csv" if for_slurm2sql else f"sacct-{rows}.txt")
    if not path.exists():
        flags = ["--slurm2sql"] if for_slurm2sql else []
        command = [sys.executable, "-m", "benchmarks.sacct_file", *flags, str(rows), str(path)]
        subprocess.run(command, check=True, cwd=REPOSITORY)
    return path


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--slurm2sql", action="store_true", help="comma separated, in slurm2sql's columns")
    options = parser.parse_args()
    write(options.file, options.rows, for_slurm2sql=options.slurm2sql)
    return 0


if __name__ == "__main__":
    sys.exit(main())
