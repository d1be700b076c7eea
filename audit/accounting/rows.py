"""Asks a query of `query/` and answers plain rows; the small sums that figures are made with."""

from typing import Any

import duckdb

from audit.accounting.relations import query

Row = dict[str, Any]


def rows(connection: duckdb.DuckDBPyConnection, name: str) -> list[Row]:
    """The rows of `query/NAME.sql`, in its order."""
    result = connection.execute(query(name))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def only(connection: duckdb.DuckDBPyConnection, name: str) -> Row:
    """The one row of a query that has one."""
    return rows(connection, name)[0]


def less(whole: float | None, part: float | None) -> float | None:
    """The rest; what only the rounding of sums leaves is none."""
    if whole is None or part is None:
        return None
    rest = whole - part
    return 0.0 if abs(rest) <= max(1e-9 * abs(whole), 2e-8) else rest


def ratio(part: float | None, whole: float | None) -> float | None:
    """Part of whole; None where either is not known or the whole is nothing."""
    return part / whole if part is not None and whole else None


def times(value: float | None, factor: float | None) -> float | None:
    """The product; None where either is not known."""
    return None if value is None or factor is None else value * factor
