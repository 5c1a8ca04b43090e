"""Curves by k as one static SVG: a panel each, a line and a band a method, a legend."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

COLOURS = ("#4c4c4c", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#8f7a00")
DASHES = ("2 3", "", "6 3", "8 2 2 2", "3 2", "10 4")
SIDE, LEFT, TOP, GAP, LEGEND, FOOT = 250, 56, 58, 26, 150, 46
TICKS = 5


def curves(points: Sequence[dict[str, Any]], title: str) -> str:
    """Draw points with `panel`, `method`, `k`, `accuracy`, `low` and `high`.

    All panels have one scale; k is on a logarithmic one. A method is told by colour and by dashes.
    """
    panels = list(dict.fromkeys(point["panel"] for point in points))
    methods = list(dict.fromkeys(point["method"] for point in points))
    ks = sorted({point["k"] for point in points})
    low = min(point["low"] for point in points)
    high = max(point["high"] for point in points)
    margin = 0.05 * max(high - low, 0.01)
    scale = (low - margin, high + margin)
    width = LEFT + len(panels) * (SIDE + GAP) + LEGEND
    height = TOP + SIDE + FOOT
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
        ),
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for place, panel in enumerate(panels):
        left = LEFT + place * (SIDE + GAP)
        parts += _frame(panel, left, ks, scale, numbered=place == 0)
        for number, method in enumerate(methods):
            of_one = [p for p in points if p["panel"] == panel and p["method"] == method]
            parts += _line(of_one, left, ks, scale, number % len(COLOURS))
    parts += _legend(methods, LEFT + len(panels) * (SIDE + GAP))
    return "\n".join([*parts, "</svg>\n"])


def _x(k: int, ks: list[int]) -> float:
    if len(ks) == 1:
        return SIDE / 2
    return SIDE * math.log(k / ks[0]) / math.log(ks[-1] / ks[0])


def _y(value: float, scale: tuple[float, float]) -> float:
    return TOP + SIDE * (scale[1] - value) / (scale[1] - scale[0])


def _frame(
    panel: str, left: float, ks: list[int], scale: tuple[float, float], *, numbered: bool
) -> list[str]:
    middle = left + SIDE / 2
    parts = [
        f'<text x="{middle}" y="{TOP - 10}" text-anchor="middle">{escape(panel)}</text>',
        f'<text x="{middle}" y="{TOP + SIDE + 36}" text-anchor="middle">k</text>',
        f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#bbb"/>',
    ]
    for k in ks:
        x = left + _x(k, ks)
        parts.append(f'<path d="M{x:.1f} {TOP}v{SIDE}" stroke="#eee"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP + SIDE + 18}" text-anchor="middle">{k}</text>')
    for tick in range(TICKS):
        value = scale[0] + (scale[1] - scale[0]) * (tick + 0.5) / TICKS
        y = _y(value, scale)
        parts.append(f'<path d="M{left} {y:.1f}h{SIDE}" stroke="#eee"/>')
        if numbered:
            parts.append(
                f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3f}</text>'
            )
    if numbered:
        at = TOP + SIDE / 2
        parts.append(
            f'<text x="14" y="{at}" text-anchor="middle" transform="rotate(-90 14 {at})">'
            "test accuracy</text>"
        )
    return parts


def _line(
    points: list[dict[str, Any]],
    left: float,
    ks: list[int],
    scale: tuple[float, float],
    number: int,
) -> list[str]:
    if not points:
        return []
    places = [(left + _x(point["k"], ks), point) for point in points]
    upper = [f"{x:.1f},{_y(point['high'], scale):.1f}" for x, point in places]
    lower = [f"{x:.1f},{_y(point['low'], scale):.1f}" for x, point in reversed(places)]
    middle = [(x, _y(point["accuracy"], scale)) for x, point in places]
    colour = COLOURS[number]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in middle)
    return [
        f'<polygon points="{" ".join([*upper, *lower])}" fill="{colour}" opacity="0.10"/>',
        (
            f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.8" '
            f'stroke-dasharray="{DASHES[number]}"/>'
        ),
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in middle),
    ]


def _legend(methods: list[str], left: float) -> list[str]:
    parts = []
    for number, method in enumerate(methods):
        y, each = TOP + 12 + 20 * number, number % len(COLOURS)
        parts.append(
            f'<path d="M{left} {y}h26" stroke="{COLOURS[each]}" stroke-width="1.8" '
            f'stroke-dasharray="{DASHES[each]}"/>'
        )
        parts.append(f'<text x="{left + 34}" y="{y + 4}">{escape(method)}</text>')
    return parts
