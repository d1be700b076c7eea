"""The headline: what could be won back, within what range, how sure that is, and why there may be none.

Where a model was replayed over the window it is *expected*, with low and high as its range; else high, the ceiling.
"""

from dataclasses import dataclass

from audit.reporting.dollars import dollars
from audit.reporting.numerals import percent
from audit.reporting.won import by_class, is_expected
from audit.reporting.wording import NOT_MEASURED, Report, held_of, node_sizes_known, sentence

WEEK_HOURS = 168  # below it days say too little of how far they differ


@dataclass(frozen=True)
class Headline:
    """Dollars of the window: the figure, its range, its sampling error, what was contended, and it at other prices.

    None: not known. `is_expected`: by advice given in advance, less reruns (it may be negative), `low` and `high`
    around it; otherwise it is `high`, by hindsight. `share` is of the dollars held, None where nothing was. `gross` is
    what `contended_usd` is a part of: the figure before reruns are taken off.
    """

    usd: float
    is_expected: bool
    low: float | None
    high: float
    gross: float | None
    share: float | None
    sampling: tuple[float, float] | None
    contended_usd: float | None
    at_prices: tuple[float, float] | None


def headline(report: Report) -> Headline | None:
    """The headline, or None where too little was measured for one."""
    won = report["recoverable"]
    if won["high_usd"] is None or not report["coverage"]["headline_allowed"]:
        return None
    held, expected = report["cost"]["held_usd"], is_expected(report)
    usd = won["expected_usd"] if expected else won["high_usd"]
    sampling = won["expected_sampling" if expected else "sampling"]
    return Headline(
        usd=usd,
        is_expected=expected,
        low=won["low_usd"] if expected else None,
        high=won["high_usd"],
        gross=won["expected_gross_usd"] if expected else won["high_usd"],
        share=usd / held if held else None,
        sampling=(sampling["low_usd"], sampling["high_usd"]) if sampling else None,
        contended_usd=won["expected_contended_usd" if expected else "contended_usd"],
        at_prices=_at_prices(report),
    )


def finding(report: Report) -> str:
    """The report in one sentence: the share that could be won back, else what was held and how little is known."""
    head = headline(report)
    if head is None:
        some = "too little of its use was measured to say more"
        return f"{_held(report)}; {some if report['coverage']['usd'] else 'what they used of it was not measured'}."
    lost, held = report["cost"]["lost_usd"], report["cost"]["held_usd"]
    more = f"; failed attempts lost {share_words(lost / held)}" if lost and held else ""
    if not head.high and head.usd >= 0:
        if not _is_any_needed(report):
            return nothing_won(report)
        return f"Nothing of what jobs held could be won back, even with hindsight{more}."
    return _expected(head, report, more) if head.is_expected else _at_most(head, report, more)


def _expected(head: Headline, report: Report, more: str) -> str:
    advice = "Requests advised in advance would"
    if head.usd < 0:
        return f"{advice} have cost more in reruns than they won back{more}."
    if head.usd == 0:
        return f"{advice} have won back nothing of what jobs held{more}."
    if head.share is None:
        return f"{advice} win back {dollars(report).prose(head.usd)}."
    return f"{advice} win back {share_words(head.share)} of what jobs held{more}."


def _at_most(head: Headline, report: Report, more: str) -> str:
    if head.share is None:
        return f"At most {dollars(report).prose(head.usd)} could be won back, with hindsight."
    if head.share < 0.005:
        return f"Less than 1% of what jobs held could be won back, even with hindsight{more}."
    return f"At most {share_words(head.share)} of what jobs held could be won back, with hindsight{more}."


def nothing_won(report: Report) -> str:
    """Why what could be won back is 0, as a sentence: true of what was measured, and of nothing beyond it."""
    cost = report["cost"]
    if not cost["held_usd"]:
        return "Jobs held nothing that has a price."
    if not _is_any_needed(report):
        ends = (("lost_usd", "lost to failed attempts"), ("not_measured_usd", NOT_MEASURED))
        return f"Nothing counts as recoverable: all that jobs held was {' or '.join(w for k, w in ends if cost[k])}."
    if not node_sizes_known(report):
        return "Smaller requests would have won back nothing of what was measured."
    part = "Of what was measured, what" if cost["not_measured_usd"] else "What"
    return f"{part} could have been asked smaller would have freed no part of a node."


def no_sampling(report: Report) -> str:
    """Why the figure has no sampling error."""
    return "under 7 days observed" if report["window"]["observed_hours"] < WEEK_HOURS else "too few days"


def won_through(report: Report, resource: str) -> float | None:
    """Dollars of the window that smaller requests of one resource win back at most (of the ceiling).

    None where its need was not measured, and so none was counted: of cores, where nothing watched their peak.
    """
    return _through(report, resource, "usd")


def expected_through(report: Report, resource: str) -> float | None:
    """The same of what is expected, less the reruns of what advice on this resource kills; None too without a model."""
    return _through(report, resource, "expected_usd") if is_expected(report) else None


def _through(report: Report, resource: str, key: str) -> float | None:
    if report["recoverable"]["high_usd"] is None:
        return None
    rows = [row[key] for row in report["recoverable_by_resource"] if row["resource"] == resource]
    usd: float | None = rows[0] if rows else 0.0
    if resource == "cores":
        known = any(row["cores_need_p50"] is not None for row in report["families"])
    else:
        known = any(row["attempts"] for row in report["measured"] if row["resource"] == resource)
    return usd if usd or known else None


def share_words(share: float) -> str:
    """A share in a sentence, in whole percent: 5%, less than 1%, nearly all, all."""
    if 0 < share < 0.005:
        return "less than 1%"
    if share >= 0.995:
        return "all" if share >= 1 - 1e-9 else "nearly all"
    return percent(share, 0)


def no_headline(report: Report) -> str:
    """Why there is no headline, as a sentence."""
    if report["recoverable"]["high_usd"] is None and report["coverage"]["headline_allowed"]:
        return "No attempt has a usable measure of its use."
    return sentence(report["coverage"]["reason"] or "too little of what jobs held was measured")


def contended_share(head: Headline) -> str | None:
    """How much of the figure, before reruns, somebody was queueing for: 42%; None where not known, or of nothing."""
    return percent(head.contended_usd / head.gross, 0) if head.contended_usd is not None and head.gross else None


def _at_prices(report: Report) -> tuple[float, float] | None:
    """The figure where every node costs the least, and the most, of what is known; None where these are one."""
    low, high = (_total([row.usd[place] for row in by_class(report)]) for place in (0, 2))
    if low is None or high is None or low == high:
        return None
    return min(low, high), max(low, high)


def _held(report: Report) -> str:
    share, held = held_of(report), report["cost"]["held_usd"]
    if held == 0:
        return "Jobs held nothing that has a price"
    if share is not None:
        return f"Jobs held {percent(share[0], 0)} of {share[1]}"
    return "What jobs held could not be priced" if held is None else f"Jobs held {dollars(report).prose(held)}"


def _is_any_needed(report: Report) -> bool:
    """Whether anything that ended well was measured."""
    return bool(report["cost"]["used_usd"] or report["cost"]["kept_usd"])


def _total(values: list[float | None]) -> float | None:
    """The sum, or None where one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
