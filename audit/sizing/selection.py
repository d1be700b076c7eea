"""Which expert a cluster listens to: chosen on a slow clock by what each would have cost of late, under a kill budget.

Never job by job: the best of several forecasts of one job is the one that errs the lowest.
"""

import numpy as np

from audit.sizing.attempts import LEVELS, Floats, Ints, Problem
from audit.sizing.known import Known, refuse_leaks
from audit.sizing.policy import POLICY, Policy
from audit.sizing.waste import killed, waste

FIRST = ("blend", "forest", "empirical")  # in this order, until there is something to choose by


def choose(problem: Problem, known: Known, issued: dict[str, Floats], policy: Policy = POLICY) -> Ints:
    """For each row the index (in `issued`) of the expert that was best on what had ended by then."""
    names = list(issued)
    column = LEVELS.index(policy.level)
    start = next((names.index(name) for name in FIRST if name in names), 0)
    ended = known.by_end
    cost, kills, scored = [], [], []
    for forecast in issued.values():
        advised = np.minimum(forecast[ended, column], np.nan_to_num(problem.log_asked[ended], nan=np.inf))
        has = np.isfinite(forecast[ended, column])
        need = problem.log_need[ended]
        cost.append(_sums(np.where(has, waste(problem.target, need, advised, problem.attempts.run_s[ended]), 0.0)))
        kills.append(_sums(has & killed(need, advised)))
        scored.append(_sums(has))
    ticks = np.arange(policy.clock, len(ended) + 1, policy.clock)
    before = np.maximum(0, ticks - policy.trailing)
    spent, dead, count = (np.stack([s[ticks] - s[before] for s in sums], axis=1) for sums in (cost, kills, scored))
    champions = _champions(spent, dead / np.maximum(count, 1), count, start, policy)
    begins = known.end_s[ticks - 1]
    at = np.searchsorted(begins, problem.decided_s, side="right")
    chosen: Ints = np.concatenate([[start], champions])[at]
    refuse_leaks("the choice of an expert", np.concatenate([[-np.inf], begins])[at], problem.decided_s)
    return chosen


def _champions(spent: Floats, kill_share: Floats, count: Floats, start: int, policy: Policy) -> Ints:
    """The champion after each tick: it stays unless another within the budget saves enough, or it leaves the budget."""
    champion, found = start, []
    most = count.max(axis=1, initial=0)
    for tick in range(len(spent)):
        fit = (count[tick] >= 0.8 * most[tick]) & (most[tick] > 0)
        within = fit & (kill_share[tick] <= 1.5 * policy.kill_budget)
        pool = within if within.any() else fit & (kill_share[tick] <= kill_share[tick][fit].min(initial=1.0))
        if pool.any():
            best = int(np.argmin(np.where(pool, spent[tick], np.inf)))
            if not pool[champion] or spent[tick, best] < (1 - policy.better) * spent[tick, champion]:
                champion = best
        found.append(champion)
    return np.array(found, dtype=np.int64)


def _sums(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values, dtype=float)])
