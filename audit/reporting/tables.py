"""The report's tables, cut to what a page holds; what is cut is summed up in one row, never dropped."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.fitting import fitted
from audit.reporting.numerals import amount, count_of
from audit.reporting.won import killed_of
from audit.reporting.wording import Report, node_sizes_known

BUCKETS = ("held_usd", "used_usd", "kept_usd", "not_measured_usd", "lost_usd", "recoverable_usd")
UNHELD = ("idle_usd", "down_usd")
PARTITION_ROOM = {True: 92.0, False: 179.0}  # points, of a name beside the columns with UNHELD, and without


@dataclass(frozen=True)
class PartitionRow:
    """One partition (its name cut to its column), or several summed, in dollars of the window; None: not measured.

    `elsewhere` is set where its nodes are in other partitions too: what they leave unheld stands in the row of those.
    """

    name: str
    attempts: int
    usd: Mapping[str, float | None]
    elsewhere: bool = False


@dataclass(frozen=True)
class Partitions:
    """Rows by dollars, the largest first, the rest as one row; the slice as a whole and its shares of `of`.

    `columns` are the dollars shown, `unknown` those of them that nothing measured; `is_shared`: nodes are in several.
    """

    rows: tuple[PartitionRow, ...]
    columns: tuple[str, ...]
    unknown: frozenset[str]
    total: Mapping[str, float | None]
    shares: Mapping[str, float | None]
    of: str
    is_shared: bool


@dataclass(frozen=True)
class Action:
    """One thing to do: what it concerns, its dollars of the window, what it frees (None: not counted), its risk.

    `words` says what the dollars are: expected, net of reruns, or at most; beside what is expected `high` is its
    ceiling, and `frees` is gross.
    """

    action: str
    of: str
    usd: float
    words: str
    high: float | None
    frees: str | None
    risk: str
    risk_reason: str


@dataclass(frozen=True)
class Actions:
    """The first few actions and their sum; `more` are not shown."""

    rows: tuple[Action, ...]
    usd: float
    frees: str | None
    more: int


@dataclass(frozen=True)
class Evidence:
    """The files shown, how many more there are, and the totals over all of them."""

    files: tuple[Mapping[str, Any], ...]
    more: int
    totals: Mapping[str, int]


def partitions(report: Report, limit: int) -> Partitions:
    """The partition table with at most `limit` rows above its total, in the report's order: most dollars first."""
    by_node = node_sizes_known(report)
    columns = BUCKETS + (UNHELD if by_node else ())
    cost, won = report["cost"], report["recoverable"]["high_usd"]
    total = {key: won if key == "recoverable_usd" else cost[key] for key in columns}
    guessed = {"used_usd", "kept_usd", "recoverable_usd"} if won is None else set()
    unknown = frozenset(key for key in columns if total[key] is None or key in guessed)
    total |= dict.fromkeys(unknown)
    base, of = (cost["installed_usd"], "what is installed") if by_node else (cost["held_usd"], "what was held")
    every = report["by_partition"]
    cut = limit if len(every) <= limit else limit - 1
    shared = {name for row in every for name in _members(row["partition"])}
    rows = [_partition(row, columns, shared, PARTITION_ROOM[by_node]) for row in every[:cut]]
    if every[cut:]:
        rest = {key: _sum(row[key] for row in every[cut:]) for key in columns}
        rows.append(
            PartitionRow(count_of(len(every) - cut, "other row"), sum(row["attempts"] for row in every[cut:]), rest)
        )
    shares = {key: usd / base if base and usd is not None else None for key, usd in total.items()}
    return Partitions(tuple(rows), columns, unknown, total, shares, of, bool(shared) and by_node)


def actions(report: Report, limit: int, *, requests: bool) -> Actions:
    """The first `limit` actions, most dollars first; without `requests` only those against failures."""
    every = [row for row in report["actions"] if requests or row["kind"] == "failure"]
    shown = every[:limit]
    frees = [_freed(row) for row in shown if row["kind"] == "request"]
    nodes, gpus = (_sum(pair[place] for pair in frees) if frees else None for place in (0, 1))
    return Actions(
        rows=tuple(_action(row) for row in shown),
        usd=math.fsum(_dollars(row) for row in shown),
        frees=_frees(nodes, gpus),
        more=len(every) - len(shown),
    )


def evidence(report: Report, limit: int) -> Evidence:
    """The evidence table with at most `limit` files; its totals count every file."""
    files = report["evidence"]
    cut = limit if len(files) <= limit else limit - 1
    totals = {
        key: sum(file[key] or 0 for file in files)
        for key in ("records", "attempts", "steps", "rejects", "other_cluster")
    }
    return Evidence(tuple(files[:cut]), len(files) - len(files[:cut]), totals)


def _partition(row: Mapping[str, Any], columns: tuple[str, ...], shared: set[str], room: float) -> PartitionRow:
    name = row["partition"] or "(none)"
    elsewhere = not row["nodes"] and name in shared
    return PartitionRow(fitted(name, room), row["attempts"], {key: row[key] for key in columns}, elsewhere)


def _members(name: str | None) -> list[str]:
    """The partitions of a row that stands for nodes in several of them."""
    return name.split(",") if name and "," in name else []


def _dollars(row: Mapping[str, Any]) -> float:
    usd: float = row["usd"] if row["expected_usd"] is None else row["expected_usd"]
    return usd


def _freed(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Nodes and GPUs, by what is expected where that is known."""
    name = "freed" if row["expected_usd"] is None else "expected_freed"
    return row[f"{name}_nodes"], row[f"{name}_gpus"]


def _action(row: Mapping[str, Any]) -> Action:
    is_expected, risk = row["expected_usd"] is not None, row["risk_reason"]
    of = count_of(row["attempts"], "attempt")
    if is_expected:
        of = f"{count_of(row['of'], 'attempt')} advised to ask for less"
        risk = f"would have killed {killed_of(row['killed'], row['of'])}"
    elif row["families"] is not None:
        of += f" of {row['families']:,} {'family' if row['families'] == 1 else 'families'}"
    return Action(
        action=row["action"],
        of=of,
        usd=_dollars(row),
        words="expected" if is_expected else "at most",
        high=row["usd"] if is_expected else None,
        frees=_frees(*_freed(row)),
        risk=row["risk"],
        risk_reason=risk,
    )


def _frees(nodes: float | None, gpus: float | None) -> str | None:
    if nodes is None:
        return None
    return f"{amount(nodes)} nodes" + (f", {amount(gpus)} GPUs" if gpus else "")


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them was not measured: a part is not the whole."""
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)
