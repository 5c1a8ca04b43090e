"""Chart: a picture as geometry, rectangles and words, and its inline SVG.

Drawn by hand, not by a chart library: the page's own colours reach into the drawing (light, dark,
print), every label is escaped, and a chart costs no time and a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from halfmask.plots.words import safe

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
