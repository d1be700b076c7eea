"""Rules of thumb, each written once: rivals of a back-test as they are used elsewhere, and experts of the portfolio.

Each answers the logarithm of one amount, or of one for each level.
"""

from collections.abc import Callable

import numpy as np

from audit.sizing.attempts import LEVELS, Floats
from audit.sizing.features import Seen

Rule = Callable[[Seen], Floats]
_BY_KEY = ("key", "user", "partition", "all")
_BY_USER = ("user", "partition", "all")


def request(seen: Seen) -> Floats:
    """What the user asked for; where nothing was said, the most that anybody needed of late."""
    return _else_request(seen, seen.log_asked)


def user_mean(seen: Seen) -> Floats:
    """The mean of what the user's attempts needed."""
    return _else_request(seen, seen.first("mean", _BY_USER))


def user_max(seen: Seen) -> Floats:
    """The most that the user's attempts needed."""
    return _else_request(seen, seen.first("most", _BY_USER))


def last_two(seen: Seen) -> Floats:
    """The mean of the last two of the same user and name."""
    return _else_request(seen, seen.first("two_mean", _BY_KEY))


def five_max(seen: Seen) -> Floats:
    """The most of the last five of the same user and name, times 1.2."""
    return _else_request(seen, seen.first("five_most", _BY_KEY) + np.log(1.2))


def p95(seen: Seen) -> Floats:
    """The 95th percentile of the same user and name, times 1.15."""
    return _else_request(seen, seen.first("q950", _BY_KEY) + np.log(1.15))


def key_max(seen: Seen) -> Floats:
    """The most that the same user and name needed, times 1.15."""
    return _else_request(seen, seen.first("most", _BY_KEY) + np.log(1.15))


def request_max(seen: Seen) -> Floats:
    """The most that the very same request of the same user and name needed."""
    return _else_request(seen, seen.first("most", ("request", *_BY_KEY)))


def empirical(seen: Seen) -> Floats:
    """Quantiles of those most like it, the narrower group weighing n / (n + 8)."""
    return np.stack([_else_request(seen, seen.empirical(f"q{round(1000 * level)}")) for level in LEVELS], axis=1)


def scaled_request(seen: Seen) -> Floats:
    """The request times quantiles of the share that this user, under this name first, made use of."""
    found = []
    for level in LEVELS:
        ratio = seen.first(f"q{round(1000 * level)}", ("key_ratio", "user_ratio"))
        found.append(_else_request(seen, seen.log_asked + np.where(np.isfinite(ratio), ratio, 0.0)))
    return np.stack(found, axis=1)


def _else_request(seen: Seen, found: Floats) -> Floats:
    known = np.where(np.isfinite(found), found, seen.log_asked)
    most = seen.stat("all", "most")
    return np.where(np.isfinite(known), known, np.where(np.isfinite(most), most, np.nan))


BASELINES: dict[str, Rule] = {
    rule.__name__: rule for rule in (request, user_mean, user_max, last_two, five_max, p95, key_max)
}
EXPERTS: dict[str, Rule] = {
    rule.__name__: rule for rule in (empirical, request_max, key_max, last_two, five_max, scaled_request)
}
