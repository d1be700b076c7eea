"""Fits the models that serve a cluster without its own: small forests on requests alone, from logs of other clusters.

Usage: python -m benchmarks.prior NAME=FILE… [--folder DIR]

FILE is any log that `benchmarks.accuracy` reads, with real requests; NAME is how the card calls it, and its origin.
Every log weighs the same. What each log would have been told by the others is printed and kept on the card: levels of
one cluster do not hold on another.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from audit.sizing.attempts import LEVELS, REPORTED, TARGETS, Floats, Problem
from audit.sizing.learned import SEED, Forest
from audit.sizing.model_file import save
from audit.sizing.prior_model import FOLDER, PREFIX, request_columns
from audit.sizing.tree_readers import from_forest
from audit.sizing.trees import Leaves
from benchmarks.measure import finish
from benchmarks.trace import UnusableError
from benchmarks.traces import read

TARGETS_FITTED = ("memory", "walltime")
ROWS = 5000  # of each log, drawn evenly over its time
MOST_BYTES = 300_000

Rows = tuple[Floats, Floats]  # request columns, and the logarithm of need over request


def main() -> int:
    """The command line; 1 where a model is larger than it may be, 2 where a file cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=_named, metavar="NAME=FILE", help="logs of other clusters")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the models go")
    options = parser.parse_args()
    logs: dict[str, dict[str, Rows]] = {name: {} for name in TARGETS_FITTED}
    for log, path in options.files:
        try:
            problems = read(path).problems("submit")
        except UnusableError as error:
            print(f"prior: {error}", file=sys.stderr)
            return 2
        for name in TARGETS_FITTED:
            if name in problems and len((rows := _rows(problems[name]))[1]):
                logs[name][log] = rows
    cards = {name: _write(name, of, options.folder) for name, of in logs.items() if of}
    small = all(card["bytes"] <= MOST_BYTES for card in cards.values())
    return finish({"benchmark": "prior", "bytes_limit": MOST_BYTES, **cards}, passed=small)


def _named(text: str) -> tuple[str, Path]:
    name, equals, path = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("expects NAME=FILE")
    return name, Path(path)


def _rows(problem: Problem) -> Rows:
    """Attempts that finished and said what they asked for; a need beyond the request counts as the request."""
    told = np.flatnonzero(np.isfinite(problem.need) & (problem.asked > 0))
    drawn = told[np.linspace(0, len(told) - 1, min(len(told), ROWS)).astype(np.int64)] if len(told) else told
    a = problem.attempts
    request = np.stack([a.cores, a.mem_bytes, a.gpus, a.limit_s], axis=1)[drawn]
    return request_columns(request), np.fmin(problem.log_need - problem.log_asked, 0.0)[drawn]


def _write(name: str, logs: Mapping[str, Rows], folder: Path) -> dict[str, Any]:
    forest = _fit(logs)
    arrays = forest.to_arrays(PREFIX)
    held_out = [
        {"log": log, **_coverage(_fit({other: logs[other] for other in logs if other != log}), logs[log])}
        for log in logs
        if len(logs) > 1
    ]
    card: dict[str, Any] = {
        "target": name,
        "unit": TARGETS[name].unit,
        "logs": [{"log": log, "attempts": len(rows[1])} for log, rows in logs.items()],
        "levels": list(LEVELS),
        "held_out": held_out,
        "looks_at": "cores, memory, GPUs and time limit asked for; nothing of who asked",
    }
    save(folder, name, arrays, card)
    return json.loads(json.dumps(card)) | {"bytes": sum(array.nbytes for array in arrays.values())}  # type: ignore[no-any-return]


def _fit(logs: Mapping[str, Rows]) -> Forest:
    """A forest of the logs, each drawn from as often as the others."""
    from sklearn.ensemble import RandomForestRegressor

    drawn = np.random.default_rng(SEED)
    picks = {log: drawn.integers(0, len(rows[1]), ROWS) for log, rows in logs.items()}
    columns, over = (np.concatenate([logs[log][part][pick] for log, pick in picks.items()]) for part in (0, 1))
    x = np.nan_to_num(columns, nan=-99.0).astype(np.float32)
    forest = RandomForestRegressor(
        40, max_leaf_nodes=32, min_samples_leaf=50, max_features=0.5, bootstrap=False, random_state=SEED, n_jobs=1
    ).fit(x, over)
    return Forest(Leaves.kept(from_forest(forest), x, over.astype(np.float32), most=24, seed=SEED))


def _coverage(forest: Forest, rows: Rows) -> dict[str, float]:
    """Which share of another log's needs lay at or below each level."""
    issued = forest.quantiles(rows[0])
    places = [LEVELS.index(level) for level in REPORTED]
    return {f"p{100 * LEVELS[at]:g}": round(float((rows[1] <= issued[:, at] + 1e-6).mean()), 4) for at in places}


if __name__ == "__main__":
    sys.exit(main())
