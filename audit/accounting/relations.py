"""Makes accounting's relations on a connection, each from the `.sql` of its name here; queries stand in `query/`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb

AS_VIEW = frozenset(
    """
    even_split allocation gpu_touched gpu_activity outcome hindsight attempt_cost binding contended
    node_request_rate unbundled_request_rate
    """.split()
)


def build(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Makes each relation in the order given: a temporary table, or a view where little reads it."""
    for name in names:
        kind = "VIEW" if name in AS_VIEW else "TABLE"
        connection.execute(f"CREATE OR REPLACE TEMP {kind} {name} AS\n{sql(name)}")


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
