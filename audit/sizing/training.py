"""From a back-test to the model that serves: refitted in full on the last attempts, with the margins that it earned."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from audit.sizing.attempts import LEVELS, Floats, Ints
from audit.sizing.calibration import Calibrator, spread
from audit.sizing.features import Seen, anchor, features
from audit.sizing.histories import Histories
from audit.sizing.identity import Hashes, Names, text_hashes
from audit.sizing.learned import LEARNED, Model
from audit.sizing.replay import Replay
from audit.sizing.serving import Served, learned_parts

MOST_FITTED: Final = 20_000  # finished attempts, as in a back-test
LATE: Final = 200  # decisions of a user, of which the usual number of attempts not ended is read
LEAST_COMPARED: Final = 200  # attempts since the earlier model, without which the two are not compared


@dataclass(frozen=True)
class Comparison:
    """The earlier model and the new one on the attempts decided on since the earlier one was made.

    Pinball loss over all levels, on the logarithmic scale: of the new one as its back-test foresaw them in time order.
    NaN, and `attempts` 0, where they were too few, or there was no earlier model.
    """

    attempts: int = 0
    earlier: float = np.nan
    new: float = np.nan

    @property
    def keeps_earlier(self) -> bool:
        """Whether the earlier model foresaw better."""
        return bool(self.earlier < self.new)


def served(replayed: Replay, names: Names) -> Served:
    """The champion at the end of a back-test, its models fitted anew."""
    problem = replayed.problem
    expert = list(replayed.experts)[int(replayed.chosen[-1])]
    calibrator, users, codes = _by_hash(replayed.experts[expert].calibrator, names)
    return Served(
        target=problem.target,
        expert=expert,
        models=_fitted(replayed, learned_parts(expert)),
        calibrator=calibrator,
        users=users,
        histories=Histories.of(problem, replayed.known, names),
        pending=usual_pending(problem.attempts.user, replayed.seen.pending, codes),
    )


def _fitted(replayed: Replay, parts: list[str]) -> Mapping[str, Model]:
    if not parts:
        return {}
    learns = replayed.known.by_end[-MOST_FITTED:]
    seen = taken(replayed.seen, learns)
    over = replayed.problem.log_need[learns] - anchor(seen)
    x = features(seen)
    return {name: LEARNED[name].fit(x, over) for name in parts}


def taken(seen: Seen, rows: Any) -> Seen:
    """What was known of some rows."""
    return Seen(**{name: getattr(seen, name)[rows] for name in Seen.__dataclass_fields__})


def _by_hash(calibrator: Calibrator, names: Names) -> tuple[Calibrator, Hashes, Ints]:
    """The calibrator with its users in the order of their numbers, and one more who stands for everybody else.

    Also the numbers, and the users' codes in this order.
    """
    hashes = text_hashes(names.users[: calibrator.users])
    order = np.argsort(hashes, kind="stable")
    order = order[calibrator.user_weight[order] > 0]
    found = replace(calibrator, users=len(order) + 1)
    found.debt, found.weight = calibrator.debt, calibrator.weight
    found.user_debt = np.concatenate([calibrator.user_debt[order], np.zeros((1, 2, len(LEVELS)))])
    found.user_weight = np.append(calibrator.user_weight[order], 0.0)
    return found, hashes[order], order


def usual_pending(user: Ints, pending: Floats, codes: Ints) -> Floats:
    """The median of what was pending at the last decisions of each user of `codes`, and last that of everybody's.

    Rows come in the order of decisions, and every user has some. A user's median is the lower one of two.
    """
    order = np.lexsort((-np.arange(len(user)), user))
    first = np.searchsorted(user[order], user[order])
    late = order[np.arange(len(order)) - first < LATE]
    ordered = late[np.lexsort((pending[late], user[late]))]
    first, after = np.searchsorted(user[ordered], codes), np.searchsorted(user[ordered], codes, side="right")
    return np.append(pending[ordered][(first + after - 1) // 2], np.median(pending[late]))


def compare(earlier: Served, made_s: float, replayed: Replay, names: Names) -> Comparison:
    """How the earlier model, of data up to `made_s`, and the new one foresaw what came after."""
    known, problem = replayed.known, replayed.problem
    rows = known.by_end[problem.decided_s[known.by_end] > made_s]
    seen = taken(replayed.seen, rows)
    base = earlier.base(seen)
    user = earlier.user_rows(text_hashes(names.users)[problem.attempts.user[rows]])
    issued = earlier.issue(base, spread(base, np.array(LEVELS)), user, seen)
    both = np.isfinite(issued[:, 0]) & np.isfinite(replayed.issued[rows, 0])
    if both.sum() < LEAST_COMPARED:
        return Comparison()
    need = np.fmin(problem.log_need, problem.log_asked)[rows[both]]
    return Comparison(int(both.sum()), pinball(need, issued[both]), pinball(need, replayed.issued[rows[both]]))


def pinball(log_need: Floats, forecasts: Floats) -> float:
    """The mean pinball loss over rows and `LEVELS`."""
    over = log_need[:, np.newaxis] - forecasts
    levels = np.array(LEVELS)
    return float(np.maximum(levels * over, (levels - 1) * over).mean())


def kept(earlier: Served, new: Served) -> Served:
    """The earlier model, with what is known of attempts by now."""
    return replace(earlier, histories=new.histories)
