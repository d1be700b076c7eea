"""The page on who holds what: job families by what could be won back from their requests, then accounts and users.

Families go by what advice is expected to win back where a model was replayed, else by the ceiling; accounts and users
are shown with the ceiling.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from audit.reporting.asked import RESOURCES, Request, request
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.fitting import fitted, fitted_together, width
from audit.reporting.headline import nothing_won
from audit.reporting.numerals import count_of, percent
from audit.reporting.won import is_expected
from audit.reporting.wording import Report

FAMILIES = 10
LINES = 30  # of the first lines of a family and those below them, together
_OF_ADVICE = 3  # fewer where head, total and note speak of advice
HOLDERS = 7  # rows of accounts and of users above their total: six and the others
FAMILY_ROOM, GPU_ROOM, HOLDER_ROOM = 132.0, 73.0, 73.0  # points of names; of a family GPU_ROOM more without GPUs
SUB_SIZE = 7.2
Row = Mapping[str, Any]
_UNKNOWN = "What jobs used was not measured, so whether they ask for too much is not known."


@dataclass(frozen=True)
class FamilyRow:
    """One family, its names cut to their column.

    `usd` is recoverable (expected, else at most), or held where nothing is; `of_held` what part of its held dollars
    that is; `high` the ceiling beside what is expected. `killed` and `slowed` are attempts, of `of` advised to hold
    less; None: no model.
    """

    family: str
    account: str
    user: str
    partition: str
    attempts: int
    asks_too_little: int
    requests: Mapping[str, Request]
    usd: float | None
    of_held: float | None
    high: float | None
    killed: int | None
    of: int | None
    slowed: int | None


@dataclass(frozen=True)
class Families:
    """The families with most dollars and what the others come to; `rest_most` is the most that one of these has.

    `rest_losing` of these lose by the advice: reruns cost more than it wins. `total_killed`: the report's, n of N.

    `rest_name` is None where there are no others.
    """

    rows: tuple[FamilyRow, ...]
    rest_name: str | None
    total_name: str
    rest_attempts: int
    rest_usd: float
    rest_most: float
    rest_losing: int
    total_usd: float | None
    total_killed: tuple[int, int] | None


@dataclass(frozen=True)
class HolderRow:
    """What one account or user held, or several summed (`name` is then None); recoverable None: not measured."""

    name: str | None
    members: int
    held: float | None
    lost: float | None
    recoverable: float | None


@dataclass(frozen=True)
class Holders:
    """Accounts or users, most recoverable dollars first, the rest as one row, and all of them."""

    noun: str
    rows: tuple[HolderRow, ...]
    total: HolderRow
    total_name: str


def who(report: Report) -> dict[str, Any]:
    """What the page shows."""
    key, ranked = _ranked(report)
    money = dollars(report, [row[key] for row in ranked])
    shown = RESOURCES[1:] if report["gpus"] is None else RESOURCES
    holders = dollars(report, [report["cost"]["held_usd"]])
    return {
        "to_win": key != "held_usd",
        "is_expected": key == "expected_usd",
        "is_advised": report["recoverable"]["kills"] is not None,
        "lede": _lede(report, ranked, key),
        "families": _families(report, ranked, key, money),
        "resources": [(name, _known(ranked[: _fitting(ranked)], name)) for name in shown],
        "too_little": any(row["asks_too_little"] for row in ranked[: _fitting(ranked)]),
        "unit": money.unit,
        "holders": [_holders(report, "accounts", "account", holders), _holders(report, "users", "user", holders)],
        "holders_unit": holders.unit,
    }


def _ranked(report: Report) -> tuple[str, list[Row]]:
    """By which dollars families are ranked, and those that have some: expected, else at most, else held."""
    families = report["families"]
    if is_expected(report) and any(row["expected_usd"] > 0 for row in families):
        return "expected_usd", sorted(filter(_is_moved, families), key=lambda row: -row["expected_usd"])
    if to_win := [row for row in families if (row["recoverable_usd"] or 0.0) > 0]:
        return "recoverable_usd", to_win
    return "held_usd", sorted(families, key=lambda row: -(row["held_usd"] or 0.0))


def _is_moved(row: Row) -> bool:
    """Whether advice wins back something of a family, or loses by it."""
    return bool(row["expected_usd"])


def _fitting(ranked: Sequence[Row]) -> int:
    """How many families the page holds: fewer where they need lines of their own for slowed, or for too little."""
    lines = accumulate(2 + bool(row["slowed"]) + bool(row["asks_too_little"]) for row in ranked[:FAMILIES])
    return sum(sofar <= LINES - _OF_ADVICE * (ranked[0]["killed"] is not None) for sofar in lines)


def _families(report: Report, ranked: Sequence[Row], key: str, money: Dollars) -> Families:
    shown, rest = ranked[: _fitting(ranked)], ranked[_fitting(ranked) :]
    others = len(report["families"]) - len(shown)
    won = report["recoverable"]
    total = {"expected_usd": won["expected_usd"], "recoverable_usd": won["high_usd"]}.get(
        key, report["cost"]["held_usd"]
    )
    attempts = sum(row["attempts"] for row in report["families"])
    room = FAMILY_ROOM + (GPU_ROOM if report["gpus"] is None else 0.0)
    return Families(
        rows=tuple(_family(row, key, money, room) for row in shown),
        rest_name=_counted(others, "other ") if others else None,
        total_name=_all(_counted(len(report["families"]))),
        rest_attempts=attempts - sum(row["attempts"] for row in shown),
        rest_usd=_sum(row[key] for row in rest) * money.factor,
        rest_most=max((row[key] or 0.0 for row in rest), default=0.0) * money.factor,
        rest_losing=sum((row[key] or 0.0) < 0 for row in rest),
        total_usd=money.cell(total),
        total_killed=None if won["kills"] is None else (won["kills"]["killed"], won["kills"]["of"]),
    )


def _all(counted: str) -> str:
    return counted if counted.startswith("1 ") else f"All {counted}"


def _counted(families: int, which: str = "") -> str:
    return f"{families:,} {which}{'family' if families == 1 else 'families'}"


def _family(row: Row, key: str, money: Dollars, room: float) -> FamilyRow:
    held, usd = row["held_usd"], row[key]
    user = row["user"] if row["users"] == 1 else count_of(row["users"], "user") if row["users"] else "user not stated"
    where = row["partition"] if row["partitions"] == 1 else count_of(row["partitions"], "partition")
    names = (row["account"] or "(no account)", user or "user not stated", where or "(none)")
    account, user, where = fitted_together(names, room - 2 * width(" · ", SUB_SIZE), SUB_SIZE)
    return FamilyRow(
        family=fitted(row["family"] or "(no name)", room),
        account=account,
        user=user,
        partition=where,
        attempts=row["attempts"],
        asks_too_little=row["asks_too_little"],
        requests={name: request(row, name) for name in RESOURCES},
        usd=money.cell(usd),
        of_held=usd / held if held and usd is not None and key == "recoverable_usd" else None,
        high=money.cell(row["recoverable_usd"]) if key == "expected_usd" else None,
        killed=row["killed"],
        of=row["of"],
        slowed=row["slowed"],
    )


def _known(rows: Sequence[Row], resource: str) -> str:
    """What is known of a resource's use in these rows: its "need", only the "mean", or "nothing"."""
    requests = [request(row, resource) for row in rows]
    if any(one.need is not None for one in requests):
        return "need"
    return "mean" if any(one.mean is not None for one in requests) else "nothing"


