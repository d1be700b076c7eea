"""One resource of one submission: what is foreseen, what is advised, and each step from the one to the other."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from audit.sizing.attempts import LEVELS, REPORTED, TARGETS, Floats, Target
from audit.sizing.policy import POLICY, abstains, at_least_known, at_most_asked, whole
from audit.sizing.serving import Forecast

INFORMS: Final = frozenset({"vram", "gpu_activity"})  # no request names them
FEW_LIKE: Final = "too few jobs like it have finished"
ELSEWHERE: Final = "foreseen from other clusters, not calibrated here"


@dataclass(frozen=True)
class Step:
    """One step from a forecast to what is advised: what was done, and the amount after it."""

    what: str
    amount: float


@dataclass(frozen=True)
class Room:
    """What bounds advice on one submission beside the forecast."""

    level: float  # the quantile that is advised, one of `LEVELS`
    nodes: int
    mem_step_bytes: float
    lowers_cores: bool
    lowers_time_limit: bool
    whole_nodes: bool  # the job takes whole nodes, whatever it says


@dataclass(frozen=True)
class Foreseen:
    """A resource of a submission. Amounts are in the target's unit, totals over the nodes; None where not known.

    `needs` by level of `LEVELS`; empty where nothing can be said. `recommended` None: the request is kept, and
    `kept_because` says why. `chance` that it needs more than was asked: a number, or at most or at least so much where
    that lies beyond the levels (`chance_is` "about", "at most", "at least").
    """

    target: Target
    asked: float | None
    needs: dict[float, float]
    recommended: float | None
    level: float
    kept_because: str | None
    from_others: bool
    forecast: Forecast | None
    chance: float | None = None
    chance_is: str | None = None
    steps: tuple[Step, ...] = ()

    @property
    def advises(self) -> bool:
        """Whether an amount is advised, be it the request itself."""
        return self.recommended is not None

    @property
    def lowers(self) -> bool:
        """Whether less than the request is advised."""
        return self.recommended is not None and self.asked is not None and self.recommended < self.asked


def foresee(forecast: Forecast, asked: float | None, room: Room) -> Foreseen:
    """What the cluster's own model says of a resource."""
    target, needs = forecast.target, forecast.needs
    found = Foreseen(
        target=target,
        asked=asked,
        needs=dict(zip(LEVELS, needs.tolist(), strict=True)) if np.isfinite(needs).all() else {},
        recommended=None,
        level=room.level,
        kept_because=None,
        from_others=False,
        forecast=forecast,
        **_chance(needs, asked),
    )
    why = _kept(forecast, asked, room)
    steps = _steps(forecast, asked, room) if found.needs else ()
    if why:
        return _with(found, kept_because=why, steps=steps[:3])
    return _with(found, recommended=steps[-1].amount, steps=steps)


def from_others(target: str, needs: Floats, asked: float | None, level: float) -> Foreseen:
    """What a model of other clusters says, which is shown and advises nothing."""
    known = dict(zip(LEVELS, needs.tolist(), strict=True)) if np.isfinite(needs).all() else {}
    return Foreseen(TARGETS[target], asked, known, None, level, ELSEWHERE, from_others=True, forecast=None)


def _with(found: Foreseen, **changed: object) -> Foreseen:
    from dataclasses import replace

    return replace(found, **changed)  # type: ignore[arg-type]


def _kept(forecast: Forecast, asked: float | None, room: Room) -> str | None:
    """Why the request is kept; None where it is not."""
    name = forecast.target.name
    if name in INFORMS:
        return "no request names it"
    if abstains(np.array(forecast.like), np.array(forecast.at(room.level))):
        if forecast.like < POLICY.least_like:
            return f"{FEW_LIKE}: {forecast.like} of the {POLICY.least_like} that it takes"
        return "not calibrated yet: too few forecasts have an outcome"
    if name == "walltime" and not room.lowers_time_limit:
        return "the time limit stays what was asked for"
    if name == "cores" and not room.lowers_cores:
        return "only the mean use of cores is known here, which lowers nothing"
    if name == "gpus" and asked is None:
        return "how many GPUs are asked for is not known"
    if room.whole_nodes and name != "walltime":
        return "the job takes whole nodes"
    return None


