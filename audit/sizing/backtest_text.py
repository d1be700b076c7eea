"""A target's scores as the tables that `audit backtest` prints."""

from collections.abc import Mapping
from typing import Any

Score = Mapping[str, Any]
Row = dict[str, object]
_COMPARED = (None, 0.99)  # levels of the methods shown; None: as issued


def heading(score: Score) -> str:
    """What was judged, in one line."""
    abstained = score["abstained"]
    return (
        f"{score['target']} ({score['unit']}), foreseen at the {score['mode']}: {score['attempts']:,} attempts of "
        f"{score['users']:,} users, {score['measured']:,} measured, "
        f"{score['scored']:,} judged in {score['bursts']:,} bursts; "
        f"the request was kept for {_percent(abstained['share'])} (after the first 1,000: "
        f"{_percent(abstained['share_after_1000'])})"
    )


def coverage_rows(score: Score) -> list[Row]:
    """A row a level: what was promised and what was kept, for whom, and in the worst stretch."""
    near = {row["level"]: row["share"] for row in score["per_user"]["within_2_points"]}
    worst = {row["level"]: row["realised"] for row in score["worst_1000"]}
    users = score["per_user"]["users"]
    return [
        {
            "promised": f"p{100 * row['level']:g}",
            "kept": _percent(row["realised"]),
            "95 % interval": f"{_percent(row['low'])} to {_percent(row['high'])}",
            "error": _points(row["error"]),
            "worst 1,000": _percent(worst[row["level"]]),
            "users within 2 points": "–" if not users else f"{round(near[row['level']] * users)} of {users}",
        }
        for row in score["coverage"]
    ]


def method_rows(score: Score) -> list[Row]:
    """A row a method: whom it would have killed, what it would have asked for and held for nothing."""
    equal = [{m["method"]: m["waste_share_equalised"] for m in each["methods"]} for each in score["equal_kills"]]
    shares = [f"waste at {100 * each['kill_share']:g} % kills" for each in score["equal_kills"]]
    return [
        {
            "method": row["method"],
            "margin": "as issued" if row["level"] is None else f"p{100 * row['level']:g}",
            "kills" if score["kills"] else "short": f"{row['kills']:,} of {row['advised']:,}",
            "share": _percent(row["kill_share"]),
            "asked / needed": _factor(row["over_request"]),
            "waste / needed": _factor(row["waste_share"]),
            **{
                name: "" if row["level"] is None else _factor(each.get(row["method"]))
                for name, each in zip(shares, equal, strict=True)
            },
        }
        for row in score["methods"]
        if row["level"] in _COMPARED
    ]


def equal_lines(score: Score) -> list[str]:
    """The model beside its best rivals where all kill the same share."""
    return [
        f"at {100 * each['kill_share']:g} % kills the model wastes {_factor(each['model_to_fixed'])} times what "
        f"{each['best_fixed']} does (best on the first half), {_factor(each['model_to_hindsight'])} times "
        f"{each['best_in_hindsight']} (best in hindsight)"
        for each in score["equal_kills"]
        if each["model_to_fixed"] is not None
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _points(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.2f}"


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
