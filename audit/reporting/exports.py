"""The report as CSV: cost.csv, a line an attempt under FOCUS's names, and the report's own lists.

In every file a text that a spreadsheet would read as a formula gets an apostrophe before it, an empty cell is what is
not known, and generated data says so in its last column.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl

from audit.accounting.relations import table
from audit.errors import AuditError
from audit.reporting.pseudonyms import Pseudonyms

Write = Callable[[Path], None]
_SQL = Path(__file__).with_suffix("")  # the folder of our .sql files
_HOURS = ("core_hours", "gpu_hours")
_BUCKETS = ("held_usd", "used_usd", "kept_usd", "not_measured_usd", "lost_usd", "recoverable_usd")
# The lists: file, key of the report, columns.
LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "families.csv": (
        "families",
        tuple(
            f"""
            account family attempts users user partitions partition
            core_hours gpu_hours mem_gib_hours {" ".join(_BUCKETS)}
            gpus_recoverable_usd memory_recoverable_usd cores_recoverable_usd asks_too_little lost_attempts
            mem_asked_bytes mem_need_p10_bytes mem_need_p50_bytes mem_need_p90_bytes
            cores_asked cores_need_p10 cores_need_p50 cores_need_p90 cores_used_p50
            gpus_asked gpus_need_p10 gpus_need_p50 gpus_need_p90
            expected_usd killed of slowed
            """.split()
        ),
    ),
    "users.csv": ("users", ("user", "attempts", "families", *_HOURS, *_BUCKETS)),
    "accounts.csv": ("accounts", ("account", "attempts", "users", *_HOURS, *_BUCKETS)),
    "partitions.csv": (
        "by_partition",
        (
            *("partition", "attempts", *_HOURS, "mem_gib_hours", *_BUCKETS, "nodes"),
            *("installed_usd", "idle_usd", "idle_reserved_usd", "down_usd"),
        ),
    ),
    "lost.csv": ("lost", ("cause", "attempts", *_HOURS, "mem_gib_hours", "usd")),
}
_FILE = ("cluster VARCHAR", "from_s DOUBLE", "to_s DOUBLE", "is_list BOOLEAN", "is_generated BOOLEAN")
_NO_NODES = (
    *("cluster VARCHAR", "node VARCHAR", "node_class VARCHAR", "usd_per_hour DOUBLE"),
    *("installed_hours DOUBLE", "held_hours DOUBLE", "down_hours DOUBLE"),
)


def csv_files(
    report: Mapping[str, Any], connection: duckdb.DuckDBPyConnection, names: Pseudonyms
) -> dict[str, bytes | Write]:
    """The CSV files of a report by name: what is in each, or what writes it to a path.

    `report` is as it is shown, `connection` the one its figures were made on, with accounting's relations. cost.csv
    has a line an attempt and, where nodes are priced, lines for what was idle and down: with those it adds up to
    installed. AuditError: no room to write it.
    """
    is_generated = report["generated_sample"]
    lists: dict[str, bytes | Write] = {
        name: list_csv(report[key], columns, is_generated=is_generated) for name, (key, columns) in LISTS.items()
    }
    return {"cost.csv": partial(_write_cost, report, connection, names), **lists}


def list_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, is_generated: bool) -> bytes:
    """These columns of the rows as CSV, no cell of it a formula; the last column says whether the data is generated."""
    values = [[row[column] for column in columns] for row in rows]
    frame = pl.DataFrame(values, schema=list(columns), orient="row", infer_schema_length=None, strict=False)
    text = pl.col(pl.String)
    safe = pl.when(text.str.contains(r"^[-=+@\t\r]")).then("'" + text).otherwise(text)
    generated = pl.lit(is_generated).alias("generated_sample")
    return frame.with_columns(safe.name.keep()).with_columns(generated).write_csv().encode()


def _write_cost(
    report: Mapping[str, Any], connection: duckdb.DuckDBPyConnection, names: Pseudonyms, path: Path
) -> None:
    try:
        _prepare(report, connection)
        _shown(connection, "shown_user", names.users)
        _shown(connection, "shown_text", names.texts)
        connection.execute(_sql("macros"))
        for name in ("charged", "attempt_line", "unheld_line", "line"):
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {_sql(name)}")
        connection.sql(_sql("cost")).write_csv(str(path), header=True)
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        what = f"cannot be written ({str(error).splitlines()[0][:160]})"
        raise AuditError(what, where=str(path), remedy="free space or choose another folder") from None


def _prepare(report: Mapping[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    """What the lines need beside accounting's relations: the file's period, and which prices are list prices."""
    cost = report["cost"]
    ((from_s, to_s),) = connection.execute("SELECT epoch(from_time), epoch(to_time) FROM window_bounds").fetchall()
    row = (report["cluster"], from_s, to_s, cost["basis"] == "list", report["generated_sample"])
    table(connection, "cost_file", _FILE, [row])
    basis: dict[str, bool] = {}
    if cost["mode"] == "node":
        basis = {price["node_class"]: price["basis"] == "list" for price in report["prices"]}
    else:
        table(connection, "node_hours", _NO_NODES, ())
    table(connection, "class_basis", ("node_class VARCHAR", "is_list BOOLEAN"), basis.items())


def _shown(connection: duckdb.DuckDBPyConnection, relation: str, shown: Callable[[pl.Series], pl.Series]) -> None:
    """A table of the names that `relation`.sql lists, and what stands for each."""
    frame = pl.DataFrame(connection.sql(_sql(relation)))
    stream = frame.with_columns(shown(frame["name"]).alias("shown")).__arrow_c_stream__
    connection.register("shown_name", SimpleNamespace(__arrow_c_stream__=stream))  # so DuckDB needs no other library
    try:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {relation} AS SELECT name, shown FROM shown_name")
    finally:
        connection.unregister("shown_name")


def _sql(name: str) -> str:
    return (_SQL / f"{name}.sql").read_text(encoding="utf-8")
