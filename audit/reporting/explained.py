"""What `audit explain` shows of a figure that was opened: a document for programs, and lines for the terminal."""

from typing import Any

import polars as pl

from audit.accounting.explain import Explanation
from audit.reporting.pseudonyms import Pseudonyms

_TEXTS = ("account", "job_name", "family", "file")


def explained(opened: Explanation, names: Pseudonyms) -> dict[str, Any]:
    """The figure with its rows as JSON has it; users by pseudonym, as in the report.

    Records that could not be read may name people who are in no other: their text comes with real names only.
    """
    columns = dict(zip(opened.columns, map(list, zip(*opened.rows, strict=True)), strict=True)) if opened.rows else {}
    notes = list(opened.notes)
    if "text" in columns and not names.are_real:
        del columns["text"]
        notes.append("with --real-names the text of the records is shown too")
    for name, values in columns.items():
        if name == "user" or name in _TEXTS:
            change = names.users if name == "user" else names.texts
            columns[name] = change(pl.Series(values, dtype=pl.String)).to_list()
        else:
            columns[name] = [_steady(value) for value in values]
    return {
        "figure": opened.figure,
        "label": opened.label,
        "unit": opened.unit,
        "value": opened.value,
        "meaning": opened.meaning,
        "notes": notes,
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "total": _steady(opened.total),
        "of_total": _steady(opened.of_total),
        "factor": opened.factor,
        "shown": opened.shown,
        "of": opened.of,
        "real_names": names.are_real,
    }


def explained_head(found: dict[str, Any]) -> list[str]:
    """The lines above the rows: the figure, what it means, and what else must be said of it."""
    value = "not measured" if found["value"] is None else f"{_shown(found['value'])} {found['unit']}"
    return [f"{found['label']} ({found['figure']}): {value}", found["meaning"], *map(_sentence, found["notes"])]


def explained_foot(found: dict[str, Any]) -> list[str]:
    """The lines below the rows: what was left out, and what all rows come to."""
    lines = []
    if (more := found["of"] - found["shown"]) > 0:
        tail = ""
        if found["total"] is not None:
            tail = f": {_shown(found['total'] - sum(row['amount'] for row in found['rows']))}"
        lines.append(f"{more:,} more{tail} (--limit 0 shows all)")
    if found["total"] is not None:
        whole = "" if found["of_total"] is None else f" of {_shown(found['of_total'])}"
        scaled = found["factor"] != 1
        factor = f" x {found['factor']:.8g} = {_shown(found['value'])}" if scaled else ""
        lines.append(f"total {_shown(found['total'])}{whole}{factor}{'' if whole else ' ' + found['unit']}")
    return lines


def _steady(value: Any) -> Any:
    """A number to ten digits, whole where it is: what the order of adding up leaves must not show."""
    if not isinstance(value, float):
        return value
    short = float(f"{value:.10g}")
    return int(short) if short.is_integer() else short


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
