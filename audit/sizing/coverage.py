"""How often needs lay at or below their forecasts: in all, by user, and in the worst stretch of a back-test."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from audit.sizing.attempts import REPORTED, Flags, Floats, Ints
from audit.sizing.scored import Scored

WINDOW = 1000  # scored attempts of the stretches of which the worst is shown
MANY, SOME = 500, 100  # scored attempts of a user: who is judged, and who is listed
NEAR = 0.02  # a user whose coverage lies within it of the level is near it
Z95 = 1.959964  # standard deviations either side that hold 95 % of a normal distribution


def coverage(scored: Scored, level: float, *, tied: bool) -> dict[str, Any]:
    """Coverage of one level, with an interval of 95 % in which attempts of one burst are not independent evidence."""
    hit, below = scored.at_or_below(level), scored.below(level)
    low, high = interval(hit, scored.burst)
    realised, under = _mean(hit), _mean(below)
    return {
        "level": level,
        "realised": realised,
        "below": under,
        "error": float(_error(level, np.array(under), np.array(realised), tied=tied)),
        "low": low,
        "high": high,
        "without_bounds": _mean(hit[~scored.cut]),
    }


def interval(hit: Flags, burst: Ints) -> tuple[float, float]:
    """Wilson's interval of 95 % of a share, for as many independent attempts as the variance between bursts leaves."""
    n = len(hit)
    if not n:
        return np.nan, np.nan
    share = hit.mean()
    _, of = np.unique(burst, return_inverse=True)
    bursts = int(of.max()) + 1
    between = np.bincount(of, weights=hit - share)
    variance = (between**2).sum() / n**2 * bursts / max(bursts - 1, 1)
    worth = min(n, share * (1 - share) / variance) if variance > 0 else bursts
    middle = (share + Z95**2 / (2 * worth)) / (1 + Z95**2 / worth)
    half = Z95 * np.sqrt(share * (1 - share) / worth + Z95**2 / (4 * worth**2)) / (1 + Z95**2 / worth)
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def by_user(scored: Scored, names: Sequence[str] | None, *, tied: bool) -> dict[str, Any]:
    """Users with many attempts who got what was promised, and each with some, most attempts first."""
    users, of, count = np.unique(scored.user, return_inverse=True, return_counts=True)
    hits = [np.bincount(of, weights=scored.at_or_below(q), minlength=len(users)) / count for q in REPORTED]
    below = [np.bincount(of, weights=scored.below(q), minlength=len(users)) / count for q in REPORTED]
    pairs = np.unique(np.stack([of, scored.burst]), axis=1)
    bursts = np.bincount(pairs[0], minlength=len(users))
    judged = count >= MANY
    listed = [int(i) for i in np.argsort(-count, kind="stable") if count[i] >= SOME]
    return {
        "least_attempts": MANY,
        "users": int(judged.sum()),
        "within_2_points": [
            {"level": q, "share": _mean(np.abs(_error(q, b, h, tied=tied))[judged] <= NEAR)}
            for q, h, b in zip(REPORTED, hits, below, strict=True)
        ],
        "listed": [
            {
                "user": str(users[i]) if names is None else names[users[i]],
                "attempts": int(count[i]),
                "bursts": int(bursts[i]),
                "realised": [{"level": q, "realised": float(h[i])} for q, h in zip(REPORTED, hits, strict=True)],
            }
            for i in listed
        ],
    }


def worst(scored: Scored, level: float, decided_s: Floats) -> dict[str, Any]:
    """The stretch of 1,000 scored attempts with the lowest coverage; nothing where there are fewer."""
    hit = scored.at_or_below(level)
    if len(hit) < WINDOW:
        return {"level": level, "realised": None, "from_s": None, "to_s": None}
    sums = np.concatenate([[0], np.cumsum(hit)])
    shares = (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW
    first = int(np.argmin(shares))
    begin, end = decided_s[scored.rows[[first, first + WINDOW - 1]]]
    return {"level": level, "realised": float(shares[first]), "from_s": float(begin), "to_s": float(end)}


def _error(level: float, below: Floats, realised: Floats, *, tied: bool) -> Floats:
    """Realised less promised; of needs often alike, how far the level lies outside [below, at or below]."""
    if not tied:
        return realised - level
    return np.where(level > realised, realised - level, np.where(level < below, below - level, 0.0))


def _mean(flags: Flags) -> float:
    return float(flags.mean()) if len(flags) else np.nan
