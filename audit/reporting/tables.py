"""The report's tables, cut to what a page holds; what is cut is summed up in one row, never dropped."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.wording import Report

_SUMMED = ("attempts", "held_usd", "core_hours", "gpu_hours", "mem_gib_hours")


@dataclass(frozen=True)
class PartitionRow:
    """One partition, or several summed (`partition` is then None), in the window; None: not measured."""

    partition: str | None
    members: int
    attempts: int | None
    held_usd: float | None
    core_hours: float | None
    gpu_hours: float | None
    mem_gib_hours: float | None
    share: float | None


@dataclass(frozen=True)
class Partitions:
    """Rows by dollars, the largest first, the rest as one row, and the total over all."""

    rows: tuple[PartitionRow, ...]
    total: PartitionRow


@dataclass(frozen=True)
class Evidence:
    """The files shown, how many more there are, and the totals over all of them."""

    files: tuple[Mapping[str, Any], ...]
    more: int
    totals: Mapping[str, int]


def partitions(report: Report, limit: int) -> Partitions:
    """The partition table with at most `limit` rows above its total."""
    everything = sorted(report["by_partition"], key=lambda row: (-(row["held_usd"] or 0.0), row["partition"] or ""))
    cut = limit if len(everything) <= limit else limit - 1
    total = _summed(everything, None)
    rows = [_summed([row], total.held_usd, row["partition"] or "(none)") for row in everything[:cut]]
    if everything[cut:]:
        rows.append(_summed(everything[cut:], total.held_usd))
    return Partitions(tuple(rows), total)


def evidence(report: Report, limit: int) -> Evidence:
    """The evidence table with at most `limit` files; its totals count every file."""
    files = report["evidence"]
    cut = limit if len(files) <= limit else limit - 1
    totals = {
        key: sum(file[key] or 0 for file in files)
        for key in ("records", "attempts", "steps", "rejects", "other_cluster")
    }
    return Evidence(tuple(files[:cut]), len(files) - len(files[:cut]), totals)


def _summed(rows: list[Mapping[str, Any]], of_usd: float | None, name: str | None = None) -> PartitionRow:
    sums = {key: _sum(row[key] for row in rows) for key in _SUMMED}
    held = sums["held_usd"]
    whole = of_usd if of_usd is not None else held
    attempts = sums.pop("attempts")
    return PartitionRow(
        partition=name,
        members=len(rows),
        attempts=None if attempts is None else int(attempts),
        share=held / whole if whole and held is not None else None,
        **sums,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them was not measured: a part is not the whole."""
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)
