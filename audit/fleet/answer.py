"""What a host answered, read from Ansible's events. A host may have been taken over: whatever it says is only data.

A value counts only where it is of the kind asked for; what is not is as if it had not been said.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

_ENDINGS = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable")
_LARGEST_CHARACTERS = 16 * 2**20
_LARGEST_NUMBER = 2**63


@dataclass(frozen=True)
class Answer:
    """What one host said: `value` where the step was done; else `error`, and whether it could be reached at all.

    `started_s` and `ended_s` bound the moment of the answer, by the appliance's clock.
    """

    host: str
    value: Mapping[str, Any]
    error: str = ""
    unreachable: bool = False
    changed: bool = False
    started_s: float = 0.0
    ended_s: float = 0.0

    @property
    def done(self) -> bool:
        """Whether the step was done."""
        return not self.error

    def number(self, key: str) -> float | None:
        """A number; None where it is none."""
        value = self.value.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, key: str, most: int = 300) -> str | None:
        """A text, or a number as text, cut to `most` characters; None where it is neither."""
        value = self.value.get(key)
        return str(value)[:most] if isinstance(value, str | int | float) else None

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list."""
        value = self.value.get(key)
        return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

    def records(self, key: str) -> tuple[dict[str, Any], ...]:
        """The objects of a list."""
        value = self.value.get(key)
        return tuple(one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def answer_in(event: Mapping[str, Any]) -> Answer | None:
    """The answer in an event that ends a task on a host; None for every other event."""
    if event.get("event") not in _ENDINGS:
        return None
    data = event.get("event_data") or {}
    result = data.get("res") or {}
    printed = str(result.get("stdout") or "")
    value = _value(printed) if len(printed) <= _LARGEST_CHARACTERS else {}
    error = str(value.pop("error", ""))
    if len(printed) > _LARGEST_CHARACTERS:
        error = f"it answered {len(printed) >> 20} MiB, which no answer of ours has"
    elif not error and event["event"] == "runner_on_unreachable":
        error = f"cannot be reached: {_line(result.get('msg')).rpartition('via ssh: ')[2]}"
    elif not error and event["event"] == "runner_on_failed":
        error = _line(result.get("stderr") or result.get("module_stderr") or result.get("msg") or result.get("stdout"))
    return Answer(
        host=str(data.get("host")),
        value=value,
        error=error[:300],
        unreachable=event["event"] == "runner_on_unreachable",
        changed=bool(result.get("changed")),
        started_s=_moment_s(data.get("start")),
        ended_s=_moment_s(data.get("end")),
    )


def both(earlier: Answer | None, later: Answer) -> Answer:
    """The answer of a host after one more task: the first value stays, an error is never forgotten."""
    if earlier is None or not earlier.value:
        return later if earlier is None or not earlier.error else earlier
    return replace(
        earlier,
        error=earlier.error or later.error,
        unreachable=earlier.unreachable or later.unreachable,
        changed=earlier.changed or later.changed,
    )


def whole(answer: Answer) -> Answer:
    """The answer, with an error where what the host printed is none of ours."""
    return answer if answer.value or answer.error else replace(answer, error="no answer of ours")


def _value(printed: str) -> dict[str, Any]:
    """The JSON object on the last line that may be one; empty where there is none."""
    for line in reversed(printed.splitlines()):
        if line.startswith("{"):
            try:
                value = json.loads(line, parse_int=_number, parse_float=_number, parse_constant=_number)
            except (ValueError, RecursionError):
                return {}
            return value if isinstance(value, dict) else {}
    return {}


def _number(text: str) -> float:
    """A number that can be reckoned with; ValueError for others (1e999, NaN, a thousand digits)."""
    value = float(text)
    if not math.isfinite(value) or abs(value) > _LARGEST_NUMBER:
        raise ValueError(text[:40])
    return int(text) if text.lstrip("-").isdigit() else value


def _line(text: object) -> str:
    """The line of an error text that says most: its last."""
    lines = [line.strip() for line in str(text or "it said nothing").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


def _moment_s(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