def _lede(report: Report, ranked: Sequence[Row], key: str) -> str:
    if not ranked:
        return "No attempt held anything in the window."
    count = _fitting(ranked)
    first = f"{_share(ranked[:count], ranked, key)} of the dollars held"
    if key == "held_usd":
        known = report["recoverable"]["high_usd"] is not None
        why = nothing_won(report) if known else _UNKNOWN
        return f"{why} {_most(ranked, count)} {first}."
    what = "expected" if key == "expected_usd" else "recoverable"
    ranked = [row for row in ranked if row[key] > 0]
    too_little = sum(row["asks_too_little"] for row in report["families"])
    they = "it" if too_little == 1 else "they"
    second = f" {count_of(too_little, 'attempt')} used more than {they} had asked for." if too_little else ""
    part = "" if report["coverage"]["headline_allowed"] else "Of the measured part: "
    if len(ranked) == 1:
        return f"{part}One family has all of the {what} dollars.{second}"
    some, words = (ranked[:2], "the first two") if len(ranked) > 2 else (ranked[:1], "the first")
    shares = f"{words} {_share(some, ranked, key)}"
    if len(ranked) <= count:
        return f"{part}{len(ranked)} families have all of the {what} dollars, {shares}.{second}"
    rest = _share(ranked[:count], ranked, key)
    return f"{part}{count} of {len(ranked):,} families have {rest} of the {what} dollars, {shares}.{second}"


def _most(ranked: Sequence[Row], count: int) -> str:
    if len(ranked) > count:
        return f"The {count} families that hold most have"
    return "The one family has" if len(ranked) == 1 else "The families shown have"


def _share(part: Iterable[Row], of: Iterable[Row], key: str) -> str:
    whole = _sum(row[key] for row in of)
    return percent(_sum(row[key] for row in part) / whole, 0) if whole else "none"


def _holders(report: Report, key: str, noun: str, money: Dollars) -> Holders:
    every = report[key]
    cut = HOLDERS if len(every) <= HOLDERS else HOLDERS - 1
    rows = [_holder(report, [row], money, fitted(row[noun] or f"(no {noun})", HOLDER_ROOM)) for row in every[:cut]]
    if every[cut:]:
        rows.append(_holder(report, every[cut:], money, None))
    cost = report["cost"]
    total = HolderRow(
        None,
        len(every),
        money.cell(cost["held_usd"]),
        money.cell(cost["lost_usd"]),
        money.cell(report["recoverable"]["high_usd"]),
    )
    return Holders(noun, tuple(rows), total, _all(count_of(len(every), noun)))


def _holder(report: Report, rows: Sequence[Row], money: Dollars, name: str | None) -> HolderRow:
    won = [row["recoverable_usd"] for row in rows if _is_measured(row)]
    known = report["recoverable"]["high_usd"] is not None and won
    sums = {key: [row[key] for row in rows] for key in ("held_usd", "lost_usd")}
    held, lost = (None if None in values else math.fsum(values) for values in sums.values())
    return HolderRow(name, len(rows), money.cell(held), money.cell(lost), money.cell(math.fsum(won)) if known else None)


def _is_measured(row: Row) -> bool:
    """Whether recoverable dollars of 0 mean none: some of what ended well was measured, or nothing ended well."""
    if row["recoverable_usd"] is None:
        return False
    seen = [row[key] for key in ("used_usd", "kept_usd", "recoverable_usd")]
    return any(seen) or not row["not_measured_usd"]


def _sum(values: Iterable[float | None]) -> float:
    return math.fsum(value for value in values if value is not None)
