"""What `audit backtest` does: each target of a cluster is played through in time order and scored."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from audit.errors import NoReportError
from audit.sizing.attempts import Problem
from audit.sizing.cases import Cases
from audit.sizing.model_file import write_whole
from audit.sizing.replay import LEAST_FINISHED, replay
from audit.sizing.scores import SCHEMA, score

NAME: Final = "backtest.json"  # among an engagement's models

Watch = Callable[[str], None]


@dataclass(frozen=True)
class BackTest:
    """The scores of each target, and the targets that had too few attempts: by name, the finished ones measured."""

    scores: Sequence[dict[str, Any]]
    too_few: Mapping[str, int]


def back_test(cases: Cases, targets: Sequence[str] = (), watch: Watch = lambda _: None) -> BackTest:
    """Plays through the targets asked for (none: all). NoReportError where none of them has enough attempts."""
    few = too_few(cases, targets, "nothing to score", "measure longer or ingest more")
    scores = []
    for name in cases.problems:
        if name not in few and (not targets or name in targets):
            scores.append(score(replay(cases.problems[name], watch=partial(_watch, watch, name)), cases.users))
    return BackTest(scores, few)


def too_few(cases: Cases, targets: Sequence[str], so: str, remedy: str) -> dict[str, int]:
    """The targets (of those asked for; none: all) with too few finished attempts measured, and how many these are.

    NoReportError, saying what follows (`so`), where that is all of them.
    """
    finished = {name: _finished(p) for name, p in cases.problems.items() if not targets or name in targets}
    finished |= dict.fromkeys((name for name in targets if name not in finished), 0)
    few = {name: count for name, count in finished.items() if count < LEAST_FINISHED}
    if len(few) == len(finished):
        most = max(finished.values(), default=0)
        what = f"no target was measured in {LEAST_FINISHED} finished attempts (the most: {most}): {so}"
        raise NoReportError(what, remedy=remedy)
    return few


def document(scores: Sequence[dict[str, Any]], *, generated_sample: bool) -> dict[str, Any]:
    """The back-test as `backtest.schema.json` documents it."""
    return {"schema": SCHEMA, "generated_sample": generated_sample, "targets": list(scores)}


def renamed(found: Mapping[str, Any], shown: Callable[[Sequence[str]], Sequence[str]]) -> dict[str, Any]:
    """A back-test (`document`) with other names for its users, all asked of `shown` at once."""
    of = sorted({row["user"] for target in found["targets"] for row in target["per_user"]["listed"]})
    name = dict(zip(of, shown(of), strict=True))

    def target(one: Mapping[str, Any]) -> dict[str, Any]:
        listed = [row | {"user": name[row["user"]]} for row in one["per_user"]["listed"]]
        return {**one, "per_user": one["per_user"] | {"listed": listed}}

    return {**found, "targets": [target(one) for one in found["targets"]]}


def write(found: Mapping[str, Any], folder: Path) -> Path:
    """Writes a back-test among the models, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    write_whole(path, (json.dumps(found, indent=1, allow_nan=False) + "\n").encode("ascii"))
    return path


def _finished(problem: Problem) -> int:
    return int((np.isfinite(problem.need) & np.isfinite(problem.attempts.end_s)).sum())


def _watch(watch: Watch, target: str, text: str) -> None:
    watch(f"{target}: {text}")
