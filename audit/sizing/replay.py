"""The back-test: every attempt foreseen as it would have been when it was decided on, by each expert and rival."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from audit.sizing.attempts import LEVELS, Flags, Floats, Ints, Problem
from audit.sizing.calibration import Calibrated, calibrate
from audit.sizing.features import Seen, anchor, features, see
from audit.sizing.heuristics import BASELINES, EXPERTS
from audit.sizing.known import Known
from audit.sizing.learned import LEARNED
from audit.sizing.policy import POLICY, Policy, abstains, few_like
from audit.sizing.selection import choose

Watch = Callable[[str], None]
BLENDED = ("forest", "boosted", "empirical", "request_max")
UNTIL_THEN = "empirical"  # speaks until the expert chosen has learnt enough to
LEAST_FINISHED = 200  # measured attempts below which no model is fitted


@dataclass(frozen=True)
class Replay:
    """A back-test of one problem. Forecasts are logarithms, (rows, levels); NaN where there was none."""

    problem: Problem
    known: Known
    seen: Seen
    experts: dict[str, Calibrated]
    chosen: Ints  # by row, the index of the expert listened to
    issued: Floats  # what it said, with its margin
    abstained: Flags
    as_issued: dict[str, Floats]  # the rivals as they are used elsewhere, (rows,)
    rivals: dict[str, Calibrated]  # the same with margins of their own


def replay(problem: Problem, policy: Policy = POLICY, watch: Watch = lambda _: None) -> Replay:
    """Plays a problem through in time order."""
    known = Known(problem)
    watch("what was known when")
    seen = see(problem, known)
    bases = {**learned(problem, known, seen, watch), **{name: _wide(rule(seen)) for name, rule in EXPERTS.items()}}
    bases = {"blend": blend(bases), **bases}

    def margins(base: Floats) -> Calibrated:
        return calibrate(
            base, np.fmin(problem.log_need, problem.log_asked), levels=np.array(LEVELS), user=problem.attempts.user,
            pending=seen.pending, by_end=known.by_end, count=known.count, tied=problem.target.tied,
            least=float(np.log(problem.target.floor)),
            counted=~few_like(seen.count("key"), policy), requested=np.isfinite(problem.asked),
        )  # fmt: skip

    experts: dict[str, Calibrated] = {}
    for name, base in bases.items():
        watch(f"margins of {name}")
        experts[name] = margins(base)
    as_issued = {name: rule(seen) for name, rule in BASELINES.items()}
    rivals = {}
    for name, base in as_issued.items():
        watch(f"margins of {name}")
        rivals[name] = experts[name] if name in experts else margins(_wide(base))
    watch("choosing experts")
    forecasts = {name: expert.issued for name, expert in experts.items()}
    chosen = choose(problem, known, forecasts, policy)
    every, rows = np.stack(list(forecasts.values())), np.arange(len(problem))
    chosen = np.where(np.isfinite(every[chosen, rows, 0]), chosen, list(forecasts).index(UNTIL_THEN))
    issued = every[chosen, rows]
    return Replay(
        problem,
        known,
        seen,
        experts,
        chosen,
        issued,
        abstains(seen.count("key"), issued[:, 0], policy),
        as_issued,
        rivals,
    )


def blend(bases: dict[str, Floats]) -> Floats:
    """The mean of what two learned models and two rules say: their faults differ, so some of them cancel."""
    wide = [np.broadcast_to(bases[name], (len(bases[name]), len(LEVELS))) for name in BLENDED]
    mean: Floats = np.mean(wide, axis=0)
    return mean


def learned(problem: Problem, known: Known, seen: Seen, watch: Watch) -> dict[str, Floats]:
    """What each learned expert says of each row, refitted as attempts end; NaN before the first fit."""
    x, base = features(seen), anchor(seen)
    found = {name: np.full((len(problem), len(LEVELS)), np.nan) for name in LEARNED}
    over = problem.log_need - base
    for fit in known.fits():
        for name, kind in LEARNED.items():
            watch(f"{name}: {fit.serves.start:,} of {len(problem):,} attempts")
            model = kind.fit(x[fit.learns], over[fit.learns])
            found[name][fit.serves] = model.quantiles(x[fit.serves]) + base[fit.serves, None]
    return found


def _wide(base: Floats) -> Floats:
    return base[:, None] if base.ndim == 1 else base
