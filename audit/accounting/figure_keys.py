"""Finds a figure of a report by its dotted key: `cost.held_usd`, `by_partition.gpu.idle_usd`, `lost.TIMEOUT`.

A row of a list goes by its name, a family by ACCOUNT/FAMILY; `(none)` stands for a name that the accounting lacks.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from audit.accounting.glossary import FIGURES, MEMBERS, Figure
from audit.accounting.rows import Row
from audit.errors import UsageError

UNNAMED = "(none)"
_OPEN_ENDED = (
    "accounts",
    "families",
    "users",
    "by_hour_of_week",
)  # lists so long that their figures are listed by pattern


@dataclass(frozen=True)
class Found:
    """A figure, its value in the report and, where it is of a list, the row: as the report has it, unchanged."""

    key: str
    figure: Figure
    value: float | None
    row: Row

    @property
    def names(self) -> tuple[Any, ...]:
        """What names the row."""
        return tuple(self.row[key] for key in MEMBERS[self.figure.members]) if self.figure.members else ()


def figure_list(report: Row) -> list[Row]:
    """Every figure with value, unit and meaning, in the glossary's order, row by row of a list.

    Figures of accounts, families, users and hours of the week stand once, as a pattern without value.
    """
    listed = []
    for members, group in groupby(FIGURES, key=lambda figure: figure.members):
        figures = list(group)
        pattern = "/".join(MEMBERS[members]).upper() if members else ""
        rows = [(pattern, dict[str, Any]())] if members in _OPEN_ENDED else [("", report)]
        if members and members not in _OPEN_ENDED:
            rows = list(zip(_names(report, members), _rows(report, members), strict=True))
        for name, row in rows:
            for figure in figures:
                key = figure.key.rpartition(".*.")[2]
                value = at(row, key) if row else None
                listed.append(
                    {
                        "figure": figure.key.replace("*", name),
                        "value": value,
                        "unit": figure.unit,
                        "meaning": figure.meaning,
                    }
                )
    return listed


def find(report: Row, asked: str, shown: Row) -> Found:
    """The figure of `report` with this key, its `usd` where the key ends at a row; names as they are in `shown`.

    `shown` has the same rows in the same order. Raises UsageError that names the nearest keys.
    """
    for key in (asked, f"{asked}.usd"):
        for figure in FIGURES:
            before, star, after = figure.key.partition("*")
            if not star and key == figure.key:
                return Found(key, figure, at(report, key), {})
            if star and key.startswith(before) and key.endswith(after):
                names = _names(shown, figure.members)
                if (name := key[len(before) : len(key) - len(after)]) in names:
                    row = _rows(report, figure.members)[names.index(name)]
                    return Found(key, figure, row[after[1:]], row)
    if any(word in asked for word in ("ACCOUNT", "FAMILY", "USER", "WEEKDAY")):
        raise UsageError(
            f"{asked} is a pattern",
            remedy="write names as the report shows them, e.g. users.u-3fk9qa.usd; a weekday is 1 to 7",
        )
    near = get_close_matches(asked, _known(shown, asked), n=3, cutoff=0.6)
    hint = f"near it: {', '.join(near)}; " if near else ""
    raise UsageError(f"there is no figure {asked}", remedy=f"{hint}`audit explain` lists all")


def at(report: Row, key: str) -> Any:
    """What stands at a dotted key; None where something above it is NULL."""
    place: Any = report
    for part in key.split("."):
        place = None if place is None else place[part]
    return place


def _rows(report: Row, members: str) -> list[Row]:
    return at(report, members) or []


def _names(report: Row, members: str) -> list[str]:
    """What the rows of a list are asked for by; the second of one name is name#2."""
    times: dict[str, int] = {}
    names = []
    for row in _rows(report, members):
        name = "/".join(UNNAMED if row[key] is None else str(row[key]) for key in MEMBERS[members])
        times[name] = times.get(name, 0) + 1
        names.append(name if times[name] == 1 else f"{name}#{times[name]}")
    return names


def _known(report: Row, asked: str) -> list[str]:
    """The keys that could have been meant: those of rows of a long list too where it is begun."""
    known = [row["figure"] for row in figure_list(report)]
    begun, _, leaf = asked.partition(".")[0], "", asked.rpartition(".")[2]
    if begun in _OPEN_ENDED and f"{begun}.*.{leaf}" in {figure.key for figure in FIGURES}:
        known += [f"{begun}.{name}.{leaf}" for name in _names(report, begun)]
    return known
