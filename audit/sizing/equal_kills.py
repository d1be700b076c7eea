"""The model against its rivals where all kill the same share of jobs.

Whoever kills more may waste less, so waste alone compares nothing. Each method's forecasts are shifted by one addend,
found exactly on the first half of the attempts, then frozen for the second; and beside it, found on the second itself.
"""

from typing import Any

import numpy as np

from audit.sizing.attempts import Floats
from audit.sizing.calibration import TINY
from audit.sizing.scored import Compared, Method

KILL_SHARES = {0.01: 0.99, 0.02: 0.98}  # and the level whose forecasts are shifted to it


def equal_kills(compared: Compared, methods: list[Method]) -> list[dict[str, Any]]:
    """One entry for each share of kills; waste is a share of what was needed."""
    half = len(compared.rows) // 2
    first, second = compared.part(slice(0, half)), compared.part(slice(half, None))
    return [_at(share, level, first, second, methods) for share, level in KILL_SHARES.items()]


def addend(compared: Compared, forecast: Floats, kill_share: float) -> float:
    """The least that is to be added to forecasts for no more than this share of those advised on to be killed."""
    least = compared.log_need
    if compared.target.whole:  # what lies just above it is rounded up to the need
        need = np.ceil(np.exp(compared.log_need) - TINY)
        least = np.log(np.maximum(need - 0.95, compared.target.floor)) + 2 * TINY
        least = np.where(compared.log_need <= np.log(compared.target.floor), -np.inf, least)
    short = np.sort((least - forecast[compared.rows])[compared.advised])
    short = np.where(np.isnan(short), -np.inf, short)
    if not len(short):
        return 0.0
    found = np.sort(short)[max(0, len(short) - int(kill_share * len(short)) - 1)]
    return float(found) if np.isfinite(found) else 0.0


def _at(share: float, level: float, first: Compared, second: Compared, methods: list[Method]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for method in methods:
        if method.margin != "as_issued":
            forecast = method.at(level)
            frozen, own = (addend(part, forecast, share) for part in (first, second))
            late = second.advice(forecast, frozen)
            advised = int(second.advised.sum())
            rows.append({
                "method": method.name, "role": method.role, "addend": frozen,
                "first_half_waste_share": _waste_share(first, first.advice(forecast, frozen)),
                "kill_share": float(second.killed(late).sum() / advised) if advised else np.nan,
                "waste_share": _waste_share(second, late),
                "waste_share_equalised": _waste_share(second, second.advice(forecast, own)),
            })  # fmt: skip
    rivals = [row for row in rows if row["role"] == "rival"]
    fixed = min(rivals, key=lambda row: _or_inf(row["first_half_waste_share"]))
    hindsight = min(rivals, key=lambda row: _or_inf(row["waste_share_equalised"]))
    model = rows[0]
    return {
        "kill_share": share,
        "level": level,
        "attempts": len(first.rows) + len(second.rows),
        "methods": rows,
        "best_fixed": fixed["method"],
        "best_in_hindsight": hindsight["method"],
        "model_to_fixed": _ratio(model["waste_share_equalised"], fixed["waste_share_equalised"]),
        "model_to_fixed_frozen": _ratio(model["waste_share"], fixed["waste_share"]),
        "model_to_hindsight": _ratio(model["waste_share_equalised"], hindsight["waste_share_equalised"]),
    }


def _waste_share(compared: Compared, advice: Floats) -> float:
    needed = compared.held(compared.log_need)
    return compared.waste(advice) / needed if needed else np.nan


def _or_inf(value: float) -> float:
    return value if np.isfinite(value) else np.inf


def _ratio(value: float, base: float) -> float:
    return value / base if base else np.nan
