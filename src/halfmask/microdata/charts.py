"""Pictures of columns, classes and associations, before and after."""

from __future__ import annotations

import json
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from halfmask.geo.points import METRES
from halfmask.plots.geo_map import GeoMap, MapArea
from halfmask.plots.svg import Anchor, Bar, Chart, Word
from halfmask.release.page import percent, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.assess.synthesis import Associations
    from halfmask.assess.utility import Distribution

Rows = tuple[tuple[str, float, float], ...]
Drawing = tuple[int, int, tuple[Bar, ...], tuple[Word, ...], str]

_SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)
_LINE = 17
_LABEL_LETTERS = 20


def class_size_shares(before: NDArray[np.int64], after: NDArray[np.int64]) -> Rows:
    """Return the share of the rows that lives in classes of each size, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> for share in class_size_shares(np.array([1, 1, 2]), np.array([4])):
    ...     print(*share)
    1 0.5 0.0
    2 0.5 0.0
    3 to 4 0.0 1.0
    """
    shares = []
    for sizes in (before, after):
        places = np.searchsorted(_SIZES, sizes, side="right") - 1
        rows = np.bincount(places, weights=sizes, minlength=len(_SIZES))
        shares.append(rows / max(rows.sum(), 1.0))
    used = np.flatnonzero(shares[0] + shares[1])
    first, last = (int(used[0]), int(used[-1])) if used.size else (0, -1)
    return tuple(
        (_sizes(place), float(shares[0][place]), float(shares[1][place]))
        for place in range(first, last + 1)
    )


def _sizes(place: int) -> str:
    low = _SIZES[place]
    if place + 1 == len(_SIZES):
        return f"{low:,} or more"
    high = _SIZES[place + 1] - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def class_size_chart(rows: Rows, *, name: str) -> Chart:
    """Draw which share of the rows lives in classes of each size, before and after."""
    width, height, floor, top = 720, 210, 168, 24
    step = width / max(len(rows), 1)
    tallest = max((max(before, after) for _, before, after in rows), default=0.0) or 1.0
    bars, words = [], []
    thick = min(step * 0.36, 46.0)
    for place, (label, before, after) in enumerate(rows):
        middle = (place + 0.5) * step
        for series, share, left in (
            ("before", before, middle - thick - 1),
            ("after", after, middle + 1),
        ):
            tall = share / tallest * (floor - top)
            bars.append(_bar(series, left, floor - tall, thick, tall))
            if share >= 0.0005:
                words.append(_word(percent(share), left + thick / 2, floor - tall - 5, "middle"))
        words.append(_word(label, middle, floor + 18, "middle", strong=True))
    words.append(_word("rows that share a class", width / 2, height - 4, "middle"))
    return Chart(
        name=name,
        title="Rows by the size of their class, before and after",
        description="; ".join(
            f"classes of {label}: {percent(before)} of the rows before, {percent(after)} after"
            for label, before, after in rows
        ),
        width=width,
        height=height,
        bars=tuple(bars),
        words=tuple(words),
        baseline=floor,
        outline="",
        rows=rows,
    )


def distribution_chart(column: str, picture: Distribution, *, name: str) -> Chart:
    """Draw a column before and after: upright bars for numbers, lying ones for categories."""
    rows = tuple(zip(picture.labels, picture.before, picture.after, strict=True))
    draw = _histogram if picture.kind == "numeric" else _ranking
    width, height, bars, words, outline = draw(rows)
    return Chart(
        name=name,
        title=f"{column}: shares of rows before and after",
        description=picture.sentence,
        width=width,
        height=height,
        bars=bars,
        words=words,
        baseline=height - 22 if picture.kind == "numeric" else None,
        outline=outline,
        rows=rows,
    )


