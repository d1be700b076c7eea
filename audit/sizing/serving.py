"""The model of one target as it serves: what a back-test leaves behind, one job at a time, by the same code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audit.sizing.attempts import LEVELS, TARGETS, Floats, Ints, Target
from audit.sizing.calibration import SETTINGS, Calibrator, spread, within
from audit.sizing.features import Seen, anchor, features
from audit.sizing.heuristics import EXPERTS
from audit.sizing.histories import MOST_LOG, Histories, Job
from audit.sizing.identity import Hashes
from audit.sizing.learned import LEARNED, Model
from audit.sizing.model_file import Arrays, damaged
from audit.sizing.replay import BLENDED, blend
from audit.sizing.stored import Stored

BLEND: Final = "blend"
_DEBTS: Final = ("debt", "weight", "most", "user_debt", "user_weight")
_UNUSABLE: Final = (ValueError, IndexError, OverflowError, FloatingPointError)


@dataclass(frozen=True)
class Forecast:
    """What is foreseen of one target of one job, at each of `LEVELS`, in the target's unit.

    `needs` is NaN where nothing calibrated can be said. `base` is what the expert said, `margins` by what its needs
    were multiplied, `missed` which share of needs lay above the forecasts so far (of all users, and of this one; NaN:
    none was scored). `like` and `like_user`: finished attempts of the same user and name, and of the user.
    """

    target: Target
    expert: str
    needs: Floats
    base: Floats
    spread: float
    margins: Floats
    missed: Floats
    missed_user: Floats
    like: int
    like_user: int
    most_like: float  # that attempts of the same user and name needed; NaN where none ended
    killed_at: float  # see `Histories.bound`
    unproven: bool
    used_all: bool  # one of them needed all that it asked for: what it needed is then a bound
    pending: float  # attempts of the user that have not ended, of which the margins know

    def at(self, level: float) -> float:
        """The need at one of `LEVELS`."""
        return float(self.needs[LEVELS.index(level)])


@dataclass(frozen=True, eq=False)
class Served:
    """A champion: its expert, the models that it listens to, its margins, and what is remembered of attempts."""

    target: Target
    expert: str
    models: Mapping[str, Model]
    calibrator: Calibrator  # its user i is `users[i]`; the last one stands for everybody else
    users: Hashes
    histories: Histories
    pending: Floats  # of each of `users` and of everybody else: attempts not ended, as is usual

    def forecast(self, job: Job) -> Forecast:
        """What is foreseen of one job."""
        asked = np.array([asked_of(self.target, job)])
        log_asked = np.log(np.maximum(asked, self.target.floor))
        groups = self.histories.groups_of(job)
        user = self.user_rows(groups["user"])
        pending = float(self.pending[user[0]]) if job.pending is None else job.pending
        seen = self.histories.see(job, groups, float(log_asked[0]), pending)
        base = self.base(seen)
        unit = spread(base, np.array(LEVELS))
        logs = self.issue(base, unit, user, seen)[0]
        killed_at, unproven = self.histories.bound(job, groups)
        return Forecast(
            target=self.target,
            expert=self.expert,
            needs=self._need(logs),
            base=self._need(np.broadcast_to(base[0], logs.shape)),
            spread=float(unit[0]),
            margins=np.exp(np.clip(logs - base[0], -MOST_LOG, MOST_LOG)),
            missed=self._missed(self.calibrator.debt, self.calibrator.weight),
            missed_user=self._missed(self.calibrator.user_debt[user[0]], self.calibrator.user_weight[user[0]]),
            like=round(float(seen.count("key")[0])),
            like_user=round(float(seen.count("user")[0])),
            most_like=float(self._need(seen.stat("key", "most"))[0]),
            killed_at=killed_at,
            unproven=unproven,
            used_all=self.histories.used_all(groups),
            pending=pending,
        )

    def base(self, seen: Seen) -> Floats:
        """What the expert says before its margin: logarithms, (rows, levels) or (rows, 1)."""
        bases: dict[str, Floats] = {}
        if self.models:
            x, middle = features(seen), anchor(seen)[:, np.newaxis]
            bases = {name: model.quantiles(x) + middle for name, model in self.models.items()}
        for name in parts(self.expert) & EXPERTS.keys():
            said = EXPERTS[name](seen)
            bases[name] = said[:, np.newaxis] if said.ndim == 1 else said
        return blend(bases) if self.expert == BLEND else bases[self.expert]

    def issue(self, base: Floats, unit: Floats, user: Ints, seen: Seen) -> Floats:
        """Forecasts with their margins: logarithms, (rows, levels); NaN where the expert or its margin is silent."""
        who, row = np.unique(np.stack([user, seen.pending], axis=1), axis=0, return_inverse=True)
        margins = np.full((len(who), len(LEVELS)), np.nan)
        for at, (code, queued) in enumerate(who.tolist()):
            margin = self.calibrator.margin(int(code), queued)
            if margin is not None:
                margins[at] = margin
        said = base + unit[:, np.newaxis] * margins[row.reshape(-1)]
        most = np.where(np.isnan(seen.log_asked), self.calibrator.highest, np.inf)[:, np.newaxis]
        return within(said, float(np.log(self.target.floor)), most)

    def user_rows(self, user: Hashes) -> Ints:
        """Which of the calibrator's users each is."""
        if not len(self.users):
            return np.zeros(len(user), np.int64)
        at = np.minimum(np.searchsorted(self.users, user), len(self.users) - 1)
        return np.where(self.users[at] == user, at, len(self.users)).astype(np.int64)

    def _need(self, logs: Floats) -> Floats:
        """Amounts of the target from logarithms; next to nothing is nothing."""
        plain = np.exp(np.minimum(logs, MOST_LOG))
        return np.where(plain <= self.target.floor * (1 + 1e-9), 0.0, plain)

    def _missed(self, debt: Floats, weight: float) -> Floats:
        """Which share of needs lay above the forecasts, by level."""
        return debt[0] / weight + (1 - self.calibrator.levels) if weight else np.full(len(LEVELS), np.nan)

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """For the model file."""
        found = {"users": self.users, "pending": self.pending, **self.histories.to_arrays()}
        for name, model in self.models.items():
            found |= model.to_arrays(f"{name}.")
        kept = self.calibrator.recent[self.calibrator.oldest :]
        columns = len(self.calibrator.ordered) or 1
        found["scores"] = np.array(kept, np.float64).reshape(len(kept), columns)
        return found | {name: np.asarray(getattr(self.calibrator, name), np.float64) for name in _DEBTS}

    @classmethod
    def from_arrays(cls, target: str, expert: str, arrays: Arrays, where: str) -> "Served":
        """Reads what `arrays` holds. AuditError where it is no such model."""
        if target not in TARGETS or expert not in {BLEND, *EXPERTS, *LEARNED}:
            raise damaged(where, "has a card that names no target or no expert of this version")
        stored = Stored(arrays, where)
        users = stored.sorted_hashes("users")
        scores = stored.get("scores", np.float64, None, None)
        if scores.shape[1] not in (1, len(LEVELS)) or len(scores) > SETTINGS.window:
            raise stored.wrong("its scores cannot be")
        calibrator = Calibrator(
            np.array(LEVELS),
            len(users) + 1,
            TARGETS[target].tied,
            recent=scores.tolist(),
            ordered=np.sort(scores, axis=0).T.tolist() if len(scores) else [],
        )
        calibrator.most = float(stored.get("most", np.float64))
        calibrator.debt = stored.get("debt", np.float64, 2, len(LEVELS))
        calibrator.weight = float(stored.get("weight", np.float64))
        calibrator.user_debt = stored.get("user_debt", np.float64, len(users) + 1, 2, len(LEVELS))
        calibrator.user_weight = stored.get("user_weight", np.float64, len(users) + 1)
        if calibrator.weight < 0 or (calibrator.user_weight < 0).any():
            raise stored.wrong("its weights cannot be")
        pending = stored.get("pending", np.float64, len(users) + 1)
        if (pending < 0).any():
            raise stored.wrong("its pending attempts cannot be")
        models = {name: LEARNED[name].read(dict(arrays), f"{name}.", where) for name in learned_parts(expert)}
        histories = Histories.from_arrays(TARGETS[target], arrays, where)
        served = cls(TARGETS[target], expert, models, calibrator, users, histories, pending)
        served.check(where)
        return served

    def check(self, where: str) -> None:
        """AuditError where the models do not look at the features of this version."""
        try:
            self.forecast(Job("", None, "", "", np.nan, np.nan, np.nan, np.nan, 0.0))
        except _UNUSABLE:
            raise damaged(where, "looks at other features than this version has") from None


def asked_of(target: Target, job: Job) -> float:
    """What a job asks for of a target; NaN where it does not say."""
    asked = {
        "memory": job.mem_bytes,
        "walltime": job.limit_s,
        "cores": job.cores,
        "gpus": job.gpus,
        "gpu_activity": 100.0,
    }
    return asked.get(target.name, np.nan)


def parts(expert: str) -> set[str]:
    """The experts that an expert listens to: itself, or those of the blend."""
    return set(BLENDED) if expert == BLEND else {expert}


def learned_parts(expert: str) -> list[str]:
    """Those of them that learn."""
    return [name for name in LEARNED if name in parts(expert)]


def levels_at(levels: Sequence[float], least: float) -> float | None:
    """The smallest of the levels that is at least so high; None where none is."""
    return min((level for level in levels if level >= least - 1e-12), default=None)
