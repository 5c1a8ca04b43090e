"""Shapes and words of an SVG, escaped; nothing that comes in can become markup."""

from __future__ import annotations

import html
import re
import textwrap

__all__ = ["circle", "diamond", "line", "rect", "safe", "text", "wrapped"]

# What XML 1.0 can't hold at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(words: str) -> str:
    """Return words as they may stand in an element or an attribute."""
    return html.escape(_FORBIDDEN.sub("\ufffd", words))


def wrapped(words: str, letters: int) -> list[str]:
    """Break words into lines of at most so many letters; a longer word is cut."""
    return textwrap.wrap(" ".join(words.split()), letters) or [""]


def text(x: float, y: float, words: str, style: str = "", *, end: bool = False) -> str:
    """Return words at a point of their baseline, of a class of the style sheet."""
    anchor = ' text-anchor="end"' if end else ""
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}{anchor}>{safe(words)}</text>'


def rect(x: float, y: float, width: float, height: float, fill: str, *, round_: float = 0) -> str:
    """Return a filled rectangle; one without width isn't drawn."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{height:.1f}" '
        f'rx="{round_:g}" fill="{fill}"/>'
    )


def line(x: float, y: float, to_x: float, to_y: float, stroke: str, width: float = 1) -> str:
    """Return a line with round ends."""
    return (
        f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{stroke}" '
        f'stroke-width="{width:g}" stroke-linecap="round"/>'
    )


def circle(x: float, y: float, radius: float, fill: str) -> str:
    """Return a disc with a light rim, so that it is seen on a line of its own colour."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="#fffefb"/>'


def diamond(x: float, y: float, radius: float, stroke: str) -> str:
    """Return an open diamond."""
    return (
        f'<path d="M{x:.1f} {y - radius:.1f}l{radius:g} {radius:g}l{-radius:g} {radius:g}'
        f'l{-radius:g} {-radius:g}z" fill="#fffefb" stroke="{stroke}" stroke-width="2"/>'
    )
