"""What a forecast looks at: the request, the hour, and what attempts like it had needed, relative to an anchor.

No column says who submitted: a model of one cluster could serve another. History comes in *groups*, from the very
same request to everybody; each is summarised the same way, in a back-test as at the moment of a submission.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from audit.sizing.attempts import LEVELS, Attempts, Floats, Ints, Problem, codes
from audit.sizing.known import WINDOW, Known

GROUPS = ("request", "shape", "key", "user", "partition", "all")
RATIOS = ("key_ratio", "user_ratio")  # of the need to what was asked for
SUMMARY = ("count", "q10", *(f"q{round(1000 * level)}" for level in LEVELS), "most", "last", "second", "third",
           "two_mean", "five_mean", "five_most", "mean")  # fmt: skip
SHRINK = 8.0  # a group of n attempts weighs n / (n + 8) against the wider one
_QUANTILES = (0.1, *LEVELS)
_NEAR = ("request", "shape", "key", "user")
_NEAR_STATS = ("q10", "q500", "q900", "most", "last", "second", "third", "five_mean")
_FAR_STATS = ("q10", "q500", "q900", "most")
_ROW = {name: at for at, name in enumerate((*GROUPS, *RATIOS))}
_COLUMN = {name: at for at, name in enumerate(SUMMARY)}


def groups(attempts: Attempts) -> dict[str, Ints]:
    """The group of each attempt at every width, as codes: the same user and name (key) with ever more in common."""
    asked = (attempts.cores, attempts.mem_bytes, attempts.gpus, attempts.limit_s)
    key = codes(attempts.user, attempts.name)
    return {
        "request": codes(key, *asked),
        "shape": codes(key, attempts.cores),
        "key": key,
        "user": attempts.user,
        "partition": attempts.partition,
        "all": np.zeros(len(attempts), dtype=np.int64),
    }


def summarise(values: Floats, counts: Ints) -> Floats:
    """Windows of logarithmic needs, newest first, NaN beyond what there is, as `SUMMARY`: (n, WINDOW) to (n, stats)."""
    size = np.isfinite(values).sum(axis=1)
    ordered = np.sort(values, axis=1)
    each = np.arange(len(values))
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing is NaN here
        quantiles = [
            ordered[each, np.clip(np.ceil(q * size).astype(int) - 1, 0, np.maximum(size - 1, 0))] for q in _QUANTILES
        ]
        plain = np.exp(values)
        found = [
            np.log1p(counts),
            *quantiles,
            ordered[each, np.maximum(size - 1, 0)],
            *(values[:, i] for i in range(3)),
            np.log(np.nanmean(plain[:, :2], axis=1)),
            np.nanmean(values[:, :5], axis=1),
            np.fmax.reduce(values[:, :5], axis=1),
            np.log(np.nanmean(plain, axis=1)),
        ]
    return np.stack(found, axis=1)


@dataclass(frozen=True)
class Seen:
    """All that forecasts of a problem may rest on, row by row, checked to have been known at the decision.

    `history` is (rows, groups and ratios, SUMMARY) on the scale of the forecasts, `since_s` the time since the last
    attempt of the key ended, `pending` how many of the user's attempts had not ended.
    """

    history: Floats
    since_s: Floats
    pending: Floats
    asked: Floats  # (rows, 4): cores, memory, GPUs, time limit, NaN where not said
    log_asked: Floats
    hour: Floats

    def stat(self, group: str, stat: str) -> Floats:
        """One number of a group's history; NaN where it has none."""
        column: Floats = self.history[:, _ROW[group], _COLUMN[stat]]
        return column

    def first(self, stat: str, order: tuple[str, ...]) -> Floats:
        """The number of the first group that has a history."""
        found = self.stat(order[0], stat).copy()
        for group in order[1:]:
            found = np.where(np.isfinite(found), found, self.stat(group, stat))
        return found

    def count(self, group: str) -> Floats:
        """How many finished attempts the group has."""
        return np.expm1(self.stat(group, "count"))

    @cached_property
    def _shares(self) -> Floats:
        """What each group weighs against the wider one, (rows, groups)."""
        counts = np.minimum(np.expm1(self.history[:, :, _COLUMN["count"]]), WINDOW)
        shares: Floats = counts / (counts + SHRINK)
        return shares

    def empirical(self, stat: str) -> Floats:
        """A quantile of the groups, from the widest to the narrowest, each weighing n / (n + 8)."""
        if stat not in self._empirical:
            self._empirical[stat] = self._narrowed(stat)
        return self._empirical[stat]

    @cached_property
    def _empirical(self) -> dict[str, Floats]:
        """Those already reckoned: several experts ask for the same."""
        return {}

    def _narrowed(self, stat: str) -> Floats:
        found = self.stat("all", stat)
        for group in reversed(GROUPS[:-1]):
            own, share = self.stat(group, stat), self._shares[:, _ROW[group]]
            narrowed = np.where(np.isfinite(found), share * own + (1 - share) * found, own)
            found = np.where(np.isfinite(own), narrowed, found)
        return found


