"""Two stages of one pipeline at a time: the next item is made while the one before is being used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, in order, each made one ahead in a thread of its own; at most two are held at a time."""
    with ThreadPoolExecutor(max_workers=1) as maker:
        coming = maker.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = maker.submit(next, items, None)
            yield item
