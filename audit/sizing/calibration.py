"""The online calibrator: gives a forecast the margin that its own past errors ask for.

A forecast's *score* is how far the need lay above it, in units of the forecast's own spread. The margin of a level is
that quantile of the last scores (conformal), at a level that is corrected by the *debt*: how often needs lay above the
issued forecast, beyond what the level allows, in all and for this user. What is queued without an outcome yet makes
evidence thin: the level then becomes more cautious.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass, field

import numpy as np

from audit.sizing.attempts import Flags, Floats, Ints


@dataclass(frozen=True)
class CalibrationSettings:
    """Constants of the calibrator, chosen on two public logs (docs/sizing.md) and frozen."""

    window: int = 3000  # scores that a margin is read from
    least: int = 50  # scores without which there is no forecast
    debt_gain: float = 12.0
    user_gain: float = 4.0
    debt_prior: float = 200.0  # attempts without a fault that every debt starts from
    user_prior: float = 100.0
    forget: float = 20_000.0  # attempts after which a debt counts for a third
    user_forget: float = 500.0
    cautious: float = 0.3  # the smallest and largest part of a level's share of misses it may be corrected to
    bold: float = 2.5
    pending: float = 100.0  # of one user, that double the caution
    pending_most: float = 4.0
    least_spread: float = 0.1
    beyond: float = (
        2.0  # times the most that anybody needed so far, above which no forecast goes where nothing was asked for
    )


SETTINGS = CalibrationSettings()
TINY = 1e-9  # on a logarithmic scale: equal


def spread(base: Floats, levels: Floats) -> Floats:
    """The unit of scores, (n,): the square root of the way from median to 95 % forecast; 1 for one amount."""
    if base.shape[1] == 1:
        return np.ones(len(base))
    middle, high = (int(np.searchsorted(levels, level)) for level in (0.5, 0.95))
    return np.sqrt(np.maximum(base[:, high] - base[:, middle], SETTINGS.least_spread))


@dataclass
class Calibrator:
    """What a calibrator knows: the last scores, in order of arrival and of size, and the debts."""

    levels: Floats
    users: int
    tied: bool = False  # needs equal to the forecast are common: they count for the level or against it, as is due
    recent: list[list[float]] = field(default_factory=list)  # by arrival, each one score a column
    oldest: int = 0
    ordered: list[list[float]] = field(default_factory=list)  # by size, one list a column
    debt: Floats = field(init=False)  # (2, levels): strictly above, and at or above
    weight: float = 0.0
    most: float = -np.inf  # the largest need so far
    user_debt: Floats = field(init=False)  # (users, 2, levels)
    user_weight: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.debt = np.zeros((2, len(self.levels)))
        self.user_debt = np.zeros((self.users, 2, len(self.levels)))
        self.user_weight = np.zeros(self.users)

    @property
    def scores(self) -> int:
        """How many scores the margins are read from."""
        return len(self.recent) - self.oldest

    def learn(self, score: list[float], log_need: float, above: Floats, user: int) -> None:
        """Takes the outcome of one forecast: its score by column, and by how much the need lay above what was issued.

        `above` is NaN where nothing was issued.
        """
        s = SETTINGS
        self.most = max(self.most, log_need)
        if above[0] == above[0]:
            fault = np.stack([above > TINY, above > -TINY]) - (1 - self.levels)
            self.debt = self.debt * (1 - 1 / s.forget) + fault
            self.weight = self.weight * (1 - 1 / s.forget) + 1
            self.user_debt[user] = self.user_debt[user] * (1 - 1 / s.user_forget) + fault
            self.user_weight[user] = self.user_weight[user] * (1 - 1 / s.user_forget) + 1
        self.ordered = self.ordered or [[] for _ in score]
        for column, value in zip(self.ordered, score, strict=True):
            insort(column, value)
        self.recent.append(score)
        if self.scores > s.window:
            for column, value in zip(self.ordered, self.recent[self.oldest], strict=True):
                del column[bisect_left(column, value)]
            self.oldest += 1

    @property
    def highest(self) -> float:
        """Above it no forecast goes where nothing was asked for: a request bounds advice by itself."""
        return self.most + float(np.log(SETTINGS.beyond))

    def margin(self, user: int, pending: float) -> Floats | None:
        """The margin of each level, in units of the spread; None while too few forecasts have an outcome."""
        s, count = SETTINGS, self.scores
        if count < s.least:
            return None
        allowed = 1 - self.levels
        owed = s.debt_gain * self._owed(self.debt) / (self.weight + s.debt_prior)
        owed = owed + s.user_gain * self._owed(self.user_debt[user]) / (self.user_weight[user] + s.user_prior)
        # the middle of what may be needed stays where it is, however thin the evidence
        caution = min(pending / s.pending, s.pending_most) * (2 * self.levels - 1)
        share = (allowed - owed) / (1 + caution)
        share = np.minimum(np.maximum(share, allowed * s.cautious), np.minimum(allowed * s.bold, 0.9))
        place = np.minimum(count, np.ceil((1 - share) * (count + 1)).astype(int)) - 1
        shared = len(self.ordered) == 1
        return np.array([self.ordered[0 if shared else i][p] for i, p in enumerate(place.tolist())])

    def _owed(self, debt: Floats) -> Floats:
        """How far misses lie from what a level allows."""
        if not self.tied:
            return np.asarray(debt[0])
        owed: Floats = np.where(debt[0] > 0, debt[0], np.where(debt[1] < 0, debt[1], 0.0))
        return owed


@dataclass(frozen=True)
class Calibrated:
    """What was issued, (n, levels), NaN where nothing was; and the calibrator as it stands after the last outcome."""

    issued: Floats
    calibrator: Calibrator


def within(forecasts: Floats, least: float, most: Floats | float) -> Floats:
    """Forecasts between two bounds, each level at least the one before."""
    bounded: Floats = np.maximum.accumulate(np.minimum(np.maximum(forecasts, least), most), axis=-1)
    return bounded


def calibrate(base: Floats, log_need: Floats, *, levels: Floats, user: Ints, pending: Floats, by_end: Ints, count: Ints,
              counted: Flags, requested: Flags, users: int = 0, tied: bool = False,
              least: float = -np.inf) -> Calibrated:  # fmt: skip
    """Forecasts with their margins, in the order of decisions: each sees the outcomes of `by_end[:count]` alone.

    `base` is (n, 1) or (n, levels), NaN where the expert had none. Debts are of the `counted` alone, of what
    is advised on. No forecast is below `least`, nor above the calibrator's highest where nothing was `requested`.
    """
    unit = spread(base, levels)
    scores = ((log_need[:, None] - base) / unit[:, None]).tolist()
    needs, has_request = log_need.tolist(), requested.tolist()
    known, due, nothing = np.isfinite(base[:, 0]).tolist(), counted.tolist(), np.full(len(levels), np.nan)
    issued = np.full((len(base), len(levels)), np.nan)
    calibrator = Calibrator(levels, users or int(user.max(initial=-1)) + 1, tied)
    order, counts, who, queued = by_end.tolist(), count.tolist(), user.tolist(), pending.tolist()
    done = 0
    for row, here in enumerate([*counts, len(order)]):
        while done < here:
            ended = order[done]
            done += 1
            if known[ended]:
                above = log_need[ended] - issued[ended] if due[ended] else nothing
                calibrator.learn(scores[ended], needs[ended], above, who[ended])
        if row == len(counts):
            break
        margin = calibrator.margin(who[row], queued[row]) if known[row] else None
        if margin is not None:
            most = np.inf if has_request[row] else calibrator.highest
            issued[row] = within(base[row] + unit[row] * margin, least, most)
    return Calibrated(issued, calibrator)
