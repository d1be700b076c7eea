"""The list price book: on-demand node prices of many providers, and what a GPU, a vCPU and a GiB cost there.

A price is the median over providers of each provider's own median, so that a provider with many instance
types weighs no more than one with few; its range is the smallest and the largest provider median.
Source: `prices.csv` beside this file, each row with the catalogue it was taken from.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from audit.pricing.rates import Rate

SAME_MEMORY = 0.1  # providers name one card's memory as 22.35, 24 or 22.9 GiB: within a tenth it is the same card


@dataclass(frozen=True)
class Instance:
    """One node as a provider sells it; the price is US dollars an hour, on demand."""

    provider: str
    accelerator: str
    gpus: int
    gpu_mem_gib: float
    vcpus: float
    mem_gib: float
    usd_per_hour: float
    catalogue: str = ""  # where the row was read: version, provider and commit


@dataclass(frozen=True)
class Card:
    """A GPU model with one memory size. `label` is its name in reports and in audit.toml."""

    label: str
    accelerator: str
    mem_gib: float
    instances: int


@dataclass(frozen=True)
class CpuFit:
    """One provider's non-negative least-squares fit of node price on vCPUs and GiB."""

    provider: str
    usd_per_vcpu_hour: float
    usd_per_mem_gib_hour: float


class PriceBook:
    """Prices of one book, ready to be asked by card, or by vCPUs and GiB."""

    def __init__(self, instances: Iterable[Instance]) -> None:
        self.instances = tuple(instances)

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """Every GPU model and memory size that is sold; rows whose memory is within a tenth are one."""
        sizes: dict[str, list[float]] = defaultdict(list)
        for item in self.instances:
            if item.gpus:
                sizes[item.accelerator].append(item.gpu_mem_gib)
        cards = []
        for accelerator, found in sorted(sizes.items()):
            groups = _grouped(found)
            usual = max(groups, key=len)
            for group in groups:
                label = accelerator if group is usual else f"{accelerator}-{round(max(group))}GB"
                cards.append(Card(label, accelerator, max(group), len(group)))
        return tuple(cards)

    def of_card(self, card: Card) -> list[Instance]:
        """The instances that carry this card."""
        return [
            i
            for i in self.instances
            if i.accelerator == card.accelerator and abs(i.gpu_mem_gib - card.mem_gib) <= SAME_MEMORY * card.mem_gib
        ]

    def gpu_node(self, card: Card, gpus: float) -> Rate:
        """A node with that many of these cards: GPUs x the median price of a node per GPU it carries.

        Rows that sell the card without a node (no vCPUs) count only where there is no other.
        """
        sold = self.of_card(card)
        whole = [i for i in sold if i.vcpus > 0]
        used = whole or sold
        per_provider: dict[str, list[float]] = defaultdict(list)
        for item in used:
            per_provider[item.provider].append(item.usd_per_hour / item.gpus)
        what = "nodes" if whole else "the card alone, without the node it sits in"
        return _over_providers(
            {p: gpus * median(v) for p, v in per_provider.items()},
            f"{gpus:.4g} x median over providers of each one's median on-demand list price per GPU: "
            f"{_named(card)}, {what}",
            used,
        )

    @cached_property
    def cpu_fits(self) -> tuple[CpuFit, ...]:
        """One fit a provider whose CPU nodes vary in GiB per vCPU; the others cannot tell the two apart."""
        rows: dict[str, list[Instance]] = defaultdict(list)
        for item in self.instances:
            if not item.gpus and item.vcpus > 0:
                rows[item.provider].append(item)
        fits = []
        for provider, items in sorted(rows.items()):
            if len({round(i.mem_gib / i.vcpus, 2) for i in items}) < 2:
                continue
            sizes = np.array([(i.vcpus, i.mem_gib) for i in items])
            fits.append(CpuFit(provider, *_non_negative_fit(sizes, np.array([i.usd_per_hour for i in items]))))
        return tuple(fits)

    def cpu_node(self, vcpus: float, mem_gib: float, vcpus_are: str) -> Rate:
        """A node without GPUs: what each provider's fit says of its size; `vcpus_are` says what was counted."""
        return self._by_fit(vcpus, mem_gib, f"{vcpus:g} vCPUs ({vcpus_are}) and {mem_gib:g} GiB")

    def vcpu(self) -> Rate:
        """One vCPU for an hour, of the same fits."""
        return self._by_fit(1, 0, "one vCPU, counted for one Slurm CPU")

    def mem_gib(self) -> Rate:
        """One GiB for an hour, of the same fits."""
        return self._by_fit(0, 1, "one GiB")

    def _by_fit(self, vcpus: float, mem_gib: float, what: str) -> Rate:
        costs = {f.provider: vcpus * f.usd_per_vcpu_hour + mem_gib * f.usd_per_mem_gib_hour for f in self.cpu_fits}
        used = [i for i in self.instances if not i.gpus and i.provider in costs]
        rule = "median over providers of each one's fit of on-demand list prices of CPU nodes on vCPUs and GiB"
        return _over_providers(costs, f"{rule}: {what}", used)

    def gpu_alone(self, card: Card) -> Rate | None:
        """One card for an hour: the node's price less its vCPUs and GiB at the fitted rates, per GPU.

        Instances cheaper than their own vCPUs and GiB say nothing of the card; None where no other is sold.
        """
        core, mem = self.vcpu().usd_per_hour, self.mem_gib().usd_per_hour
        per_provider: dict[str, list[float]] = defaultdict(list)
        used = []
        for i in self.of_card(card):
            if (alone := i.usd_per_hour - i.vcpus * core - i.mem_gib * mem) > 0:
                per_provider[i.provider].append(alone / i.gpus)
                used.append(i)
        if not per_provider:
            return None
        return _over_providers(
            {p: median(v) for p, v in per_provider.items()},
            "median over providers of each one's median on-demand list price per GPU, less vCPUs and GiB at the fitted "
            f"rates: {_named(card)}",
            used,
        )


