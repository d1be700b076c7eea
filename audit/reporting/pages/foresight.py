"""The page on foresight: how well the model's forecasts kept what they promised, and beside which rivals."""

from collections.abc import Sequence
from typing import Any

from audit.reporting.back_test import JUDGED, LEVELS, TargetRow, rivalry, targets
from audit.reporting.coverage_plot import coverage_plot
from audit.reporting.numerals import percent
from audit.reporting.won import quantile_name
from audit.reporting.wording import Report, listed


def foresight(report: Report) -> dict[str, Any] | None:
    """What the page shows; None where no back-test is there."""
    rows = targets(report.get("sizing"))
    if not rows:
        return None
    return {
        "lede": _lede(rows),
        "targets": rows,
        "levels": [quantile_name(level) for level in LEVELS],
        "judged": quantile_name(JUDGED),
        "plot": coverage_plot(rows),
        "rivalry": rivalry(report.get("sizing")),
    }


def _lede(rows: Sequence[TargetRow]) -> str:
    """How often the model kept its promise of the highest level, for the first two targets."""
    order = "Each attempt was forecast from what had ended before it"
    kept = [
        f"{percent(row.coverage[-1].share)} of attempts for {row.name if row.name == 'GPUs' else row.name.lower()}"
        for row in rows[:2]
        if row.coverage[-1].share is not None
    ]
    if not kept:
        return f"{order}; too few could be judged to say how well."
    return f"{order}. The forecast meant to hold {percent(LEVELS[-1], 0)} of them held {listed(kept)}."
