"""What `audit recommend` says: the families to right-size, by the dollars that advice would have won back of them.

Rests on the report's figures and on the advice that `audit train` replayed over the window; names are the real ones
until `renamed` is asked for others. `recommend.schema.json` documents it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import duckdb
import polars as pl

from audit.accounting.relations import query
from audit.accounting.rows import ratio, rows, times
from audit.errors import NoReportError
from audit.reporting.page import created
from audit.reporting.pseudonyms import Pseudonyms
from audit.reporting.recommend_earlier import Run, changes, earlier_of, no_longer, run_of
from audit.reporting.recommend_words import CORES, GPUS, MEMORY, RESOURCES, Resource, lower_words, raise_words
from audit.reporting.won import quantile_name
from audit.sizing.policy import POLICY
from audit.store import SCRATCH

SCHEMA: Final = "audit-recommend/1"
RECENT: Final = 4  # the last of so many parts of the window says what is asked today
_PLAIN: Final = """
    account family user users partition partitions attempts recent_attempts nodes most_nodes time_limit_asked_s
    walltime_p90_s held_usd expected_usd reruns_usd gpus_gross_usd memory_gross_usd cores_gross_usd rests_on tested
    tested_days killed slowed above memory_above gpus_above of_recent abstained short out_of_memory
""".split()
_SHORT: Final = """
    account family user users partition partitions attempts nodes most_nodes short out_of_memory lost_usd
