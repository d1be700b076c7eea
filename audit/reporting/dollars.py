"""Dollars as the pages show them: for a month where the window says enough of one, else for the window."""

from collections.abc import Iterable
from dataclasses import dataclass

from audit.reporting.numerals import dollars_prose
from audit.reporting.wording import Report

_SIZES = ((1e11, 1e6, "million $"), (1e8, 1e3, "thousand $"))  # from here on, divided by, and called


@dataclass(frozen=True)
class Dollars:
    """`factor` takes dollars of the window to those shown in cells, `unit` says what these are: $ a month.

    `month_factor` takes them to those of a sentence, which are never in thousands; `per` says for how long.
    """

    factor: float
    unit: str
    month_factor: float
    per: str

    def cell(self, usd: float | None) -> float | None:
        """Dollars of the window in the unit of the cells; None where they were not measured."""
        return None if usd is None else usd * self.factor

    def prose(self, usd: float) -> str:
        """Dollars of the window in a sentence: $15,000 a month."""
        return f"{dollars_prose(usd * self.month_factor)} {self.per}"


def dollars(report: Report, values: Iterable[float | None] = ()) -> Dollars:
    """How this report's dollars are shown where `values`, dollars of the window, are the largest to be printed."""
    month = report["window"]["month_factor"]
    factor, per = (1.0, "in the window") if month is None else (float(month), "a month")
    largest = max((abs(value) * factor for value in values if value is not None), default=0.0)
    size, name = next(((size, name) for least, size, name in _SIZES if largest >= least), (1.0, "$"))
    return Dollars(factor / size, f"{name} {per}", factor, per)
