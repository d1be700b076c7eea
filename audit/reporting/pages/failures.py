"""What failed and what it cost: lost dollars by how attempts ended, and the job families that lost the most."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.reporting.charts import LyingBar, lying_bars, scale
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.fitting import fitted
from audit.reporting.hostile import visible
from audit.reporting.numerals import axis_dollars, count_of, percent, whole
from audit.reporting.wording import Report

CAUSE_ROWS = 6
CAUSE_LETTERS = 24
FAMILY_ROWS = 8  # report.json lists all

WIDTH, LEFT, PLOT_END = 493.2, 112.0, 388.0  # points: 174 mm wide, the bars between their names and their dollars
TOP, ROW, BAR = 14.0, 15.0, 9.5
FAMILY_ROOM, ACCOUNT_ROOM, USER_ROOM = 124.0, 64.0, 59.0  # the columns of names

MEANING = {
    "FAILED": "ended with an error of its own",
    "TIMEOUT": "reached its time limit",
    "OUT_OF_MEMORY": "used more memory than it held",
    "NODE_FAIL": "a node of it failed",
    "BOOT_FAIL": "its nodes did not boot",
    "DEADLINE": "reached its deadline",
    "PREEMPTED": "gave way to a job of higher rank",
    "REQUEUED": "was put back into the queue",
}


@dataclass(frozen=True)
class Cause:
    """One way to end, or several summed (`name` is then None). Hours and `usd` (as cells show it) None: not known.

    `share` is of all lost dollars, 0 to 1.
    """

    name: str | None
    members: int
    meaning: str | None
    attempts: int
    of_attempts: float | None
    core_hours: float | None
    gpu_hours: float | None
    usd: float | None
    share: float | None
    action: str | None


@dataclass(frozen=True)
class LossChart:
    """Lost dollars as bars, longest first, on one scale (points); `ticks` are places on it with their labels."""

    left: float
    bar: float
    bars: tuple[tuple[Cause, LyingBar], ...]
    ticks: tuple[tuple[float, str], ...]
    height: float
    alt: str


@dataclass(frozen=True)
class LossyFamily:
    """One job family, or several summed (`family` is then None); `share` is of all lost dollars, `own` of its own."""

    account: str
    family: str | None
    user: str
    members: int
    lost_attempts: int
    attempts: int
    usd: float | None
    share: float | None
    own: float | None


def failures(report: Report) -> dict[str, Any] | None:
    """What the page shows; None where no attempt failed or was cut."""
    if not report["lost"]:
        return None
    lost = [{**row, "cause": visible(row["cause"], CAUSE_LETTERS)} for row in report["lost"]]
    lost.sort(key=lambda row: (-(row["usd"] or 0.0), row["cause"]))
    money = dollars(report, [report["cost"]["lost_usd"]])
    causes = [_cause(rows, report, money) for rows in _grouped(lost, CAUSE_ROWS)]
    hit = [row for row in report["families"] if row["lost_attempts"]]
    hit.sort(key=lambda row: (-(row["lost_usd"] or 0.0), -row["lost_attempts"]))
    return {
        "lede": _lede(report, lost, money),
        "unit": money.unit,
        "causes": causes,
        "all_causes": _cause(lost, report, money),
        "chart": _chart(causes, money),
        "has_gpus": report["gpus"] is not None,
        "families": [_family(rows, report, money) for rows in _grouped(hit, FAMILY_ROWS)],
        "all_families": _family(hit, report, money),
    }


def _lede(report: Report, lost: Sequence[Mapping[str, Any]], money: Dollars) -> str:
    """How many attempts were lost, what they held, and what ended the dearest of them."""
    number = sum(row["attempts"] for row in lost)
    first = f"{number:,} of {count_of(report['attempts'], 'attempt')} failed or {'was' if number == 1 else 'were'} cut"
    usd, held = report["cost"]["lost_usd"], report["cost"]["held_usd"]
    if usd is None:
        return f"{first}; what {'it' if number == 1 else 'they'} held could not be priced."
    of_held = f", {percent(usd / held)} of what jobs held" if held else ""
    first = f"{first}. {'It' if number == 1 else 'They'} held {money.prose(usd)}{of_held}"
    dearest = lost[0]
    if not usd or not dearest["usd"]:
        return f"{first}."
    if len(lost) == 1:
        return f"{first}, all of it by {dearest['cause']}."
    return f"{first}; {percent(dearest['usd'] / usd, 0)} of that by {dearest['cause']}."


def _grouped(rows: Sequence[Mapping[str, Any]], limit: int) -> list[Sequence[Mapping[str, Any]]]:
    """One row each, those beyond the limit together."""
    cut = limit if len(rows) <= limit else limit - 1
    return [[row] for row in rows[:cut]] + ([rows[cut:]] if rows[cut:] else [])


def _cause(rows: Sequence[Mapping[str, Any]], report: Report, money: Dollars) -> Cause:
    usd = _sum(row["usd"] for row in rows)
    name = str(rows[0]["cause"]) if len(rows) == 1 else None
    attempts = sum(row["attempts"] for row in rows)
    actions = {row["subject"]: row["action"] for row in report["actions"] if row["kind"] == "failure"}
    return Cause(
        name=name,
        members=len(rows),
        meaning=MEANING.get(name or ""),
        attempts=attempts,
        of_attempts=_part(attempts, report["attempts"]),
        core_hours=_sum(row["core_hours"] for row in rows),
        gpu_hours=_sum(row["gpu_hours"] for row in rows),
        usd=money.cell(usd),
        share=_part(usd, report["cost"]["lost_usd"]),
        action=actions.get(name),
    )


def _chart(causes: list[Cause], money: Dollars) -> LossChart | None:
    """The bars; None where no dollars were lost."""
    most = max((cause.usd or 0.0 for cause in causes), default=0.0)
    if not most:
        return None
    steps, length = scale(most), PLOT_END - LEFT
    bars = lying_bars([cause.usd for cause in causes], peak=steps[-1], length=length, first=TOP, pitch=ROW)
    said = [
        f"{cause.name or count_of(cause.members, 'other')}: "
        + ("not priced" if cause.usd is None else f"{whole(cause.usd)} ({percent(cause.share or 0.0)})")
        for cause in causes
    ]
    return LossChart(
        left=LEFT,
        bar=BAR,
        bars=tuple(zip(causes, bars, strict=True)),
        ticks=tuple(
            (LEFT + length * step / steps[-1], axis_dollars(step / money.factor * money.month_factor)) for step in steps
        ),
        height=TOP + ROW * len(causes),
        alt=f"Lost dollars, {money.unit}. {'; '.join(said)}.",
    )


def _family(rows: Sequence[Mapping[str, Any]], report: Report, money: Dollars) -> LossyFamily:
    usd = _sum(row["lost_usd"] for row in rows)
    named = rows[0] if len(rows) == 1 else {}
    users = named.get("users", 0)
    return LossyFamily(
        account=fitted(named.get("account") or "(no account)", ACCOUNT_ROOM),
        family=fitted(named.get("family") or "(no name)", FAMILY_ROOM) if named else None,
        user=count_of(users, "user") if users > 1 else fitted(named.get("user") or "(not stated)", USER_ROOM),
        members=len(rows),
        lost_attempts=sum(row["lost_attempts"] for row in rows),
        attempts=sum(row["attempts"] for row in rows),
        usd=money.cell(usd),
        share=_part(usd, report["cost"]["lost_usd"]),
        own=_part(usd, _sum(row["held_usd"] for row in rows)),
    )


def _part(value: float | None, of: float | None) -> float | None:
    """A share of `of`; None where either is not known, or there is nothing to have a share of."""
    if not of or value is None:
        return None
    return 1.0 if math.isclose(value, of, rel_tol=1e-8) else value / of  # report.json rounds to ten digits


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them is not known: a part is not the whole."""
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)
