"""The model beside every expert and every rival, on the same attempts: kills, over-request, waste, pinball loss."""

from typing import Any

import numpy as np

from audit.sizing.attempts import Floats
from audit.sizing.scored import Compared, Method

ADVISED = (0.99, 0.95)  # the levels compared


def method_scores(compared: Compared, methods: list[Method]) -> list[dict[str, Any]]:
    """One entry for each method and level; what comes without a margin has no level."""
    found = []
    for method in methods:
        for level in (None,) if method.margin == "as_issued" else ADVISED:
            forecast = method.at(level or ADVISED[0])
            loss = np.nan if level is None else pinball(compared, forecast, level)
            found.append(
                {"method": method.name, "role": method.role, "margin": method.margin, "level": level}
                | _scores(compared, forecast)
                | {"pinball": loss}
            )
    return found


def pinball(compared: Compared, forecast: Floats, level: float) -> float:
    """Mean pinball loss of a level on the logarithmic scale, over the attempts advised on."""
    over = (compared.log_need - compared.advice(forecast))[compared.advised]
    over = over[np.isfinite(over)]
    return float(np.maximum(level * over, (level - 1) * over).mean()) if len(over) else np.nan


def _scores(compared: Compared, forecast: Floats) -> dict[str, Any]:
    advice = compared.advice(forecast)
    kills, advised = int(compared.killed(advice).sum()), int(compared.advised.sum())
    needed, spent = compared.held(compared.log_need), compared.waste(advice)
    return {
        "attempts": len(advice),
        "advised": advised,
        "kills": kills,
        "kill_share": kills / advised if advised else np.nan,
        "over_request": compared.held(advice) / needed if needed else np.nan,
        "waste": spent,
        "waste_share": spent / needed if needed else np.nan,
    }
