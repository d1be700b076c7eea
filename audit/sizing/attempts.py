"""What a model learns from: attempts of one cluster, and what they needed of one resource (a target)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEVELS = (0.5, 0.9, 0.95, 0.98, 0.99, 0.995)  # of every forecast
REPORTED = (0.5, 0.9, 0.95, 0.99)
MIB = 2**20


@dataclass(frozen=True)
class Target:
    """One thing to be foreseen of an attempt, and how it is reckoned with."""

    name: str
    unit: str
    floor: float  # below it all needs are alike: forecasts are made on a logarithmic scale from here up
    whole: bool = False  # comes in whole numbers
    tied: bool = False  # many needs are exactly alike: a level is kept where it lies among needs equal to the forecast
    kills: bool = False  # a job that needs more than it asked for ends


TARGETS = {
    t.name: t
    for t in (
        Target("memory", "bytes", MIB, kills=True),
        Target("walltime", "seconds", 1.0, kills=True),
        Target("cores", "cores", 0.01),
        Target("gpus", "GPUs", 0.25, whole=True, tied=True, kills=True),
        Target("vram", "bytes", MIB),
        Target("gpu_activity", "percent", 1.0, tied=True),
    )
}


@dataclass(frozen=True)
class Attempts:
    """Attempts, one entry each. What was asked for is NaN where it was not said; names are codes from 0."""

    submit_s: Floats
    start_s: Floats
    end_s: Floats  # infinite while it has not ended
    run_s: Floats
    user: Ints
    name: Ints  # the family of its job name
    partition: Ints
    cores: Floats
    mem_bytes: Floats
    gpus: Floats
    limit_s: Floats

    def __len__(self) -> int:
        return len(self.submit_s)

    def take(self, rows: Ints | Flags) -> "Attempts":
        """The attempts of the given rows, in that order."""
        return Attempts(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


@dataclass(frozen=True)
class Problem:
    """What attempts needed of one target, in the order in which it was to be foreseen (`decided_s`).

    `need` is NaN where it was not measured; where `is_bound`, the attempt was cut at it and needed at least that much.
    `asked` is what the attempt asked for of the target itself: no advice goes above it (NaN: not said).
    """

    target: Target
    attempts: Attempts
    need: Floats
    is_bound: Flags
    asked: Floats
    decided_s: Floats
    rows: Ints  # where each stood in what the problem was made of

    def __len__(self) -> int:
        return len(self.need)

    @property
    def log_need(self) -> Floats:
        """The need on the scale of the forecasts."""
        return self.log(self.need)

    @property
    def log_asked(self) -> Floats:
        """What was asked for, on the scale of the forecasts."""
        return self.log(self.asked)

    def log(self, values: Floats) -> Floats:
        """Values of the target on the scale of the forecasts."""
        logs: Floats = np.log(np.maximum(values, self.target.floor))
        return logs


def problem(
    target: Target, attempts: Attempts, need: Floats, *, is_bound: Flags, asked: Floats, at_start: bool = False
) -> Problem:
    """Attempts in the order in which they are foreseen: by submission, or, for pending jobs, `at_start`."""
    decided = attempts.start_s if at_start else attempts.submit_s
    order = np.lexsort((attempts.submit_s, decided))
    # what a clock made end before it was decided on is known only afterwards
    ended = np.maximum(attempts.end_s, np.nextafter(decided, np.inf))
    attempts = replace(attempts, end_s=ended)
    return Problem(target, attempts.take(order), need[order], is_bound[order], asked[order], decided[order], order)


def codes(*columns: NDArray[np.generic] | Sequence[str]) -> Ints:
    """One code for each distinct combination; NaN is like NaN."""
    parts = [np.unique(np.asarray(c), return_inverse=True)[1].astype(np.int64) for c in columns]
    code = parts[0]
    for part in parts[1:]:
        code = np.unique(code * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].astype(np.int64)
    return code


def bursts(attempts: Attempts, gap_s: float = 60.0) -> Ints:
    """The burst of each attempt: one user's submissions of one name, each within `gap_s` of the one before."""
    key = codes(attempts.user, attempts.name)
    order = np.lexsort((attempts.submit_s, key))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(key[order]) != 0) | (np.diff(attempts.submit_s[order]) > gap_s)
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.cumsum(begins) - 1
    return found
