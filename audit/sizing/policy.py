"""The policy: what is made of forecasts. Typed settings, and the steps from a forecast to what is advised, each small.

A step takes amounts (NaN: the request is kept) and answers amounts; `audit estimate --explain` names those that changed
anything.
"""

from dataclasses import dataclass

import numpy as np

from audit.sizing.attempts import Flags, Floats, Target


@dataclass(frozen=True)
class Policy:
    """Settings a reader may question."""

    level: float = 0.99  # the quantile that is advised
    least_like: int = 3  # finished attempts of the same user and name without which the request is kept
    kill_budget: float = 2.0  # times the misses its level allows; experts beyond it are not chosen
    judged_at: tuple[float, ...] = (0.98, 0.99)  # levels at which experts are compared
    clock: float = 1.5  # the expert is chosen again each time so many times as many attempts have ended
    clock_from: int = 1000
    retry: float = 2.0  # times what attempts like it were killed at, as long as none has got through since
    better: float = 0.03  # share of the cost that a challenger must save to replace the champion


POLICY = Policy()


def few_like(like: Floats, policy: Policy = POLICY) -> Flags:
    """Where too few finished attempts are like it."""
    found: Flags = like < policy.least_like - 1e-9
    return found


def abstains(like: Floats, forecast: Floats, policy: Policy = POLICY) -> Flags:
    """Where too little is known to advise: few attempts like it, or no calibrated forecast (NaN)."""
    return few_like(like, policy) | ~np.isfinite(forecast)


def whole(target: Target, amount: Floats) -> Floats:
    """Whole numbers where the target comes in them: up, but for what is next to nothing above one."""
    if not target.whole:
        return amount
    return np.where(amount <= target.floor, 0.0, np.ceil(amount - 0.05))


def at_least_known(
    amount: Floats, killed_at: Floats, unproven: Flags, policy: Policy = POLICY, *, step: float = 0.0
) -> Floats:
    """No advice lies below what this very job is known to need: the most that its attempts were killed at (NaN: none).

    That is a bound, so it takes more: a `step` at least. `unproven`, that none has got through since: the bound then
    says little of how much more it takes, so it is doubled.
    """
    least = np.maximum(killed_at * np.where(unproven, policy.retry, 1.0), killed_at + step)
    return np.where(np.isfinite(least) & np.isfinite(amount), np.maximum(amount, least), amount)


def at_most_asked(amount: Floats, asked: Floats) -> Floats:
    """No advice lies above the request: that is the user's to raise (and is warned of)."""
    return np.where(np.isfinite(asked) & np.isfinite(amount), np.minimum(amount, asked), amount)


def never_fewer(target: Target, amount: Floats, most_like: Floats) -> Floats:
    """Of what comes in whole numbers, never fewer than an attempt like it made use of (NaN: none did)."""
    if not target.whole:
        return amount
    return np.where(np.isfinite(most_like) & np.isfinite(amount), np.maximum(amount, most_like), amount)
