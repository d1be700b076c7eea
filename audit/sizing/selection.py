"""Which expert a cluster listens to: chosen on a slow clock by what each would have cost of late, under a kill budget.

Never job by job: the best of several forecasts of one job is the one that errs the lowest.
"""

import numpy as np

from audit.sizing.attempts import LEVELS, Flags, Floats, Ints, Problem
from audit.sizing.known import Known, refuse_leaks
from audit.sizing.policy import POLICY, Policy
from audit.sizing.waste import killed, waste

FIRST = ("blend", "forest", "empirical")  # in this order, until there is something to choose by


def choose(problem: Problem, known: Known, issued: dict[str, Floats], policy: Policy = POLICY) -> Ints:
    """For each row the index (in `issued`) of the expert that was best on what had ended by then."""
    names = list(issued)
    start = next((names.index(name) for name in FIRST if name in names), 0)
    ended = known.by_end
    need, asked, run = problem.log_need[ended], problem.log_asked[ended], problem.attempts.run_s[ended]
    ticks = _ticks(len(ended), policy)
    cost, dead = [], []  # a row for each level: in all, and in the later half of the evidence
    for level in policy.judged_at:
        advised = np.stack([np.fmin(forecast[ended, LEVELS.index(level)], asked) for forecast in issued.values()])
        has = np.isfinite(advised).all(axis=0)
        each = np.where(has, waste(problem.target, need, advised, run), 0.0)
        cost += [_between(each, 0 * ticks, ticks), _between(each, ticks // 2, ticks)]
        misses = _between(has & killed(np.fmin(need, asked), advised), 0 * ticks, ticks)
        dead.append(misses / (1 - level) / np.maximum(1, _between(has[None], 0 * ticks, ticks)))
    champions = _champions(np.stack(cost), np.stack(dead).mean(axis=0), start, policy)
    begins = known.end_s[ticks - 1]
    at = np.searchsorted(begins, problem.decided_s, side="right")
    chosen: Ints = np.concatenate([[start], champions])[at]
    refuse_leaks("the choice of an expert", np.concatenate([[-np.inf], begins])[at], problem.decided_s)
    return chosen


def _ticks(ended: int, policy: Policy) -> Ints:
    """After how many ended attempts there is a choice; each looks back on all of them."""
    ticks, at = [], policy.clock_from
    while at <= ended:
        ticks.append(at)
        at = int(at * policy.clock)
    return np.array(ticks, dtype=np.int64)


def _between(values: Floats | Flags, first: Ints, last: Ints) -> Floats:
    """Sums of the values of each expert between two moments of every tick: (ticks, experts)."""
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=float)], axis=1)
    between: Floats = (sums[:, last] - sums[:, first]).T
    return between


def _champions(cost: Floats, kills: Floats, start: int, policy: Policy) -> Ints:
    """The champion after each tick.

    It stays unless another one within the kill budget saves enough at every level, in all and of late.
    """
    champion, found = start, []
    for tick in range(cost.shape[1]):
        now = cost[:, tick]
        better = (now < (1 - policy.better) * now[:, [champion]]).all(axis=0) & (kills[tick] <= policy.kill_budget)
        if better.any():
            champion = int(np.argmin(np.where(better, now.sum(axis=0), np.inf)))
        found.append(champion)
    return np.array(found, dtype=np.int64)