def association_chart(found: Associations, *, name: str) -> Chart:
    """Draw how much each two columns say of each other: original below, released above.

    The area of a square is the association; squares that mirror each other at the diagonal are of
    the same two columns.
    """
    n, left, top = len(found.columns), 176, 20
    step = min(34.0, 520 / n)
    bars, words = [], []
    for i, column in enumerate(found.columns):
        middle = (i + 0.5) * step
        words.append(_word(f"{shortened(column, 22)} {i + 1}", left - 8, top + middle + 4, "end"))
        words.append(_word(str(i + 1), left + middle, top - 7, "middle"))
        for j in range(n):
            series, value = (
                ("before", found.original[i][j]) if j < i else ("after", found.released[i][j])
            )
            side = sqrt(value) * (step - 2) if i != j else 0.0
            x, y = left + (j + 0.5) * step, top + middle
            bars.append(_bar(series, x - side / 2, y - side / 2, side, side))
    return Chart(
        name=name,
        title="How much each two columns say of each other",
        description=found.sentence,
        width=round(left + n * step) + 8,
        height=round(top + n * step) + 8,
        bars=tuple(bars),
        words=tuple(words),
        baseline=None,
        outline="",
        rows=(),
    )


def place_map(column: str, outlines: str, *, name: str) -> GeoMap:
    """Draw the outlines of a place, with the rows of each area, as a release has them."""
    found = json.loads(outlines)
    areas = [
        MapArea(it["geometry"], it["properties"]["label"], it["properties"]["rows"])
        for it in found["features"]
        if it["geometry"] is not None
    ]
    return GeoMap(
        name=name,
        title=f"{column}: rows by area",
        description=f"{len(areas):,} areas, the darker the more rows.",
        areas=areas,
        metres=METRES.get(found.get("unit")),
    )


def _histogram(rows: Rows) -> Drawing:
    width, height = 296, 170
    floor, top = height - 22, 18
    step = width / len(rows)
    tallest = max(max(before, after) for _, before, after in rows) or 1.0
    bars, path = [], [f"M0 {floor}"]
    for place, (_, before, after) in enumerate(rows):
        tall = after / tallest * (floor - top)
        bars.append(_bar("after", place * step + 0.75, floor - tall, step - 1.5, tall))
        level = floor - before / tallest * (floor - top)
        path.append(f"L{place * step:.1f} {level:.1f}L{(place + 1) * step:.1f} {level:.1f}")
    path.append(f"L{width} {floor}")
    words = [_word(f"highest bar {percent(tallest)}", width, 11, "end")]
    words.extend(_ticks(rows, step, floor + 15))
    return width, height, tuple(bars), tuple(words), "".join(path)


def _ticks(rows: Rows, step: float, y: float) -> list[Word]:
    """Return the ends of a few bins, the first and last always among them."""
    ends = [label.partition(" to ")[0] for label, *_ in rows]
    ends.append(rows[-1][0].partition(" to ")[2])
    last = len(ends) - 1
    pieces = min(4, last)
    places = sorted({round(last * piece / pieces) for piece in range(pieces + 1)})
    shown = [0]
    for place in places[1:-1]:  # a letter is six units wide; the first and last word lie inside
        half = 3 * len(ends[place]) + 6
        before = 6 * len(ends[0]) if shown == [0] else shown[-1] * step + 3 * len(ends[shown[-1]])
        after = last * step - 6 * len(ends[last])
        if before + half <= place * step <= after - half:
            shown.append(place)
    places = [*shown, last]
    return [
        _word(
            ends[place],
            place * step,
            y,
            "start" if place == 0 else "end" if place == last else "middle",
        )
        for place in places
    ]


def _ranking(rows: Rows) -> Drawing:
    width, left, right = 296, 148, 42
    largest = max(max(before, after) for _, before, after in rows) or 1.0
    bars, words = [], []
    for place, (label, before, after) in enumerate(rows):
        y = 4.0 + place * _LINE
        for series, share, top in (("before", before, y), ("after", after, y + 5.5)):
            bars.append(_bar(series, left, top, share / largest * (width - left - right), 5.0))
        words.append(_word(shortened(label, _LABEL_LETTERS), left - 8, y + 9.5, "end"))
        words.append(_word(percent(after), width, y + 9.5, "end"))
    return width, 6 + len(rows) * _LINE, tuple(bars), tuple(words), ""


def _bar(series: str, x: float, y: float, width: float, height: float) -> Bar:
    return Bar(
        series="before" if series == "before" else "after",
        x=round(x, 1),
        y=round(y, 1),
        width=round(width, 1),
        height=round(height, 1),
    )


def _word(text: str, x: float, y: float, anchor: Anchor, *, strong: bool = False) -> Word:
    return Word(text=text, x=round(x, 1), y=round(y, 1), anchor=anchor, strong=strong)
