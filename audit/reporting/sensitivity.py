"""What is expected at each quantile that was replayed: gross and net as bars on one scale, kills beside them.

Points (1/72 inch) in a drawing as wide as the text.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.charts import scale
from audit.reporting.dollars import Dollars
from audit.reporting.numerals import axis_dollars, count_of, whole
from audit.reporting.won import quantile_name
from audit.reporting.wording import Report

WIDTH, LEFT, PLOT_END = 493.2, 44.0, 208.0
TOP, ROW, BAR = 14.0, 15.0, 9.5
COLUMNS = (258.0, 310.0, 362.0, 448.0, 493.2)  # right edges: gross, reruns, net, killed, slowed


@dataclass(frozen=True)
class QuantileRow:
    """One quantile: dollars as cells show them, attempts killed and slowed of `of`, and its bars from zero (points).

    `net_bar` starts at its left end: left of zero where reruns cost more than was won.
    """

    name: str
    is_chosen: bool
    y: float
    gross_bar: float
    net_bar: tuple[float, float]
    gross: float
    reruns: float
    net: float
    killed: int
    slowed: int
    of: int


@dataclass(frozen=True)
class Sensitivity:
    """The rows, lowest quantile first; `zero` is where bars start, `ticks` are places with their labels."""

    rows: tuple[QuantileRow, ...]
    zero: float
    ticks: tuple[tuple[float, str], ...]
    height: float
    alt: str


def sensitivity(report: Report, money: Dollars) -> Sensitivity | None:
    """The chart; None where no model was replayed."""
    found = report["recoverable"]["sensitivity"]
    if not found:
        return None
    most = max([0.0, *(row["gross_usd"] for row in found), *(row["net_usd"] for row in found)])
    least = min([0.0, *(row["net_usd"] for row in found)])
    steps = scale(most * money.factor)
    step = steps[1]
    below = math.ceil(-least * money.factor / step - 1e-9)
    unit = (PLOT_END - LEFT) / (steps[-1] + below * step)
    zero = LEFT + below * step * unit
    chosen = report["recoverable"]["quantile"]
    rows = tuple(
        _row(row, number, money, unit, zero, is_chosen=row["quantile"] == chosen) for number, row in enumerate(found)
    )
    marks = [-step * number for number in range(below, 0, -1)] + steps
    every = max(1, math.ceil(len(marks) / 5))
    ticks = [(zero + unit * mark, _label(mark, money)) for mark in marks if round(mark / step) % every == 0]
    words = [
        f"{row.name}: gross {whole(row.gross)}, reruns {whole(row.reruns)}, net {whole(row.net)}, "
        f"killed {row.killed:,} of {count_of(row.of, 'attempt')}"
        for row in rows
    ]
    return Sensitivity(
        rows=rows,
        zero=zero,
        ticks=tuple(ticks),
        height=TOP + ROW * len(rows) + 2,
        alt=f"Expected by quantile, {money.unit}. {'; '.join(words)}.",
    )


def _row(
    row: Mapping[str, Any], number: int, money: Dollars, unit: float, zero: float, *, is_chosen: bool
) -> QuantileRow:
    gross, reruns, net = (row[key] * money.factor for key in ("gross_usd", "reruns_usd", "net_usd"))
    return QuantileRow(
        name=quantile_name(row["quantile"]) or "",
        is_chosen=is_chosen,
        y=TOP + ROW * number,
        gross_bar=gross * unit,
        net_bar=(zero + min(0.0, net) * unit, abs(net) * unit),
        gross=gross,
        reruns=reruns,
        net=net,
        killed=row["killed"],
        slowed=row["slowed"],
        of=row["of"],
    )


def _label(usd: float, money: Dollars) -> str:
    shown = axis_dollars(abs(usd) / money.factor * money.month_factor)
    return f"−{shown}" if usd < 0 else shown
