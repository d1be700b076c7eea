"""Builds the accounting relations over the store's views, each from the `.sql` of its name here.

They are temporary: nothing is written to the store, which may be open read-only. Most are tables, since many
figures read the same running sums. `definitions()` gives each one's comment, for the report's method section.
"""

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import duckdb

from audit.accounting.plans import make_plans
from audit.accounting.priced import BY_NODE, UNBUNDLED, CostMode, price_nodes, price_resources, unsized_nodes
from audit.accounting.relations import build, query, sql, table
from audit.errors import NoReportError
from audit.workspace import Workspace

_HOLDING = (
    "total",
    "in_steps",
    "per_hour",
    "data_gap",
    "observed",
    "node_span",
    "gpu_split",
    "even_split",
    "allocation",
    "held_allocation",
)
_USE = (
    "span_held",
    "step_memory",
    "cgroup_use",
    "telemetry_use",
    "gpu_seen",
    "gpu_map",
    "gpu_held",
    "gpu_activity",
    "gpu_driver",
    "gpu_touched",
    "gpu_use",
    "memory_use",
    "core_use",
    "io_use",
    "usage",
    "family",
    "outcome",
)
_ADVICE = ("hindsight", "recommended_shape", "advised_shape", "lowered", "killed", "kept_shape")
_WINDOW = (
    "telemetry_gap",
    "telemetry_coverage",
    "collector_overhead",
    "unattributed",
    "gpu_time",
    "sreport_span",
)
_LAST = ("expected", "attempt_cost", "attempt", "advice", "queued", "waiting_hour", "contended", "recoverable_day")


def definitions() -> dict[str, str]:
    """The definition of each relation, as its `.sql` file states it, by name."""
    return {
        name: _definition(sql(name))
        for name in (*_HOLDING, *_USE, "recommendation", *_ADVICE, *BY_NODE, *UNBUNDLED, *_LAST, *_WINDOW)
    }


def create_views(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> CostMode:
    """Makes every relation of this room on `connection`, which holds the store's views.

    Raises NoReportError where nothing was held in the window, or what must be priced has no price.
    """
    create_use_views(connection, workspace)
    return create_cost_views(connection, workspace)


def create_cost_views(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> CostMode:
    """Makes the relations of dollars, over those of use, whoever made these. Raises as `create_views` does."""
    _require_held(connection)
    step = workspace.config.policy.mem_step_bytes
    table(connection, "policy", ("mem_step_bytes DOUBLE",), [(step,)])
    _site_hours(connection, workspace.config.timezone)
    make_plans(connection, workspace)
    build(connection, _ADVICE)
    unsized, config = unsized_nodes(connection), workspace.config
    mode = price_resources(connection, config, unsized) if unsized else price_nodes(connection, config)
    build(connection, _LAST)
    create_window_views(connection)
    return mode


def create_window_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the relations of the measurement window, over those of use: what was watched, at which cost."""
    build(connection, _WINDOW)


def create_use_views(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> None:
    """Makes the relations that need no price: what was held, and what was used of it."""
    config = workspace.config
    table(
        connection,
        "whole_node_partition",
        ("partition VARCHAR",),
        ((p,) for p in config.policy.whole_node_partitions),
    )
    whole_cluster = not config.slice_nodes and not config.slice_partitions
    table(connection, "slice_scope", ("is_whole_cluster BOOLEAN",), [(whole_cluster,)])
    build(connection, (*_HOLDING, *_USE))


def _site_hours(connection: duckdb.DuckDBPyConnection, timezone: str) -> None:
    """The relation `site_hour`: each observed hour (epoch seconds / 3600) with day, weekday and hour at the site."""
    zone, found = ZoneInfo(timezone), []
    for first, last in connection.execute("SELECT from_s, to_s FROM observed").fetchall():
        for hour in range(int(first // 3600), math.ceil(last / 3600)):
            local = datetime.fromtimestamp(hour * 3600, UTC).astimezone(zone)
            found.append((hour, local.date(), local.isoweekday(), local.hour))
    columns = ("hour BIGINT", "day DATE", "weekday INTEGER", "hour_of_day INTEGER")
    table(connection, "site_hour", columns, dict.fromkeys(found))


def _require_held(connection: duckdb.DuckDBPyConnection) -> None:
    held = connection.execute("SELECT count(*) FROM held_allocation").fetchone()
    if held and held[0]:
        return
    window, evidence, foreign, slice_nodes = connection.execute(query("evidence_span")).fetchall()[0]
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


def _definition(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines).partition(": ")[2]
