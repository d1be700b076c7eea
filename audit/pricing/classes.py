"""Prices of node classes, and the rates of unbundled mode, with what audit.toml states put first."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from audit.errors import NoReportError
from audit.pricing.book import Card, PriceBook, Rate
from audit.pricing.cards import card_of
from audit.units import card_share
from audit.workspace import Prices, quote

GIB = 2**30


@dataclass(frozen=True)
class ClassPrice:
    """A node class, named as reports name it (`4xA100-80GB`, `cpu-64c-256GiB`), and its price."""

    node_class: str
    rate: Rate


def gpu_counts(gres: str) -> dict[str, float]:
    """Whole-card equivalents by GRES type of a normalised GRES text; type "" where none is named."""
    counts: dict[str, float] = {}
    for card, number in re.findall(r"(?:^|,)gpu(?::([^=,]+))?=(\d+(?:\.\d+)?)", gres):
        counts[card] = counts.get(card, 0.0) + float(number) * card_share(card)
    return counts


def class_price(gres: str, cores: float, mem_bytes: float, prices: Prices, book: PriceBook) -> ClassPrice:
    """The class of a node of this size and its price, US dollars an hour; a Slurm CPU counts as one vCPU.

    GPU nodes are priced by their cards, as nodes with such cards are sold; others by cores and memory. What
    audit.toml states under [prices.usd_per_node_hour] goes first.
    Raises NoReportError where there is no price.
    """
    counts = gpu_counts(gres)
    if not counts:
        mem_gib = max(1, round(mem_bytes / GIB))  # nodes of one kind differ by a few MiB: they are one class
        name = f"cpu-{cores:g}c-{mem_gib}GiB"
        return ClassPrice(name, _stated(name, prices) or book.cpu_node(cores, mem_gib))
    slurm_name = "+".join(f"{n:g}x{card or 'gpu'}" for card, n in sorted(counts.items()))
    if stated := _stated(slurm_name, prices):
        return ClassPrice(slurm_name, stated)
    cards: dict[Card, float] = {}
    for name, number in counts.items():
        if (card := card_of(name, book, prices.accelerators)) is None:
            raise _no_price(slurm_name)
        cards[card] = cards.get(card, 0.0) + number
    name = "+".join(
        f"{round(n, 2):g}x{card.label}" for card, n in sorted(cards.items(), key=lambda item: item[0].label)
    )
    rates = [book.gpu_node(card, number) for card, number in cards.items()]
    return ClassPrice(name, _stated(name, prices) or _sum(rates))


def unbundled_rates(prices: Prices, book: PriceBook) -> tuple[Rate, Rate]:
    """US dollars for a core-hour and for a GiB-hour of memory."""
    return (
        _own(prices.unbundled, "core_hour_usd") or book.vcpu(),
        _own(prices.unbundled, "mem_gib_hour_usd") or book.mem_gib(),
    )


def gpu_rate(gres: str, prices: Prices, book: PriceBook) -> tuple[str, Rate]:
    """What the GPUs of a normalised GRES text are, and US dollars an hour for one of them (types by number).

    Raises NoReportError where a type has no price.
    """
    counts = gpu_counts(gres)
    if own := _own(prices.unbundled, "gpu_hour_usd"):
        return "gpu", own
    labels, rates = [], []
    for name, number in sorted(counts.items()) or [("", 1.0)]:
        card = card_of(name, book, prices.accelerators)
        rate = book.gpu_alone(card) if card else None
        if card is None or rate is None:
            raise NoReportError(
                f"GPUs of type {quote(name or 'not named')} have no price",
                remedy="under [prices.unbundled] in audit.toml write gpu_hour_usd = its dollars an hour",
            )
        labels.append(card.label)
        rates.append(_times(rate, number / sum(counts.values())))
    return "gpu:" + "+".join(dict.fromkeys(labels)), _sum(rates)


def _stated(name: str, prices: Prices) -> Rate | None:
    usd = next((usd for key, usd in prices.classes.items() if key.lower() == name.lower()), None)
    return None if usd is None else Rate(usd, None, None, 0, "audit.toml, prices.usd_per_node_hour")


def _own(rates: Mapping[str, float], key: str) -> Rate | None:
    return Rate(rates[key], None, None, 0, f"audit.toml, prices.unbundled.{key}") if key in rates else None


def _times(rate: Rate, factor: float) -> Rate:
    low, high = rate.low_usd_per_hour, rate.high_usd_per_hour
    return Rate(
        rate.usd_per_hour * factor,
        None if low is None else low * factor,
        None if high is None else high * factor,
        rate.providers,
        rate.source,
    )


def _sum(rates: list[Rate]) -> Rate:
    if len(rates) == 1:
        return rates[0]
    return Rate(
        sum(r.usd_per_hour for r in rates),
        sum(r.low_usd_per_hour or 0.0 for r in rates),
        sum(r.high_usd_per_hour or 0.0 for r in rates),
        min(r.providers for r in rates),
        "; ".join(dict.fromkeys(r.source for r in rates)),
    )


def _no_price(name: str) -> NoReportError:
    return NoReportError(
        f"node class {quote(name)} has no price",
        remedy=f"under [prices.usd_per_node_hour] in audit.toml write {quote(name)} = its dollars an hour",
    )
