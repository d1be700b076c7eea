"""The report in a few lines for the terminal: what could be won back, or why not, and what was held."""

from audit.reporting.dollars import Dollars, dollars
from audit.reporting.headline import Headline, finding, headline, no_headline
from audit.reporting.hostile import visible
from audit.reporting.numerals import count_of, percent
from audit.reporting.pages.window import watched
from audit.reporting.period import period
from audit.reporting.tables import actions
from audit.reporting.won import more_cautious, quantile_name, would_kill
from audit.reporting.wording import (
    NOT_MEASURED,
    Report,
    basis,
    coverage_sentence,
    held_of,
    node_sizes_known,
    reason,
    sentence,
    window_hours,
)

_WIDTH = 200


def text_summary(report: Report) -> str:
    """At most 15 lines of plain text, safe to print whatever the names in the report hold."""
    mark = "GENERATED SAMPLE, " if report["generated_sample"] else ""
    records = sum(file["records"] for file in report["evidence"])
    lines = [
        f"{mark}cluster {visible(report['cluster'], 64)}, {window_hours(report)}, {period(report).utc}",
        *_answer(report),
        *_dollars(report),
        coverage_sentence(report),
        *([sentence(told)] if (told := watched(report)) else []),
        *_first_action(report),
        f"Price: {basis(report)}, {report['cost']['mode']} mode. Evidence: "
        f"{count_of(len(report['evidence']), 'file')}, {count_of(records, 'record')}, "
        f"{count_of(report['rejects']['rows'], 'reject')}.",
    ]
    return "\n".join(visible(line, _WIDTH) for line in lines)


def _answer(report: Report) -> list[str]:
    """The headline with its sampling error, its range and its kills; else what was held, and why there is none."""
    head, shown = headline(report), dollars(report)
    if head is None:
        return [f"No headline. {no_headline(report)}"]
    if not head.usd and not head.is_expected:
        return [finding(report)]
    share = "" if head.share is None else f", {percent(head.share)} of what jobs held"
    low, high = head.sampling or (None, None)
    error = "" if low is None or high is None else f" (sampling error {shown.prose(low)} to {shown.prose(high)})"
    if not head.is_expected:
        why = reason(report, "recoverable.expected_usd")
        line = f"At most {shown.prose(head.usd)}{share}, could be won back, with hindsight{error}."
        return [line, *([sentence(f"Expected: {why}")] if why else [])]
    return [
        f"Expected: {shown.prose(head.usd)}{share}, won back by advice given in advance{error}.",
        _range(report, head, shown),
        *_kills(report, head, shown),
        *_too_bold(report, shown),
    ]


def _range(report: Report, head: Headline, shown: Dollars) -> str:
    """Low and high."""
    why = reason(report, "recoverable.low_usd")
    low = shown.prose(head.low) if head.low is not None else f"not known ({why})" if why else "not known"
    return f"  range: low {low}, high {shown.prose(head.high)} (with hindsight, a ceiling)."


def _too_bold(report: Report, shown: Dollars) -> list[str]:
    """That a higher quantile would have won back more, where it would."""
    found = more_cautious(report)
    if found is None:
        return []
    level, more, usd = found
    return [f"  the policy is too bold: {level} would have won back {shown.prose(more)} instead of {shown.prose(usd)}."]


def _kills(report: Report, head: Headline, shown: Dollars) -> list[str]:
    """What the advice would have killed, and what that takes off."""
    killed, reruns = would_kill(report), report["recoverable"]["reruns_usd"]
    if killed is None:
        return []
    level = quantile_name(report["recoverable"]["quantile"])
    at = f" at {level}" if level else ""
    off = (
        ""
        if head.gross is None or reruns is None
        else f": {shown.prose(head.gross)} gross, {shown.prose(reruns)} reruns"
    )
    return [f"  would have killed {killed}{at}{off}."]


def _dollars(report: Report) -> list[str]:
    cost, shown = report["cost"], dollars(report)
    rows = [
        ("held by jobs", cost["held_usd"]),
        ("  lost", cost["lost_usd"]),
        ("  not measured", cost["not_measured_usd"]),
    ]
    if node_sizes_known(report):
        rows = [("installed", cost["installed_usd"]), ("down", cost["down_usd"]), ("idle", cost["idle_usd"]), *rows]
    share = held_of(report)
    lines = []
    for label, usd in rows:
        text = NOT_MEASURED if usd is None else shown.prose(usd)
        text += f", {percent(share[0])} of {share[1]}" if label == "held by jobs" and share else ""
        lines.append(f"  {label:<16}{text}")
    return lines


def _first_action(report: Report) -> list[str]:
    """What to do first, by dollars; nothing where there is nothing to do."""
    first = actions(report, 1, requests=headline(report) is not None).rows
    return [f"First: {row.action} ({row.of}), {row.words} {dollars(report).prose(row.usd)}." for row in first]
