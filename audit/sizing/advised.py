"""From what is foreseen of a resource to what is advised: when the request is kept, and each step where it is not."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from audit.sizing.attempts import LEVELS, Target
from audit.sizing.policy import POLICY, abstains, at_least_known, at_most_asked, never_fewer, whole
from audit.sizing.serving import Forecast

INFORMS: Final = frozenset({"vram", "gpu_activity"})  # no request names them
UNSAID: Final = {
    "memory": "no memory is asked for, and the site's default is",
    "gpus": "how many GPUs are asked for is",
}
_NEXT_TO_NOTHING: Final = 0.05  # of a core
_MINUTE_S: Final = 60.0


@dataclass(frozen=True)
class Step:
    """One step from a forecast to what is advised: what was done, and the amount after it."""

    what: str
    amount: float


@dataclass(frozen=True)
class Bounds:
    """What bounds advice on one submission beside the forecast."""

    nodes: int
    mem_step_bytes: float
    lowers_cores: bool
    lowers_time_limit: bool
    whole_nodes: bool  # the job takes whole nodes, whatever it says


def kept_because(forecast: Forecast, asked: float | None, bounds: Bounds) -> str | None:
    """Why the request is kept; None where something is advised."""
    name, like = forecast.target.name, forecast.like
    asks_for_none = asked is None and name in UNSAID
    few = f"too few jobs like it have finished: {like} of the {POLICY.least_like} that it takes"
    silent = bool(abstains(np.array(like), forecast.needs).any())
    reasons = (
        (name in INFORMS, "no request names it"),
        (like < POLICY.least_like, few),
        (silent, "not calibrated yet: too few forecasts have an outcome"),
        (name == "walltime" and not bounds.lowers_time_limit, "the time limit stays what was asked for"),
        (name == "cores" and not bounds.lowers_cores, "only the mean use of cores is known here, which lowers nothing"),
        (name != "walltime" and bounds.whole_nodes, "the job takes whole nodes"),
        (name != "walltime" and bounds.nodes > 1, "on several nodes: how it is spread is not known"),
        (asks_for_none, f"{UNSAID.get(name)} not known"),
        (name == "gpus" and forecast.used_all, "a job like it used all the GPUs that it asked for"),
    )
    return next((why for applies, why in reasons if applies), None)


def said(forecast: Forecast, level: float) -> tuple[Step, ...]:
    """How the forecast itself came about."""
    place, name = LEVELS.index(level), f"p{100 * level:g}"
    base, margin = float(forecast.base[place]), float(forecast.margins[place])
    waiting = f", {forecast.pending:g} jobs of the user not ended" if forecast.pending else ""
    shares = (("all", forecast.missed[place]), ("this user", forecast.missed_user[place]))
    missed = ", ".join(f"{100 * max(share, 0.0):.2g} % of {who}" for who, share in shares if math.isfinite(share))
    debt = f"needs above {name} so far: {missed}" if missed else "no outcome so far"
    return (
        Step(f"{name} as {forecast.expert} says it", base),
        Step(
            f"times {margin:.3g}: its margin, in spreads of {forecast.spread:.3g} ({debt}{waiting})", forecast.at(level)
        ),
    )


def steps(forecast: Forecast, asked: float | None, level: float, bounds: Bounds) -> tuple[Step, ...]:
    """What the policy makes of the forecast at one of `LEVELS`: the steps that changed anything.

    The last one holds what is advised.
    """
    target = forecast.target
    more = f"times {POLICY.retry:g}, since none got through" if forecast.unproven else "and a step more"
    limit, used = np.nan if asked is None else asked, np.array(forecast.most_like)
    rules: tuple[tuple[str, Callable[[float], float]], ...] = (
        ("in whole numbers", lambda amount: float(whole(target, np.array(amount)))),
        (f"not below what jobs like it were killed at, {more}", lambda amount: at_least(forecast, amount, bounds)),
        ("not fewer than jobs like it used", lambda amount: float(never_fewer(target, np.array(amount), used))),
        ("rounded up", lambda amount: rounded(target, amount, bounds)),
        ("not above the request", lambda amount: float(at_most_asked(np.array(amount), np.array(limit)))),
    )
    found = list(said(forecast, level))
    for what, rule in rules:
        after = rule(found[-1].amount)
        if after != found[-1].amount:
            found.append(Step(what, after))
    return tuple(found)


def at_least(forecast: Forecast, amount: float, bounds: Bounds) -> float:
    """The amount, or what attempts like it were killed at and more: of memory in steps, of walltime in minutes."""
    step = {"memory": bounds.mem_step_bytes, "walltime": _MINUTE_S}.get(forecast.target.name)
    if step is None:
        return amount
    killed_at, unproven = np.array(forecast.killed_at), np.array(forecast.unproven)
    return float(at_least_known(np.array(amount), killed_at, unproven, step=step))


def rounded(target: Target, amount: float, bounds: Bounds) -> float:
    """Up to what can be asked for: memory in steps, whole cores, whole minutes."""
    if target.name == "memory":
        step = bounds.mem_step_bytes
        return max(1, math.ceil(amount / step * (1 - 1e-12))) * step
    if target.name == "cores":
        return float(max(1, math.ceil(amount - _NEXT_TO_NOTHING)))
    if target.name == "walltime":
        return max(1, math.ceil(amount / _MINUTE_S)) * _MINUTE_S
    return amount
