"""What advice given before attempts started would have won back, and what it would have broken."""

from dataclasses import dataclass

import duckdb

from audit.accounting.rows import Row, less, only, rows
from audit.workspace import CAUTIOUS_QUANTILE, Policy

NO_MODEL = "no model has been replayed over the window: run `audit train`"
NOTHING_MEASURED = "no attempt's use was measured: nothing can be shown to be recoverable"
UNWATCHED = "telemetry watched no attempt: the cautious figure rests on it alone"
DOLLARS = ("low_usd", "expected_usd", "expected_gross_usd", "reruns_usd")
TOLD = ("kills", "low_kills", "slowed", "abstained", "policy_too_bold")
MOST_CAUTIOUS = "policy.quantile is the most cautious there is"
_KILLS = ("killed", "of", "by_memory", "of_memory", "by_gpus", "of_gpus")


@dataclass(frozen=True)
class Advance:
    """Figures of advice given in advance, of the window: `usd` by key of the report, and the counts `told`.

    expected_usd is net of one more run of every attempt that the advice would have killed; it may be negative. low_usd
    is the same at the cautious quantile, of what telemetry watched only. Where they are None, `reason` and `low_reason`
    say why; `bold_reason`, why it is not known whether the policy is too bold. `missing`: attempts of the window that
    the replay lacks.
    """

    usd: Row
    told: Row
    missing: int = 0
    reason: str | None = None
    low_reason: str | None = None
    bold_reason: str | None = None

    @property
    def is_known(self) -> bool:
        """Whether there is advice to reckon with."""
        return self.reason is None


def in_advance(connection: duckdb.DuckDBPyConnection, policy: Policy, *, is_measured: bool) -> Advance:
    """The figures of the plans made on this connection; `is_measured`: the use of some attempt is known."""
    plans = {row["plan"]: row for row in rows(connection, "plans")}
    asked = only(connection, "abstained")
    if not plans or ("expected" in plans and asked["missing"] == asked["of"]):
        return _nothing(policy, NO_MODEL)
    if not is_measured:
        return _nothing(policy, NOTHING_MEASURED)
    if "expected" not in plans:
        return _nothing(policy, _not_at(policy.quantile))
    expected, low = plans["expected"], plans.get("low")
    every = sorted((plan for plan in plans.values() if not plan["watched_only"]), key=lambda plan: plan["quantile"])
    net = _net(expected)
    watched = low if low and asked["is_watched"] else None
    more_cautious = _more_cautious(every, policy)
    return Advance(
        usd={
            "low_usd": _net(watched) if watched else None,
            "expected_usd": net,
            "expected_gross_usd": expected["gross_usd"],
            "reruns_usd": expected["reruns_usd"],
        },
        told={
            "quantile": policy.quantile,
            "kills": {key: expected[key] for key in _KILLS},
            "low_kills": {key: watched[key] for key in ("killed", "of")} if watched else None,
            "slowed": {key: expected[key] for key in ("slowed", "of")},
            "abstained": {key: asked[key] for key in ("attempts", "missing", "of", "usd")},
            "policy_too_bold": (less(_net(more_cautious), net) or 0) > 0 if more_cautious else None,
            "sensitivity": [_at(plan) for plan in every],
        },
        missing=asked["missing"],
        low_reason=None if watched else UNWATCHED if low else _not_at(CAUTIOUS_QUANTILE),
        bold_reason=None if more_cautious else _no_more_cautious(policy),
    )


def _more_cautious(every: list[Row], policy: Policy) -> Row | None:
    """The plan of the same attempts at the cautious quantile; None where that is the policy's, or is not there."""
    if policy.quantile == CAUTIOUS_QUANTILE:
        return None
    return next((plan for plan in every if plan["quantile"] == CAUTIOUS_QUANTILE), None)


def _no_more_cautious(policy: Policy) -> str:
    return MOST_CAUTIOUS if policy.quantile == CAUTIOUS_QUANTILE else _not_at(CAUTIOUS_QUANTILE)


def _net(plan: Row) -> float:
    return less(plan["gross_usd"], plan["reruns_usd"]) or 0.0


def _at(plan: Row) -> Row:
    """The same at one quantile."""
    told = {key: plan[key] for key in ("quantile", "gross_usd", "reruns_usd", "killed", "of", "slowed")}
    return {**told, "net_usd": _net(plan)}


def _not_at(quantile: float) -> str:
    return f"the replay holds no advice at the quantile {quantile:g}: run `audit train` again"


def _nothing(policy: Policy, reason: str) -> Advance:
    told = {"quantile": policy.quantile, **dict.fromkeys(TOLD), "sensitivity": list[Row]()}
    return Advance(usd=dict.fromkeys(DOLLARS), told=told, reason=reason, low_reason=reason, bold_reason=reason)
