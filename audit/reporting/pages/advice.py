"""The page on advice: what more or less caution would have won and killed, how advice is made, and its words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.back_test import targets
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.headline import expected_through, won_through
from audit.reporting.pages.method import Term
from audit.reporting.sensitivity import sensitivity
from audit.reporting.won import is_expected, quantile_name, would_kill
from audit.reporting.wording import Report

_NAMES = {"gpus": "GPUs", "memory": "Memory", "cores": "Cores"}

STEPS = (
    "Attempts are taken in the order in which they were submitted; the advice for each is learnt only from "
    "attempts that had ended by then. Nothing of the attempt itself, and of what ran beside it, is known.",
    "What it will need is forecast in several ways from what the same user, job name and request needed before; "
    "used is the way that has wasted least so far within its budget of kills.",
    "A margin is added, kept up to date by how far earlier forecasts fell short, so that as large a share of "
    "needs lies at or below the advice as was promised.",
    "Where fewer than three attempts like it had ended, where margins have not settled, or on several nodes, there is "
    "no advice and the request stays; no advice ever goes above the request.",
    "Kills are a budget, set as a quantile in audit.toml, and not a price: to minimise cost alone would kill far "
    "more jobs than anyone accepts.",
)

TERMS = (
    Term("Expected", "What the advice at the policy’s quantile would have won back, less reruns: net."),
    Term("Gross", "The same before reruns are taken off. Attempts it would have killed save nothing."),
    Term("Reruns", "One more run, in the shape advised, of every attempt that the advice would have killed."),
    Term("Low", "Net at p99.5, only of what telemetry watched: above expected where what it leaves out loses."),
    Term("High", "The ceiling: by hindsight, each request cut to the attempt’s own peak."),
    Term(
        "Killed",
        "An attempt advised less memory or fewer GPUs than it needed; n of N advised less, and whose need is known.",
    ),
    Term("Slowed", "An attempt advised fewer cores than it used in some minute. It is not killed."),
    Term("No advice", "Too little was known, or the model was trained before it came: the request was kept."),
    Term("Too bold", "At p99.5 the same attempts would have won back more, net, than at the policy’s quantile."),
)


@dataclass(frozen=True)
class Advised:
    """Advice on one resource, or on all: dollars as cells show them, and attempts it would have killed of `of`.

    `of`: those of which it lowers that resource, or something, and whose use of it is known. None: not known.
    """

    name: str
    expected: float | None
    high: float | None
    killed: int | None
    of: int | None


def advice(report: Report) -> dict[str, Any] | None:
    """What the page shows; None where no model was replayed or tested."""
    is_tested = bool(targets(report.get("sizing")))
    if not is_tested and not is_expected(report):
        return None
    won = report["recoverable"]
    money = dollars(report, [row["gross_usd"] for row in won["sensitivity"]])
    half = (len(TERMS) + 1) // 2
    return {
        "lede": _lede(report, money),
        "is_tested": is_tested,
        "sensitivity": sensitivity(report, money),
        "money": money,
        "sampling": won["expected_sampling"],
        "quantile": quantile_name(won["quantile"]),
        "resources": _resources(report, money) if is_expected(report) else [],
        "total": _advised("All", won["expected_usd"], won["high_usd"], won["kills"] or {}, money),
        "steps": STEPS,
        "terms": (TERMS[:half], TERMS[half:]),
    }


def _lede(report: Report, money: Dollars) -> str:
    """What was gained, and whom it would have cost."""
    won, killed = report["recoverable"], would_kill(report)
    if won["expected_usd"] is None:
        return "The model was tested, but not replayed over this window: what it would have won back is not known."
    first = f"Expected is {money.prose(won['expected_usd'])}, less reruns"
    if won["expected_gross_usd"] is not None and won["reruns_usd"] is not None:
        gross, reruns = (money.prose(won[key]) for key in ("expected_gross_usd", "reruns_usd"))
        first = f"Expected is {gross} gross less {reruns} for reruns"
    return f"{first}." if killed is None else f"{first}; the advice would have killed {killed}."


def _resources(report: Report, money: Dollars) -> list[Advised]:
    return [
        _advised(
            _NAMES.get(row["resource"], row["resource"]),
            expected_through(report, row["resource"]),
            won_through(report, row["resource"]),
            row,
            money,
        )
        for row in report["recoverable_by_resource"]
    ]


def _advised(
    name: str, expected: float | None, high: float | None, kills: Mapping[str, Any], money: Dollars
) -> Advised:
    return Advised(name, money.cell(expected), money.cell(high), kills.get("killed"), kills.get("of"))
