"""What was known when: the only door from an attempt to the outcomes of others, open on those that had ended.

Whatever a forecast rests on carries the moment at which it was known; later than the decision, it is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audit.sizing.attempts import Floats, Ints, Problem

WINDOW = 64  # finished attempts of a group that are looked at


class LeakError(Exception):
    """A forecast was to rest on something that was not known yet when it was made."""


def refuse_leaks(name: str, known_s: Floats, decided_s: Floats) -> None:
    """LeakError where something called `name` was known only after the decision it is to serve (NaN: nothing)."""
    late = known_s > decided_s
    if late.any():
        first = int(np.argmax(late))
        raise LeakError(
            f"{name} of row {first} was known at {known_s[first]:.0f}, its decision fell at {decided_s[first]:.0f}"
        )


@dataclass(frozen=True)
class Fit:
    """One refit: the attempts it may learn from, and the rows it serves until the next."""

    learns: Ints
    serves: slice


class Known:
    """Attempts by the time they ended, with a measured need, as seen from each decision of a problem."""

    def __init__(self, problem: Problem) -> None:
        ended = problem.attempts.end_s
        measured = np.flatnonzero(np.isfinite(problem.need) & np.isfinite(ended))
        self.problem = problem
        self.by_end: Ints = measured[np.argsort(ended[measured], kind="stable")]
        self.end_s: Floats = ended[self.by_end]
        self.count: Ints = np.searchsorted(self.end_s, problem.decided_s, side="right").astype(np.int64)

    def last(self, group: Ints, size: int = WINDOW) -> tuple[Ints, Ints]:
        """For each row the last `size` ended attempts of its group, newest first (-1: none), and how many there are."""
        span = len(self.by_end) + 1
        key = group[self.by_end] * span + np.arange(len(self.by_end))
        order = np.argsort(key, kind="stable")
        first, here = (np.searchsorted(key[order], group * span + add) for add in (0, self.count))
        at = here[:, None] - 1 - np.arange(size)
        rows = np.where(at >= first[:, None], self.by_end[order][np.maximum(at, 0)] if len(order) else -1, -1)
        return rows, here - first

    def values(self, name: str, of: Floats, rows: Ints) -> Floats:
        """Values of those attempts; NaN for none. LeakError where one had not ended."""
        if not len(of):
            return np.full(rows.shape, np.nan)
        known = np.where(rows >= 0, self.problem.attempts.end_s[rows], -np.inf).max(axis=1)
        refuse_leaks(name, known, self.problem.decided_s)
        found: Floats = np.where(rows >= 0, of[rows], np.nan)
        return found

    def fits(self, *, first: int = 300, growth: float = 1.5, step: int = 5000, most: int = 20_000) -> Iterator[Fit]:
        """When to refit: at `first` ended attempts, then at each `growth`, `step` more at most; on the last `most`."""
        at, size = [], first
        while size <= len(self.by_end):
            at.append(size)
            size = min(max(int(size * growth), size + first), size + step)
        begins = [int(np.searchsorted(self.problem.decided_s, self.end_s[n - 1])) for n in at]
        for n, begin, end in zip(at, begins, [*begins[1:], len(self.problem)], strict=False):  # of none, no end
            if begin < end:
                yield checked(Fit(self.by_end[max(0, n - most) : n], slice(begin, end)), self.problem)


def checked(fit: Fit, problem: Problem) -> Fit:
    """The refit itself. LeakError where it learns from an attempt that had not ended at the first row it serves."""
    newest = problem.attempts.end_s[fit.learns].max(initial=-np.inf)
    first = problem.decided_s[fit.serves][:1]
    refuse_leaks("what the model learns from", np.full(len(first), newest), first)
    return fit
