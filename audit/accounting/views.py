"""Builds the accounting relations over the store's views, each from the `.sql` of its name here.

They are temporary: nothing is written to the store, which may be open read-only. Most are tables, since many
figures read the same running sums. `definitions()` gives each one's comment, for the report's method section.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import duckdb

from audit.errors import NoReportError
from audit.pricing import ClassPrice, Rate, class_price, gpu_rate, list_book, unbundled_rates
from audit.workspace import Config, Workspace

_HOLDING = ("data_gap", "observed", "node_span", "gpu_split", "even_split", "allocation", "held_allocation")
_BY_NODE = ("share", "binding", "node_cost", "down_span", "node_hours")
_UNBUNDLED = ("unbundled_cost",)
_USE = (
    "span_held",
    "step_memory",
    "telemetry_use",
    "gpu_activity",
    "gpu_driver",
    "gpu_touched",
    "gpu_use",
    "memory_use",
    "core_use",
    "usage",
)
_LAST = ("attempt",)
_AS_VIEW = frozenset({"even_split", "allocation", "gpu_touched", "gpu_activity"})


Priced = TypeVar("Priced")


@dataclass(frozen=True)
class PricedResource:
    """One line of the price list: a node class with its number of nodes, or in unbundled mode a resource."""

    name: str
    rate: Rate
    nodes: int | None


@dataclass(frozen=True)
class CostMode:
    """How attempts were priced: by node, or unbundled for the reason given."""

    mode: Literal["node", "unbundled"]
    reason: str | None
    prices: tuple[PricedResource, ...]


def definitions() -> dict[str, str]:
    """The definition of each relation, as its `.sql` file states it, by name."""
    return {name: _definition(_sql(name)) for name in (*_HOLDING, *_BY_NODE, *_UNBUNDLED, *_USE, *_LAST)}


def create_views(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> CostMode:
    """Makes every relation of this room on `connection`, which holds the store's views.

    Raises NoReportError where nothing was held in the window, or what must be priced has no price.
    """
    create_use_views(connection, workspace)
    _require_held(connection)
    unsized, config = _unsized_nodes(connection), workspace.config
    mode = _price_resources(connection, config, unsized) if unsized else _price_nodes(connection, config)
    _build(connection, _LAST)
    return mode


def create_use_views(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> None:
    """Makes the relations that need no price: what was held, and what was used of it."""
    config = workspace.config
    _table(
        connection,
        "whole_node_partition",
        ("partition VARCHAR",),
        ((p,) for p in config.policy.whole_node_partitions),
    )
    whole_cluster = not config.slice_nodes and not config.slice_partitions
    _table(connection, "slice_scope", ("is_whole_cluster BOOLEAN",), [(whole_cluster,)])
    _build(connection, (*_HOLDING, *_USE))


def _price_nodes(connection: duckdb.DuckDBPyConnection, config: Config) -> CostMode:
    sizes = connection.execute(_query("node_size")).fetchall()
    classes = _all_priced(partial(class_price, g, c, m, config.prices, list_book()) for g, c, m, _ in sizes)
    columns = (
        "gres VARCHAR",
        "cores DOUBLE",
        "mem_bytes BIGINT",
        "node_class VARCHAR",
        "usd_per_hour DOUBLE",
    )
    rows = [(g, c, m, p.node_class, p.rate.usd_per_hour) for (g, c, m, _), p in zip(sizes, classes, strict=True)]
    _table(connection, "class_price", columns, rows)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE node_states_seen AS {_query('node_states_seen')}")
    _build(connection, _BY_NODE)
    connection.execute("CREATE OR REPLACE TEMP VIEW attempt_cost AS SELECT * FROM node_cost")
    return CostMode("node", None, _by_class(classes, [n for *_, n in sizes]))


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


def _by_class(classes: Sequence[ClassPrice], nodes: Sequence[int]) -> tuple[PricedResource, ...]:
    """One line a class; classes whose nodes differ by a little memory share the name, each its own line."""
    merged: dict[tuple[str, Rate], int] = {}
    for found, number in zip(classes, nodes, strict=True):
        merged[found.node_class, found.rate] = merged.get((found.node_class, found.rate), 0) + number
    return tuple(PricedResource(name, rate, number) for (name, rate), number in sorted(merged.items(), key=str))


def _price_resources(connection: duckdb.DuckDBPyConnection, config: Config, unsized: list[str]) -> CostMode:
    core, mem = unbundled_rates(config.prices, list_book())
    gres = connection.execute(
        "SELECT DISTINCT coalesce(gres, '') FROM held_allocation WHERE gpus > 0 ORDER BY ALL"
    ).fetchall()
    gpus = _all_priced(partial(gpu_rate, text, config.prices, list_book()) for (text,) in gres)
    columns = ("gres VARCHAR", "usd_per_gpu_hour DOUBLE")
    _table(
        connection,
        "gres_rate",
        columns,
        ((g, rate.usd_per_hour) for (g,), (_, rate) in zip(gres, gpus, strict=True)),
    )
    columns = ("usd_per_core_hour DOUBLE", "usd_per_mem_gib_hour DOUBLE")
    _table(connection, "unbundled_rate", columns, [(core.usd_per_hour, mem.usd_per_hour)])
    _build(connection, _UNBUNDLED)
    connection.execute("CREATE OR REPLACE TEMP VIEW attempt_cost AS SELECT * FROM unbundled_cost")
    named = [("core", core), ("mem_gib", mem), *dict(gpus).items()]
    shown = ", ".join(unsized[:5]) + (f" and {len(unsized) - 5} more" if len(unsized) > 5 else "")
    why = f"node sizes are not known ({shown})" if unsized != [""] else "no attempt names its nodes"
    return CostMode("unbundled", why, tuple(PricedResource(name, rate, None) for name, rate in named))


def _unsized_nodes(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Nodes of the slice that cannot be priced by node: held at a time, or asked for, with no size then."""
    rows = connection.execute(_query("unsized_node")).fetchall()
    placed = connection.execute("SELECT count(node) FROM held_allocation").fetchone()
    return [name for (name,) in rows] or ([] if placed and placed[0] else [""])


def _require_held(connection: duckdb.DuckDBPyConnection) -> None:
    held = connection.execute("SELECT count(*) FROM held_allocation").fetchone()
    if held and held[0]:
        return
    window, evidence, foreign, slice_nodes = connection.execute(_query("evidence_span")).fetchall()[0]
    if evidence is None:
        hint = f"{foreign} rows are of other clusters: is cluster in audit.toml right?" if foreign else ""
        raise NoReportError(
            "the evidence holds no attempt that held anything", remedy=hint or "give accounting to `audit ingest`"
        )
    if not slice_nodes:
        raise NoReportError(
            "no node of the slice is in any inventory or held anything",
            remedy="check nodes and partitions under [slice] in audit.toml",
        )
    raise NoReportError(
        f"no attempt held anything of the slice in the window {window} (UTC)",
        remedy=f"the evidence spans {evidence} (UTC): set [window] or [slice] in audit.toml",
    )


def _build(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    for name in names:
        kind = "VIEW" if name in _AS_VIEW else "TABLE"
        connection.execute(f"CREATE OR REPLACE TEMP {kind} {name} AS\n{_sql(name)}")


def _table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({', '.join(columns)})")
    if values := list(rows):
        places = ", ".join("?" for _ in columns)
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", values)


def _sql(name: str) -> str:
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")


def _query(name: str) -> str:
    return (Path(__file__).parent / "query" / f"{name}.sql").read_text(encoding="utf-8")


def _definition(sql: str) -> str:
    lines = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines).partition(": ")[2]