def _named(card: Card) -> str:
    return f"{card.accelerator}, {card.mem_gib:g} GB"


def _grouped(sizes: list[float]) -> list[list[float]]:
    groups: list[list[float]] = []
    for size in sorted(sizes):
        if groups and size <= groups[-1][0] * (1 + SAME_MEMORY):
            groups[-1].append(size)
        else:
            groups.append([size])
    return groups


def _over_providers(costs: dict[str, float], rule: str, used: Iterable[Instance]) -> Rate:
    read = sorted({i.catalogue for i in used if i.catalogue})
    return Rate(
        median(costs.values()),
        min(costs.values()),
        max(costs.values()),
        f"{rule}; {', '.join(read)}" if read else rule,
        "list",
        tuple(sorted(costs)),
    )


def _non_negative_fit(sizes: NDArray[np.float64], prices: NDArray[np.float64]) -> tuple[float, float]:
    """Least squares of `prices` on two columns, neither coefficient below 0; exact for two columns."""
    both = np.linalg.lstsq(sizes, prices, rcond=None)[0]
    if (both >= 0).all():
        return float(both[0]), float(both[1])
    alone = np.maximum(sizes.T @ prices / (sizes**2).sum(axis=0), 0)
    errors = ((prices[:, None] - sizes * alone) ** 2).sum(axis=0)
    return (float(alone[0]), 0.0) if errors[0] <= errors[1] else (0.0, float(alone[1]))


@lru_cache(maxsize=1)
def list_book() -> PriceBook:
    """The bundled book of on-demand list prices. Rows without an on-demand price are left out."""
    with (Path(__file__).parent / "prices.csv").open(encoding="utf-8", newline="") as file:
        return PriceBook(
            Instance(
                provider=row["provider"],
                accelerator=row["accelerator"],
                gpus=int(row["accelerator_count"] or 0) if row["accelerator"] else 0,
                gpu_mem_gib=float(row["accelerator_memory_gib"] or 0),
                vcpus=float(row["vcpus"]),
                mem_gib=float(row["memory_gib"]),
                usd_per_hour=float(row["usd_per_hour_on_demand"]),
                catalogue=f"{'/'.join(Path(row['source_path']).parts[1:-1])}@{row['source_commit'][:7]}",
            )
            for row in csv.DictReader(file)
            if row["usd_per_hour_on_demand"]
        )
