"""Page one, the answer: what could be won back at most, how sure that is, and what to do first."""

from collections.abc import Mapping
from typing import Any

from audit.reporting import wording
from audit.reporting.cascade import cascade
from audit.reporting.dollars import dollars
from audit.reporting.headline import contended_share, finding, headline, no_headline, no_sampling, nothing_won, spread
from audit.reporting.tables import actions
from audit.reporting.tiles import tiles

ACTIONS = 3


def answer(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows."""
    head = headline(report)
    shown = dollars(report, [report["cost"]["installed_usd"], report["cost"]["held_usd"]])
    return {
        "finding": finding(report),
        "head": head,
        "spread": None if head is None else spread(report, head),
        "contended": None if head is None else contended_share(head),
        "no_sampling": no_sampling(report),
        "nothing_won": nothing_won(report),
        "no_headline": None if head is not None else no_headline(report),
        "measured": [row for row in wording.measured(report) if row.held],
        "dollars": shown,
        "tiles": tiles(report),
        "cascade": cascade(report, shown),
        "actions": actions(report, ACTIONS, requests=head is not None),
    }