def see(problem: Problem, known: Known) -> Seen:
    """What was known of each attempt at its decision. LeakError where anything came later."""
    attempts, log_need = problem.attempts, problem.log_need
    log_need[~np.isfinite(problem.need)] = np.nan
    over = log_need - problem.log_asked
    own = groups(attempts)
    parts, since = [], np.full(len(problem), np.nan)
    for name in GROUPS:
        rows, counts = known.last(own[name])
        parts.append(summarise(known.values(name, log_need, rows), counts))
        if name == "key":
            since = problem.decided_s - known.values(name, attempts.end_s, rows[:, :1])[:, 0]
    for name, of in zip(RATIOS, ("key", "user"), strict=True):
        rows, counts = known.last(own[of])
        parts.append(summarise(known.values(name, over, rows), counts))
    return Seen(
        history=np.stack(parts, axis=1),
        since_s=since,
        pending=_pending(problem),
        asked=np.stack([attempts.cores, attempts.mem_bytes, attempts.gpus, attempts.limit_s], axis=1),
        log_asked=problem.log_asked,
        hour=(problem.decided_s / 3600) % 24,
    )


def _pending(problem: Problem) -> Floats:
    """How many of the user's earlier attempts had not ended at each decision."""
    user, ended = problem.attempts.user, problem.attempts.end_s
    rows = np.arange(len(problem))
    order = np.lexsort((rows, user))
    before = np.empty(len(problem))
    before[order] = np.arange(len(problem)) - np.searchsorted(user[order], user[order])
    by_end = np.lexsort((ended, user))
    rank = np.searchsorted(np.sort(ended), problem.decided_s, side="right")
    place = np.empty(len(problem), dtype=np.int64)
    place[np.argsort(ended, kind="stable")] = rows
    key = user[by_end] * (len(problem) + 1) + place[by_end]
    done = np.searchsorted(key, user * (len(problem) + 1) + rank) - np.searchsorted(user[by_end], user)
    return np.maximum(0.0, before - done)


def anchor(seen: Seen) -> Floats:
    """The need of attempts like it, in the middle: what forecasts are relative to. The request where none ended."""
    middle = seen.empirical("q500")
    return np.where(np.isfinite(middle), middle, np.where(np.isfinite(seen.log_asked), seen.log_asked, 0.0))


def features(seen: Seen) -> Floats:
    """The columns of the learned models, `FEATURES`: logarithms, relative to the anchor where they are of the need."""
    base = anchor(seen)
    columns = [seen.log_asked - base]
    with np.errstate(divide="ignore", invalid="ignore"):
        columns += [np.where(amount > 0, np.log(amount), np.nan) for amount in seen.asked.T]
        columns.append(np.log1p(np.maximum(seen.since_s, 0)))
    columns += [np.log1p(seen.pending), seen.hour]
    for group in GROUPS:
        columns.append(seen.stat(group, "count"))
        columns += [seen.stat(group, stat) - base for stat in (_NEAR_STATS if group in _NEAR else _FAR_STATS)]
    for ratio in RATIOS:
        columns += [seen.stat(ratio, "q500"), seen.stat(ratio, "most")]
    return np.stack(columns, axis=1)
