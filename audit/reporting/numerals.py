"""How numbers are written in a report. Every function takes a measured value: NULL is the caller's to show.

A value that is not zero never reads as "0": it shows as "<1" or "<0.1%".
"""

import math

MINUS = "−"  # U+2212, as wide as a digit


def dollars_prose(usd: float) -> str:
    """Dollars with three significant digits, for sentences: $29,700, $4.53, −$1,230,000."""
    if usd == 0:
        return "$0"
    size = float(f"{abs(usd):.3g}")
    decimals = max(0, 2 - math.floor(math.log10(size)))
    return f"{MINUS if usd < 0 else ''}${size:,.{decimals}f}"


def whole(value: float) -> str:
    """A count, whole hours or whole dollars for a table cell: 34,214; "<1" for a fraction not zero."""
    size = abs(value)
    sign = MINUS if value < 0 else ""
    if 0 < size < 0.5:
        return "<1" if value > 0 else f">{MINUS}1"
    return f"{sign}{size:,.0f}"


def cents(usd: float) -> str:
    """Dollars to the cent without their sign, where a product is to be checked: 6,054.32."""
    return f"{MINUS if usd < 0 else ''}{abs(usd):,.2f}"


def amount(value: float) -> str:
    """A mean count, such as nodes freed at any hour: 0.8, 4.3, 263; "<0.1" for what is not nothing."""
    size, sign = abs(value), MINUS if value < 0 else ""
    if 0 < size < 0.05:
        return "<0.1" if value > 0 else f">{MINUS}0.1"
    return f"{sign}{size:,.0f}" if size >= 99.95 or value == 0 else f"{sign}{size:.1f}"


def percent(share: float, decimals: int = 1) -> str:
    """A share of 1 as percent: 81.3%. What is not nothing, or not all, does not round to it."""
    step = 10.0**-decimals
    shown = 100 * share
    if 0 < shown < step / 2:
        return f"<{step:.{decimals}f}%"
    if 100 - step / 2 <= shown < 100 - 1e-9:
        return f">{100 - step:.{decimals}f}%"
    return f"{MINUS if shown < 0 else ''}{abs(shown):.{decimals}f}%"


def rate(usd_per_hour: float) -> str:
    """A price for one hour without its sign: cents from a dollar up, three significant digits below."""
    if usd_per_hour == 0 or usd_per_hour >= 1:
        return f"{usd_per_hour:,.2f}"
    return f"{usd_per_hour:.{2 - math.floor(math.log10(usd_per_hour))}f}"


def axis_dollars(usd: float) -> str:
    """A tick label: 0, $500, $10k, $2.5M."""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if usd >= size:
            return f"${usd / size:g}{letter}"
    return f"${usd:g}" if usd else "0"


def count_of(number: int, noun: str) -> str:
    """A number with its noun: 1 attempt, 1,290 attempts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
