"""A back-test's scores in a few lines each."""

from collections.abc import Sequence
from typing import Any

from audit.reporting.hostile import visible


def brief(results: Sequence[dict[str, Any]]) -> str:
    """One paragraph for each log and target."""
    return "\n\n".join("\n".join(_lines(item)) for item in results)


def _lines(item: dict[str, Any]) -> list[str]:
    against = " against the true need" if item["against"] == "true" else ""
    lines = [
        f"{visible(item['file'])}: {item['target']}, foreseen at the {item['mode']}{against} ({item['replay_s']} s)",
        f"  {item['attempts']:,} attempts, {item['measured']:,} measured ({item['bounds']:,} bounds), "
        f"{item['scored']:,} scored in {item['bursts']:,} bursts, {item['users']:,} users",
        f"  abstained {_points(item['abstained']['share'])}, after 1,000 "
        f"{_points(item['abstained']['share_after_1000'])}",
    ]
    lines += [f"  {name}: {visible(text)}" for name, text in item["notes"].items()]
    near = {each["level"]: each["share"] for each in item["per_user"]["within_2_points"]}
    low = {each["level"]: each["realised"] for each in item["worst_1000"]}
    users = item["per_user"]["users"]
    for c, p in zip(item["coverage"], item["pinball"], strict=True):
        lines.append(
            f"  p{100 * c['level']:g}: {_points(c['realised'])} [{_points(c['low'])}, {_points(c['high'])}]"
            f" error {_points(c['error'])}; worst 1,000 {_points(low[c['level']])};"
            f" {_points(near[c['level']])} of {users} users within 2 points;"
            f" pinball {_number(p['model'])}, best rival {_number(p['best_rival'])} ({p['rival']})"
        )
    lines.append(f"  {'method':<22}{'level':>6}{'kills':>8}{'over':>9}{'waste':>9}{'at 1 %':>9}{'at 2 %':>9}")
    equal = [{m["method"]: m["waste_share_equalised"] for m in each["methods"]} for each in item["equal_kills"]]
    for m in item["methods"]:
        if m["level"] in (None, 0.99):
            name = m["method"] + (", as issued" if m["level"] is None else "")
            same = [_number(each.get(m["method"])) if m["level"] else "" for each in equal]
            level = "" if m["level"] is None else f"{m['level']:g}"
            lines.append(
                f"  {name:<22}{level:>6}{_points(m['kill_share']):>8}{_number(m['over_request']):>9}"
                f"{_number(m['waste_share']):>9}{same[0]:>9}{same[1]:>9}"
            )
    for each in item["equal_kills"]:
        lines.append(
            f"  waste at {_points(each['kill_share'])} kills: {_number(each['model_to_fixed'])} of {each['best_fixed']}"
            f" (fixed in advance; addends frozen: {_number(each['model_to_fixed_frozen'])}),"
            f" {_number(each['model_to_hindsight'])} of {each['best_in_hindsight']} (hindsight)"
        )
    passed = [limit for limit in item["limits"] if limit["within"] is False]
    lines += [f"  LIMIT PASSED: {p['limit']}: {_number(p['value'])}, at most {p['at_most']:g}" for p in passed]
    return lines


def _points(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
