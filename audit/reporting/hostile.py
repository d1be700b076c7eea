"""Makes text from outside (job, user, partition, file names) safe to look at: none hidden, none endless.

Escaping for HTML is the template engine's work; this is about what an escaped text can still do to a page.
"""

import unicodedata

# Controls, formats (bidi overrides and isolates, zero widths), surrogates, private use, unassigned,
# line and paragraph separators: a reader cannot see them, and some of them reorder or break the page.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_MARKS = frozenset({"Mn", "Me"})
_MARKS_IN_A_ROW = 2  # real scripts stack no more; a taller stack climbs over the lines above


def visible(text: str, limit: int = 400) -> str:
    """`text` with each invisible character as ‹U+XXXX›, cut in its middle to at most `limit` characters.

    Plain text comes back unchanged. Total: any string is accepted, lone surrogates included.
    """
    if len(text) <= limit:
        pieces = _pieces(text)
        if sum(map(len, pieces)) <= limit:
            return "".join(pieces)
    half = limit // 2
    head = _fit(_pieces(text[:half]), half - 1)
    tail = _fit(_pieces(text[-half:])[::-1], limit - half)[::-1]
    return f"{''.join(head)}…{''.join(tail)}"


def _pieces(text: str) -> list[str]:
    """One printable piece for each character."""
    pieces: list[str] = []
    marks = 0
    for char in text:
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in _MARKS else 0
        hidden = kind in _INVISIBLE or marks > _MARKS_IN_A_ROW
        pieces.append(f"‹U+{ord(char):04X}›" if hidden else char)
    return pieces


def _fit(pieces: list[str], limit: int) -> list[str]:
    """As many leading pieces as stay within `limit` characters."""
    used = 0
    for count, piece in enumerate(pieces):
        used += len(piece)
        if used > limit:
            return pieces[:count]
    return pieces
