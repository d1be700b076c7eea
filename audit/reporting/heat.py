"""Geometry of the week map: what could be won back as a share of what is installed, by weekday and hour.

Points (1/72 inch) in a drawing as wide as the text. An hour that the window does not touch is hatched, not 0.
"""

from dataclasses import dataclass

from audit.reporting.numerals import percent
from audit.reporting.wording import Report, sentence

WIDTH = 493.2  # 174 mm
_LEFT = 30.0
_TOP = 11.0
_ROW = 11.8
_CELL = (WIDTH - _LEFT) / 24
_KEY = 17.0  # of the key below the map
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_STEPS = (20.0, 10.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.2, 0.1)  # percent from one class to the next
CLASSES = 5


@dataclass(frozen=True)
class Cell:
    """One hour of the week: its class from 0 to 4 and its percent as written; both None where nothing is known."""

    x: float
    y: float
    level: int | None
    text: str | None


@dataclass(frozen=True)
class Key:
    """One class of the key: where it stands and what it holds."""

    x: float
    level: int | None
    words: str


@dataclass(frozen=True)
class WeekMap:
    """The map; `words` name its highest and its lowest hour."""

    cells: tuple[Cell, ...]
    days: tuple[tuple[float, str], ...]
    hours: tuple[tuple[float, str], ...]
    keys: tuple[Key, ...]
    key_y: float
    cell: tuple[float, float]
    width: float
    height: float
    words: str
    alt: str


def week_map(report: Report) -> WeekMap | None:
    """The map, or None where nothing was measured or won back, or there is no node price to share."""
    if report["recoverable"]["high_usd"] is None:
        return None
    slots = {
        (row["weekday"], row["hour"]): row["recoverable_usd"] / row["installed_usd"]
        for row in report["by_hour_of_week"]
        if row["installed_usd"] and row["recoverable_usd"] is not None
    }
    if not any(slots.values()):
        return None
    step = next((step for step in _STEPS if (CLASSES - 1) * step <= 100 * max(slots.values())), _STEPS[-1])
    cells = tuple(_cell(day, hour, slots.get((day, hour)), step) for day in range(1, 8) for hour in range(24))
    words = _extremes(slots)
    return WeekMap(
        cells=cells,
        days=tuple((_TOP + _ROW * day, name) for day, name in enumerate(DAYS)),
        hours=tuple((_LEFT + _CELL * (hour + 0.5), f"{hour:02d}") for hour in range(0, 24, 3)),
        keys=_keys(step, any(cell.level is None for cell in cells)),
        key_y=_TOP + _ROW * 7 + 6,
        cell=(_CELL, _ROW),
        width=WIDTH,
        height=_TOP + _ROW * 7 + _KEY,
        words=words,
        alt=sentence(f"Week by hour, what could be won back at most as a share of what is installed. {words}"),
    )


def _cell(day: int, hour: int, share: float | None, step: float) -> Cell:
    x, y = _LEFT + _CELL * hour, _TOP + _ROW * (day - 1)
    if share is None:
        return Cell(x, y, None, None)
    text = f"{100 * share:.{_decimals(step)}f}"
    return Cell(x, y, min(CLASSES - 1, int(float(text) / step + 1e-9)), text)


def _decimals(step: float) -> int:
    return 0 if step >= 1 else 1


def _keys(step: float, gaps: bool) -> tuple[Key, ...]:
    unit, decimals = 10.0 ** -_decimals(step), _decimals(step)
    found = []
    for level in range(CLASSES):
        low, high = step * level, step * (level + 1) - unit
        words = f"{low:.{decimals}f}" if high <= low + unit / 2 else f"{low:.{decimals}f}–{high:.{decimals}f}"
        last = f"{low:.{decimals}f} and over"
        found.append(last if level == CLASSES - 1 else f"under {step:g}" if level == 0 and step > unit else words)
    keys = [Key(_LEFT + 58.0 + 62.0 * level, level, words) for level, words in enumerate(found)]
    return (*keys, Key(keys[-1].x + 76.0, None, "not in the window")) if gaps else tuple(keys)


def _extremes(slots: dict[tuple[int, int], float]) -> str:
    high, low = max(slots, key=lambda slot: slots[slot]), min(slots, key=lambda slot: slots[slot])
    if slots[high] == slots[low]:
        return f"In every hour the same: {percent(slots[high])}."
    (day, hour), (low_day, low_hour) = high, low
    return (
        f"Highest {DAYS[day - 1]} {hour:02d}:00 ({percent(slots[high])}), "
        f"lowest {DAYS[low_day - 1]} {low_hour:02d}:00 ({percent(slots[low])})."
    )
