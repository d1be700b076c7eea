"""Every figure of 5 million attempts on one and a half nodes each, beside those of half a million: linear or not.

Usage: python -m benchmarks.accounting [--attempts N] [--runs N] [--work DIR]
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Run, alternate, finish, median_s, run, summary

LIMIT_TIMES, LIMIT_BYTES = 12.0, 2 << 30
FIGURES = """
import sys
from pathlib import Path
from audit.accounting.figures import figures
from audit.store import open_store
from audit.workspace import find_workspace
space = find_workspace(Path(sys.argv[1]))
with open_store(space) as store:
    figures(store.connection, space)
"""


def store(work: Path, attempts: int) -> Path:
    """The folder of a store of that many attempts; made once, by a process of its own."""
    folder = work / f"accounting-{attempts}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "benchmarks.accounting_store", str(folder), str(attempts)])
        (folder / "made").touch()
    return folder


def reckon(folder: Path) -> Run:
    """All figures of one store."""
    return run([sys.executable, "-c", FIGURES, str(folder)])


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--attempts", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3, help="turns; their medians are compared")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "audit-benchmarks")
    options = parser.parse_args()
    whole, tenth = (store(options.work, n) for n in (options.attempts, options.attempts // 10))
    runs = alternate({"whole": lambda: reckon(whole), "tenth": lambda: reckon(tenth)}, options.runs)
    times = median_s(runs["whole"]) / median_s(runs["tenth"])
    memory = max(one.peak_rss_bytes for one in runs["whole"])
    figures = {
        "benchmark": "accounting",
        "attempts": options.attempts,
        "whole": summary(runs["whole"]),
        "tenth": summary(runs["tenth"]),
        "times": round(times, 2),
        "limit_times": LIMIT_TIMES,
        "limit_bytes": LIMIT_BYTES,
    }
    return finish(figures, passed=times <= LIMIT_TIMES and memory <= LIMIT_BYTES)


if __name__ == "__main__":
    sys.exit(main())
