"""Pictures of an assessment: lines of models, each with its name at its end."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Final, NamedTuple

from halfmask.plots.svg import Chart, Curve, Word
from halfmask.release.page import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.plots.svg import Anchor, Series

_WIDTH, _HEIGHT = 320, 212
_LEFT, _RIGHT, _TOP, _BOTTOM = 36.0, 230.0, 22.0, 170.0
#: Names of lines are at least so far from each other.
_APART: Final = 13.0
#: Models by their dashes: the defences are of one colour.
DASHES: Final = ("", "", "7 4", "2 4")


class Drawn(NamedTuple):
    """A line: its name, its points, each a number across and a share, and how it looks."""

    name: str
    points: Sequence[tuple[float, float]]
    series: Series
    dashes: str = ""


def line_chart(
    lines: Sequence[Drawn],
    *,
    name: str,
    title: str,
    across: str,
    label: Callable[[float], str],
    ticks: Sequence[float],
    marked: float | None = None,
) -> Chart:
    """Draw shares of several models over a number; ``marked`` is a place with a rule."""
    shares = [share for it in lines for _, share in it.points]
    low, high = floor(min(shares) * 10) / 10, ceil(max(shares) * 10) / 10
    high = max(high, low + 0.1)
    least, most = ticks[0], ticks[-1]

    def at(x: float, share: float) -> tuple[float, float]:
        right = (x - least) / (most - least or 1.0)
        up = (share - low) / (high - low)
        return _LEFT + (_RIGHT - _LEFT) * right, _BOTTOM - (_BOTTOM - _TOP) * up

    rules, words = [], []
    for share in (low, (low + high) / 2, high):
        y = at(least, share)[1]
        rules.append(Curve(series="rule", points=((_LEFT, y), (_RIGHT, y))))
        words.append(_word(f"{share:.0%}", _LEFT - 6, y + 4, "end"))
    words += [_word(label(x), at(x, low)[0], _BOTTOM + 16, "middle") for x in ticks]
    if marked is not None:
        x = at(marked, low)[0]
        rules.append(Curve(series="rule", points=((x, _TOP), (x, _BOTTOM)), dashes="3 3"))
        words.append(_word("budget", x, _TOP - 6, "middle"))
    words.append(_word(across, (_LEFT + _RIGHT) / 2, _HEIGHT - 6, "middle"))
    y = -_APART
    for each in sorted(lines, key=lambda it: -it.points[-1][1]):
        y = max(y + _APART, at(*each.points[-1])[1] + 4)
        words.append(_word(each.name, _RIGHT + 6, y, "start", strong=True))
    return Chart(
        name=name,
        title=title,
        description=" ".join(_described(each, label) for each in lines),
        width=_WIDTH,
        height=_HEIGHT,
        bars=(),
        words=tuple(words),
        baseline=None,
        outline="",
        rows=(),
        curves=(
            *rules,
            *(
                Curve(
                    series=it.series, points=tuple(at(*each) for each in it.points), dashes=it.dashes
                )
                for it in lines
            ),
        ),
    )


def _described(drawn: Drawn, label: Callable[[float], str]) -> str:
    step = max(1, len(drawn.points) // 6)
    said = ", ".join(f"{percent(share)} at {label(x)}" for x, share in drawn.points[::step])
    return f"{drawn.name.capitalize()}: {said}."


def _word(text: str, x: float, y: float, anchor: Anchor, *, strong: bool = False) -> Word:
    return Word(text=text, x=round(x, 1), y=round(y, 1), anchor=anchor, strong=strong)
