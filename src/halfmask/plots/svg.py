"""What drawings are made of: colours of a light and a dark scheme, shapes, words."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


Series = Literal["before", "after"]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A rectangle of one series."""

    series: Series
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A label of a chart, at a point of its baseline."""

    text: str
    x: float
    y: float
    anchor: Anchor
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """A line of a chart through points: of a series, or a rule of its grid."""

    series: Series | Literal["rule"]
    points: tuple[tuple[float, float], ...]
    dashes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One picture with the numbers that it is made of."""

    name: str
    title: str
    description: str
    width: int
    height: int
    bars: tuple[Bar, ...]
    words: tuple[Word, ...]
    baseline: float | None
    outline: str
    rows: tuple[tuple[str, float, float], ...]
    curves: tuple[ChartLine, ...] = ()

    def svg(self) -> str:
        """Return the picture as an SVG element; no word of it becomes markup."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        name, width, height = safe(self.name), self.width, self.height
        yield (
            f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" '
            f'aria-labelledby="{name}-title {name}-desc">'
        )
        yield f'<title id="{name}-title">{safe(self.title)}</title>'
        yield f'<desc id="{name}-desc">{safe(self.description)}</desc>'
        for bar in self.bars:
            if bar.width > 0 and bar.height > 0:
                yield (
                    f'<rect class="{bar.series}" x="{bar.x}" y="{bar.y}" width="{bar.width}" '
                    f'height="{bar.height}"></rect>'
                )
        for curve in self.curves:
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in curve.points)
            dashes = f' stroke-dasharray="{curve.dashes}"' if curve.dashes else ""
            yield f'<path class="curve {curve.series}" d="M{path}"{dashes}></path>'
        if self.outline:
            yield f'<path class="outline" d="{self.outline}"></path>'
        if self.baseline is not None:
            y = self.baseline
            yield f'<line class="floor" x1="0" x2="{width}" y1="{y}" y2="{y}"></line>'
        for word in self.words:
            strong = ' class="strong"' if word.strong else ""
            yield (
                f'<text x="{word.x}" y="{word.y}" text-anchor="{word.anchor}"{strong}>'
                f"{safe(word.text)}</text>"
            )
        yield "</svg>"


WIDTH, MARGIN, INSET = 900, 24, 18
_PAPER, CARD, INK, SOFT, RULE = "#f5f2ec", "#fffefb", "#1b2430", "#55606e", "#ddd6c9"
BEFORE, AFTER, BAD, GREY = "#a64b06", "#0f6f68", "#a92318", "#8a929c"
TRACK, WASH, BAD_WASH, ALLOWED = "#ebe6dc", "#e3efec", "#fbe6e2", "#bcdcd6"
OPEN_WASH = "#fbeeda"

#: What each colour is where the reader's scheme is dark.
_DARK = {
    _PAPER: "#14181d", CARD: "#1c2229", INK: "#ece7dd", SOFT: "#a8b0ba", RULE: "#39424d",
    BEFORE: "#e8a063", AFTER: "#5cc4b9", BAD: "#f19186", GREY: "#8a929c", TRACK: "#2b333d",
    WASH: "#17352f", BAD_WASH: "#41231f", ALLOWED: "#2a5a53", OPEN_WASH: "#3d2f18",
}  # fmt: skip


def _words_in(colour: Callable[[str], str]) -> str:
    """Return the rules of words in a scheme."""
    ink, soft, before, after, bad = map(colour, (INK, SOFT, BEFORE, AFTER, BAD))
    return (
        f"text{{fill:{ink}}}.soft,.small,.family,.INVALID,.nothing-to-resist,.dim{{fill:{soft}}}"
        f".after,.resisted{{fill:{after}}}.before,.not-shown{{fill:{before}}}.broken{{fill:{bad}}}"
    )


_STYLE = (
    """<style>
text{font:13px "Inter","Segoe UI","Helvetica Neue",Arial,"Liberation Sans",sans-serif;
font-variant-numeric:tabular-nums}
.title{font:600 25px "Iowan Old Style","Palatino Linotype",Georgia,"Liberation Serif",serif}
.soft,.family{font-size:12px}.small{font-size:11px}.name{font-weight:600}
.family{letter-spacing:.04em}
.family,.after,.resisted,.broken,.INVALID,.nothing-to-resist,.not-shown{font-weight:700}
"""
    + _words_in(str)
    + "\n@media (prefers-color-scheme:dark){"
    + _words_in(_DARK.__getitem__)
    # Rules win over attributes: a reader without schemes shows the light one.
    + "".join(
        f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in _DARK.items()
    )
    + "}\n</style>"
)


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
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{CARD}"/>'


def diamond(x: float, y: float, radius: float, stroke: str) -> str:
    """Return an open diamond."""
    return (
        f'<path d="M{x:.1f} {y - radius:.1f}l{radius:g} {radius:g}l{-radius:g} {radius:g}'
        f'l{-radius:g} {-radius:g}z" fill="{CARD}" stroke="{stroke}" stroke-width="2"/>'
    )


def card(y: float, height: float) -> str:
    """Return a card across the drawing, for what belongs together."""
    return (
        f'<rect x="{MARGIN}" y="{y:.1f}" width="{WIDTH - 2 * MARGIN}" height="{height:.1f}" '
        f'rx="12" fill="{CARD}" stroke="{RULE}"/>'
    )


def ring(x: float, y: float) -> str:
    """Return an open circle."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{BEFORE}" '
        'stroke-width="1.5"/>'
    )


def grid(
    box: tuple[float, float, float, float],
    across: Iterable[tuple[float, str]],
    up: Iterable[tuple[float, str]],
) -> list[str]:
    """Return the rules of two axes with their labels: left, right, top and bottom of the box."""
    left, right, top, bottom = box
    parts = []
    for x, words in across:
        parts += [line(x, top, x, bottom, RULE), text(x - 8, bottom + 20, words, "small")]
    for y, words in up:
        parts += [line(left, y, right, y, RULE), text(left - 8, y + 4, words, "small", end=True)]
    return parts


def without_controls(text: str) -> str:
    r"""Return a text with controls, directions and what XML can't hold replaced.

    Examples
    --------
    >>> without_controls("a\u202eb") == without_controls("a\0b") == "a\ufffdb"
    True
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_refused(it) else it for it in text)


def safe(words: str) -> str:
    """Return words as they may stand in an element or an attribute."""
    return escape(without_controls(words))


def wrapped(words: str, letters: int) -> list[str]:
    """Break words into lines of at most so many letters; a longer word is cut."""
    return textwrap.wrap(" ".join(words.split()), letters) or [""]


_DIRECTIONS: Final = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def _is_refused(letter: str) -> bool:
    """Return whether a letter is a control, a surrogate, a direction, or none that XML can hold."""
    if letter in "\ufffe\uffff" or unicodedata.category(letter) in {"Cc", "Cs"}:
        return letter != "\n"
    return unicodedata.bidirectional(letter) in _DIRECTIONS
