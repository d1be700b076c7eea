"""What the figures rest on: the accounting's own hours, the files with their hashes, and how to repeat it all."""

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from audit.reporting import tables, wording
from audit.reporting.fitting import fitted
from audit.reporting.wording import Report

LIMIT = 0.001  # hours here and in the accounting may differ by so much of the latter
REASON_ROWS = 7
KEYS = 2  # of one reason; report.json has them all
WHY_LETTERS = 190
NAME_ROOM = 97.0  # points, of a file’s name

# What files and reasons share of the page, and what takes of it, in points.
ROOM = 360.0
LINE, PADDING = 10.6, 4.8
FEWEST_FILES = 4


@dataclass(frozen=True)
class Agreement:
    """Hours of one unit here and by the accounting's own allocated x elapsed; None: not known, `remark` says why."""

    unit: str
    here: float | None
    accounting: float | None
    difference: float | None
    share: float | None
    remark: str


@dataclass(frozen=True)
class RollUp:
    """Hours of one unit here and by Slurm's own roll-up, for its spans: held, and down (None: not known here)."""

    unit: str
    here: float | None
    sreport: float
    share: float | None
    down_here: float | None
    down_sreport: float


@dataclass(frozen=True)
class Reason:
    """Why figures are missing or bent: the first few of their places, how many more there are, and the sentence."""

    places: tuple[str, ...]
    more: int
    why: str


def evidence(report: Report) -> dict[str, Any]:
    """What the page shows; the more reasons there are to give, the fewer files are listed."""
    every = wording.reasons_by_sentence(report)
    cut = REASON_ROWS if len(every) <= REASON_ROWS else REASON_ROWS - 1
    reasons = [Reason(tuple(keys[:KEYS]), len(keys[KEYS:]), why) for keys, why in every[:cut]]
    agreement = [_agreement(row, report) for row in report["reconciliation"]]
    roll_up = [_rolled_up(row) for row in (report["sreport"] or {"units": []})["units"]]
    given = any(file["kind"] == "sreport utilization" for file in report["evidence"])
    no_roll_up = wording.reason(report, "sreport") if given and not roll_up else None
    taken = 46.0 + _height(1) * len(roll_up) if roll_up else 20.0 if no_roll_up else 0.0
    taken += sum(_height(_lines(reason.why[:WHY_LETTERS], 64), _key_lines(reason)) for reason in reasons)
    taken += sum(LINE * (_lines(row.remark, 38) - 1) for row in agreement) + (_height(1) if every[cut:] else 0.0)
    files = tables.evidence(report, max(FEWEST_FILES, int((ROOM - taken) // _height(1))))
    return {
        "agreement": agreement,
        "limit": LIMIT,
        "roll_up": roll_up,
        "no_roll_up": no_roll_up,
        "evidence": files,
        "names": [fitted(file["name"], NAME_ROOM) for file in files.files],
        "why_letters": WHY_LETTERS,
        "reasons": reasons,
        "more_reasons": len(every[cut:]),
    }


def _rolled_up(row: Mapping[str, Any]) -> RollUp:
    return RollUp(
        row["unit"],
        row["report_hours"],
        row["sreport_hours"],
        row["difference_share"],
        row["report_down_hours"],
        row["sreport_down_hours"],
    )


def _height(*lines: int) -> float:
    """A table row of cells with so many lines."""
    return LINE * max(lines) + PADDING


def _lines(text: str, letters: int) -> int:
    return len(wrap(text, letters))


def _key_lines(reason: Reason) -> int:
    return _lines(", ".join(reason.places) + (f" and {reason.more} more" if reason.more else ""), 45)


def _agreement(row: Mapping[str, Any], report: Report) -> Agreement:
    here, accounting, difference = row["report_hours"], row["accounting_hours"], row["difference_hours"]
    if here is None:
        key = {"core-hours": "core", "GPU-hours": "gpu"}.get(row["unit"], "mem_gib")
        remark = wording.reason(report, f"hours.held.{key}") or "no allocation states it"
    elif accounting is None:
        remark = "the slice is a part of the cluster, the accounting counts attempts whole"
    elif not here and not accounting:
        remark = "none held"
    elif abs(difference or 0.0) <= LIMIT * accounting:
        remark = "agrees"
    else:
        remark = wording.reason(report, "hours.held") or "beyond the limit: read the reasons below before the figures"
    return Agreement(row["unit"], here, accounting, difference, row["difference_share"], remark)