""".split()

_NEEDED: Final = ((MEMORY, "mem_short_asked_bytes", "mem_short_bytes"), (CORES, "cores_short_asked", "cores_short"))
NOT_ADVISED: Final = "nothing was advised on it in the window: where only the mean use is known, nothing is lowered"

Row = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """When confidence in a family's recommendation is high, and when it is low; fair in between.

    `tested`: attempts of which the advice lowers something and whose need is known. Missed: those that it would have
    killed, and the recent ones that needed more than is recommended. `allowed` is what the policy's quantile lets miss.
    """

    high_tested: int = 100  # of one miss in a hundred, fewer say too little
    high_days: int = 3  # a burst of one day is one trial
    high_abstained: float = 0.2
    low_tested: int = 20
    low_missed: float = 5.0  # times what the quantile allows
    low_abstained: float = 0.5

    def told(self, quantile: float) -> dict[str, str]:
        """The rule in words."""
        allowed = 1 - quantile
        most, too_many = f"{100 * allowed:.2g} %", f"{100 * self.low_missed * allowed:.2g} %"
        return {
            "high": f"tested on {self.high_tested} attempts or more of {self.high_days} days or more; at most {most} "
            f"of them would have been killed, at most {most} of the recent ones needed more than is recommended; "
            f"abstained on {100 * self.high_abstained:.2g} % at most",
            "fair": "neither high nor low",
            "low": f"tested on fewer than {self.low_tested} attempts, or more than {too_many} would have been killed "
            f"or needed more, or abstained on more than {100 * self.low_abstained:.2g} %",
        }

    def judged(self, row: Row, quantile: float) -> tuple[str, str]:
        """The word for a family, and what decided it."""
        allowed = 1 - quantile + 1e-9
        tested, left = row["tested"], row["abstained"] / row["attempts"]
        killed, above = ratio(row["killed"], tested) or 0.0, ratio(row["above"], row["of_recent"]) or 0.0
        killed_words = f"{row['killed']:,} of {tested:,} would have been killed"
        above_words = f"{row['above']:,} of {row['of_recent']:,} recent ones needed more"
        lows = (
            (tested < self.low_tested, f"tested on {tested:,} attempts only"),
            (killed > self.low_missed * allowed, killed_words),
            (above > self.low_missed * allowed, above_words),
            (left > self.low_abstained, f"abstained on {100 * left:.0f} %"),
        )
        fairs = (
            (killed > allowed, killed_words),
            (above > allowed, above_words),
            (tested < self.high_tested, f"tested on {tested:,} attempts"),
            (row["tested_days"] < self.high_days, f"tested on {row['tested_days']} days only"),
            (left > self.high_abstained, f"abstained on {100 * left:.0f} %"),
        )
        for word, found in (("low", lows), ("fair", fairs)):
            if why := next((why for applies, why in found if applies), None):
                return word, why
        return "high", f"tested on {tested:,} attempts of {row['tested_days']:,} days"


RULE: Final = Rule()


def recommend(
    connection: duckdb.DuckDBPyConnection, report: Mapping[str, Any], *, by_user: bool, runs: Sequence[Run] = ()
) -> tuple[Row, Run]:
    """The families to lower and to raise, and the run as it is to be kept.

    `runs` are the earlier ones, the last first: what changed since the last that said anything else is told.

    `connection` is the one that the figures of `report` were made on. Dollars are of the window unless they say per
    month. NoReportError where no advice was replayed over the window, or nothing was measured.
    """
    if report["recoverable"]["expected_usd"] is None:
        raise NoReportError(report["reasons"]["recoverable.expected_usd"])
    window, quantile = report["window"], report["recoverable"]["quantile"]
    start, end = (datetime.fromisoformat(window[key].rstrip("Z")) for key in ("from", "to"))
    recent_from = end - timedelta(seconds=(end - start).total_seconds() // RECENT)
    asked = {"by_user": by_user, "recent_from": recent_from, "retry": POLICY.retry}
    make = f"CREATE OR REPLACE TABLE {SCRATCH}.recommend_attempt AS {query('recommend_attempt')}"
    connection.execute(make, asked)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW recommend_attempt AS SELECT * FROM {SCRATCH}.recommend_attempt")
    known = [{key: _steady(value) for key, value in row.items()} for row in rows(connection, "recommend_families")]
    advised = frozenset(one for one in RESOURCES if any(row[one.recommended] is not None for row in known))
    factor = window["month_factor"]
    every = [_lower(row, factor, quantile, advised, by_user=by_user) for row in known]
    lower = [row for row in every if (row["expected_usd"] or 0.0) > 0]
    raised = [_raise(row, by_user=by_user) for row in known if row["short"]]
    raised.sort(key=lambda row: (-(row["lost_usd"] or 0.0), -row["short"]))
    rest = [row for row in every if (row["expected_usd"] or 0.0) <= 0]
    losing = [row["expected_usd"] for row in rest if (row["expected_usd"] or 0.0) < 0]
    won, by = report["recoverable"], "user" if by_user else "family"
    now = run_of(by, created(), window, lower)
    earlier = earlier_of(runs, now)
    moved = [None] * len(lower) if earlier is None else changes(earlier, lower)
    found = {
        "schema": SCHEMA,
        "version": report["version"],
        "generated_sample": report["generated_sample"],
        "real_names": True,
        "cluster": report["cluster"],
        "by": by,
        "made": now.made,
        "window": {key: window[key] for key in ("from", "to", "hours", "observed_hours", "month_factor")},
        "recent_from": f"{recent_from:%Y-%m-%dT%H:%M:%SZ}",
        "quantile": quantile,
        "quantile_name": quantile_name(quantile),
        "price_basis": report["cost"]["basis"],
        "coverage_usd": report["coverage"]["usd"],
        "headline_allowed": report["coverage"]["headline_allowed"],
        "expected_usd": won["expected_usd"],
        "expected_usd_per_month": won["expected_usd_per_month"],
        "killed": won["kills"]["killed"],
        "tested": won["kills"]["of"],
        "confidence_rule": RULE.told(quantile),
        "lower": [{**row, "change": change} for row, change in zip(lower, moved, strict=True)],
        "lower_families": len(lower),
        "lower_usd": _steady(math.fsum(row["expected_usd"] for row in lower)),
        "raise": raised,
        "raise_families": len(raised),
        "rest": {"families": len(rest), "losing_families": len(losing), "losing_usd": _steady(math.fsum(losing))},
        "earlier": earlier and {"made": earlier.made, "from": earlier.window_from, "to": earlier.window_to},
        "no_longer": no_longer(earlier, every, lower) if earlier else [],
        "reasons": _reasons(report, advised, earlier),
    }
    return found, now


def limited(found: Row, limit: int) -> Row:
    """The same with at most `limit` rows in each list; 0: all."""
    return {**found, **{key: found[key][: limit or None] for key in ("lower", "raise", "no_longer")}}


def renamed(found: Row, names: Pseudonyms) -> Row:
    """The same as it may be shown: users by pseudonym, alone and inside accounts and families."""
    changes: dict[str, Callable[[pl.Series], pl.Series]]
    changes = {"user": names.users, "account": names.texts, "family": names.texts}
    shown = {**found, "real_names": names.are_real}
    for part in ("lower", "raise", "no_longer"):
        columns = {
            key: change(pl.Series([row[key] for row in found[part]], dtype=pl.String))
            for key, change in changes.items()
        }
        shown[part] = [{**row, **{key: columns[key][at] for key in changes}} for at, row in enumerate(found[part])]
    return shown


def _lower(row: Row, factor: float | None, quantile: float, advised: frozenset[Resource], *, by_user: bool) -> Row:
    """A family with what is asked today, what is recommended, and how far that is to be trusted."""
    found = {key: row[key] for key in _PLAIN} | _held(row, by_user=by_user)
    reasons = {}
    for one in RESOURCES:
        found |= {one.asked: row[one.asked], one.recommended: row[one.recommended]}
        if row[one.recommended] is None:
            reasons[one.recommended] = _kept_because(row, one, advised)
        if row[one.asked] is None:
            reasons[one.asked] = "the accounting does not state it"
    if row["walltime_p90_s"] is None:
        reasons["walltime_p90_s"] = "no attempt of it completed in the window"
    if row["time_limit_asked_s"] is None:
        reasons["time_limit_asked_s"] = "the accounting states no time limit"
    if row["expected_usd"] is None:
        reasons["expected_usd"] = "its attempts have no cost: the accounting names no nodes of theirs"
    found["expected_usd_per_month"] = _steady(times(row["expected_usd"], factor))
    found["abstained_share"] = _steady(row["abstained"] / row["attempts"])
    found["confidence"], found["confidence_reason"] = RULE.judged(row, quantile)
    return {**found, "tell": lower_words(found), "reasons": reasons}


def _kept_because(row: Row, one: Resource, advised: frozenset[Resource]) -> str:
    """Why nothing is recommended of a resource."""
    if one is GPUS and not row[one.asked]:
        return "it asks for no GPU"
    if row["is_whole"]:
        return "its attempts take whole nodes"
    if one not in advised:
        return NOT_ADVISED
    return "too little was known of its recent attempts, or they run on several nodes: the request is kept"


def _raise(row: Row, *, by_user: bool) -> Row:
    """A family some attempts of which asked for too little."""
    found = {key: row[key] for key in _SHORT} | _held(row, by_user=by_user)
    reasons: dict[str, str] = {}
    for one, asked, needed in _NEEDED:
        more = None not in (row[asked], row[needed]) and row[needed] > row[asked]
        found |= {one.asked: row[asked], one.recommended: row[needed] if more else None}
        if row[needed] is None:
            reasons |= dict.fromkeys((one.asked, one.recommended), "no attempt of it asked for too little of that")
        elif not more:
            reasons[one.recommended] = "they held as much as a node has: spread them over more nodes"
    if row["lost_usd"] is None:
        reasons["lost_usd"] = "its attempts have no cost: the accounting names no nodes of theirs"
    return {**found, "tell": raise_words(found), "reasons": reasons}


def _held(row: Row, *, by_user: bool) -> Row:
    """Who and when: a family of several users names none of them."""
    return {
        "user": row["user"] if by_user or row["users"] == 1 else None,
        "partition": row["partition"] if row["partitions"] == 1 else None,
        "last_submit": f"{row['last_submit']:%Y-%m-%dT%H:%M:%SZ}",
    }


def _reasons(report: Mapping[str, Any], advised: frozenset[Resource], earlier: Run | None) -> dict[str, str]:
    """Why something is NULL, or left out, of the whole."""
    found = {}
    if report["window"]["month_factor"] is None:
        why = report["reasons"].get("cost.held_usd_per_month", "the window says too little of a month")
        found["expected_usd_per_month"] = why
    if not report["coverage"]["headline_allowed"]:
        found["coverage_usd"] = report["coverage"]["reason"]
    if abstained := report["reasons"].get("recoverable.abstained"):
        found["abstained"] = abstained
    found |= {one.recommended: NOT_ADVISED for one in RESOURCES if one not in advised}
    if earlier is None:
        found["earlier"] = "this is the first run: there is nothing to compare with"
    return found


def _steady(value: object) -> object:
    """Whole numbers as such (bytes have more than ten digits), others to ten digits, as in the report."""
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else float(f"{value:.10g}")
