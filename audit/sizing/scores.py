"""What a back-test came to, for one target, as `backtest.schema.json` documents it."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from audit.sizing.attempts import REPORTED
from audit.sizing.coverage import by_user, coverage, worst
from audit.sizing.equal_kills import equal_kills
from audit.sizing.replay import Replay
from audit.sizing.rivals import method_scores, pinball
from audit.sizing.scored import compared, every_method, scored

SCHEMA = "audit-backtest/1"
_YEAR_1970_S, _YEAR_9999_S = 0.0, 253_370_764_800.0  # what a date can be made of
YOUNG = 1000  # attempts after which a cluster is no longer new


def score(replay: Replay, users: Sequence[str] | None = None) -> dict[str, Any]:
    """The scores of one target; None where something is not known.

    `users` are the names behind the codes; without them users go by number.
    """
    problem, abstained = replay.problem, replay.abstained
    target, measured = problem.target, np.isfinite(problem.need)
    judged, methods = scored(replay), every_method(replay)
    same = compared(replay, methods)
    at_start = bool((problem.decided_s > problem.attempts.submit_s).any())
    found: dict[str, Any] = {
        "target": target.name,
        "unit": target.unit,
        "kills": target.kills,
        "mode": "start" if at_start else "submit",
        "from": _time(problem.decided_s.min(initial=math.inf)),
        "to": _time(problem.decided_s.max(initial=-math.inf)),
        "attempts": len(problem),
        "measured": int(measured.sum()),
        "bounds": int((measured & problem.is_bound).sum()),
        "scored": len(judged.rows),
        "abstained": {
            "attempts": int(abstained.sum()),
            "share": abstained.mean() if len(problem) else None,
            "share_after_1000": abstained[YOUNG:].mean() if len(problem) > YOUNG else None,
        },
        "bursts": len(np.unique(judged.burst)),
        "users": len(np.unique(problem.attempts.user)),
        "coverage": [coverage(judged, level, tied=target.tied) for level in REPORTED],
        "per_user": by_user(judged, users, tied=target.tied),
        "worst_1000": [_dated(worst(judged, level, problem.decided_s)) for level in REPORTED],
        "pinball": [],
        "methods": method_scores(same, methods),
        "equal_kills": equal_kills(same, methods),
    }
    for level in REPORTED:
        losses = {m.name: pinball(same, m.at(level), level) for m in methods if m.role == "rival" and m.margin == "own"}
        best = min(losses, key=lambda name: losses[name] if math.isfinite(losses[name]) else math.inf)
        model = pinball(same, methods[0].at(level), level)
        found["pinball"].append({"level": level, "model": model, "best_rival": losses[best], "rival": best})
    plain: dict[str, Any] = _plain(found)
    return plain


def _dated(stretch: dict[str, Any]) -> dict[str, Any]:
    begin, end = stretch.pop("from_s"), stretch.pop("to_s")
    return stretch | {"from": _time(begin), "to": _time(end)}


def _time(epoch_s: float | None) -> str | None:
    if epoch_s is None or not _YEAR_1970_S <= epoch_s < _YEAR_9999_S:
        return None
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: what is not a number is not known."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value
