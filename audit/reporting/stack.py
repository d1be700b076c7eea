"""Geometry of the stacked bar: every dollar of the slice in one bar, named directly, with brackets above.

Points (1/72 inch) in a drawing as wide as the text. The order never changes: used, kept, not measured, lost,
recoverable (what is expected of it, then the rest up to the ceiling), idle, down; its edges are what was needed, what
was held, and the capacity.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.reporting.dollars import Dollars, dollars
from audit.reporting.numerals import percent, whole
from audit.reporting.wording import Report, listed, node_sizes_known, sentence

WIDTH = 493.2  # 174 mm
_BAR_TOP = 25.0
_BAR = 26.0
_PART = 0.8  # white between two segments, so that they part in grey print too
_NAME, _VALUE = 8.4 * 0.6, 7.8 * 0.46  # mean widths of a letter of a label's two lines: semibold, and mostly digits
_INSIDE_FROM = 0.12  # of the bar: a narrower segment has its label below it
_GROUPS = (("used", "kept", "unmeasured"), ("lost", "recoverable", "ceiling"), ("idle", "down"))


@dataclass(frozen=True)
class Segment:
    """One stretch: its dollars of the window, where it is drawn, and its label within it or below it at `label_x`."""

    kind: str
    name: str
    value: str
    usd: float
    x: float
    width: float
    inside: bool
    label_x: float


@dataclass(frozen=True)
class Bracket:
    """A line over the segments of a group, with its words in the middle."""

    x: float
    width: float
    label_x: float
    words: str


@dataclass(frozen=True)
class Stack:
    """The bar and its labels; `of` is what its whole length stands for."""

    segments: tuple[Segment, ...]
    brackets: tuple[Bracket, ...]
    bar_top: float
    bar: float
    width: float
    height: float
    of: str
    total_usd: float
    alt: str


def stack(report: Report) -> Stack | None:
    """The bar of what is installed, or where node sizes are unknown of what was held; None where neither is priced."""
    cost = report["cost"]
    of, total = ("installed", cost["installed_usd"]) if node_sizes_known(report) else ("held by jobs", cost["held_usd"])
    parts = _parts(report)
    if not total or parts is None:
        return None
    shown = dollars(report, [total])
    segments = _labelled(parts, total, shown)
    below = any(not segment.inside for segment in segments)
    return Stack(
        segments=segments,
        brackets=_brackets(segments, total),
        bar_top=_BAR_TOP,
        bar=_BAR,
        width=WIDTH,
        height=_BAR_TOP + _BAR + (38.0 if below else 2.0),
        of=of,
        total_usd=total,
        alt=_in_words(segments, of, total, shown),
    )


def _parts(report: Report) -> list[tuple[str, str, float]] | None:
    """Kind, name and dollars of each segment that is not 0; None where they cannot add up to the bar."""
    cost, high, expected = report["cost"], report["recoverable"]["high_usd"], report["recoverable"]["expected_usd"]
    won = [("recoverable", "Recoverable", high or 0.0)]
    if expected is not None and high is not None:
        sure = min(max(0.0, expected), high)
        won = [("recoverable", "Expected", sure), ("ceiling", "Up to the ceiling", high - sure)]
    held = [
        ("used", "Used", cost["used_usd"] if high is not None else 0.0),
        ("kept", "Kept", cost["kept_usd"] if high is not None else 0.0),
        ("unmeasured", "Not measured", cost["not_measured_usd"]),
        ("lost", "Lost", cost["lost_usd"]),
        *won,
    ]
    unheld = [("idle", "Idle", cost["idle_usd"]), ("down", "Down", cost["down_usd"])]
    if not node_sizes_known(report):
        unheld = []
    elif None in (cost["idle_usd"], cost["down_usd"]) and None not in (cost["installed_usd"], cost["held_usd"]):
        unheld = [("idle", "Idle or down", max(0.0, cost["installed_usd"] - cost["held_usd"]))]
    every = [*held, *unheld]
    return None if any(usd is None for _, _, usd in every) else [part for part in every if part[2] > 0]


def _labelled(parts: list[tuple[str, str, float]], total: float, shown: Dollars) -> tuple[Segment, ...]:
    segments, x = [], 0.0
    long = shown.unit.startswith(("million", "thousand"))
    for kind, name, usd in parts:
        width = WIDTH * usd / total
        share = percent(usd / total)
        value = share if long else f"${whole(usd * shown.month_factor)} · {share}"
        inside = width >= _INSIDE_FROM * WIDTH and width >= _label_width(name, value) + 9 and kind != "unmeasured"
        segments.append(Segment(kind, name, value, usd, x, max(0.0, width - _PART), inside, x + 6))
        x += width
    below = [segment for segment in segments if not segment.inside]
    middles = apart(
        [segment.x + segment.width / 2 for segment in below],
        [_label_width(segment.name, segment.value) for segment in below],
        WIDTH,
    )
    places = dict(zip((segment.kind for segment in below), middles, strict=True))
    return tuple(
        Segment(s.kind, s.name, s.value, s.usd, s.x, s.width, s.inside, places.get(s.kind, s.label_x)) for s in segments
    )


def _label_width(name: str, value: str) -> float:
    return max(len(name) * _NAME, len(value) * _VALUE)


def apart(middles: Sequence[float], widths: Sequence[float], room: float, gap: float = 6.0) -> list[float]:
    """The middles of labels in one row, each as near its own place as fits without touching another."""
    placed: list[float] = []
    for middle, width in zip(middles, widths, strict=True):
        least = placed[-1] + widths[len(placed) - 1] / 2 + gap + width / 2 if placed else width / 2
        placed.append(max(middle, least))
    most = room
    for place in range(len(placed) - 1, -1, -1):
        placed[place] = min(placed[place], most - widths[place] / 2)
        most = placed[place] - widths[place] / 2 - gap
    return placed


def _brackets(segments: Sequence[Segment], total: float) -> tuple[Bracket, ...]:
    found = []
    for kinds in _GROUPS:
        mine = [segment for segment in segments if segment.kind in kinds]
        if mine:
            x, end = mine[0].x, mine[-1].x + mine[-1].width
            names = [segment.name.lower() for segment in mine if segment.kind != "ceiling"]
            if any(segment.kind == "ceiling" for segment in mine):
                names = [*(name for name in names if name != "expected"), "recoverable at most"]
            name = "Not held" if "idle" in kinds else listed(names).capitalize()
            found.append((x, end - x, f"{name} {percent(sum(segment.usd for segment in mine) / total)}"))
    middles = apart([x + width / 2 for x, width, _ in found], [_label_width(words, "") for *_, words in found], WIDTH)
    return tuple(Bracket(x, width, middle, words) for (x, width, words), middle in zip(found, middles, strict=True))


def _in_words(segments: Sequence[Segment], of: str, total: float, shown: Dollars) -> str:
    parts = (
        f"{segment.name} {whole(segment.usd * shown.month_factor)} ({percent(segment.usd / total)})"
        for segment in segments
    )
    return sentence(f"{whole(total * shown.month_factor)} dollars {shown.per} {of}: {'; '.join(parts)}")
