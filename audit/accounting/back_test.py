"""What the model's back-test said, as `audit train` or `audit backtest` left it among the models."""

import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from audit.accounting.rows import Row
from audit.errors import AuditError
from audit.workspace import Workspace

SCHEMA = "audit-backtest/1"
_LARGEST_BYTES = 64 << 20  # the users it lists are those with many attempts: it stays far below


def back_test(workspace: Workspace) -> Row | None:
    """The content of `backtest.json`; None where there is none. AuditError where it is not what we write."""
    path = workspace.models / "backtest.json"
    try:
        found = json.loads(_read(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or not _fits(found, _BACK_TEST):
        raise AuditError("is no back-test of this version", where=str(path), remedy="run `audit train` again")
    return found


def _read(path: Path) -> bytes:
    """A regular file that is not too large, else nothing; a pipe is not waited for."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
        found = os.fstat(file.fileno())
        return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST_BYTES else b""


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 2**53 and math.isfinite(value)


def _is_number_or_null(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


# What a report reads of it: a check a value, an object's keys, or a list with the shape of each of its items.
_Shape = Callable[[Any], bool] | dict[str, "_Shape"] | list["_Shape"]
_BACK_TEST: Final[_Shape] = {
    "targets": [
        {
            "target": _is_text,
            "kills": _is_flag,
            "scored": _is_count,
            "bursts": _is_count,
            "abstained": {"share": _is_number_or_null},
            "coverage": [
                {
                    "level": _is_number,
                    "realised": _is_number_or_null,
                    "low": _is_number_or_null,
                    "high": _is_number_or_null,
                }
            ],
            "per_user": {
                "users": _is_count,
                "within_2_points": [{"level": _is_number, "share": _is_number_or_null}],
                "listed": [{"user": _is_text}],
            },
            "worst_1000": [{"level": _is_number, "realised": _is_number_or_null}],
            "methods": [
                {
                    "method": _is_text,
                    "role": _is_text,
                    "margin": _is_text,
                    "level": _is_number_or_null,
                    "advised": _is_count,
                    "kills": _is_count,
                    "over_request": _is_number_or_null,
                    "waste_share": _is_number_or_null,
                }
            ],
            "equal_kills": [{"kill_share": _is_number, "best_fixed": _is_text, "model_to_fixed": _is_number_or_null}],
        }
    ]
}


def _fits(value: Any, shape: _Shape) -> bool:
    """Whether a value has at least what the shape asks for."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and _fits(value[key], of) for key, of in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(item, shape[0]) for item in value)
    return shape(value)
