"""An estimate from a cold start and warm, the memory of loaded models, and how long refitting takes.

Usage: python -m benchmarks.estimate [--dir FOLDER] [--runs N]

FOLDER is an engagement with models; without it a generated month is made and trained on (some minutes).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import REPOSITORY, alternate, finish, median_s, run, summary

COLD_LIMIT_S = 0.5
COLD_LIMIT_RATIO = 50.0
ONE_LIMIT_MS = 1.0
ALL_LIMIT_MS = 5.0
LOADED_LIMIT_BYTES = 100 * 2**20
REFIT_LIMIT_S = 10.0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dir", type=Path, help="an engagement with models (default: a generated month)")
    parser.add_argument("--jobs", type=int, default=6000, help="jobs of the generated month (default 6,000)")
    parser.add_argument("--runs", type=int, default=21, help="alternating runs; their median counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.dir or _month(Path(made) / "month", options.jobs)
        warm = _child("benchmarks.estimate_warm", str(folder))
        cold = [sys.executable, "-m", "audit", "estimate", "--dir", str(folder), "--job", warm["job"]]
        commands = {"python_pass": [sys.executable, "-c", "pass"], "estimate": cold}
        results = alternate({name: partial(run, command) for name, command in commands.items()}, options.runs)
    refit = _child("benchmarks.estimate_refit")
    ratio = round(median_s(results["estimate"]) / median_s(results["python_pass"]), 1)
    figures = {
        "benchmark": "estimate",
        **{name: summary(of_one) for name, of_one in results.items()},
        "cold_ratio": ratio,
        "cold_ratio_limit": COLD_LIMIT_RATIO,
        "cold_limit_s": COLD_LIMIT_S,
        "warm": warm,
        "warm_limit_ms": {"one_target": ONE_LIMIT_MS, "all_targets": ALL_LIMIT_MS},
        "loaded_limit_bytes": LOADED_LIMIT_BYTES,
        "refit": refit,
        "refit_limit_s": REFIT_LIMIT_S,
    }
    passed = (
        ratio <= COLD_LIMIT_RATIO
        and median_s(results["estimate"]) <= COLD_LIMIT_S
        and max(warm["one_target_ms"].values()) <= ONE_LIMIT_MS
        and warm["all_targets_ms"] <= ALL_LIMIT_MS
        and warm["loaded_bytes"] <= LOADED_LIMIT_BYTES
        and refit["fit_s"] <= REFIT_LIMIT_S
    )
    return finish(figures, passed=passed)


def _month(folder: Path, jobs: int) -> Path:
    audit = [sys.executable, "-m", "audit"]
    run([*audit, "demo", str(folder), "--jobs", str(jobs), "--gpus", "60", "--only-generate"])
    run([*audit, "ingest", "--dir", str(folder)])
    run([*audit, "train", "--dir", str(folder)])
    return folder


def _child(module: str, *words: str) -> dict[str, Any]:
    """What a module measured in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
