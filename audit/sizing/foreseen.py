"""One resource of one submission: what is foreseen of it, and what is advised."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from audit.sizing.advised import INFORMS, Bounds, Step, at_least, kept_because, said, steps
from audit.sizing.attempts import LEVELS, REPORTED, TARGETS, Floats, Target
from audit.sizing.serving import Forecast

USED_AT_MOST: Final = frozenset({"cores", "gpus", "gpu_activity"})  # as much as was asked for: the cluster sees to it
ELSEWHERE: Final = "foreseen from other clusters, not calibrated here"


@dataclass(frozen=True)
class Chance:
    """How likely a job is to need more than it asked for. Beyond the levels only a bound is known."""

    share: float
    is_: Literal["about", "at most", "at least"]


@dataclass(frozen=True)
class Foreseen:
    """A resource of a submission. Amounts are in the target's unit, totals over the nodes; None where not known.

    `needs` by level of `LEVELS`; empty where nothing can be said. `recommended` None: the request is kept, and
    `kept_because` says why. `forecast` None: from the model of other clusters, or from none.
    """

    target: Target
    asked: float | None
    needs: dict[float, float]
    level: float
    recommended: float | None
    kept_because: str | None
    chance: Chance | None
    forecast: Forecast | None
    steps: tuple[Step, ...] = ()
    known_least: float = 0.0  # what jobs like it were killed at, and more; 0: none was

    @property
    def risk(self) -> Chance | None:
        """How likely more than what is advised is needed and ends the job; None where nothing is, or nothing ends.

        Where the request caps the advice, the request's own chance counts.
        """
        if self.recommended is None or not self.target.kills:
            return None
        as_asked = self.asked is not None and self.recommended >= self.asked
        if as_asked and self.chance is not None and self.chance.share > 1 - self.level:
            return self.chance
        return Chance(1 - self.level, "at most")

    @property
    def is_advised(self) -> bool:
        """Whether an amount is advised, be it the request itself."""
        return self.recommended is not None

    @property
    def given_up(self) -> float:
        """How much less than the request is advised."""
        return 0.0 if self.recommended is None or self.asked is None else self.asked - self.recommended

    def shown(self) -> dict[str, float | None]:
        """The needs at the levels that are shown, `p50` to `p99`."""
        return {f"p{100 * level:g}": self.needs.get(level) for level in REPORTED}


def foresee(forecast: Forecast, asked: float | None, level: float, bounds: Bounds) -> Foreseen:
    """What the cluster's own model says of a resource."""
    most = math.inf if asked is None or forecast.target.name not in USED_AT_MOST else asked
    needs = _by_level(np.minimum(forecast.needs, most))
    why = kept_because(forecast, asked, bounds)
    taken = () if not needs else said(forecast, level) if why else steps(forecast, asked, level, bounds)
    return Foreseen(
        target=forecast.target,
        asked=None if forecast.target.name in INFORMS else asked,
        needs=needs,
        level=level,
        recommended=None if why else taken[-1].amount,
        kept_because=why,
        chance=chance(forecast.needs, asked) if needs else None,
        forecast=forecast,
        steps=taken,
        known_least=at_least(forecast, 0.0, bounds),
    )


def from_others(target: str, needs: Floats, asked: float | None, level: float) -> Foreseen:
    """What a model of other clusters says: it is shown, and advises nothing."""
    return Foreseen(TARGETS[target], asked, _by_level(needs), level, None, ELSEWHERE, None, None)


def joint(chances: Sequence[Chance]) -> Chance | None:
    """How likely any of them comes to pass: at most their sum; None of none, and where that says nothing, above 1."""
    share = round(sum(chance.share for chance in chances), 9)
    if not chances or share > 1:
        return None
    if any(chance.is_ == "at least" for chance in chances):
        return Chance(share, "at least")
    return Chance(share, chances[0].is_ if len(chances) == 1 else "at most")


def _by_level(needs: Floats) -> dict[float, float]:
    return dict(zip(LEVELS, needs.tolist(), strict=True)) if np.isfinite(needs).all() else {}


def chance(needs: Floats, asked: float | None) -> Chance | None:
    """How likely more than what was asked for is needed, on a straight line between the levels (logarithms)."""
    if asked is None:
        return None
    if asked >= needs[-1]:
        return Chance(1 - LEVELS[-1], "at most")
    if asked < needs[0]:
        return Chance(1 - LEVELS[0], "at least")
    above = int(np.searchsorted(needs, asked, side="right"))
    low, here, high = (math.log(max(float(amount), 1e-9)) for amount in (needs[above - 1], asked, needs[above]))
    level = LEVELS[above - 1] + (here - low) / (high - low) * (LEVELS[above] - LEVELS[above - 1])
    return Chance(1 - level, "about")
