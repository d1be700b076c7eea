"""Price books: what a node class, or a core, a GiB and a GPU, cost an hour, with source and range."""

from audit.pricing.book import PriceBook, Rate, list_book
from audit.pricing.classes import ClassPrice, class_price, gpu_rate, unbundled_rates

__all__ = ["ClassPrice", "PriceBook", "Rate", "class_price", "gpu_rate", "list_book", "unbundled_rates"]
