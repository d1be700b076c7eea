"""What the model's back-test says, for the page on foresight: coverage as promised and as it came, and its rivals.

Read from `sizing` of report.json (schema audit-backtest/1). What it does not know is None, and shown as such.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.reporting.hostile import visible
from audit.reporting.numerals import percent

Row = Mapping[str, Any]
LEVELS = (0.5, 0.9, 0.95, 0.99)
JUDGED = 0.95  # the level at which users and the worst stretch are shown
COMPARED = 0.99  # the level at which methods are
FEWEST_KILLS = 30  # that can tell methods apart where all kill the same share
RIVALS = 7  # beside the model; the back-test has them all
_TARGETS = {
    "memory": "Memory",
    "walltime": "Walltime",
    "cores": "Cores",
    "gpus": "GPUs",
    "vram": "GPU memory",
    "gpu_activity": "GPU activity",
}
_METHODS = {
    "model": "The model",
    "request": "Keep the request",
    "user_mean": "Mean of the user",
    "user_max": "Most of the user",
    "last_two": "Mean of the last two",
    "five_max": "Most of the last five × 1.2",
    "p95": "p95 of user and name × 1.15",
    "key_max": "Most of user and name × 1.15",
    "request_max": "Most of the same request",
    "empirical": "Quantiles of those like it",
    "scaled_request": "Request × share used",
}


@dataclass(frozen=True)
class Realised:
    """One level: what share of needs lay at or below its forecast, with the interval of 95 %; None: not known."""

    level: float
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TargetRow:
    """One target: how many attempts were judged and how many bursts these are worth, coverage, and for whom.

    `abstained` and `worst` are shares; `users` are those with many attempts, `near` of them got what was promised to
    within 2 points. None: too few, or not known.
    """

    name: str
    scored: int
    bursts: int
    coverage: tuple[Realised, ...]
    abstained: float | None
    near: int | None
    users: int
    worst: float | None


@dataclass(frozen=True)
class Outcome:
    """What a method came to: killed `n of N`, asked and wasted as shares of what was needed; None: not known."""

    killed: int
    of: int
    over_request: float | None
    waste: float | None


@dataclass(frozen=True)
class MethodRow:
    """One method as it is used elsewhere, and with a margin of its own; None: it is not used so."""

    name: str
    is_model: bool
    as_issued: Outcome | None
    own: Outcome | None


@dataclass(frozen=True)
class Rivalry:
    """The methods on one target, the model first, then by waste; `more` are not shown.

    `equal`: what they waste at equal kills, or that these are too few to tell; None: not known.
    """

    target: str
    rows: tuple[MethodRow, ...]
    more: int
    equal: str | None


def targets(back_test: Row | None) -> list[TargetRow]:
    """A row a target, in the back-test's order; none where no back-test is there."""
    return [_target(row) for row in _listed(back_test)]


def rivalry(back_test: Row | None) -> Rivalry | None:
    """The methods on memory, else on the first target whose want kills; None without a back-test."""
    found = _listed(back_test)
    if not found:
        return None
    first = next((row for row in found if row["kills"]), found[0])
    target = next((row for row in found if row["target"] == "memory"), first)
    names = dict.fromkeys(row["method"] for row in target["methods"] if row["role"] in ("model", "rival"))
    rows = sorted((_method(name, target["methods"]) for name in names), key=_rank)
    return Rivalry(_target_name(target), tuple(rows[: 1 + RIVALS]), len(rows[1 + RIVALS :]), _equal(target))


def _listed(back_test: Row | None) -> Sequence[Row]:
    found: Sequence[Row] = back_test["targets"] if back_test else ()
    return found


def _target(row: Row) -> TargetRow:
    by_level = {one["level"]: one for one in row["coverage"]}
    of_users = row["per_user"]
    near = next((one["share"] for one in of_users["within_2_points"] if one["level"] == JUDGED), None)
    worst = next((one["realised"] for one in row["worst_1000"] if one["level"] == JUDGED), None)
    return TargetRow(
        name=_target_name(row),
        scored=row["scored"],
        bursts=row["bursts"],
        coverage=tuple(_realised(level, by_level.get(level)) for level in LEVELS),
        abstained=row["abstained"]["share"],
        near=None if near is None or not of_users["users"] else round(near * of_users["users"]),
        users=of_users["users"],
        worst=worst,
    )


def _target_name(row: Row) -> str:
    return _TARGETS.get(row["target"]) or visible(str(row["target"]), 24)


def _realised(level: float, found: Row | None) -> Realised:
    if found is None:
        return Realised(level, None, None, None)
    return Realised(level, found["realised"], found["low"], found["high"])


def _method(name: str, every: Sequence[Row]) -> MethodRow:
    mine = [row for row in every if row["method"] == name]
    issued = next((row for row in mine if row["margin"] == "as_issued"), None)
    own = next((row for row in mine if row["margin"] != "as_issued" and row["level"] == COMPARED), None)
    shown = _METHODS.get(name) or visible(name.replace("_", " "), 28).capitalize()
    return MethodRow(shown, name == "model", _outcome(issued), _outcome(own))


def _outcome(row: Row | None) -> Outcome | None:
    return None if row is None else Outcome(row["kills"], row["advised"], row["over_request"], row["waste_share"])


def _rank(row: MethodRow) -> tuple[bool, float]:
    """The model, then by waste with a margin of its own, what has none last."""
    best = row.own or row.as_issued
    return not row.is_model, float("inf") if row.own is None or best is None or best.waste is None else best.waste


def _equal(target: Row) -> str | None:
    """The model's waste beside the best rival's where both kill the same share of the later half of those advised on.

    The first share whose kills are not too few, else that they are; None where nothing is known of them.
    """
    compared = [row for row in target["equal_kills"] if row["model_to_fixed"] is not None]
    advised = next((row["advised"] for row in target["methods"] if row["role"] == "model"), None)
    if not compared or advised is None:
        return None
    later = advised // 2
    counted = [(row, int(row["kill_share"] * later + 1e-9)) for row in compared]
    found, kills = next((pair for pair in counted if pair[1] >= FEWEST_KILLS), counted[-1])
    so_many = f"some {kills:,} of {later:,}, the later half"
    if kills < FEWEST_KILLS:
        return (
            f"Where all kill {percent(found['kill_share'], 0)} ({so_many}), kills are too few to tell who wastes less"
        )
    ratio, rival = found["model_to_fixed"], found["best_fixed"]
    less = f"{percent(abs(1 - ratio), 0)} {'less' if ratio <= 1 else 'more'} than"
    name = _METHODS.get(rival) or visible(rival.replace("_", " "), 28)
    both = f"Where both kill {percent(found['kill_share'], 0)} ({so_many}), the model wastes {less} the best rival"
    return f"{both} fixed in advance ({name[:1].lower()}{name[1:]})"
