"""Starting up: `audit --help` beside a Python that does nothing, both ways to start it.

Usage: python -m benchmarks.startup [--runs N]
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from benchmarks.measure import alternate, finish, median_s, run, summary

LIMIT_RATIO = 6.0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=21, help="alternating runs; their median counts")
    options = parser.parse_args()
    commands = {
        "python_pass": [sys.executable, "-c", "pass"],
        "module": [sys.executable, "-m", "audit", "--help"],
        "script": [str(Path(sys.executable).parent / "audit"), "--help"],
    }
    results = alternate({name: partial(run, command) for name, command in commands.items()}, options.runs)
    nothing_s = median_s(results["python_pass"])
    ratios = {name: round(median_s(results[name]) / nothing_s, 2) for name in ("module", "script")}
    figures = {
        "benchmark": "startup",
        **{name: summary(of_one) for name, of_one in results.items()},
        "ratio": ratios,
        "ratio_limit": LIMIT_RATIO,
    }
    return finish(figures, passed=max(ratios.values()) <= LIMIT_RATIO)


if __name__ == "__main__":
    sys.exit(main())
