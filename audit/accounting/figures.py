"""Every figure of the report, as the dictionary that becomes report.json.

NULL means not measured, or that it cannot be known; `reasons` says why, by dotted key.
"""

from datetime import UTC, datetime

import duckdb

from audit import __version__
from audit.accounting import sections
from audit.accounting.back_test import back_test
from audit.accounting.in_advance import in_advance
from audit.accounting.priced import CostMode, PricedResource
from audit.accounting.reasons import INCOMPLETE_HOURS, MONTH_FROM_HOURS, LeftOut, reasons_for
from audit.accounting.recoverable import actions, by_resource, recoverable
from audit.accounting.rows import Row, less, only, ratio, rows, times
from audit.accounting.views import create_views
from audit.accounting.window import sreport, telemetry
from audit.workspace import Config, Workspace

MONTH_HOURS = 730
RESOURCES = {"core": "cores", "gpu": "gpus", "mem": "memory"}


def figures(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> Row:
    """What was installed, held, idle, down, lost and measured in the window: report.json's content.

    `connection` holds the store's views. Keys are snake_case with units in their names, dollars are for the
    window unless they say per_month. Raises NoReportError where nothing was held or a price is missing.
    """
    mode = create_views(connection, workspace)
    config = workspace.config
    totals = only(connection, "totals")
    nodes = only(connection, "node_totals") if mode.mode == "node" else {}
    reach, over_size = only(connection, "reach"), only(connection, "over_size")
    window = _window(connection, reach["complete_from_s"], reach["known_to_s"])
    window["month_factor"] = factor = _month_factor(window)
    hours = _hours(totals, nodes)
    sections.make_cards(connection, config)
    advance = in_advance(connection, config.policy, is_measured=totals["measured_attempts"] > 0)
    won = recoverable(connection, mode, totals, window, advance)
    resources, lost = by_resource(connection, factor, advance), rows(connection, "lost")
    all_asked = not config.slice_nodes and not config.slice_partitions
    whole_cluster = all_asked or bool(only(connection, "whole_cluster")["is_whole"])
    measured = _measured(connection)
    coverage = _coverage(connection, totals, measured, config.policy.coverage_floor)
    gaps = connection.execute("SELECT from_s, to_s FROM data_gap ORDER BY from_s").fetchall()
    rejects = rows(connection, "rejects")
    down_known = nodes.get("down_usd") is not None
    roll_up, no_sreport = sreport(connection, whole_cluster=whole_cluster, down_known=down_known)
    report = {
        "schema": "audit-report/1",
        "version": __version__,
        "generated_sample": config.generated_sample or _is_generated(connection),
        "cluster": config.cluster,
        "timezone": config.timezone,
        "window": window,
        "slice": _slice(connection, mode),
        "attempts": totals["attempts"],
        "jobs": totals["jobs"],
        "coverage": coverage,
        "hours": hours,
        "cost": _cost(mode, totals, nodes, factor),
        "prices": [_price(p, mode) for p in mode.prices],
        "recoverable": won,
        "recoverable_by_resource": resources,
        "actions": actions(connection, mode, resources, lost, window),
        "lost": lost,
        "by_partition": sections.by_partition(connection, mode),
        "by_hour_of_week": rows(connection, "by_hour_of_week") if mode.mode == "node" else [],
        "accounts": rows(connection, "accounts"),
        "families": sections.families(connection, advance),
        "users": rows(connection, "users"),
        "gpus": sections.gpus(connection),
        "use": sections.use(connection),
        "node_coverage": sections.node_coverage(connection),
        "telemetry": telemetry(connection),
        "reconciliation": sections.reconciliation(connection, hours["held"], whole_cluster),
        "sreport": roll_up,
        "measured": [_plain(m) for m in measured.values()],
        "efficiency": {
            short: ratio(measured[name]["used_hours"], measured[name]["measured_hours"])
            for short, name in RESOURCES.items()
        },
        "data_gaps": [{"from": _iso_s(a), "to": _iso_s(z)} for a, z in gaps],
        "rejects": {"rows": sum(r["rows"] for r in rejects), "by_reason": rejects},
        "evidence": [
            {**r, "first_time": _iso(r["first_time"]), "last_time": _iso(r["last_time"])}
            for r in rows(connection, "evidence")
        ],
    }
    left_out = LeftOut(
        unplaced=totals["unplaced_attempts"],
        over_size=over_size["attempts"],
        over_size_node=over_size["node"],
        held_nothing=reach["idle_attempts"],
        unknown=_unknown(connection, mode, config),
        advance=advance,
        no_sreport=no_sreport,
    )
    report["sizing"] = back_test(workspace)
    report["reasons"] = reasons_for(report, mode, left_out)
    return {key: _steady(value) for key, value in report.items()}


def _unknown(
    connection: duckdb.DuckDBPyConnection, mode: CostMode, config: Config
) -> tuple[tuple[str, list[str], list[str]], ...]:
    """Names in audit.toml that the evidence does not know, by key, with those it does: a slip would else be silent."""
    partitions = [r["partition"] for r in rows(connection, "partitions")]
    classes = sorted({price.name for price in mode.prices}) if mode.mode == "node" else []
    stated = (
        ("slice.partitions", config.slice_partitions, partitions),
        ("policy.whole_node_partitions", config.policy.whole_node_partitions, partitions),
        ("prices.usd_per_node_hour", config.prices.classes, classes),
        ("prices.owned", config.prices.owned, classes),
    )
    found = []
    for key, names, known in stated:
        # Slurm tells partitions apart by case; prices are looked up without regard to it.
        fold = str.lower if key.startswith("prices") else str
        spelt = {fold(name) for name in known}
        if known and (strange := sorted(name for name in names if fold(name) not in spelt)):
            found.append((key, strange, known))
    return tuple(found)


def _steady(value: object) -> object:
    """The same to ten digits: the order in which threads add up must not show in a file that is compared."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {key: _steady(item) for key, item in value.items()}
    return [_steady(item) for item in value] if isinstance(value, list) else value


def _slice(connection: duckdb.DuckDBPyConnection, mode: CostMode) -> Row:
    size = only(connection, "slice_size")
    known = mode.mode == "node"
    return {"nodes": size["nodes"], **{k: size[k] if known else None for k in ("gpus", "cores", "mem_gib")}}


def _hours(totals: Row, nodes: Row) -> Row:
    held = {"core": totals["core_hours"], "gpu": totals["gpu_hours"], "mem_gib": totals["mem_gib_hours"]}
    installed, down = ({r: nodes.get(f"{kind}_{r}") for r in held} for kind in ("installed", "down"))
    capacity = {r: less(installed[r], down[r]) for r in held}
    return {"installed": installed, "capacity": capacity, "down": down, "held": held}


def _month_factor(window: Row) -> float | None:
    """What a window's dollars are multiplied by for a month; None where it says too little of one.

    Days without accounting count neither as dollars nor as hours.
    """
    whole = not (window["is_default"] and window["incomplete_hours"] > INCOMPLETE_HOURS)
    return MONTH_HOURS / window["observed_hours"] if whole and window["observed_hours"] >= MONTH_FROM_HOURS else None


def _cost(mode: CostMode, totals: Row, nodes: Row, factor: float | None) -> Row:
    installed, down = nodes.get("installed_usd"), nodes.get("down_usd")
    capacity = less(installed, down)
    usd = {
        "installed_usd": installed,
        "down_usd": down,
        "capacity_usd": capacity,
        "held_usd": totals["held_usd"],
        "idle_usd": less(capacity, totals["held_usd"]),
        "idle_reserved_usd": nodes.get("reserved_usd"),
        "used_usd": totals["used_usd"] if totals["measured_attempts"] else None,
        "kept_usd": totals["kept_usd"] if totals["measured_attempts"] else None,
        "lost_usd": totals["lost_usd"],
        "not_measured_usd": totals["not_measured_usd"],
    }
    months = {f"{key}_per_month": times(value, factor) for key, value in usd.items()}
    return {"mode": mode.mode, "basis": _basis(mode), "currency": "USD", **usd, **months}


def _basis(mode: CostMode) -> str:
    """`list`, `contract` or `owned`; `mixed` where classes are priced on different ones."""
    found = {price.rate.basis for price in mode.prices}
    return found.pop() if len(found) == 1 else "mixed"


def _measured(connection: duckdb.DuckDBPyConnection) -> dict[str, Row]:
    """By resource: how many attempts that held some were measured, by which source, and why others not."""
    every = rows(connection, "measured")
    found = {}
    for name in RESOURCES.values():
        mine = [r for r in every if r["resource"] == name]
        known = [r for r in mine if r["source"] is not None]
        measured_hours = sum(r["held_hours"] for r in known)
        # Of GPUs accounting tells only those that were active: that says nothing of how many were not.
        telling = [r for r in known if name != "gpus" or r["source"] != "accounting"]
        found[name] = {
            "resource": name,
            "attempts": sum(r["attempts"] for r in known),
            "of_attempts": sum(r["attempts"] for r in mine),
            "held_hours_share": ratio(measured_hours, sum(r["held_hours"] for r in mine)),
            "sources": {r["source"]: r["attempts"] for r in known},
            "not_measured": {r["reason"] or "not recorded": r["attempts"] for r in mine if r["source"] is None},
            "measured_hours": sum(r["held_hours"] for r in telling),
            "used_hours": sum(r["used_hours"] or 0.0 for r in telling),
        }
    return found


def _plain(measured: Row) -> Row:
    return {k: v for k, v in measured.items() if k not in ("measured_hours", "used_hours")}


def _coverage(connection: duckdb.DuckDBPyConnection, totals: Row, measured: dict[str, Row], floor: float) -> Row:
    share = ratio(totals["measured_usd"], totals["held_usd"])
    allowed = share is not None and share >= floor
    reason = None
    if share is None:
        reason = "no dollars were held"
    elif not allowed:
        reason = (
            f"use was measured for {share:.1%} of held dollars, less than the {floor:.0%} "
            "that policy.coverage_floor asks for"
        )
    return {
        "usd": share,
        "jobs": only(connection, "job_coverage")["jobs"],
        **{f"{short}_hours": measured[name]["held_hours_share"] for short, name in RESOURCES.items()},
        "floor": floor,
        "headline_allowed": allowed,
        "reason": reason,
    }


def _price(price: PricedResource, mode: CostMode) -> Row:
    return {
        "node_class" if mode.mode == "node" else "resource": price.name,
        "usd_per_hour": price.rate.usd_per_hour,
        "low_usd_per_hour": price.rate.low_usd_per_hour,
        "high_usd_per_hour": price.rate.high_usd_per_hour,
        "list_usd_per_hour": price.list_usd_per_hour,
        "providers": price.rate.providers,
        "provider_names": list(price.rate.provider_names),
        "basis": price.rate.basis,
        "as_of": price.rate.as_of,
        "source": price.rate.source,
        "nodes": price.nodes,
    }


def _window(connection: duckdb.DuckDBPyConnection, complete_from_s: float | None, known_to_s: float | None) -> Row:
    """The window. incomplete_hours of it lie before the first end, where attempts that ended then are not seen;
    silent_hours of what was observed after the last time the accounting names.
    """
    query = "SELECT epoch(from_time), epoch(to_time), is_default FROM window_bounds"
    from_s, to_s, is_default = connection.execute(query).fetchall()[0]
    observed = connection.execute("SELECT from_s, to_s FROM observed ORDER BY from_s").fetchall()
    return {
        "from": _iso_s(from_s),
        "to": _iso_s(to_s),
        "hours": (to_s - from_s) / 3600,
        "observed_hours": sum(last - first for first, last in observed) / 3600,
        "is_default": is_default,
        "complete_from": None if complete_from_s is None else _iso_s(complete_from_s),
        "incomplete_hours": max(0.0, min(complete_from_s or from_s, to_s) - from_s) / 3600,
        "silent_hours": sum(max(0.0, last - max(known_to_s or to_s, first)) for first, last in observed) / 3600,
    }


def _is_generated(connection: duckdb.DuckDBPyConnection) -> bool:
    row = connection.execute("SELECT coalesce(bool_or(generated), false) FROM evidence_file").fetchone()
    return bool(row and row[0])


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _iso_s(epoch_s: float) -> str:
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
