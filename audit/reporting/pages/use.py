"""The page on memory, cores and walltime: what was used of what was asked, by the hours that were held so."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting import wording
from audit.reporting.charts import Column, Histogram, histogram, scale
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.headline import expected_through, won_through
from audit.reporting.numerals import percent
from audit.reporting.won import is_expected
from audit.reporting.wording import Report

WIDTH = 367.0  # 129.5 mm: nine of the page's twelve columns
_HEIGHT = 74.0
_HOURS = {"memory": "GiB-hours", "cores": "core-hours", "gpus": "GPU-hours", "walltime": "elapsed hours"}
_NAMES = {"memory": "Memory", "cores": "Cores", "gpus": "GPUs", "walltime": "Walltime"}
_SHORT = {"memory": "mem", "cores": "core", "gpus": "gpu"}
_ALONE = {"walltime": ("ended", "otherwise")}  # what stands apart at the right, where it is not "not measured"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Use:
    """One resource's chart; `chart` None where nothing was measured, and `why` then says why."""

    name: str
    finding: str
    known: str
    chart: Histogram | None
    why: str


@dataclass(frozen=True)
class UseRow:
    """One resource in the table. Shares are of 1; `usd` is what could be won back through it at most, `expected_usd`
    what advice on it is expected to; None: not measured, or no model.

    `has_dollars` is False where asking for less frees nothing by itself.
    """

    name: str
    unit: str
    hours: float | None
    measured: float | None
    used: float | None
    attempts: int
    of_attempts: int
    has_dollars: bool
    usd: float | None
    expected_usd: float | None


def use(report: Report) -> dict[str, Any]:
    """What the page shows."""
    money = dollars(report, [row["usd"] for row in report["recoverable_by_resource"]])
    parts = {row["resource"]: _parts(row) for row in report["use"]}
    tallest = max((part for shares in parts.values() if shares for part in shares), default=1.0)
    return {
        "lede": _lede(report, parts),
        "charts": [_use(report, row, parts[row["resource"]], scale(tallest)) for row in report["use"]],
        "rows": _rows(report, money),
        "total": money.cell(report["recoverable"]["high_usd"]),
        "is_expected": is_expected(report),
        "expected_total": money.cell(report["recoverable"]["expected_usd"]),
        "unit": money.unit,
        "asks_too_little": sum(row["asks_too_little"] for row in report["families"]),
        "peaks_known": any(row["attempts"] for row in report["use"] if row["resource"] == "memory"),
    }


def _parts(row: Row) -> list[float] | None:
    """Of a resource's hours: ten tenths, more than asked, then not known; None where nothing was measured."""
    hours = [*(row["hours"] or []), row["over_hours"], row["not_measured_hours"]]
    if row["hours"] is None or None in hours or not math.fsum(hours[:-1]):
        return None
    return [part / math.fsum(hours) for part in hours]


def _lede(report: Report, parts: Mapping[str, list[float] | None]) -> str:
    efficiency = report["efficiency"]
    used = [
        f"{percent(efficiency[short], 0)} of the {name}"
        for name, short in (("memory", "mem"), ("cores", "core"))
        if efficiency[short] is not None
    ]
    first = "What jobs used of the memory and cores they held was not measured"
    if used:
        first = f"Where it was measured, jobs used {wording.listed(used)} that they held"
    limits = parts.get("walltime")
    if limits is None:
        return f"{first}."
    return f"{first}; {percent(math.fsum(limits[:5]), 0)} of elapsed hours ended within half of their limit."


def _use(report: Report, row: Row, shares: list[float] | None, steps: list[float]) -> Use:
    name = row["resource"]
    if shares is None:
        if not row["attempts"] and not row["not_measured_attempts"]:
            return Use(_NAMES[name], "none held", "", None, "No attempt held any, as far as the accounting states.")
        why = wording.reason(report, f"efficiency.{_SHORT.get(name, name)}")
        return Use(_NAMES[name], "not measured", "", None, wording.sentence(why or "no attempt carries a value"))
    below, hours = percent(math.fsum(shares[:5]), 0), _HOURS[name]
    findings = {
        "memory": f"{below} of {hours} peaked below half of what was asked",
        "cores": f"{below} of {hours} used less than half of what was asked",
        "walltime": f"{below} of {hours} ended within half of the limit",
    }
    known = f"{percent(1 - shares[11])} of {hours} {'completed under a limit' if name in _ALONE else 'measured'}"
    return Use(_NAMES[name], findings[name], known, _chart(name, shares, steps), "")


def _chart(name: str, shares: list[float], steps: list[float]) -> Histogram:
    """Tenths of the request from the left, those below half apart in colour; what is no tenth at the right."""
    shown = [percent(share, 0)[:-1] for share in shares]
    columns = [
        Column(shares[tenth], shown[tenth], (f"{10 * tenth}–{10 * tenth + 10}",), "spare" if tenth < 5 else "used")
        for tenth in range(10)
    ]
    columns.append(Column(shares[10], shown[10], ("more than", "asked"), "used", apart=True))
    alone = _ALONE.get(name, ("not", "measured"))
    columns.append(Column(shares[11], shown[11], alone, "unmeasured", apart=True))
    words = "; ".join(f"{' '.join(column.words)}: {column.shown}" for column in columns)
    return histogram(
        columns,
        [(step, percent(step, 0)) for step in steps],
        left=26.0,
        right=WIDTH - 5,
        top=13.0,
        height=_HEIGHT,
        gap=12.0,
        alt=f"{_NAMES[name]}: percent of {_HOURS[name]} by percent used of what was asked. {words}",
    )


def _rows(report: Report, money: Dollars) -> list[UseRow]:
    """Memory, cores, GPUs where there are any, walltime."""
    held = report["hours"]["held"]
    rows = {row["resource"]: row for row in report["measured"]}
    found = []
    for name, key in (("memory", "mem_gib"), ("cores", "core"), ("gpus", "gpu")):
        row = rows.get(name)
        if row is None or (name == "gpus" and report["gpus"] is None):
            continue
        found.append(
            UseRow(
                name=_NAMES[name],
                unit=_HOURS[name],
                hours=held[key],
                measured=row["held_hours_share"] if row["attempts"] else None,
                used=report["efficiency"][_SHORT[name]],
                attempts=row["attempts"],
                of_attempts=row["of_attempts"],
                has_dollars=True,
                usd=money.cell(won_through(report, name)),
                expected_usd=money.cell(expected_through(report, name)),
            )
        )
    return [*found, *(_walltime(row) for row in report["use"] if row["resource"] == "walltime")]


def _walltime(row: Row) -> UseRow:
    shares = _parts(row)
    hours = [*(row["hours"] or []), row["over_hours"] or 0.0, row["not_measured_hours"]]
    return UseRow(
        name=_NAMES["walltime"],
        unit=_HOURS["walltime"],
        hours=None if None in hours else math.fsum(hours),
        measured=None if shares is None else 1 - shares[11],
        used=None,
        attempts=row["attempts"],
        of_attempts=row["attempts"] + row["not_measured_attempts"],
        has_dollars=False,
        usd=None,
        expected_usd=None,
    )
