"""Prices: what a node class, or a core, a GiB and a GPU, cost an hour, with source, basis and range."""

from audit.pricing.book import PriceBook, list_book
from audit.pricing.cards import card_label, card_memory_bytes, card_of, gpu_counts
from audit.pricing.classes import ClassPrice, Tariff, class_price, gpu_rate, read_tariff, unbundled_rate
from audit.pricing.rates import Basis, Rate

__all__ = [
    "Basis",
    "ClassPrice",
    "PriceBook",
    "Rate",
    "Tariff",
    "card_label",
    "card_memory_bytes",
    "card_of",
    "class_price",
    "gpu_counts",
    "gpu_rate",
    "list_book",
    "read_tariff",
    "unbundled_rate",
]
