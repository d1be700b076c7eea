"""Page one, the answer: what could be won back, within what range, how sure that is, and what to do first."""

from collections.abc import Mapping
from typing import Any

from audit.reporting import wording
from audit.reporting.cascade import cascade
from audit.reporting.dollars import dollars
from audit.reporting.headline import contended_share, finding, headline, no_headline, no_sampling, nothing_won
from audit.reporting.pages.window import watched
from audit.reporting.spread import spread
from audit.reporting.tables import actions
from audit.reporting.tiles import tiles
from audit.reporting.won import lead_words, more_cautious, quantile_name, would_kill, would_kill_low
from audit.workspace import CAUTIOUS_QUANTILE

ACTIONS = 3


def answer(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows."""
    head = headline(report)
    shown = dollars(report, [report["cost"]["installed_usd"], report["cost"]["held_usd"]])
    won = report["recoverable"]
    return {
        "finding": finding(report),
        "words": lead_words(report),
        "level": quantile_name(won["quantile"]),
        "cautious": quantile_name(CAUTIOUS_QUANTILE),
        "would_kill": would_kill(report),
        "low_would_kill": would_kill_low(report),
        "more_cautious": more_cautious(report),
        "no_expected": _reason(report, "recoverable.expected_usd"),
        "no_low": _reason(report, "recoverable.low_usd"),
        "head": head,
        "spread": None if head is None else spread(report, head),
        "contended": None if head is None else contended_share(head),
        "no_sampling": no_sampling(report),
        "nothing_won": nothing_won(report),
        "no_headline": None if head is not None else no_headline(report),
        "measured": [row for row in wording.measured(report) if row.held],
        "dollars": shown,
        "tiles": tiles(report),
        "watched": watched(report),
        "cascade": cascade(report, shown),
        "actions": actions(report, ACTIONS, requests=head is not None),
    }


def _reason(report: Mapping[str, Any], key: str) -> str | None:
    """Why a figure is NULL, without the marks that set off commands."""
    why = wording.reason(report, key)
    return None if why is None else why.replace("`", "")
