"""Earlier runs of `audit recommend`, kept beside the models: what was recommended then, and what came of it.

The file holds the last two runs that differ, so that a run repeated on the same data is still compared with the one
before it. It names users as the store does: like the evidence, it stays in the engagement's folder.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from audit.errors import AuditError
from audit.reporting.recommend_words import RESOURCES, Resource

NAME: Final = "recommend.json"  # among an engagement's models
SCHEMA: Final = "audit-recommend-runs/1"
KEPT: Final = 2
LIKE: Final = 0.1  # what differs by no more is taken for the same amount
ADOPTED: Final = "adopted"
_MOST_BYTES: Final = 2**28

Row = Mapping[str, Any]
Who = tuple[str | None, str | None, str | None]  # account, family, and where users are told apart the user


@dataclass(frozen=True)
class Family:
    """What was said of a family: amounts by resource over all nodes, US dollars a month; None: not known."""

    account: str | None
    family: str | None
    user: str | None
    expected_usd_per_month: float | None
    asked: dict[str, float | None]
    recommended: dict[str, float | None]

    def is_adopted(self, one: Resource, asked_now: float | None) -> bool:
        """Whether now about as much is asked as was recommended then, which was clearly less than was asked then."""
        asked, recommended = self.asked[one.name], self.recommended[one.name]
        if asked is None or recommended is None or asked_now is None:
            return False
        return recommended < asked and not _is_like(asked, recommended) and _is_like(asked_now, recommended)


@dataclass(frozen=True)
class Run:
    """One run: by what it was made (family, user), when, over which window; what it said of the families to lower."""

    by: str
    made: str
    window_from: str
    window_to: str
    families: tuple[Family, ...]

    def by_who(self) -> dict[Who, Family]:
        """The families by who they are."""
        return {(one.account, one.family, one.user): one for one in self.families}


def run_of(by: str, made: str, window: Row, lower: Sequence[Row]) -> Run:
    """What is kept of a run."""
    return Run(by, made, window["from"], window["to"], tuple(_family(row, by) for row in lower))


def earlier_of(runs: Sequence[Run], now: Run) -> Run | None:
    """The last run that said anything else."""
    return next((run for run in runs if run.families != now.families), None)


def changes(earlier: Run, lower: Sequence[Row]) -> list[Row]:
    """What changed for each of these families since the earlier run."""
    listed = earlier.by_who()
    return [_change(row, listed.get(who_of(row, earlier.by))) for row in lower]


def _change(row: Row, then: Family | None) -> Row:
    if then is None:
        return {
            "is_new": True,
            "expected_usd_per_month_before": None,
            "expected_usd_per_month_change": None,
            "recommendation_changed": [],
            "adopted": [],
        }
    before, now = then.expected_usd_per_month, row["expected_usd_per_month"]
    return {
        "is_new": False,
        "expected_usd_per_month_before": before,
        "expected_usd_per_month_change": None if before is None or now is None else float(f"{now - before:.10g}"),
        "recommendation_changed": [
            one.name for one in RESOURCES if _is_other(row[one.recommended], then.recommended[one.name])
        ],
        "adopted": [one.name for one in RESOURCES if then.is_adopted(one, row[one.asked])],
    }


def no_longer(earlier: Run, every: Sequence[Row], lower: Sequence[Row]) -> list[Row]:
    """The families that were to be lowered then and are not now, most dollars first, each with why."""
    listed = {who_of(row, earlier.by) for row in lower}
    rows = {who_of(row, earlier.by): row for row in every}
    found = []
    for who, then in earlier.by_who().items():
        if who in listed:
            continue
        row = rows.get(who)
        adopted = [one.name for one in RESOURCES if row is not None and then.is_adopted(one, row[one.asked])]
        why = "it had no attempt in this window" if row is None else "advice would win nothing of it now"
        found.append(
            {
                **dict(zip(("account", "family", "user"), who, strict=True)),
                "expected_usd_per_month_before": then.expected_usd_per_month,
                "adopted": adopted,
                "why": ADOPTED if adopted else why,
            }
        )
    return sorted(found, key=lambda one: -(one["expected_usd_per_month_before"] or 0.0))


def read_runs(folder: Path, by: str) -> list[Run]:
    """The runs kept of that kind (family, user), the last first. AuditError where the file is no such thing."""
    return _read(folder / NAME).get(by, [])


def keep_run(folder: Path, now: Run) -> None:
    """Keeps a run, where it says anything else than the last; the file is replaced whole."""
    path = folder / NAME
    runs = _read(path)
    mine = runs.get(now.by, [])
    if mine and mine[0].families == now.families:
        return
    runs[now.by] = [now, *mine][:KEPT]
    told = {"schema": SCHEMA, "runs": {name: [asdict(run) for run in kept] for name, kept in runs.items()}}
    beside = folder / f".{NAME}.{os.getpid()}"
    try:
        beside.write_text(json.dumps(told, allow_nan=False) + "\n", encoding="ascii")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        what = f"cannot be written ({error.strerror})"
        raise AuditError(what, where=str(path), remedy="free space, or let the folder be written") from None


def _read(path: Path) -> dict[str, list[Run]]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        said: Any = json.loads(text) if len(text) <= _MOST_BYTES else None
        if said["schema"] != SCHEMA:
            raise ValueError(said["schema"])
        return {str(by): [_run(run) for run in kept] for by, kept in said["runs"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        remedy = "delete it: the next run then has nothing to compare with"
        raise AuditError("holds no earlier runs", where=str(path), remedy=remedy) from None


def _run(said: Row) -> Run:
    """A run as it was kept. Where anything of it is missing or of another kind, KeyError, TypeError or ValueError."""
    by, made, start, end = (str(said[key]) for key in ("by", "made", "window_from", "window_to"))
    return Run(by, made, start, end, tuple(map(_kept, said["families"])))


def _kept(said: Row) -> Family:
    account, family, user = (None if said[key] is None else str(said[key]) for key in ("account", "family", "user"))
    usd = _number(said["expected_usd_per_month"])
    return Family(account, family, user, usd, _amounts(said["asked"]), _amounts(said["recommended"]))


def _amounts(said: Row) -> dict[str, float | None]:
    return {one.name: _number(said[one.name]) for one in RESOURCES}


def _number(said: Any) -> float | None:
    return None if said is None else float(said)


def _family(row: Row, by: str) -> Family:
    return Family(
        *who_of(row, by),
        expected_usd_per_month=_number(row["expected_usd_per_month"]),
        asked=_amounts({one.name: row[one.asked] for one in RESOURCES}),
        recommended=_amounts({one.name: row[one.recommended] for one in RESOURCES}),
    )


def who_of(row: Row, by: str) -> Who:
    """What tells a family apart from one run to the next: users may come and go, unless they are told apart."""
    return row["account"], row["family"], row["user"] if by == "user" else None


def _is_like(amount: float, other: float) -> bool:
    return abs(amount - other) <= LIKE * other


def _is_other(now: float | None, then: float | None) -> bool:
    if now is None or then is None:
        return now is not then
    return not _is_like(now, then)
