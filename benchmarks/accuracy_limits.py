"""What a back-test must keep to: stated before it is run, the same for every log."""

from typing import Any

COVERAGE = {0.9: 0.015, 0.95: 0.015, 0.99: 0.007}
COVERAGE_OF = {"kth_sp2_1996": {0.9: 0.01, 0.95: 0.01, 0.99: 0.005}}
ABSTAINED = 0.2  # share, after the first 1,000 attempts
WASTE = 1.0  # at equal kills, over that of the best calibrated rival fixed in advance; of targets that kill


def limits(file: str, score: dict[str, Any]) -> list[dict[str, Any]]:
    """Each limit with its value, and whether it is kept; None where there is nothing to judge."""
    coverage = next((limit for name, limit in COVERAGE_OF.items() if file.startswith(name)), COVERAGE)
    found = [
        _limit(f"coverage error at {item['level']:g}", item["error"] and abs(item["error"]), coverage[item["level"]])
        for item in score["coverage"]
        if item["level"] in coverage
    ]
    found.append(_limit("abstained after 1,000", score["abstained"]["share_after_1000"], ABSTAINED))
    for item in score["equal_kills"] if score["kills"] else []:
        name = f"waste at {100 * item['kill_share']:g} % kills over {item['best_fixed']}"
        found.append(_limit(name, item["model_to_fixed"], WASTE))
    return found


def _limit(name: str, value: float | None, most: float) -> dict[str, Any]:
    return {"limit": name, "value": value, "at_most": most, "within": None if value is None else value <= most + 1e-12}
