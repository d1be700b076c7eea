"""What is known of a job from attempts like it, whatever a forecast says: what killed them, and the most they used."""

import numpy as np

from audit.sizing.attempts import Flags, Floats
from audit.sizing.calibration import TINY
from audit.sizing.features import groups
from audit.sizing.histories import SIZE
from audit.sizing.known import Known


def killed_at(known: Known) -> tuple[Floats, Flags]:
    """For each row, at its decision: the most its last attempts were killed at (NaN: none), and if the newest was.

    Its attempts are those of the same user and name, with the same GPUs and about as many cores, as `Histories.bound`
    has them. Where the newest was killed nothing has got through since: the bound says little of how much it takes.
    """
    problem = known.problem
    attempts, cut = problem.attempts, problem.is_bound & (problem.log_need >= problem.log_asked - TINY)
    rows, _ = known.last(groups(attempts)["key"])
    with np.errstate(divide="ignore", invalid="ignore"):
        cores = attempts.cores[rows] / attempts.cores[:, None]
        other = (cores > SIZE) | (cores < 1 / SIZE) | (np.abs(attempts.gpus[rows] - attempts.gpus[:, None]) > TINY)
    rows = np.where(other, -1, rows)
    bound = known.values("what it was killed at", np.where(cut, problem.need, np.nan), rows)
    newest = np.argmax(rows >= 0, axis=1)
    return np.fmax.reduce(bound, axis=1), np.isfinite(bound[np.arange(len(bound)), newest])


def used_all(known: Known) -> Flags:
    """For each row, at its decision: whether one of its last attempts needed all it asked for, so perhaps more."""
    problem = known.problem
    rows, _ = known.last(groups(problem.attempts)["key"])
    over = known.values("what it used of its request", problem.log_need - problem.log_asked, rows)
    return np.asarray((over >= -TINY).any(axis=1))


def most_like(known: Known) -> Floats:
    """For each row, at its decision: the most that the last attempts of the same user and name needed (NaN: none)."""
    problem = known.problem
    rows, _ = known.last(groups(problem.attempts)["key"])
    most: Floats = np.fmax.reduce(known.values("the most like it", problem.need, rows), axis=1)
    return most
