"""The sections of a report below its totals: where, when, who, what was used, what was lost, how sure."""

import re
from itertools import pairwise

import duckdb

from audit.accounting.in_advance import Advance
from audit.accounting.priced import CostMode
from audit.accounting.relations import table
from audit.accounting.rows import Row, less, only, ratio, rows
from audit.pricing import card_label, card_memory_bytes, list_book
from audit.workspace import Config

WORST_NODES = 5
_UNITS = {"core": "core-hours", "gpu": "GPU-hours", "mem_gib": "memory GiB-hours"}
_HELD = ("held_usd", "used_usd", "kept_usd", "not_measured_usd", "lost_usd", "recoverable_usd")


def by_partition(connection: duckdb.DuckDBPyConnection, mode: CostMode) -> list[Row]:
    """One row a partition, most dollars first: what its attempts held, by bucket, and what its nodes left unheld.

    Nodes of several partitions stand, idle or down, in a row named after them all. NULL: not known, or not measured.
    """
    unheld = ("nodes", "installed_usd", "idle_usd", "idle_reserved_usd", "down_usd")
    known = mode.mode == "node"
    nodes = {r["partition"]: r for r in rows(connection, "unheld_by_partition")} if known else {}
    found = []
    for row in rows(connection, "by_partition"):
        mine = nodes.pop(row["partition"], None)
        nothing = 0 if known else None
        found.append({**row, **{k: mine[k] if mine else nothing for k in unheld}})
    empty = {"attempts": 0, "core_hours": 0.0, "gpu_hours": 0.0, "mem_gib_hours": 0.0, **dict.fromkeys(_HELD, 0.0)}
    found += [{**empty, **row} for row in nodes.values()]
    return sorted(
        found, key=lambda r: (-sum(r[k] or 0 for k in ("held_usd", "idle_usd", "down_usd")), r["partition"] or "")
    )


def families(connection: duckdb.DuckDBPyConnection, advance: Advance) -> list[Row]:
    """All families, most recoverable first; what advice would have won of them is NULL where none is known."""
    of_advice = {} if advance.is_known else dict.fromkeys(("expected_usd", "killed", "of", "slowed"))
    return [{**row, **of_advice} for row in rows(connection, "families")]


def make_cards(connection: duckdb.DuckDBPyConnection, config: Config) -> None:
    """The relation `card`: the card that a GRES text names and its memory, where it is one card of the book."""
    held = connection.execute("SELECT DISTINCT coalesce(gres, '') FROM attempt WHERE gpu_hours > 0 ORDER BY 1")
    texts = [text for (text,) in held.fetchall() if not re.search(r"\dg\.\d+gb", text)]  # a MIG instance is no card
    told = (
        (t, card_label(t, config.prices, list_book()), card_memory_bytes(t, config.prices, list_book())) for t in texts
    )
    columns = ("gres VARCHAR", "card VARCHAR", "mem_bytes BIGINT")
    table(connection, "card", columns, (row for row in told if row[1] is not None))


def gpus(connection: duckdb.DuckDBPyConnection) -> Row | None:
    """GPU activity, GPUs never touched, and memory peaks against the card; None where no attempt held a GPU."""
    bins = [r for r in rows(connection, "gpu_activity_bins") if r["gpu_hours"] is not None]
    if not bins:
        return None
    vram: dict[tuple[str, int], Row] = {}
    for row in rows(connection, "vram_bins"):
        card = vram.setdefault(
            (row["card"], row["mem_bytes"]),
            {"card": row["card"], "mem_bytes": row["mem_bytes"], "gpu_hours": [0.0] * 8, "not_measured_gpu_hours": 0.0},
        )
        if row["bin"] is None:
            card["not_measured_gpu_hours"] += row["gpu_hours"]
        else:
            card["gpu_hours"][row["bin"]] += row["gpu_hours"]
    alone = {r["kind"]: r["gpu_hours"] for r in bins if r["kind"] != "activity"}
    active = {r["bin"]: r["gpu_hours"] for r in bins if r["kind"] == "activity"}
    never_touched = rows(connection, "gpu_never_touched")
    return {
        "never_touched_gpu_hours": alone.get("never touched", 0.0) if never_touched else None,
        "activity_gpu_hours": [active.get(tenth, 0.0) for tenth in range(10)] if active else None,
        "activity_unknown_gpu_hours": alone.get("activity unknown", 0.0),
        "not_measured_gpu_hours": alone.get("not measured", 0.0),
        "never_touched": never_touched,
        "vram": list(vram.values()),
    }


def use(connection: duckdb.DuckDBPyConnection) -> list[Row]:
    """Memory, cores and walltime: hours by the part of what was asked that was used, in tenths.

    `over_hours`: more than asked. `hours` is None where no attempt was measured.
    """
    found = []
    every = rows(connection, "use_bins")
    for name in ("memory", "cores", "walltime"):
        mine = [r for r in every if r["resource"] == name]
        bins = {r["bin"]: r for r in mine if r["bin"] is not None}
        unknown = next((r for r in mine if r["bin"] is None), None)
        found.append(
            {
                "resource": name,
                "hours": [bins[b]["hours"] if b in bins else 0.0 for b in range(10)] if bins else None,
                "over_hours": (bins[10]["hours"] if 10 in bins else 0.0) if bins else None,
                "attempts": sum(r["attempts"] for r in bins.values()),
                "not_measured_hours": unknown["hours"] if unknown else 0.0,
                "not_measured_attempts": unknown["attempts"] if unknown else 0,
            }
        )
    return found


def node_coverage(connection: duckdb.DuckDBPyConnection) -> Row | None:
    """How many nodes have how much of their held dollars measured, and those with the most dollars that are not.

    None where no attempt names its nodes.
    """
    nodes = [{**r, "share": ratio(r["measured_usd"], r["held_usd"])} for r in rows(connection, "node_coverage")]
    held = [n for n in nodes if n["share"] is not None]
    if not held:
        return None
    edges = (0.0, 0.5, 0.8, 0.95)
    counts = [sum(1 for n in held if lowest <= n["share"] < above) for lowest, above in pairwise((*edges, 2.0))]
    worst = [n for n in held if n["measured_usd"] < n["held_usd"]][:WORST_NODES]
    return {"nodes": len(held), "from_share": list(edges), "nodes_by_share": counts, "least_measured": worst}


def reconciliation(connection: duckdb.DuckDBPyConnection, held: Row, whole_cluster: bool) -> list[Row]:
    """Hours held beside the accounting's own allocated x elapsed, unsplit; only where the slice is every node."""
    told = only(connection, "accounted")
    found = []
    for key, unit in _UNITS.items():
        accounted = told[f"{key}_hours"] if whole_cluster else None
        difference = less(held[key], accounted)
        found.append(
            {
                "unit": unit,
                "report_hours": held[key],
                "accounting_hours": accounted,
                "difference_hours": difference,
                "difference_share": ratio(difference, accounted),
            }
        )
    return found
