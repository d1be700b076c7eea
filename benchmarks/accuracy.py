"""How right the forecasts are: logs of jobs played through in time order, beside calibrated rivals.

Usage: python -m benchmarks.accuracy FILE… [--month SEED,…] [--target T]… [--mode submit|start] [--brief]

FILE is a log in the Standard Workload Format, a table of tasks (CSV or TSV; either gzipped), or an engagement's folder.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from audit.errors import AuditError
from audit.sizing.attempts import TARGETS
from audit.sizing.replay import replay
from audit.sizing.scores import score
from audit.terminal import Progress, say
from benchmarks.accuracy_limits import limits
from benchmarks.accuracy_text import brief
from benchmarks.measure import finish
from benchmarks.trace import MODES, Trace, UnusableError
from benchmarks.traces import read
from benchmarks.traces_store import month

USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 1 where a limit was passed, 2 where a file holds nothing to score."""
    options = _parser().parse_args(argv)
    if not options.files and not options.month:
        say("accuracy: give at least one FILE, or --month SEED")
        return USAGE
    found = []
    try:
        for trace in _traces(options):
            found += _scored(trace, options)
    except (UnusableError, AuditError) as error:
        say(f"accuracy: {' '.join(str(error).split())}")
        return USAGE
    passed = all(limit["within"] is not False for item in found for limit in item["limits"])
    if options.brief:
        print(brief(found))
        return 0 if passed else 1
    return finish({"benchmark": "accuracy", "results": found}, passed=passed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="logs, tables of tasks, engagements")
    parser.add_argument("--month", type=_seeds, default=(), metavar="SEED,…", help="generated months")
    parser.add_argument("--jobs", type=int, default=5000, help="jobs of a generated month (default 5,000)")
    parser.add_argument("--gpus", type=int, default=50, help="GPUs of its cluster (default 50)")
    parser.add_argument("--days", type=int, default=30, help="its length (default 30)")
    parser.add_argument("--target", action="append", choices=tuple(TARGETS), help="only this one; may be repeated")
    parser.add_argument("--mode", choices=MODES, default=MODES[0], help="foreseen at the submission or at the start")
    parser.add_argument("--brief", action="store_true", help="a table in place of JSON")
    return parser


def _seeds(text: str) -> tuple[int, ...]:
    return tuple(int(seed) for seed in text.split(","))


def _traces(options: argparse.Namespace) -> Iterator[Trace]:
    for path in options.files:
        yield read(path)
    for seed in options.month:
        yield month(seed, jobs=options.jobs, gpus=options.gpus, days=options.days)


def _scored(trace: Trace, options: argparse.Namespace) -> list[dict[str, Any]]:
    problems = trace.problems(options.mode)
    wanted = [name for name in problems if not options.target or name in options.target]
    if not wanted:
        raise UnusableError(f"{trace.name}: measures {', '.join(problems) or 'nothing'}, not what --target asks for")
    truth, found, progress = trace.true_needs(options.mode), [], Progress()
    for name in wanted:
        begun = time.perf_counter()
        played = replay(problems[name], watch=partial(_watch, progress, f"{trace.name}, {name}"))
        elapsed_s = round(time.perf_counter() - begun, 1)
        told: dict[str, Any] = {
            "file": trace.name,
            "kind": trace.kind,
            "rows": dict(trace.rows),
            "notes": dict(trace.notes),
        }
        told["replay_s"] = elapsed_s
        scores = {"measured": score(played, trace.users)}
        if name in truth:
            uncut = np.zeros(len(truth[name]), dtype=bool)
            true = replace(played.problem, need=truth[name], is_bound=uncut)
            scores["true"] = score(replace(played, problem=true), trace.users)
        for against, item in scores.items():
            found.append(told | {"against": against, "limits": limits(trace.name, item)} | item)
    progress.done()
    return found


def _watch(progress: Progress, what: str, text: str) -> None:
    progress.show(f"{what}: {text}")


if __name__ == "__main__":
    sys.exit(main())
