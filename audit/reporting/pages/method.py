"""What every word of the report means, and where its prices come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from textwrap import wrap
from typing import Any

from audit.reporting.fitting import fitted
from audit.reporting.numerals import count_of, rate
from audit.reporting.wording import Report, node_sizes_known, priced_name

PRICE_ROWS = 6  # two fewer beside the words of telemetry; report.json lists all
NAME_ROOM, SOURCE_ROOM = 90.0, 420.0  # points: one line, and two
LINE_LETTERS = 50  # of a meaning, on one line of its column
_NODE_SIZES = "needs the sizes of the nodes, which are not known here"


@dataclass(frozen=True)
class Term:
    """A word of the pages and what it means; `unbundled` where that differs while node sizes are unknown.

    `of_telemetry`: it stands only where collectors watched.
    """

    word: str
    meaning: str
    unbundled: str | None = None
    of_telemetry: bool = False


TERMS = (
    Term(
        "Window", "From inclusive, to exclusive. What lies outside is cut off; whole days without a row are left out."
    ),
    Term("Slice", "The nodes looked at. All that ran on them counts; of an attempt only what it held on them."),
    Term("Attempt", "One start of a job or array task; a requeue is another."),
    Term("Family", "Attempts of one account whose job names differ only in digits, dates and hex strings, shown as #."),
    Term("Asked", "The GPUs, memory and cores that attempts were given; of a family the median."),
    Term("Need", "What attempts peaked at; p90: nine in ten that were measured needed no more."),
    Term("Installed", "What the slice’s nodes cost in the window.", f"A price of nodes {_NODE_SIZES}."),
    Term(
        "Down",
        "Nodes down, failed, drained, in maintenance or powered down, as far as no job holds them.",
        f"It {_NODE_SIZES}.",
    ),
    Term("Capacity", "Installed less down.", f"It {_NODE_SIZES}."),
    Term(
        "Held",
        "At any instant the largest of the shares of a node’s GPUs, memory and cores that jobs hold, × its price: "
        "what runs out first. Each attempt bears its part of that.",
        "GPU-, GiB- and core-hours of attempts, each × its own rate.",
    ),
    Term("Idle", "Capacity that no attempt held; reserved or not.", f"It {_NODE_SIZES}."),
    Term(
        "Used",
        "Of what ran out first: peak memory without page cache, mean cores, GPUs touched.",
        "Peak memory without page cache, mean cores, GPUs touched.",
    ),
    Term("Kept", "Held, neither used nor recoverable: head-room, rounding up, and what sets nothing free."),
    Term("Not measured", "Held, without a usable value of its use. It counts as needed, never as 0."),
    Term("Needed", "Used, kept and not measured together."),
    Term(
        "Lost",
        "All that attempts held which ended FAILED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL, BOOT_FAIL or DEADLINE, or were "
        "cut by requeue or preemption. CANCELLED is an ordinary end.",
    ),
    Term(
        "Recoverable",
        "Held less needed: the balanced part of a node that smaller requests set free to be given to others. Memory "
        "set free beside GPUs that stay held wins nothing back.",
        "What smaller requests would not have held, each resource × its rate.",
    ),
    Term(
        "At most",
        "By hindsight: each request cut to the attempt’s own peak, without margin. Advice given beforehand wins less.",
    ),
    Term(
        "Contended",
        "By partition and hour the smaller of what is recoverable and what the requests waiting there would cost.",
    ),
    Term("Freed", "Recoverable hours of nodes, GPUs or cores ÷ hours of the window: how many at any time."),
    Term("Coverage", "Share of held dollars whose use was measured, by the resource they are charged through."),
    Term(
        "Sampling error",
        "The middle 90% of what is recoverable when the window’s days are drawn anew, with repetition.",
    ),
    Term("A month", "Dollars of the window × 730 ÷ its observed hours, from 7 days on."),
    Term("Never touched", "A GPU idle in every sample, with at most 64 MiB of memory beyond the driver’s own."),
    Term("Asks too little", "An attempt that peaked above what it held: nothing of it is recoverable."),
    Term("Watched", "Covered by a collector’s intervals with samples.", of_telemetry=True),
    Term("Gap", "More than a second of a node’s window that is not watched: not measured, needed.", of_telemetry=True),
    Term("Overhead", "CPU, memory and bytes written of the collector’s own process, by itself.", of_telemetry=True),
    Term("Throttled", "A GPU slowed down by heat, power brake or hardware; not by its power cap.", of_telemetry=True),
    Term(
        "I/O-bound",
        "A touched GPU below 30% activity while a task on its node was stalled on I/O, or its CPUs waited for it, for "
        "20% of the time. Shown, never recoverable.",
        of_telemetry=True,
    ),
)


@dataclass(frozen=True)
class PriceRow:
    """One price, US dollars an hour: its lowest and highest (None: it has none), and where it comes from."""

    name: str
    nodes: int | None
    usd_per_hour: float | None
    low: float | None
    high: float | None
    source: str


def method(report: Report) -> dict[str, Any]:
    """What the page shows."""
    prices = report["prices"]
    is_watched = report["telemetry"] is not None
    terms = [term for term in TERMS if is_watched or not term.of_telemetry]
    most = PRICE_ROWS - 2 if is_watched else PRICE_ROWS
    cut = most if len(prices) <= most else most - 1
    return {
        "terms": _columns([(term.word, _meaning(term, report)) for term in terms]),
        "prices": [_price(price) for price in prices[:cut]],
        "more_prices": len(prices) - cut if prices[cut:] else 0,
        "is_list": any(price["basis"] == "list" for price in prices),
        "is_own": any(price["basis"] != "list" for price in prices),
    }


def _meaning(term: Term, report: Report) -> str:
    return term.meaning if node_sizes_known(report) or term.unbundled is None else term.unbundled


def _columns(terms: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Two columns of about one height: a term takes its lines and the white around them."""
    heights = [len(wrap(meaning, LINE_LETTERS)) + 0.5 for _, meaning in terms]
    sums = list(accumulate(heights))
    first = 1 + min(range(len(sums)), key=lambda number: abs(sums[number] - sums[-1] / 2))
    return terms[:first], terms[first:]


def _price(price: Mapping[str, Any]) -> PriceRow:
    names, listed = price["provider_names"], price["list_usd_per_hour"]
    told = f"{count_of(price['providers'], 'provider')}: {', '.join(names)}" if price["providers"] else price["source"]
    day = f", {price['as_of']}" if price["as_of"] else ""
    beside = f"; list price {rate(listed)}" if price["basis"] != "list" and listed is not None else ""
    return PriceRow(
        name=fitted(priced_name(price), NAME_ROOM),
        nodes=price["nodes"],
        usd_per_hour=price["usd_per_hour"],
        low=price["low_usd_per_hour"],
        high=price["high_usd_per_hour"],
        source=fitted(f"{told}{day}{beside}", SOURCE_ROOM),
    )
