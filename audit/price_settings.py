"""[prices] of `audit.toml`: which price book holds, and what the operator states there, in US dollars."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from audit.toml_table import Table, dotted

LIST = "list"  # the bundled book of on-demand list prices
CLASS_LINE = '"4xA100-80GB" = 12.34'
_OWNED_KEYS = ("capital_usd", "years", "power_kw", "pue", "usd_per_kwh", "running_usd_per_year")


@dataclass(frozen=True)
class OwnedNode:
    """A node that the site bought: what it cost, over how many years it is written off, what it draws and needs.

    Amounts are in the currency of the file that states them.
    """

    capital: float
    years: float
    power_kw: float
    pue: float
    per_kwh: float
    running_per_year: float


@dataclass(frozen=True)
class Prices:
    """Which price book holds, and the operator's own prices in US dollars an hour.

    `book` is "list" or the path, from `folder`, of the site's own book; what is stated here goes before it.
    """

    book: str = LIST
    folder: Path = Path()
    accelerators: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, float] = field(default_factory=dict)
    unbundled: Mapping[str, float] = field(default_factory=dict)
    owned: Mapping[str, OwnedNode] = field(default_factory=dict)


def read_prices(table: Table, folder: Path) -> Prices:
    """[prices] of the `audit.toml` in `folder`; UsageError names key, line and remedy."""
    table.only(("book", "accelerators", "usd_per_node_hour", "unbundled", "owned"))
    cards = table.table("accelerators", 'a100 = "A100-80GB"')
    classes, unbundled = table.table("usd_per_node_hour", CLASS_LINE), table.table("unbundled", "core_hour_usd = 0.02")
    owned = table.table("owned", '[prices.owned."4xA100-80GB"]')
    unbundled.only(("core_hour_usd", "mem_gib_hour_usd", "gpu_hour_usd"))
    book = table.text_of("book") or LIST
    if book != LIST and not book.endswith(".toml"):
        raise table.fail("book", f'expects "{LIST}" (on-demand list prices) or your own file, e.g. "my-prices.toml"')
    once(cards)
    once(classes, owned)
    return Prices(
        book=book,
        folder=folder,
        accelerators={key: label for key in cards.values if (label := cards.text_of(key))},
        classes=dict(classes.numbers()),
        unbundled=dict(unbundled.numbers()),
        owned=owned_nodes(owned, _OWNED_KEYS),
    )


def owned_nodes(table: Table, keys: tuple[str, str, str, str, str, str]) -> dict[str, OwnedNode]:
    """The owned node classes of a table; `keys` are its names for OwnedNode's fields. UsageError names the line."""
    return {name: _owned_node(table.table(name, f"{keys[0]} = 240000"), keys) for name in table.values}


def _owned_node(table: Table, keys: tuple[str, str, str, str, str, str]) -> OwnedNode:
    table.only(keys)
    least = (None, None, 0.0, 1.0, None, 0.0)  # pue is at least 1; None: above 0
    amounts = [table.number(key, least=bound) for key, bound in zip(keys, least, strict=True)]
    stated = [amount for amount in amounts if amount is not None]
    for key, amount in zip(keys, amounts, strict=True):
        if amount is None:
            raise table.fail(key, "is missing: an owned node needs " + ", ".join(keys))
    return OwnedNode(*stated)


def once(*tables: Table) -> None:
    """UsageError where a name stands twice in these tables; upper and lower case are one."""
    seen: dict[str, str] = {}
    for table in tables:
        for key in table.values:
            if other := seen.get(key.lower()):
                raise table.fail(key, f"is the same as {other}; keep one of them")
            seen[key.lower()] = dotted((*table.path, key))
