"""The exploration as one picture: risk against what is lost, the frontier, and its table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from halfmask.assess.risk import percent
from halfmask.microdata.exploring._guarantee_trials import trial_sentences
from halfmask.microdata.exploring._points import DETAIL, NOTE, RISKS, UTILITIES
from halfmask.microdata.exploring.axes import RiskAxes, point_labels
from halfmask.plots import svg
from halfmask.plots.svg import circle, line, safe, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.microdata.exploring._measured_grid import MeasuredGrid
    from halfmask.microdata.exploring._points import ExploredPoint

_FRAME = _LEFT, _RIGHT, _TOP, _BOTTOM = 104.0, 846.0, 150.0, 452.0
_TABLE, _LINE, _SMALL = 560.0, 22.0, 15.0
#: Points that the table names, and lines of reasons.
_MOST, _REASONS = 24, 6
_HEADS = (
    ("no.", 66.0), ("method", 78.0), ("guarantees", 190.0), ("recoding", 330.0),
    ("may suppress", 474.0), ("classes", 540.0), ("highest", 610.0), ("average", 680.0),
    ("all columns", 762.0), ("loss", 846.0),
)  # fmt: skip
_LEFT_ALIGNED = frozenset({"method", "guarantees", "recoding"})


def exploration_picture(found: MeasuredGrid) -> str:
    """Draw an exploration as SVG.

    Notes
    -----
    **Guarantees.** No words can become markup; the same exploration gives the same bytes. It shows
    names of columns and numbers, and no cell.
    """
    title = f"Risk and utility of {len(found.points)} policies"
    lines = [
        (each, wrapped(each.remark, 128) if each.remark else []) for each in found.listed[:_MOST]
    ]
    rows_end = _TABLE + sum(_LINE + _SMALL * len(more) for _, more in lines)
    notes = [words for sentence in _notes(found) for words in wrapped(sentence, 138)]
    end = rows_end + 44
    height = end + 16 * len(notes) + 24
    parts = [
        text(svg.MARGIN, 34, "halfmask explore", "soft"),
        text(svg.MARGIN, 64, title, "title"),
        text(svg.MARGIN, 86, _rows(found), "soft"),
        text(svg.MARGIN, 104, NOTE, "soft"),
        svg.card(_TOP - 30, _BOTTOM - _TOP + 88),
        *(_scatter(found) if found.shown else [_empty()]),
        svg.card(_TABLE - 30, 56 + rows_end - _TABLE),
        *_table(lines),
        *(text(svg.MARGIN, end + 16 * place, words, "small") for place, words in enumerate(notes)),
    ]
    return svg.drawing("exploration", title, parts, height=height, described=_rows(found))


def _rows(found: MeasuredGrid) -> str:
    drawn = "" if found.rows == found.table_rows else f" drawn of {found.table_rows:,}"
    raw = found.raw
    return (
        f"{found.rows:,} rows{drawn}; the raw table has {raw['classes']:,.0f} classes, "
        f"{percent(raw['unique'])} of its rows are unique on the quasi-identifiers"
    )


def _empty() -> str:
    words = "No policy of the grid can be kept, or none has a number on the axes."
    return text(_LEFT, (_TOP + _BOTTOM) / 2, words)


def _scatter(found: MeasuredGrid) -> list[str]:
    axes = RiskAxes.of([found.place(each) for each in found.shown], _FRAME)
    utility = UTILITIES.get(found.utility, f"lost detail of {found.utility.removeprefix(DETAIL)}")
    lost = f"1 - {utility}" if found.utility == "accuracy" else utility
    parts = [
        text(_LEFT, _BOTTOM + 44, f"{RISKS[found.risk]}: less to the left", "soft"),
        text(svg.MARGIN + svg.INSET, _TOP - 12, f"{wrapped(lost, 48)[0]}: less is below", "soft"),
        circle(480, _TOP - 16, 6, svg.AFTER),
        text(492, _TOP - 12, "on the frontier, by number", "soft"),
        circle(662, _TOP - 16, 4, svg.GREY),
        text(672, _TOP - 12, "others", "soft"),
        svg.diamond(736, _TOP - 16, 7, svg.BEFORE),
        text(748, _TOP - 12, "the given policy", "soft"),
        *svg.grid(
            _FRAME,
            [(axes.across(risk), f"{risk:g}") for risk in axes.ticks()],
            [(axes.up(loss), f"{loss:.3g}") for loss in axes.levels()],
        ),
    ]
    best = [each.asked.number for each in found.frontier]
    corners = [found.place(each) for each in found.frontier]
    for (x, y), (to_x, to_y) in pairwise(corners):
        parts += [
            line(axes.across(x), axes.up(y), axes.across(to_x), axes.up(y), svg.ALLOWED, 2),
            line(axes.across(to_x), axes.up(y), axes.across(to_x), axes.up(to_y), svg.ALLOWED, 2),
        ]
    # The frontier is drawn over the others.
    for each in sorted(found.shown, key=lambda it: it.asked.number in best):
        parts.append(_mark(found, each, axes, is_best=each.asked.number in best))
    ends = [(axes.across(risk), axes.up(lost)) for risk, lost in corners]
    labels = point_labels(
        [(*end, str(it)) for end, it in zip(ends, best, strict=True)], right=svg.WIDTH - svg.MARGIN
    )
    return [*parts, *(text(x, y, words, "small") for x, y, words in labels)]


def _mark(found: MeasuredGrid, point: ExploredPoint, axes: RiskAxes, *, is_best: bool) -> str:
    risk, lost = found.place(point)
    x, y = axes.across(risk), axes.up(lost)
    mark = circle(x, y, 6, svg.AFTER) if is_best else circle(x, y, 4, svg.GREY)
    name = f"{point.asked.number}: {point.name}, risk {risk:.4g}, lost {lost:.4g}"
    shown = f"{svg.diamond(x, y, 8, svg.BEFORE) if point.is_given else ''}{mark}"
    return f"<g><title>{safe(name)}</title>{shown}</g>"


def _table(lines: list[tuple[ExploredPoint, list[str]]]) -> list[str]:
    parts = [text(x, _TABLE, head, "small", end=head not in _LEFT_ALIGNED) for head, x in _HEADS]
    y = _TABLE + 24
    for point, more in lines:
        asked, measures = point.asked, point.measures
        cells = (
            str(asked.number),
            asked.method,
            wrapped(asked.stated or "as given", 20)[0],
            asked.recoding,
            percent(asked.max_suppression),
            f"{measures.classes:,}",
            f"{measures.highest:.4g}",
            f"{measures.average:.4g}",
            f"{measures.all_columns:.4g}",
            f"{measures.loss:.4g}",
        )
        parts += [
            text(x, y, cell, "soft", end=head not in _LEFT_ALIGNED)
            for cell, (head, x) in zip(cells, _HEADS, strict=True)
        ]
        parts += [
            text(_HEADS[1][1], y + _SMALL * line_of, words, "small")
            for line_of, words in enumerate(more, start=1)
        ]
        y += _LINE + _SMALL * len(more)
    return parts


def _notes(found: MeasuredGrid) -> Iterator[str]:
    """Yield what guarantees cost, and why policies were refused."""
    left = len(found.listed) - _MOST
    if left > 0:
        yield f"{left} more points are in points.csv."
    if found.search:
        yield f"{found.search_sentence}."
    if found.grid_policies > found.n_tried:
        yield f"The grid has {found.grid_policies:,} policies; some were drawn at random."
    yield from trial_sentences(found.trials)
    reasons = list(found.reasons.items())
    for why, names in reasons[:_REASONS]:
        yield f"Refused, {len(names)} policies: {why}" if len(names) > 1 else f"Refused: {why}"
    if len(reasons) > _REASONS:
        yield f"{len(reasons) - _REASONS} more reasons are in points.csv."
