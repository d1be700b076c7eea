"""Prices of node classes, and the rates of unbundled mode: what the site states first, then the list book."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from audit.errors import NoReportError
from audit.price_settings import Prices
from audit.pricing.book import Card, PriceBook, list_book
from audit.pricing.cards import card_of, gpu_counts, physical_cards, without_mig
from audit.pricing.own import OwnPrices, own_prices
from audit.pricing.rates import Rate, total
from audit.toml_table import quote

GIB = 2**30


@dataclass(frozen=True)
class Tariff:
    """All that a price is looked up in. `accelerators` is [prices.accelerators]: GRES type to card label."""

    own: OwnPrices
    listed: PriceBook
    accelerators: Mapping[str, str]

    def card(self, gres_type: str) -> Card | None:
        """The card of a GRES type; see `card_of`."""
        return card_of(gres_type, self.listed, self.accelerators)


@dataclass(frozen=True)
class ClassPrice:
    """A node class, named as reports name it (`4xA100-80GB`, `cpu-64c-256GiB`), and its price."""

    node_class: str
    rate: Rate


def read_tariff(prices: Prices, listed: PriceBook | None = None) -> Tariff:
    """What [prices] of audit.toml comes to; `listed` is the bundled list book where none is given.

    Raises UsageError where the site's own book cannot be read or states what cannot be.
    """
    return Tariff(own_prices(prices), listed or list_book(), prices.accelerators)


def class_price(gres: str, cores: float, vcpus: float | None, mem_bytes: float, tariff: Tariff) -> ClassPrice:
    """The class of a node of this size and its price, US dollars an hour.

    GPU nodes are priced by their cards, as nodes with such cards are sold; others by memory and vCPUs: the
    node's hardware threads, and where `vcpus` is NULL one a Slurm CPU. Raises NoReportError where there is no price.
    """
    counts = physical_cards(gres)
    if not counts:
        mem_gib = max(1, round(mem_bytes / GIB))  # nodes of one kind differ by a few MiB: they are one class
        name = f"cpu-{cores:g}c-{mem_gib}GiB"
        return ClassPrice(name, _stated(name, tariff) or _cpu_node(name, cores, vcpus, mem_gib, tariff))
    slurm_name = "+".join(f"{n:g}x{card or 'gpu'}" for card, n in sorted(counts.items()))
    if stated := _stated(slurm_name, tariff):
        return ClassPrice(slurm_name, stated)
    cards: dict[Card, float] = {}
    for name, number in counts.items():
        if (card := tariff.card(name)) is None:
            raise _no_price(slurm_name, tariff)
        cards[card] = cards.get(card, 0.0) + number
    ordered = sorted(cards.items(), key=lambda item: item[0].label)
    name = "+".join(f"{round(number, 2):g}x{card.label}" for card, number in ordered)
    if stated := _stated(name, tariff):
        return ClassPrice(name, stated)
    if tariff.own.ends_at:
        raise _no_price(name, tariff)
    return ClassPrice(name, total([tariff.listed.gpu_node(card, number) for card, number in ordered]))


def unbundled_rate(resource: Literal["core", "mem_gib"], tariff: Tariff) -> tuple[str, Rate]:
    """The resource and US dollars for an hour of one core, or of one GiB of memory.

    One Slurm CPU counts as one vCPU here, since node sizes are not known. NoReportError where it has no price.
    """
    own, key = tariff.own, f"{resource}_hour"
    if stated := own.unbundled.get(key):
        return resource, stated
    if own.ends_at:
        remedy = f"under [unbundled] in {own.ends_at} write {key} = its price"
        raise NoReportError(f"{key} has no price", remedy=remedy)
    return resource, tariff.listed.vcpu() if resource == "core" else tariff.listed.mem_gib()


def gpu_rate(gres: str, tariff: Tariff) -> tuple[str, Rate]:
    """What the GPUs of a normalised GRES text are, and US dollars an hour for one of them (types by number).

    Raises NoReportError where a type has no price.
    """
    if own := tariff.own.gpu_hour.get(""):
        return "gpu", own
    counts = gpu_counts(gres)
    labels, rates = [], []
    for name, number in sorted(counts.items()) or [("", 1.0)]:
        label, rate = _one_gpu(name, tariff)
        labels.append(label)
        rates.append(rate.times(number / sum(counts.values())) if counts else rate)
    return "gpu:" + "+".join(dict.fromkeys(labels)), total(rates)


def _one_gpu(gres_type: str, tariff: Tariff) -> tuple[str, Rate]:
    """A card's label, or the GRES type where it is priced under that, and its rate."""
    own = tariff.own
    plain = without_mig(gres_type)
    if plain and (rate := own.gpu_hour.get(plain)):
        return plain, rate
    card = tariff.card(gres_type)
    if card and (rate := own.gpu_hour.get(card.label.lower())):
        return card.label, rate
    listed = None if own.ends_at or card is None else tariff.listed.gpu_alone(card)
    if card is None or listed is None:
        write = f"in {own.ends_at} write gpu_hour" if own.ends_at else "in audit.toml write gpu_hour_usd"
        raise NoReportError(
            f"GPUs of type {quote(gres_type or 'not named')} have no price",
            remedy=f"under {'[unbundled]' if own.ends_at else '[prices.unbundled]'} {write} = the price of one an hour",
        )
    return card.label, listed


def _cpu_node(name: str, cores: float, vcpus: float | None, mem_gib: float, tariff: Tariff) -> Rate:
    if tariff.own.ends_at:
        raise _no_price(name, tariff)
    counted = "one a Slurm CPU: hardware threads are not known" if vcpus is None else "hardware threads"
    return tariff.listed.cpu_node(cores if vcpus is None else vcpus, mem_gib, counted)


def _stated(name: str, tariff: Tariff) -> Rate | None:
    return tariff.own.node_hour.get(name.lower())


def _no_price(name: str, tariff: Tariff) -> NoReportError:
    own = tariff.own.ends_at
    place = f"[node_hour] in {own}" if own else "[prices.usd_per_node_hour] in audit.toml"
    return NoReportError(
        f"node class {quote(name)} has no price",
        remedy=f"under {place} write {quote(name)} = {'its price' if own else 'its dollars'} an hour",
    )
