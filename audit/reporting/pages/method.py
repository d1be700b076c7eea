"""The last page: definitions, prices, reconciliation, evidence with its hashes, and how to make the report again."""

from collections.abc import Mapping
from typing import Any

from audit.reporting import wording
from audit.reporting.tables import evidence

EVIDENCE_ROWS = 12  # files listed before the rest is summed up; report.json lists all


def method(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows."""
    return {"evidence": evidence(report, EVIDENCE_ROWS), "reasons": wording.reasons_by_sentence(report)}
