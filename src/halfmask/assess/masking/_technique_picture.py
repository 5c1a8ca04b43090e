"""Risk and utility of several techniques as one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmask.plots import svg
from halfmask.plots.svg import diamond, line, rect, text
from halfmask.plots.words import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOP, _LINE, _NAME = 142.0, 34.0, 22
#: Where each track begins, and its length; a track is a share from 0 to 1.
_TRACKS = (("linked", 210.0), ("interval", 378.0), ("overlap", 546.0))
_LONG = 112.0
_HEADS = (
    (210.0, "people linked", "diamond: control"),
    (378.0, "interval disclosure", "diamond: control"),
    (546.0, "interval overlap", "of a regression"),
    (756.0, "IL1s", "0: best"),
    (852.0, "pMSE ratio", "logistic"),
)
_CONTROLS = {"linked": "linked_control", "interval": "interval_control"}


def technique_picture(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw risk and utility of techniques as SVG, a line for each.

    Notes
    -----
    **Guarantees.** No words can become markup; the same rows give the same bytes.
    """
    title = f"Risk and utility of {len(rows)} techniques"
    height = _TOP + 30 + _LINE * len(rows)
    parts = [
        text(svg.MARGIN, 34, "halfmask masking", "soft"),
        text(svg.MARGIN, 64, title, "title"),
        svg.card(84, height - 100),
    ]
    for x, head, below in _HEADS:
        end = x > 700
        parts += [text(x, 108, head, "name", end=end), text(x, 124, below, "small", end=end)]
    for place, row in enumerate(rows):
        parts += _technique(row, _TOP + _LINE * place)
    return svg.drawing("techniques", title, parts, height=height)


def _technique(row: Mapping[str, Any], y: float) -> list[str]:
    left = svg.MARGIN + svg.INSET
    parts = [
        line(left, y - 8, svg.WIDTH - left, y - 8, svg.RULE),
        text(left, y + 14, wrapped(row["technique"], _NAME)[0], "name"),
        text(756, y + 14, _number(row["il1s"], ".3f"), end=True),
        text(852, y + 14, _number(row["pmse_ratio_logistic"], ".3g"), end=True),
    ]
    for name, x in _TRACKS:
        share = row[name]
        if share is None:
            parts.append(text(x, y + 14, "not measured", "small"))
            continue
        colour = svg.AFTER if name == "overlap" else svg.BEFORE
        parts += [
            rect(x, y + 2, _LONG, 14, svg.TRACK, round_=3),
            rect(x, y + 2, _LONG * min(1.0, share), 14, colour, round_=3),
            text(x + _LONG + 6, y + 14, f"{share:.0%}", "small"),
        ]
        if name == "linked":
            ends = (x + _LONG * row["linked_low"], x + _LONG * row["linked_high"])
            parts.append(line(ends[0], y + 9, ends[1], y + 9, svg.INK, 1.5))
        if row.get(_CONTROLS.get(name, "")) is not None:
            parts.append(diamond(x + _LONG * row[_CONTROLS[name]], y + 9, 4, svg.INK))
    return parts


def _number(value: float | None, form: str) -> str:
    return "not measured" if value is None else format(value, form)
