"""One figure of report.json: its key and label, which rows stand behind it, and what the schema says of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

Take = Literal["sum", "share", "max", "p10", "p50", "p90", "spread"]
Scale = Literal["", "month", "low price", "high price", "list price", "observed hours"]

# The lists whose rows a figure can be asked of, with the keys that name a row: families.ACCOUNT/FAMILY.held_usd.
MEMBERS: Mapping[str, tuple[str, ...]] = {
    "lost": ("cause",),
    "recoverable_by_resource": ("resource",),
    "recoverable.by_class": ("node_class",),
    "recoverable.sensitivity": ("quantile",),
    "by_partition": ("partition",),
    "by_hour_of_week": ("weekday", "hour"),
    "accounts": ("account",),
    "families": ("account", "family"),
    "users": ("user",),
    "gpus.never_touched": ("partition",),
    "telemetry.unattributed": ("kind",),
    "rejects.by_reason": ("reason",),
}


@dataclass(frozen=True)
class Figure:
    """One figure, or with `*` for a row's name the same figure of every row of a list.

    `rows` says what stands behind it, as `query/explain_ROWS.sql` lists it, "" where that is a setting, told in
    `stated`. `measure` is what a row adds; `take` how the figure comes of them: their sum, one sum over another
    (share), the largest (max), a point of them in order, or the spread of draws from them; `scale` what that is
    multiplied by.
    """

    key: str
    label: str
    rows: str = ""
    measure: str = ""
    take: Take = "sum"
    scale: Scale = ""
    stated: str = ""

    @property
    def members(self) -> str:
        """The list whose rows it is of; "" for a figure of the whole report."""
        return self.key.partition(".*")[0] if "*" in self.key else ""

    @property
    def meaning(self) -> str:
        """Its glossary line."""
        return str(described(self.key)["description"])

    @property
    def unit(self) -> str:
        """What it is counted in."""
        return str(described(self.key)["unit"])


@lru_cache(maxsize=1)
def schema() -> dict[str, Any]:
    """The JSON Schema of report.json."""
    loaded: dict[str, Any] = json.loads(Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
    return loaded


def described(key: str) -> Mapping[str, Any]:
    """What the schema says of a dotted key; `*` steps into a list. KeyError where there is no such key."""
    place = schema()
    for part in key.split("."):
        place = place["items"] if part == "*" else place["properties"][part]
        if "$ref" in place:
            place = schema()["$defs"][place["$ref"].rpartition("/")[2]]
    return place
