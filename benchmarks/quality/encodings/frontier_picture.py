"""The frontier as one picture: accuracy against what is recovered, and a table of all attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.plots import svg
from halfmask.plots.svg import circle, line, rect, safe, text, wrapped

if TYPE_CHECKING:
    from frontier import Frontier, FrontierPoint

_LEFT, _RIGHT, _TOP, _BOTTOM = 96.0, 640.0, 128.0, 392.0
_TABLE, _LINE = 482.0, 26
_FIRST, _WIDE = 330.0, 92.0
_NARROW = 78.0
#: What stands in a column of the table, by the beginning of the attack's name and measure.
_COLUMNS = (
    ("known rows, numbers", "encodings/known-plaintext: variance"),
    ("known rows, categories", "encodings/known-plaintext: cells"),
    ("a sample, no known row", "encodings/population-sample"),
    ("quantiles", "encodings/quantile-matching"),
    ("frequencies", "encodings/frequency-matching"),
    ("frequencies jointly", "encodings/joint-frequency"),
)


def frontier_picture(found: Frontier) -> str:
    """Draw a frontier as SVG.

    Notes
    -----
    **Guarantees.** No words can become markup; the same frontier gives the same bytes.
    """
    points = found.points
    height = _TABLE + 60 + _LINE * len(points) + 24
    refused = f"; refused: {', '.join(found.refused)}" if found.refused else ""
    title = f"Accuracy kept and what {found.known} known rows give back"
    parts = [
        text(svg.MARGIN, 34, "halfmask encoding frontier", "soft"),
        text(svg.MARGIN, 64, title, "title"),
        text(svg.MARGIN, 86, f"{found.rows:,} encoded rows; shares in [0, 1]{refused}", "soft"),
        svg.card(_TOP - 26, _BOTTOM - _TOP + 76),
        *_scatter(points),
        svg.card(_TABLE - 26, 70 + _LINE * len(points)),
        *_table(points),
    ]
    return svg.drawing("frontier", title, parts, height=height)


def _scatter(points: tuple[FrontierPoint, ...]) -> list[str]:
    shares = [share for point in points for share in (point.plain, point.encoded)]
    low = int(10 * min(shares, default=0.0)) / 10
    high = min(1.0, int(10 * max(shares, default=1.0) + 1) / 10)
    span = max(high - low, 0.1)

    def across(share: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * share

    def up(share: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (share - low) / span

    shares_up = [low + span * step / 4 for step in range(5)]
    parts = svg.grid(
        (_LEFT, _RIGHT, _TOP, _BOTTOM),
        [(across(step / 4), f"{step / 4:g}") for step in range(5)],
        [(up(kept), f"{kept:.3g}") for kept in shares_up],
    )
    parts += [
        text(_LEFT, _BOTTOM + 38, "variance of numbers that known rows give back", "soft"),
        text(svg.MARGIN + svg.INSET, _TOP - 8, "accuracy of the learner", "soft"),
    ]
    labels = sorted(
        ((up(point.encoded), place, point) for place, point in enumerate(points)),
        key=lambda each: each[:2],
    )
    lowest = _TOP - 14
    for y, place, point in labels:
        x = across(_cell(point, _COLUMNS[0][1]) or 0.0)
        lowest = max(y, lowest + 17)
        parts += [
            f"<g><title>{safe(point.name)}</title>",
            svg.ring(x, up(point.plain)),
            line(x, up(point.plain), x, y, svg.BEFORE),
            line(x + 7, y, _RIGHT + 12, lowest, svg.TRACK),
            circle(x, y, 5.5, svg.AFTER),
            text(_RIGHT + 16, lowest + 4, f"{place + 1}  {point.name}", "small"),
            "</g>",
        ]
    return parts


def _table(points: tuple[FrontierPoint, ...]) -> list[str]:
    left = svg.MARGIN + svg.INSET
    parts = [text(left, _TABLE, "encoding", "family")]
    heads = [("plain", 206.0), ("encoded", 262.0), ("k50", 306.0)]
    parts += [text(x, _TABLE + 14, word, "small", end=True) for word, x in heads]
    for place, (words, _) in enumerate(_COLUMNS):
        x = _FIRST + _WIDE * place
        parts += [
            text(x, _TABLE + 14 * row, each, "small") for row, each in enumerate(wrapped(words, 14))
        ]
    for place, point in enumerate(points):
        y = _TABLE + 44 + _LINE * place
        parts += [
            line(left, y - 16, svg.WIDTH - left, y - 16, svg.RULE),
            text(left, y, f"{place + 1}  {point.name}", "small"),
            text(206, y, f"{point.plain:.3f}", "before", end=True),
            text(262, y, f"{point.encoded:.3f}", "after", end=True),
            text(306, y, "-" if point.k50 is None else str(point.k50), end=True),
        ]
        for column, (_, key) in enumerate(_COLUMNS):
            parts += _measured(point, key, _FIRST + _WIDE * column, y)
    return parts


def _measured(point: FrontierPoint, key: str, x: float, y: float) -> list[str]:
    share = _cell(point, key)
    if share is None:
        return [text(x, y, "-", "small")]
    without = next((v for name, v in point.without.items() if name.startswith(key)), 0.0)
    track = _NARROW - 34
    return [
        rect(x, y - 8, track, 6, svg.TRACK, round_=3),
        rect(x, y - 8, track * min(share, 1.0), 6, svg.BAD, round_=3),
        line(x + track * without, y - 11, x + track * without, y + 1, svg.INK, 1.5),
        text(x + track + 6, y, f"{share:.2f}", "small"),
    ]


def _cell(point: FrontierPoint, key: str) -> float | None:
    return next((v for name, v in point.recovered.items() if name.startswith(key)), None)
