"""The section of a report on the measurement window: what collectors watched, what they cost, what telemetry adds.

And what Slurm's own roll-up (`sreport`) says of the same time, beside the hours of the report.
"""

from datetime import UTC, datetime
from itertools import groupby

import duckdb

from audit.accounting.rows import Row, less, only, ratio, rows

_OF_NODE = ("node", "watched_hours", "window_hours", "coverage", "gaps", "longest_gap_s", "gap_reason")
_COST = ("cpu_share", "rss_bytes_max", "written_bytes_per_day", "missed", "late_max_s")
_DOWN = {"core-hours": "core", "GPU-hours": "gpu", "memory GiB-hours": "mem"}


def telemetry(connection: duckdb.DuckDBPyConnection) -> Row | None:
    """Coverage, gaps and cost of the collectors, and what their samples add; None where there is no telemetry."""
    nodes = rows(connection, "telemetry_nodes")
    if not nodes:
        return None
    spans = {node: list(found) for node, found in groupby(rows(connection, "telemetry_gaps"), lambda r: r["node"])}
    clock, gpus = only(connection, "telemetry_clock"), only(connection, "telemetry_gpus")
    watched, window = (sum(r[key] or 0.0 for r in nodes) for key in ("watched_hours", "window_hours"))
    cost = only(connection, "telemetry_overhead")
    return {
        "nodes": len(nodes),
        "watched_nodes": sum(1 for r in nodes if r["watched_hours"]),
        "watched_hours": watched,
        "window_hours": window,
        "coverage": ratio(watched, window),
        "gaps": sum(r["gaps"] for r in nodes),
        "clock_steps": clock["steps"],
        "clock_nodes": clock["nodes"],
        "overhead": cost if cost["nodes"] else None,
        "by_node": [
            {
                **{key: r[key] for key in (*_OF_NODE, *_COST)},
                "gap_spans": [_span(s) for s in spans.get(r["node"], [])],
            }
            for r in nodes
        ],
        "unattributed": rows(connection, "telemetry_unattributed"),
        "gpus": gpus if gpus["gpus"] else None,
        "memory": only(connection, "telemetry_memory"),
    }


def sreport(
    connection: duckdb.DuckDBPyConnection, *, whole_cluster: bool, down_known: bool
) -> tuple[Row | None, str | None]:
    """Slurm's roll-up beside our hours for the same spans; or None and why. Our down is NULL where it is not known."""
    spans = connection.execute("SELECT min(from_s), max(to_s), sum(to_s - from_s) FROM sreport_span").fetchall()
    from_s, to_s, long_s = spans[0]
    if from_s is None:
        given = connection.execute("SELECT count(*) FROM sreport_record").fetchall()[0][0]
        why = "no span of it lies whole in the window" if given else "no sreport in the evidence"
        return None, f"{why}: set [window], or give sreport of days inside it" if given else why
    if not whole_cluster:
        return None, "the slice is a part of the cluster, sreport tells of all its nodes"
    down = only(connection, "sreport_down") if down_known else {}
    found = []
    for row in rows(connection, "sreport"):
        difference = less(row["held_hours"], row["allocated_hours"])
        found.append(
            {
                "unit": row["unit"],
                "report_hours": row["held_hours"],
                "sreport_hours": row["allocated_hours"],
                "difference_share": ratio(difference, row["allocated_hours"]),
                "report_down_hours": down.get(_DOWN[row["unit"]]),
                "sreport_down_hours": row["down_hours"],
            }
        )
    return {"from": _iso(from_s), "to": _iso(to_s), "hours": long_s / 3600, "units": found}, None


def _span(row: Row) -> Row:
    return {"from": _iso(row["from_s"]), "to": _iso(row["to_s"]), "reason": row["reason"]}


def _iso(epoch_s: float) -> str:
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%dT%H:%M:%SZ}"
