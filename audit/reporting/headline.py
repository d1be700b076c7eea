"""The headline: what could be won back at most, how sure that is, and why there may be none."""

from dataclasses import dataclass

from audit.reporting.charts import scale
from audit.reporting.dollars import Dollars, dollars
from audit.reporting.numerals import axis_dollars, dollars_prose, percent
from audit.reporting.wording import NOT_MEASURED, Report, held_of, node_sizes_known, sentence

WIDTH = 272.0  # points: 96 mm
WEEK_HOURS = 168  # below it days say too little of how far they differ
_DOT = 5.0  # radius of the dot, its outline included
_LETTER = 0.52  # mean width of a letter or digit of the sans, in parts of its size


@dataclass(frozen=True)
class Headline:
    """Dollars of the window: the figure, its sampling error, what was contended, and it at other prices.

    None: not known. `share` is of the dollars held, None where nothing was.
    """

    usd: float
    share: float | None
    sampling: tuple[float, float] | None
    contended_usd: float | None
    at_prices: tuple[float, float] | None


@dataclass(frozen=True)
class Label:
    """A text with its middle at `x`, kept within the drawing."""

    x: float
    text: str


@dataclass(frozen=True)
class Spread:
    """The figure on a scale from 0: a dot, the bar of its sampling error, a tick for what was contended (points)."""

    width: float
    dot: float
    bar: tuple[float, float] | None
    bar_label: Label | None
    tick: float | None
    tick_label: Label | None
    scale: tuple[Label, ...]
    grid: tuple[float, ...]
    alt: str


def headline(report: Report) -> Headline | None:
    """The headline, or None where too little was measured for one."""
    won = report["recoverable"]
    if won["high_usd"] is None or not report["coverage"]["headline_allowed"]:
        return None
    held, sampling, classes = report["cost"]["held_usd"], won["sampling"], won["by_class"]
    low, high = (_total([row[f"{end}_recoverable_usd"] for row in classes]) for end in ("low", "high"))
    return Headline(
        usd=won["high_usd"],
        share=won["high_usd"] / held if held else None,
        sampling=(sampling["low_usd"], sampling["high_usd"]) if sampling else None,
        contended_usd=won["contended_usd"],
        at_prices=(low, high) if low is not None and high is not None and high > low else None,
    )


def finding(report: Report) -> str:
    """The report in one sentence: the share that could be won back, else what was held and how little is known."""
    head = headline(report)
    if head is None:
        some = "too little of its use was measured to say more"
        return f"{_held(report)}; {some if report['coverage']['usd'] else 'what they used of it was not measured'}."
    lost, held = report["cost"]["lost_usd"], report["cost"]["held_usd"]
    more = f"; failed attempts lost {share_words(lost / held)}" if lost and held else ""
    if not head.usd:
        if not _is_any_needed(report):
            return nothing_won(report)
        return f"Nothing of what jobs held could be won back, even with hindsight{more}."
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
    """Dollars of the window that smaller requests of one resource win back.

    None where its need was not measured, and so none was counted: of cores, where nothing watched their peak.
    """
    if report["recoverable"]["high_usd"] is None:
        return None
    usd: float = next((row["usd"] for row in report["recoverable_by_resource"] if row["resource"] == resource), 0.0)
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
    """How much of the figure somebody was queueing for: 42%; None where that is not known, or nothing to share."""
    return percent(head.contended_usd / head.usd, 0) if head.contended_usd is not None and head.usd else None


def spread(report: Report, head: Headline) -> Spread:
    """The range mark under the headline, as wide as its column."""
    shown = dollars(report)
    grid = scale(max([head.usd, *(head.sampling or ())]) * shown.month_factor)
    top = grid[-1]

    def at(usd: float, margin: float = 0.5) -> float:
        return min(max(WIDTH * usd * shown.month_factor / top, margin), WIDTH - margin)

    bar = None if head.sampling is None else (at(head.sampling[0]), at(head.sampling[1]))
    words = None if head.sampling is None else f"sampling error {_from_to(head.sampling, shown)}"
    tick = None if head.contended_usd is None else at(head.contended_usd)
    queued = "" if head.contended_usd is None else dollars_prose(head.contended_usd * shown.month_factor)
    return Spread(
        width=WIDTH,
        dot=at(head.usd, _DOT),
        bar=bar,
        bar_label=None if bar is None or words is None else _label(sum(bar) / 2, words),
        tick=tick,
        tick_label=None if tick is None else _label(tick, f"contended {queued}"),
        scale=tuple(_label(WIDTH * usd / top, axis_dollars(usd)) for usd in grid),
        grid=tuple(WIDTH * usd / top for usd in grid),
        alt=sentence(
            f"On a scale from 0 to {axis_dollars(grid[-1])}: at most {shown.prose(head.usd)}; "
            f"{words or 'sampling error not known'}; contended {queued or 'not known'}"
        ),
    )


def _from_to(ends: tuple[float, float], shown: Dollars) -> str:
    low, high = (dollars_prose(usd * shown.month_factor) for usd in ends)
    return f"{low} to {high}"


def _label(x: float, text: str, size: float = 7.8) -> Label:
    half = len(text) * size * _LETTER / 2
    return Label(min(max(x, half), WIDTH - half), text)


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
