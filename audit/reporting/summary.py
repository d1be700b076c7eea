"""The report in a few lines for the terminal: what was held, what is known of it, and what is not."""

from audit.reporting.hostile import visible
from audit.reporting.numerals import count_of, dollars_prose, percent
from audit.reporting.period import period
from audit.reporting.wording import (
    NOT_MEASURED,
    Report,
    basis,
    coverage_sentence,
    finding,
    held_of,
    no_recoverable_figure,
    node_sizes_known,
    window_hours,
)

_WIDTH = 200


def text_summary(report: Report) -> str:
    """At most 12 lines of plain text, safe to print whatever the names in the report hold."""
    mark = "GENERATED SAMPLE, " if report["generated_sample"] else ""
    records = sum(file["records"] for file in report["evidence"])
    lines = [
        f"{mark}cluster {visible(report['cluster'], 64)}, {window_hours(report)} hours, {period(report).utc}",
        finding(report),
        *_dollars(report),
        coverage_sentence(report),
        f"No recoverable figure. {no_recoverable_figure(report)}",
        f"Price: {basis(report)}, {report['cost']['mode']} mode. Evidence: "
        f"{count_of(len(report['evidence']), 'file')}, {count_of(records, 'record')}, "
        f"{count_of(report['rejects']['rows'], 'reject')}.",
    ]
    return "\n".join(visible(line, _WIDTH) for line in lines)


def _dollars(report: Report) -> list[str]:
    cost = report["cost"]
    rows = [("held by jobs", "held_usd"), ("  lost", "lost_usd"), ("  not measured", "not_measured_usd")]
    if node_sizes_known(report):
        rows = [("installed", "installed_usd"), ("down", "down_usd"), ("idle", "idle_usd"), *rows]
    share = held_of(report)
    lines = []
    for label, key in rows:
        usd, month = cost[key], cost.get(f"{key}_per_month")
        text = NOT_MEASURED if usd is None else dollars_prose(usd)
        text += "" if month is None else f" ({dollars_prose(month)} a month)"
        text += f", {percent(share[0])} of {share[1]}" if key == "held_usd" and share else ""
        lines.append(f"  {label:<16}{text}")
    return lines
