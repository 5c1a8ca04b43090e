"""What all drawings of attacks are made of: colours, shapes, words; nothing becomes markup."""

from __future__ import annotations

import html
import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


WIDTH, MARGIN, INSET = 900, 24, 18
_PAPER, _CARD, INK, SOFT, RULE = "#f5f2ec", "#fffefb", "#1b2430", "#55606e", "#ddd6c9"
BEFORE, AFTER, BAD, GREY = "#a64b06", "#0f6f68", "#a92318", "#8a929c"
TRACK, WASH, BAD_WASH, ALLOWED = "#ebe6dc", "#e3efec", "#fbe6e2", "#bcdcd6"
OPEN_WASH = "#fbeeda"

_STYLE = f"""<style>
text{{font:13px "Inter","Segoe UI","Helvetica Neue",Arial,"Liberation Sans",sans-serif;fill:{INK};
font-variant-numeric:tabular-nums}}
.title{{font:600 25px "Iowan Old Style","Palatino Linotype",Georgia,"Liberation Serif",serif}}
.soft{{fill:{SOFT};font-size:12px}} .small{{fill:{SOFT};font-size:11px}} .name{{font-weight:600}}
.family{{font-size:12px;font-weight:700;fill:{SOFT};letter-spacing:.04em}}
.after{{fill:{AFTER};font-weight:700}} .before{{fill:{BEFORE}}} .dim{{fill:#69727d}}
.resisted{{fill:{AFTER};font-weight:700}} .broken{{fill:{BAD};font-weight:700}}
.INVALID,.nothing-to-resist{{fill:{SOFT};font-weight:700}}
.not-shown{{fill:{BEFORE};font-weight:700}}
</style>"""

# What XML 1.0 can't hold at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drawing(
    name: str, title: str, parts: Iterable[str], *, height: float, described: str = ""
) -> str:
    """Return an SVG of `WIDTH` units."""
    ids = f"{name}-title {name}-desc" if described else f"{name}-title"
    description = f'<desc id="{name}-desc">{safe(described)}</desc>' if described else ""
    return "".join(
        (
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
                f'width="{WIDTH}" height="{height:.0f}" role="img" aria-labelledby="{ids}">'
            ),
            f'<title id="{name}-title">{safe(title)}</title>{description}',
            _STYLE,
            rect(0, 0, WIDTH, height, _PAPER),
            *parts,
            "</svg>\n",
        )
    )


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


def card(y: float, height: float) -> str:
    """Return a card across the drawing, for what belongs together."""
    return (
        f'<rect x="{MARGIN}" y="{y:.1f}" width="{WIDTH - 2 * MARGIN}" height="{height:.1f}" '
        f'rx="12" fill="{_CARD}" stroke="{RULE}"/>'
    )


def ring(x: float, y: float) -> str:
    """Return an open circle."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{BEFORE}" '
        'stroke-width="1.5"/>'
    )
