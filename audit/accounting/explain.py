"""Opens a figure: the rows behind it, largest first, which add up to it.

They are read from the very relations, on the same connection, that the report's figures were made of.
"""

import re
from dataclasses import dataclass
from typing import Any

import duckdb

from audit.accounting.figure_keys import Found, at, find
from audit.accounting.figures import MONTH_HOURS
from audit.accounting.relations import query
from audit.accounting.rows import Row, only, ratio

_OVER_ATTEMPTS = ("attempts", "families", "users", "partitions", "jobs", "advice", "abstained")
_TAKEN = {
    "share": "it is the total of amount over the total of of_amount",
    "max": "it is the largest of these",
    "p10": "it is the amount that a tenth of these attempts do not exceed",
    "p50": "it is the amount that half of these attempts do not exceed",
    "p90": "it is the amount that nine tenths of these attempts do not exceed",
    "spread": "it is a bound of the sums of as many days drawn from these, with repetition",
}
# Why a figure is NULL where the report's own reasons do not say, by the beginning of its key.
_UNKNOWN = {
    "cost.used_usd": "no attempt's use was measured",
    "cost.kept_usd": "no attempt's use was measured",
    "recoverable.expected": "without a replayed model, or without node prices, nothing tells what is freed",
    "recoverable.freed": "without node prices, or without any measure of use, nothing tells what is freed",
    "coverage": "nothing was held",
    "gpus": "no attempt held a GPU whose use was measured",
}


@dataclass(frozen=True)
class Explanation:
    """A figure opened. `value` is the report's; `notes` say why it is NULL, and how it comes of the rows.

    `rows`, by `columns`, are the `shown` largest of `of`. `total` is of all of them; x `factor` it is the value. Where
    the figure is a share it is `total` over `of_total`.
    """

    figure: str
    label: str
    unit: str
    value: float | None
    meaning: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: float | None
    of_total: float | None
    factor: float
    shown: int
    of: int

    @property
    def worth(self) -> float | None:
        """What the rows come to, to be held against `value`; None where that is no sum of them."""
        if self.of_total is not None:
            return ratio(self.total, self.of_total)
        return None if self.total is None else self.total * self.factor


def explain(
    connection: duckdb.DuckDBPyConnection, report: Row, asked: str, *, limit: int = 50, shown: Row | None = None
) -> Explanation:
    """The rows behind the figure with this dotted key: the `limit` largest, 0 for all.

    `report` is what `figures` made on this connection; `shown` the same with other names of people, where rows of its
    lists are to be asked for by those. Raises UsageError where there is no such figure.
    """
    found = find(report, asked, shown or report)
    figure = found.figure
    is_open = bool(figure.rows) and found.value is not None
    total, columns, rows = _open(connection, found, limit) if is_open else ({}, ("amount",), ())
    factor, scaled = _factor(report, found) if is_open else (1.0, "")
    adds_up = is_open and figure.take in ("sum", "share")
    return Explanation(
        figure=found.key,
        label=figure.label,
        unit=figure.unit,
        value=found.value,
        meaning=figure.meaning,
        notes=tuple(filter(None, (*_why(report, found), scaled, _TAKEN.get(figure.take) if is_open else ""))),
        columns=columns,
        rows=rows,
        total=total["total"] if adds_up else None,
        of_total=total["of_total"] if adds_up else None,
        factor=factor,
        shown=len(rows),
        of=total.get("rows", 0),
    )


def _open(
    connection: duckdb.DuckDBPyConnection, found: Found, limit: int
) -> tuple[Row, tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Totals, columns and rows, of a relation made for this figure alone."""
    figure = found.figure
    measure, _, unit = figure.measure.partition(":")
    values = {
        "by": figure.members,
        "name": found.names[-1] if found.names else None,
        "account": found.row.get("account"),
        "price": found.row.get("usd_per_hour"),
        "measure": measure,
        "unit": unit,
        "weekday": found.row.get("weekday"),
        "hour": found.row.get("hour"),
        "zeros": figure.take != "sum",
        "quantile": found.row.get("quantile"),
    }
    text = _rows_query(found)
    asked_for = {key: values[key] for key in re.findall(r"\$(\w+)", text)}
    connection.execute(f"CREATE OR REPLACE TEMP TABLE opened AS\n{text}", asked_for)
    total = only(connection, "opened_total")
    result = connection.execute(query("opened_rows"), {"limit": limit if limit > 0 else None})
    columns = tuple(column[0] for column in result.description or ())
    rows = result.fetchall()
    if total["of_total"] is None:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return total, columns, tuple(rows)


def _rows_query(found: Found) -> str:
    """The query of the rows behind a figure; where they are made of attempts, with the queries of these before it."""
    figure = found.figure
    if figure.rows not in _OVER_ATTEMPTS:
        return query(f"explain_{figure.rows}")
    of_advice = figure.rows in ("advice", "abstained")
    opened = figure.rows if of_advice else "share" if figure.take == "share" else "attempt"
    attempts = query(f"opened_{opened}")
    parts = f"WITH opened_list AS (\n{query('opened_list')}\n), opened_attempt AS (\n{attempts}\n)"
    return f"{parts}\n{query(f'explain_{figure.rows}')}"


def _factor(report: Row, found: Found) -> tuple[float, str]:
    """What the rows' total is multiplied by, and that in words."""
    observed, scale = report["window"]["observed_hours"], found.figure.scale
    if scale == "month":
        return MONTH_HOURS / observed, f"it is the total x {MONTH_HOURS} hours of a month / {observed:.10g} observed"
    if scale == "observed hours":
        return 1 / observed, f"it is the total / {observed:.10g} hours observed"
    if scale:
        key, used = f"{scale.removesuffix(' price')}_usd_per_hour", found.row["usd_per_hour"]
        prices = [p[key] for p in report["prices"] if (p["node_class"], p["usd_per_hour"]) == (found.names[0], used)]
        if prices[-1] is None:
            return 1.0, "the site states the price: there is no range"
        told = f"it is the total x {prices[-1]:.10g} / {used:.10g}: the {scale} of the class over the one used"
        return prices[-1] / used, told
    return 1.0, ""


def _why(report: Row, found: Found) -> list[str]:
    """Why it is NULL; else what it leaves out, or where a setting is stated."""
    reasons, figure = report["reasons"], found.figure
    key = found.key.removesuffix("_per_month")
    parts = key.split(".")
    own = [reasons[k] for k in (".".join(parts[:end]) for end in range(len(parts), 0, -1)) if k in reasons]
    if found.value is not None:
        return [*own, figure.stated]
    leaf = key.rpartition(".")[2]
    if figure.scale == "month" and (found.row.get(leaf) if found.row else at(report, key)) is not None:
        return [reasons["cost.held_usd_per_month"]]
    of_advice = "recoverable.expected_usd" if figure.rows in ("advice", "abstained") else ""
    of_all = [reasons[k] for k in (f"cost.{leaf}", of_advice) if k in reasons]
    told = [text for begin, text in _UNKNOWN.items() if key.startswith(begin)]
    return [*own, *of_all, *told, figure.stated or "not measured, or not known from this evidence"][:1]
