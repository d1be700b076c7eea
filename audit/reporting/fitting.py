"""How wide a text is on the page, roughly: so that a name is cut to what its column holds, and a row keeps its height.

The widths are those of the report's sans in parts of its size, rounded up by class of letter.
"""

import unicodedata
from collections.abc import Sequence

from audit.reporting.hostile import visible

TABLE_SIZE = 8.2  # points: the size of text in tables
_NARROW = frozenset(" .,:;|'!ijlIftr()[]{}/\\-\"‹›")
_WIDE = frozenset("mwMWGDHNUOQ%@…")


def width(text: str, size: float = TABLE_SIZE) -> float:
    """The length of a line of this text in points, rather too long than too short."""
    return size * sum(map(_part, text))


def fitted(text: str, room: float, size: float = TABLE_SIZE) -> str:
    """`text` made visible and cut in its middle to `room` points, whole where it fits."""
    limit = int(room / size / 0.2)
    shown = visible(text, limit)
    while width(shown, size) > room and limit > 3:
        limit = min(limit, len(shown)) - 1
        shown = visible(text, limit)
    return shown


def fitted_together(texts: Sequence[str], room: float, size: float = TABLE_SIZE) -> list[str]:
    """Texts that share one line of `room` points: the short ones whole, the long ones cut to equal shares of the rest.

    What stands between them is not counted: take it off `room`.
    """
    rooms, left = [0.0] * len(texts), room
    lengths = [width(visible(text), size) for text in texts]
    for done, place in enumerate(sorted(range(len(texts)), key=lambda place: lengths[place])):
        rooms[place] = min(lengths[place], left / (len(texts) - done))
        left -= rooms[place]
    return [fitted(text, mine, size) for text, mine in zip(texts, rooms, strict=True)]


def _part(char: str) -> float:
    if char in _NARROW:
        return 0.34
    if char in _WIDE:
        return 0.85
    return 1.0 if unicodedata.east_asian_width(char) in "WF" else 0.57
