"""Page one, the answer: what could be won back at most, and what to do first."""

from collections.abc import Mapping
from typing import Any

from audit.reporting import wording
from audit.reporting.cascade import cascade
from audit.reporting.tables import partitions
from audit.reporting.tiles import tiles


def answer(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows."""
    return {
        "finding": wording.finding(report),
        "lede": wording.lede(report),
        "measured": wording.measured(report),
        "tiles": tiles(report),
        "cascade": cascade(report),
        "partitions": partitions(report, 5),
    }
