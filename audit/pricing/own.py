"""The site's own prices: what `audit.toml` states and, before it falls back, the site's own price book.

The book is a TOML file that `[prices] book` names. Only a price or a formula has to be in it:

    name = "Frame contract"     # default: the file's name
    basis = "contract"          # or "list", "owned": what [node_hour] and [unbundled] are
    date = 2026-01-01           # the day the prices are of
    source = "invoice 4711"     # where a controller finds them
    currency = "EUR"            # ISO 4217; default USD
    usd_per_unit = 1.08         # US dollars for one of it; needed unless the currency is USD
    fallback = "list"           # what the book does not name costs what the list book says; else it has no price

    [node_hour]                 # by node class, as the report names it
    "4xA100-80GB" = 11.50
    [unbundled]                 # where node sizes are unknown
    core_hour = 0.02
    mem_gib_hour = 0.003
    gpu_hour = 1.90             # or a table by card or GRES type: { "A100-80GB" = 1.90, t4 = 0.40 }
    [owned."cpu-64c-256GiB"]    # (capital / years + running_per_year) / 8760 + power_kw x pue x per_kwh
    capital = 240000
    years = 4
    power_kw = 6
    pue = 1.3
    per_kwh = 0.15
    running_per_year = 20000

Every price is above 0; pue is at least 1; power_kw and running_per_year may be 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

from audit.errors import UsageError
from audit.price_settings import CLASS_LINE, LIST, OwnedNode, Prices, once, owned_nodes
from audit.pricing.currencies import CURRENCIES
from audit.pricing.rates import Basis, Rate
from audit.toml_table import Table, dotted, parsed

YEAR_HOURS = 8760
_MISSING = 'mend book under [prices] in audit.toml: a file beside it, or "list"'
_TABLES = ("node_hour", "unbundled", "owned")
_KEYS = ("name", "basis", "date", "source", "currency", "usd_per_unit", "fallback", *_TABLES)
_OWNED_KEYS = ("capital", "years", "power_kw", "pue", "per_kwh", "running_per_year")


@dataclass(frozen=True)
class OwnPrices:
    """What a site states, ready as rates; names of classes, cards and GRES types are in lower case.

    `unbundled` is by `core_hour` and `mem_gib_hour`, `gpu_hour` by card label or GRES type, "" being any card.
    `ends_at` names the own book that what is not stated must be written in; None where list prices hold for it.
    """

    node_hour: Mapping[str, Rate]
    unbundled: Mapping[str, Rate]
    gpu_hour: Mapping[str, Rate]
    ends_at: str | None


@dataclass(frozen=True)
class _Money:
    """The currency of a file, US dollars for one unit of it, and how its rates are labelled."""

    currency: str
    usd_per_unit: float
    where: str
    basis: Basis
    as_of: str | None

    def rate(self, amount: float, key: str) -> Rate:
        """The rate that a price under `key` states."""
        if self.currency == "USD":
            return self._rate(amount, f"{self.where}, {key}", self.basis)
        text = f"{self.where}, {key}: {amount:.10g} {self.currency} x {self.usd_per_unit:.10g} USD"
        return self._rate(amount, text, self.basis)

    def owned(self, node: OwnedNode, key: str) -> Rate:
        """(capital / years + running) / 8760 + kW x PUE x price of a kWh, an hour."""
        hourly = (node.capital / node.years + node.running_per_year) / YEAR_HOURS
        hourly += node.power_kw * node.pue * node.per_kwh
        reckoned = (
            f"{self.where}, {key}: ({node.capital:.10g} / {node.years:.10g} years + "
            f"{node.running_per_year:.10g} a year) / {YEAR_HOURS} h + {node.power_kw:.10g} kW x PUE {node.pue:.10g} x "
            f"{node.per_kwh:.10g} a kWh = {hourly:.6g} {self.currency}"
        )
        if self.currency != "USD":
            reckoned += f" x {self.usd_per_unit:.10g} USD"
        return self._rate(hourly, reckoned, "owned")

    def _rate(self, amount: float, source: str, basis: Basis) -> Rate:
        return Rate(amount * self.usd_per_unit, None, None, source, basis, as_of=self.as_of)


def own_prices(prices: Prices) -> OwnPrices:
    """What the site's own book states, if [prices] names one, and over it what `audit.toml` states.

    Raises UsageError where the book cannot be read or states what cannot be.
    """
    money = _Money("USD", 1.0, "audit.toml", "contract", None)
    stated = {
        k.lower(): money.rate(usd, f"prices.usd_per_node_hour.{dotted((k,))}") for k, usd in prices.classes.items()
    }
    bought = {k.lower(): money.owned(node, f"prices.owned.{dotted((k,))}") for k, node in prices.owned.items()}
    rates = {k: money.rate(usd, f"prices.unbundled.{k}") for k, usd in prices.unbundled.items()}
    gpu = rates.pop("gpu_hour_usd", None)
    unbundled = {key.removesuffix("_usd"): rate for key, rate in rates.items()}
    book = OwnPrices({}, {}, {}, None) if prices.book == LIST else _book(prices.folder / prices.book, prices.book)
    return replace(
        book,
        node_hour={**book.node_hour, **stated, **bought},
        unbundled={**book.unbundled, **unbundled},
        gpu_hour={"": gpu} if gpu else book.gpu_hour,
    )


def _book(path: Path, name: str) -> OwnPrices:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UsageError(f"the price book cannot be read ({why})", where=str(path), remedy=_MISSING) from None
    top = parsed(text, str(path))
    top.only(_KEYS)
    money = _money(top, name)
    classes, owned = top.table("node_hour", CLASS_LINE), top.table("owned", '[owned."4xA100-80GB"]')
    unbundled = top.table("unbundled", "core_hour = 0.02")
    unbundled.only(("core_hour", "mem_gib_hour", "gpu_hour"))
    once(classes, owned)
    plain = {key: amount for key in ("core_hour", "mem_gib_hour") if (amount := unbundled.number(key)) is not None}
    node_hour = {k.lower(): money.rate(amount, f"node_hour.{dotted((k,))}") for k, amount in classes.numbers()}
    bought = owned_nodes(owned, _OWNED_KEYS)
    return OwnPrices(
        node_hour=node_hour | {k.lower(): money.owned(node, f"owned.{dotted((k,))}") for k, node in bought.items()},
        unbundled={k: money.rate(amount, f"unbundled.{k}") for k, amount in plain.items()},
        gpu_hour=_gpu_hour(unbundled, money),
        ends_at=None if top.one_of("fallback", (LIST,)) else name,
    )


def _gpu_hour(unbundled: Table, money: _Money) -> dict[str, Rate]:
    if not isinstance(unbundled.values.get("gpu_hour", {}), dict):
        amount = unbundled.number("gpu_hour")
        return {} if amount is None else {"": money.rate(amount, "unbundled.gpu_hour")}
    cards = unbundled.table("gpu_hour", '"A100-80GB" = 1.90')
    once(cards)
    return {k.lower(): money.rate(amount, f"unbundled.gpu_hour.{dotted((k,))}") for k, amount in cards.numbers()}


def _money(top: Table, name: str) -> _Money:
    currency = top.text_of("currency") or "USD"
    if currency not in CURRENCIES:
        raise top.fail("currency", 'is no code of ISO 4217; write it as in "EUR"')
    usd_per_unit = top.number("usd_per_unit")
    if usd_per_unit is None and currency != "USD":
        raise top.fail("currency", f"needs usd_per_unit beside it: how many US dollars one {currency} is")
    if usd_per_unit not in (None, 1.0) and currency == "USD":
        raise top.fail("usd_per_unit", "of USD is 1; name the currency that the prices are in, or remove it")
    basis = cast("Basis | None", top.one_of("basis", ("list", "contract", "owned"))) or "contract"
    day = _day(top)
    told = [top.text_of("name"), top.text_of("source"), day]
    where = name if not any(told) else f"{name} ({', '.join(t for t in told if t)})"
    return _Money(currency, usd_per_unit or 1.0, where, basis, day)


def _day(top: Table) -> str | None:
    value: Any = top.values.get("date")
    if value is None:
        return None
    try:
        day = value if isinstance(value, date) and not isinstance(value, datetime) else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise top.fail("date", "expects a date, e.g. 2026-01-01") from None
    return day.isoformat()