def _steps(forecast: Forecast, asked: float | None, room: Room) -> tuple[Step, ...]:
    """From what the expert says to what is advised; the first three are of the forecast itself."""
    target, place = forecast.target, LEVELS.index(room.level)
    base, amount = float(forecast.base[place]), forecast.at(room.level)
    percent = f"p{100 * room.level:g}"
    steps = [Step(f"{forecast.expert} says {percent}", base)]
    margin = float(forecast.margins[place])
    steps.append(Step(f"x {margin:.3g}, the margin of {percent} (spread {forecast.spread:.3g}, {_missed(forecast)})", base * margin))
    steps.append(Step("levels put in order", amount))
    rules = (
        ("whole numbers", lambda value: float(whole(target, np.array(value)))),
        (f"not below what attempts like it were killed at{', doubled' if forecast.unproven else ''}", lambda value: _known(forecast, value)),
        ("not below what attempts like it used", lambda value: _used(forecast, value)),
        ("rounded up", lambda value: rounded(target, value, room)),
        ("not above the request", lambda value: float(at_most_asked(np.array(value), np.array(np.nan if asked is None else asked)))),
    )  # fmt: skip
    for what, rule in rules:
        after = rule(steps[-1].amount)
        if after != steps[-1].amount:
            steps.append(Step(what, after))
    return tuple(steps)


def _missed(forecast: Forecast) -> str:
    shares = [(forecast.missed[-2], "all"), (forecast.missed_user[-2], "this user")]
    told = [f"{100 * max(share, 0.0):.2g} % of {who}" for share, who in shares if math.isfinite(share)]
    return f"needs above p{100 * LEVELS[-2]:g} so far: {', '.join(told)}" if told else "no outcome yet"


def _known(forecast: Forecast, amount: float) -> float:
    if forecast.target.name != "memory":
        return amount
    return float(at_least_known(np.array(amount), np.array(forecast.killed_at), np.array(forecast.unproven)))


def _used(forecast: Forecast, amount: float) -> float:
    """GPUs are given up only where some were never used."""
    if forecast.target.name != "gpus" or not math.isfinite(forecast.most_like):
        return amount
    return max(amount, float(whole(forecast.target, np.array(forecast.most_like))))


def rounded(target: Target, amount: float, room: Room) -> float:
    """Up to what can be asked for: memory in steps on each node, whole cores, whole minutes."""
    if target.name == "memory":
        step = room.mem_step_bytes * room.nodes
        return max(1, math.ceil(amount / step * (1 - 1e-12))) * step
    if target.name == "cores":
        return float(max(1, math.ceil(amount - 0.05)))
    if target.name == "walltime":
        return max(1, math.ceil(amount / 60)) * 60.0
    return amount


def _chance(needs: Floats, asked: float | None) -> dict[str, object]:
    """How likely it is to need more than was asked for, on a line between the levels."""
    if asked is None or not np.isfinite(needs).all():
        return {}
    if asked >= needs[-1]:
        return {"chance": 1 - LEVELS[-1], "chance_is": "at most"}
    if asked < needs[0]:
        return {"chance": 1 - LEVELS[0], "chance_is": "at least"}
    above = int(np.searchsorted(needs, asked, side="right"))
    low, high = (math.log(max(needs[at], 1e-9)) for at in (above - 1, above))
    share = (math.log(max(asked, 1e-9)) - low) / (high - low) if high > low else 0.0
    level = LEVELS[above - 1] + share * (LEVELS[above] - LEVELS[above - 1])
    return {"chance": 1 - level, "chance_is": "about"}


def reported(found: Foreseen) -> dict[str, float | None]:
    """The needs at the levels that are shown, `p50` to `p99`."""
    return {f"p{100 * level:g}": found.needs.get(level) for level in REPORTED}
