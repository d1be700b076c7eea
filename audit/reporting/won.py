"""Which recoverable figure leads, and what it is: expected where a model was replayed, else the ceiling of hindsight.

Both are dollars of the window. *Expected* is net: what advice given before attempts started would have won back, less
one more run of each that it would have killed. *High* is a ceiling: every request cut to the attempt's own peak.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.numerals import MINUS, count_of
from audit.reporting.wording import Report, priced_name

Ends = tuple[float | None, float | None, float | None]  # at the lowest price, the one used, the highest


@dataclass(frozen=True)
class ClassWon:
    """What is recoverable of one node class: node-hours, US dollars an hour, dollars at each price; None: not known."""

    name: str
    nodes: int
    hours: float | None
    rates: Ends
    usd: Ends


def is_expected(report: Report) -> bool:
    """Whether the leading figure is what advice given in advance is expected to win back."""
    return report["recoverable"]["expected_usd"] is not None


def lead_usd(report: Report) -> float | None:
    """The leading figure; None where nothing was measured."""
    won = report["recoverable"]
    usd: float | None = won["high_usd"] if won["expected_usd"] is None else won["expected_usd"]
    return usd


def lead_words(report: Report) -> str:
    """What the leading figure is called beside a number: expected, at most."""
    return "expected" if is_expected(report) else "at most"


def by_class(report: Report) -> list[ClassWon]:
    """The leading figure by node class, most dollars first; empty where node sizes are unknown."""
    return [_of_class(row, report) for row in report["recoverable"]["by_class"]]


def would_kill(report: Report) -> str | None:
    """How many attempts the advice would have killed, of those it lowers something of: 3 of 120 attempts."""
    kills = report["recoverable"]["kills"]
    return None if kills is None else killed_of(kills["killed"], kills["of"])


def would_kill_low(report: Report) -> str | None:
    """The same of what the cautious advice behind low would have killed; None where there is none."""
    kills = report["recoverable"]["low_kills"]
    return None if kills is None else killed_of(kills["killed"], kills["of"])


def more_cautious(report: Report) -> tuple[str, float, float] | None:
    """Where the policy is too bold: the quantile that would have won back more, its dollars and the policy's."""
    won = report["recoverable"]
    if not won["policy_too_bold"]:
        return None
    last = won["sensitivity"][-1]
    return quantile_name(last["quantile"]) or "", last["net_usd"], won["expected_usd"]


def killed_of(killed: int, of: int) -> str:
    """n of N, with its noun: 3 of 120 attempts."""
    return f"{killed:,} of {count_of(of, 'attempt')}"


def quantile_name(quantile: float | None) -> str | None:
    """A quantile as a level: p99, p99.5."""
    return None if quantile is None else f"p{100 * quantile:.10g}"


def signed(text: str) -> str:
    """A number's text with a true minus sign."""
    return text.replace("-", MINUS)


def _of_class(row: Mapping[str, Any], report: Report) -> ClassWon:
    mine = (row["node_class"], row["usd_per_hour"])
    price = next((p for p in report["prices"] if (p.get("node_class"), p["usd_per_hour"]) == mine), None)
    used = row["usd_per_hour"]
    low, high = (None, None) if price is None else (price["low_usd_per_hour"], price["high_usd_per_hour"])
    usd: Ends = (row["low_recoverable_usd"], row["recoverable_usd"], row["high_recoverable_usd"])
    hours = row["recoverable_hours"]
    if is_expected(report):
        hours = row["expected_hours"]
        usd = (
            _at(hours, used if low is None else low),
            row["expected_usd"],
            _at(hours, used if high is None else high),
        )
    return ClassWon(priced_name(row), row["nodes"], hours, (low, used, high), usd)


def _at(hours: float | None, usd_per_hour: float | None) -> float | None:
    return None if hours is None or usd_per_hour is None else hours * usd_per_hour
