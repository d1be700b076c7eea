"""The attempts a back-test is judged on, and every method that advised on them: the model, its experts, its rivals.

What was asked for caps both sides: no advice goes above the request, and what an attempt needed beyond its own request
is the user's.
"""

from dataclasses import dataclass

import numpy as np

from audit.sizing.attempts import LEVELS, Flags, Floats, Ints, Target, bursts
from audit.sizing.calibration import TINY
from audit.sizing.policy import whole
from audit.sizing.replay import Replay
from audit.sizing.waste import killed, waste


@dataclass(frozen=True)
class Scored:
    """Attempts not abstained on, whose need is known and which had a forecast, in the order of their decisions."""

    rows: Ints  # of the problem
    log_need: Floats
    forecasts: Floats  # (rows, LEVELS), as advised: whole, and capped at the request
    user: Ints
    burst: Ints
    cut: Flags  # the need is a lower bound

    def at_or_below(self, level: float) -> Flags:
        """Whether the need lay at or below the forecast of a level."""
        found: Flags = self.log_need <= self.forecasts[:, LEVELS.index(level)] + TINY
        return found

    def below(self, level: float) -> Flags:
        """Whether the need lay strictly below it: of whole numbers, many lie on it."""
        found: Flags = self.log_need < self.forecasts[:, LEVELS.index(level)] - TINY
        return found


def scored(replay: Replay) -> Scored:
    """The attempts that coverage is reckoned over."""
    problem = replay.problem
    rows = np.flatnonzero(_advised(replay) & np.isfinite(problem.need))
    asked = _log_asked(replay)[rows]
    amounts = whole(problem.target, np.exp(replay.issued[rows]))
    return Scored(
        rows=rows,
        log_need=np.minimum(problem.log_need[rows], asked),
        forecasts=np.minimum(problem.log(amounts), asked[:, None]),
        user=problem.attempts.user[rows],
        burst=bursts(problem.attempts)[rows],
        cut=problem.is_bound[rows],
    )


@dataclass(frozen=True)
class Method:
    """One way to advise. Its forecasts are logarithms, (rows of the problem, LEVELS), or (rows,) of one amount."""

    name: str
    role: str  # model, expert or rival
    margin: str  # model, own or as_issued
    forecasts: Floats

    def at(self, level: float) -> Floats:
        """The forecasts of one level; the one amount, where there is no other."""
        return self.forecasts if self.forecasts.ndim == 1 else self.forecasts[:, LEVELS.index(level)]


def every_method(replay: Replay) -> list[Method]:
    """The model, the experts that are no rivals, and the rivals: as they are used elsewhere, and with own margins."""
    experts = [Method(n, "expert", "own", e.issued) for n, e in replay.experts.items() if n not in replay.rivals]
    plain = [Method(name, "rival", "as_issued", base) for name, base in replay.as_issued.items()]
    own = [Method(name, "rival", "own", rival.issued) for name, rival in replay.rivals.items()]
    return [Method("model", "model", "model", replay.issued), *experts, *plain, *own]


@dataclass(frozen=True)
class Compared:
    """Measured attempts on which every method has advice. Where the model abstained, all of them keep the request."""

    target: Target
    rows: Ints  # of the problem
    advised: Flags  # the model did not abstain
    log_need: Floats
    log_asked: Floats  # infinite where not said
    run_s: Floats

    def part(self, of: slice) -> "Compared":
        """Some of these attempts, by place."""
        return Compared(
            self.target, self.rows[of], self.advised[of], self.log_need[of], self.log_asked[of], self.run_s[of]
        )

    def advice(self, forecast: Floats, addend: float = 0.0) -> Floats:
        """What is advised on each, as a logarithm, from forecasts of the whole problem with something added."""
        own = self.target.floor
        amounts = whole(self.target, np.exp(forecast[self.rows] + addend))
        found = np.where(self.advised & np.isfinite(amounts), np.log(np.maximum(amounts, own)), np.inf)
        return np.minimum(found, self.log_asked)

    def killed(self, advised: Floats) -> Flags:
        """Whom the advice would have killed."""
        return killed(self.log_need, advised)

    def waste(self, advised: Floats) -> float:
        """What the advice would have held for nothing: unit x seconds, all of the killed."""
        return float(waste(self.target, self.log_need, advised, self.run_s).sum())

    def held(self, advised: Floats) -> float:
        """Unit x seconds of what is advised (or needed)."""
        amounts = np.where(advised <= np.log(self.target.floor), 0.0, np.exp(advised))
        return float((amounts * self.run_s).sum())


def compared(replay: Replay, methods: list[Method]) -> Compared:
    """The attempts that all methods are compared on."""
    problem, asked, advised = replay.problem, _log_asked(replay), _advised(replay)
    everybody = np.all([np.isfinite(m.at(LEVELS[-1])) for m in methods], axis=0)
    rows = np.flatnonzero(np.isfinite(problem.need) & (np.isfinite(asked) | (advised & everybody)))
    return Compared(
        target=problem.target,
        rows=rows,
        advised=advised[rows],
        log_need=np.minimum(problem.log_need, asked)[rows],
        log_asked=asked[rows],
        run_s=problem.attempts.run_s[rows],
    )


def _advised(replay: Replay) -> Flags:
    found: Flags = ~replay.abstained & np.isfinite(replay.issued[:, 0])
    return found


def _log_asked(replay: Replay) -> Floats:
    return np.where(np.isfinite(replay.problem.asked), replay.problem.log_asked, np.inf)
