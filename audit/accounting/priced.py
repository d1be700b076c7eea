"""Prices attempts by node, or unbundled by core, GiB and GPU where node sizes are unknown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import duckdb

from audit.accounting.relations import build, query, table
from audit.errors import NoReportError
from audit.price_settings import Prices
from audit.pricing import ClassPrice, Rate, class_price, gpu_rate, read_tariff, unbundled_rate
from audit.workspace import Config

BY_NODE = (
    "share",
    "node_level",
    "binding",
    "running",
    "bound_share",
    "node_cost",
    "cut",
    "needed",
    "won_share",
    "node_won",
    "node_rerun",
    "down_span",
    "node_hours",
    "hourly",
    "hourly_won",
    "node_partition_hour",
    "node_request_rate",
)
UNBUNDLED = (
    "unbundled_cost",
    "given_up",
    "unbundled_won",
    "unbundled_rerun",
    "unbundled_partition_hour",
    "unbundled_request_rate",
)
_EITHER = {
    "charge": "cost",
    "won": "won",
    "rerun": "rerun",
    "partition_hour": "partition_hour",
    "request_rate": "request_rate",
}

Priced = TypeVar("Priced")


@dataclass(frozen=True)
class PricedResource:
    """One line of the price list: a node class with its number of nodes, or in unbundled mode a resource.

    `list_usd_per_hour`: what the bundled list book says of a node class, whatever it is priced on here; None where it
    does not sell such.
    """

    name: str
    rate: Rate
    nodes: int | None
    list_usd_per_hour: float | None = None


@dataclass(frozen=True)
class CostMode:
    """How attempts were priced: by node, or unbundled for the reason given."""

    mode: Literal["node", "unbundled"]
    reason: str | None
    prices: tuple[PricedResource, ...]


def price_nodes(connection: duckdb.DuckDBPyConnection, config: Config) -> CostMode:
    """Makes the relations that price by node class; NoReportError names every class without a price."""
    sizes = connection.execute(query("node_size")).fetchall()
    tariff = read_tariff(config.prices)
    classes = _all_priced(partial(class_price, g, c, v, m, tariff) for g, c, v, m, _ in sizes)
    columns = (
        "gres VARCHAR",
        "cores DOUBLE",
        "mem_bytes BIGINT",
        "node_class VARCHAR",
        "usd_per_hour DOUBLE",
    )
    rows = [(g, c, m, p.node_class, p.rate.usd_per_hour) for (g, c, _, m, _), p in zip(sizes, classes, strict=True)]
    table(connection, "class_price", columns, rows)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE node_states_seen AS {query('node_states_seen')}")
    build(connection, BY_NODE)
    _choose(connection, "node")
    listed = read_tariff(Prices(accelerators=config.prices.accelerators))
    at_list = [_list_price(partial(class_price, g, c, v, m, listed)) for g, c, v, m, _ in sizes]
    return CostMode("node", None, _by_class(classes, at_list, [n for *_, n in sizes]))


def _list_price(price: Callable[[], ClassPrice]) -> float | None:
    try:
        return price().rate.usd_per_hour
    except NoReportError:
        return None


def _choose(connection: duckdb.DuckDBPyConnection, mode: str) -> None:
    """Names the mode's relations as those that work in either mode read them."""
    for name, made in _EITHER.items():
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM {mode}_{made}")


def _all_priced(pricings: Iterable[Callable[[], Priced]]) -> list[Priced]:
    """Every price; NoReportError that names all that are missing at once, each with its remedy."""
    found: list[Priced] = []
    missing: dict[str, str] = {}
    for price in pricings:
        try:
            found.append(price())
        except NoReportError as error:
            missing[error.what] = error.remedy
    if missing:
        raise NoReportError("; ".join(missing), remedy="; ".join(dict.fromkeys(missing.values())))
    return found


def _by_class(
    classes: Sequence[ClassPrice], at_list: Sequence[float | None], nodes: Sequence[int]
) -> tuple[PricedResource, ...]:
    """One line a class; classes whose nodes differ by a little memory share the name, each its own line."""
    merged: dict[tuple[str, Rate, float | None], int] = {}
    for found, usd, number in zip(classes, at_list, nodes, strict=True):
        key = found.node_class, found.rate, usd
        merged[key] = merged.get(key, 0) + number
    by_name = sorted(merged.items(), key=str)
    return tuple(PricedResource(name, rate, number, usd) for (name, rate, usd), number in by_name)


def price_resources(connection: duckdb.DuckDBPyConnection, config: Config, unsized: list[str]) -> CostMode:
    """Makes the relations that price by core, GiB and GPU, since the nodes in `unsized` have no size."""
    tariff = read_tariff(config.prices)
    gres = connection.execute(
        "SELECT DISTINCT coalesce(gres, '') FROM held_allocation WHERE gpus > 0 ORDER BY ALL"
    ).fetchall()
    by_gres = (partial(gpu_rate, text, tariff) for (text,) in gres)
    (_, core), (_, mem), *gpus = rates = _all_priced(
        (partial(unbundled_rate, "core", tariff), partial(unbundled_rate, "mem_gib", tariff), *by_gres)
    )
    columns = ("gres VARCHAR", "usd_per_gpu_hour DOUBLE")
    table(
        connection,
        "gres_rate",
        columns,
        ((g, rate.usd_per_hour) for (g,), (_, rate) in zip(gres, gpus, strict=True)),
    )
    columns = ("usd_per_core_hour DOUBLE", "usd_per_mem_gib_hour DOUBLE")
    table(connection, "unbundled_rate", columns, [(core.usd_per_hour, mem.usd_per_hour)])
    build(connection, UNBUNDLED)
    _choose(connection, "unbundled")
    shown = ", ".join(unsized[:5]) + (f" and {len(unsized) - 5} more" if len(unsized) > 5 else "")
    why = f"node sizes are not known ({shown})" if unsized != [""] else "no attempt names its nodes"
    return CostMode("unbundled", why, tuple(PricedResource(name, rate, None) for name, rate in dict(rates).items()))


def unsized_nodes(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Nodes of the slice that cannot be priced by node: held at a time, or asked for, with no size then."""
    rows = connection.execute(query("unsized_node")).fetchall()
    placed = connection.execute("SELECT count(node) FROM held_allocation").fetchone()
    return [name for (name,) in rows] or ([] if placed and placed[0] else [""])
