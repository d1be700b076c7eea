"""Makes accounting's relations on a connection, each from the `.sql` of its name here; queries stand in `query/`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from audit.store import SCRATCH

AS_VIEW = frozenset(
    """
    even_split allocation gpu_touched outcome hindsight lowered killed binding node_cost node_rerun
    attempt_cost expected advice contended recoverable_day node_request_rate unbundled_request_rate unbundled_rerun
    """.split()
)

AS_FUNCTION = {"family": "job_name", "total": "x", "in_steps": "amount, step", "per_hour": "spans"}  # with its argument
_OF_ROWS = frozenset({"per_hour"})  # those that answer rows, not a value


def build(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Makes each relation in the order given: a table of the store's scratch database, or a view where little reads it.

    On a connection that no store opened, the scratch database is kept in memory.
    """
    connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {SCRATCH}")
    for name in names:
        if name in AS_FUNCTION:
            kind = "TABLE" if name in _OF_ROWS else ""
            connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}({AS_FUNCTION[name]}) AS {kind}\n{sql(name)}")
        elif name in AS_VIEW:
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS\n{sql(name)}")
        else:
            connection.execute(f"CREATE OR REPLACE TABLE {SCRATCH}.{name} AS\n{sql(name)}")
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM {SCRATCH}.{name}")


def table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """A temporary table of `rows`; each column is its name and type."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({', '.join(columns)})")
    if values := list(rows):
        places = ", ".join("?" for _ in columns)
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", values)


def sql(name: str) -> str:
    """The text of a relation's `.sql`."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")


def query(name: str) -> str:
    """The text of a query's `.sql`."""
    return (Path(__file__).parent / "query" / f"{name}.sql").read_text(encoding="utf-8")
