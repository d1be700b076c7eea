"""What is known of a job from attempts like it, whatever a forecast says: what killed them, and the most they used."""

import numpy as np

from audit.sizing.attempts import Flags, Floats
from audit.sizing.calibration import TINY
from audit.sizing.features import groups
from audit.sizing.known import Known


def killed_at(known: Known) -> tuple[Floats, Flags]:
    """For each row, at its decision: the most its last attempts were killed at (NaN: none), and if the newest was.

    Then nothing has got through since, and the bound says little of how much more it takes.
    """
    problem = known.problem
    cut = problem.is_bound & (problem.log_need >= problem.log_asked - TINY)
    rows, _ = known.last(groups(problem.attempts)["shape"])
    bound = known.values("what it was killed at", np.where(cut, problem.need, np.nan), rows)
    newest = np.isfinite(bound[:, 0])
    return np.fmax.reduce(bound, axis=1), newest


def most_like(known: Known) -> Floats:
    """For each row, at its decision: the most that the last attempts of the same user and name needed (NaN: none)."""
    problem = known.problem
    rows, _ = known.last(groups(problem.attempts)["key"])
    most: Floats = np.fmax.reduce(known.values("the most like it", problem.need, rows), axis=1)
    return most
