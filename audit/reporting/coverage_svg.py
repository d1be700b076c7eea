"""A picture of its own of one target's coverage: promised against kept, each level with its interval."""

from collections.abc import Mapping
from html import escape
from typing import Any

from audit.reporting.coverage_plot import SIDE, place

_SIZE, _LEFT, _TOP, _BELOW = 300.0, 62.0, 58.0, 46.0
_INK, _SOFT, _LINE, _DOT, _SHADE = "#1B2127", "#56606A", "#8F989F", "#1F4E80", "#F3F5F6"


def coverage_svg(score: Mapping[str, Any], *, generated_sample: bool) -> str:
    """The picture as an SVG document; below the diagonal less was kept than promised."""
    base, right = _TOP + _SIZE, _LEFT + _SIZE
    width, height = right + 24, base + _BELOW
    what = f"{score['scored']:,} attempts in {score['bursts']:,} bursts"
    sample = " (generated sample)" if generated_sample else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="Source Sans 3, sans-serif" role="img">',
        f"<title>{escape(_said(score))}</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="#FFFFFF"/>',
        _text(16, 22, f"Coverage: {score['target']}{sample}", size=15, anchor="start", ink=_INK),
        _text(16, 39, f"foreseen at the {score['mode']}; {what}", size=11, anchor="start"),
        f'<path d="M{_LEFT:g} {base:g} h{_SIZE:g} v-{_SIZE:g} Z" fill="{_SHADE}"/>',
        f'<path d="M{_LEFT:g} {_TOP:g} v{_SIZE:g} h{_SIZE:g}" fill="none" stroke="{_LINE}"/>',
        f'<path d="M{_LEFT:g} {base:g} L{right:g} {_TOP:g}" stroke="{_SOFT}"/>',
        _text(_LEFT + _SIZE / 2, base + 36, "promised, % of attempts"),
        _text(16, _TOP + 4, "kept, %", anchor="start"),
    ]
    for row in score["coverage"]:
        along = _along(row["level"])
        label = f"{100 * row['level']:g}"
        parts.append(_text(_LEFT + along, base + 18, label))
        parts.append(_text(_LEFT - 8, base - along + 4, label, anchor="end"))
        if row["realised"] is not None:
            parts += _mark(_LEFT + along, base, row)
    return "\n".join([*parts, "</svg>", ""])


def _mark(x: float, base: float, row: Mapping[str, Any]) -> list[str]:
    low, high, middle = (base - _along(row[key]) for key in ("low", "high", "realised"))
    return [
        f'<path d="M{x:.1f} {low:.1f} V{high:.1f} M{x - 4:.1f} {low:.1f} h8 M{x - 4:.1f} {high:.1f} h8" '
        f'stroke="{_DOT}" stroke-width="1.6"/>',
        f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="4" fill="{_DOT}"/>',
    ]


def _along(share: float) -> float:
    return place(share) / SIDE * _SIZE


def _text(x: float, y: float, words: str, *, size: int = 12, anchor: str = "middle", ink: str = _SOFT) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{ink}">{escape(words)}</text>'
    )


def _said(score: Mapping[str, Any]) -> str:
    kept = [
        f"of {100 * row['level']:g} % promised {100 * row['realised']:.1f} % were kept"
        for row in score["coverage"]
        if row["realised"] is not None
    ]
    return f"{score['target']}: {', '.join(kept) or 'nothing could be judged'}."
