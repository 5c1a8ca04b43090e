"""Pairs of columns that are points together: longitude and latitude, or x and y of a plane."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl

from halfmask._facts import Facts
from halfmask.description.column_names import words_of
from halfmask.description.column_words import AXES, POINT_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from halfmask.description.profile import ColumnProfile

_Numbers: TypeAlias = "NDArray[np.float64]"
#: Shorter words, such as "x", stand inside longer ones by chance.
_GLUED: Final = 3
#: From this share of rows on that can be points, the others are mistakes.
_MOST: Final = 0.95
#: Grids of countries begin far from where people live: small x and y are measures of something.
_LEAST_OF_GRID: Final = 1_000
#: Lengths and widths of things are rarely measured to more decimals.
_DECIMALS: Final = 3
_KM: Final = {"degrees": 111.0, "metres": 1e-3, "kilometres": 1.0, "feet": 0.3048e-3}
_UNITS: Final = {"km": "kilometres", "kilometres": "kilometres", "ft": "feet", "feet": "feet"}
#: Points within so many kilometres get finer cells.
_TOWN: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatePair(Facts):
    """Two columns that make one place: its name, x and y, and what was counted of its points."""

    facts = ("name=place", "points=columns", "unit", "distinct", "share_unique", "notes")

    place: str
    columns: tuple[str, str]
    unit: str
    widths: tuple[float, ...]  # of cells that suit how far the points lie apart, in km
    distinct: int
    share_unique: float
    notes: tuple[str, ...]
    certain: bool


def find_pairs(
    frame: pl.DataFrame, profiles: Mapping[str, ColumnProfile]
) -> Iterator[CoordinatePair]:
    """Yield the pairs of columns whose names and numbers both say that they are coordinates."""
    taken = set(frame.columns)
    alike = defaultdict[tuple[str, tuple[str, ...]], tuple[list[str], list[str]]](lambda: ([], []))
    for name, profile in profiles.items():
        if profile.is_number and (axis := _axis_of(words_of(name))) is not None:
            system, number, stem = axis
            alike[system, stem][number].append(name)
    for (system, stem), axes in alike.items():
        for columns in zip(*axes, strict=False):
            numbers = [_numbers(frame[name], profiles[name]) for name in columns]
            pair = _judge_pair(columns, system, stem, numbers, _free_name(stem, taken))
            if pair is not None:
                taken.add(pair.place)
                forms = ((name, profiles[name].form) for name in columns)
                unread = [f"{name!r}: {it.counted()}" for name, it in forms if it and it.unread]
                yield replace(pair, notes=(*pair.notes, *unread))


def _axis_of(words: tuple[str, ...]) -> tuple[str, int, tuple[str, ...]] | None:
    """Return the system and axis (0: x) that a name speaks of, and its other words.

    Examples
    --------
    >>> _axis_of(("home", "lng")), _axis_of(("startlatitude",)), _axis_of(("point", "x"))
    (('earth', 0, ('home',)), ('earth', 1, ('start',)), ('plane', 0, ('point',)))
    """
    for axis in sorted(AXES, key=len, reverse=True):
        for at, word in enumerate(words):
            for rest in (word.removesuffix(axis), word.removeprefix(axis)):
                glued = len(axis) >= _GLUED or rest in POINT_WORDS
                if rest == word or (rest and not glued):
                    continue
                system, number = AXES[axis]
                stem = tuple(filter(None, (*words[:at], rest, *words[at + 1 :])))
                of_point = system in {"letters", "lengths"} and not POINT_WORDS.isdisjoint(stem)
                return "plane" if of_point else system, number, stem
    return None


def _free_name(stem: tuple[str, ...], taken: set[str]) -> str:
    """Return a name for a place by what the names of its columns say besides the axis."""
    words = [it for it in stem if it not in POINT_WORDS and it not in _UNITS]
    name = "_".join(words if words and not words[0].isdigit() else ("place", *words))
    return next(
        it for n in range(len(taken) + 1) if (it := f"{name}_{n + 1}" if n else name) not in taken
    )


def _numbers(values: pl.Series, profile: ColumnProfile) -> _Numbers:
    """Return a column's numbers; NaN where there is none."""
    if not values.dtype.is_numeric() and profile.form is not None:
        different = values.unique().drop_nulls()
        values = values.replace_strict(different, profile.form.read(different), default=None)
    return values.cast(float, strict=False).to_numpy()


def _judge_pair(
    columns: tuple[str, str],
    system: str,
    stem: tuple[str, ...],
    numbers: list[_Numbers],
    place: str,
) -> CoordinatePair | None:
    """Return the pair if the numbers can be what the names say."""
    half = int((np.isnan(numbers[0]) != np.isnan(numbers[1])).sum())
    whole = np.isfinite(numbers[0]) & np.isfinite(numbers[1])
    unknown = whole & (numbers[0] == 0) & (numbers[1] == 0)
    x, y = (each[whole & ~unknown] for each in numbers)
    unit, swapped = _unit_of(x, y, system, stem) if len(x) else (None, False)
    if unit is None:
        return None
    if swapped:
        columns, x, y = (columns[1], columns[0]), y, x
    rows = pl.DataFrame({"x": x, "y": y}).group_by("x", "y").len()["len"]
    beyond = int((~_on_earth(x, y)).sum()) if unit == "degrees" else 0
    apart = max(float(np.ptp(np.percentile(each, (1, 99)))) for each in (x, y))
    as_named = (system == "earth") == (unit == "degrees") or system == "plane"
    notes = {
        "Their names are swapped: the policy names the column with longitudes first.": swapped,
        f"Their names don't say that they are in {unit}; their numbers do.": not as_named,
        f"{half:,} rows have one coordinate of two, which protect refuses.": half,
        f"{int(unknown.sum()):,} rows have 0 and 0, which stand for unknown.": unknown.any(),
        f"{beyond:,} rows lie beyond the earth, which protect refuses.": beyond,
    }
    return CoordinatePair(
        place=place,
        columns=columns,
        unit=unit,
        widths=_widths_to(apart * _KM[unit]),
        distinct=len(rows),
        share_unique=float((rows == 1).sum() / len(numbers[0])),
        notes=tuple(note for note, holds in notes.items() if holds),
        certain=as_named and not swapped and system in {"earth", "plane"},
    )


def _widths_to(apart: float) -> tuple[float, ...]:
    """Return widths that double: a class is written as the smallest cell that holds all of it."""
    least = 1 if apart > _TOWN else 0.1
    doublings = max(2, int(np.ceil(np.log2(max(apart, least) / least))))
    return tuple(least * 2**n for n in range(doublings + 1))


def _unit_of(
    x: _Numbers, y: _Numbers, system: str, stem: tuple[str, ...]
) -> tuple[str | None, bool]:
    """Return the unit of points, and whether x and y are swapped; no unit: they are none."""
    named = next((_UNITS[word] for word in stem if word in _UNITS), None)
    if named is not None and system in {"plane", "letters"}:
        return named, False
    fine = min((np.abs(it - it.round(_DECIMALS)) > 0).mean() for it in (x, y)) >= _MOST
    may_be = {"earth": True, "plane": bool((x != x.round()).any()), "lengths": fine}
    if may_be.get(system) and _on_earth(x, y).mean() >= _MOST:
        return "degrees", False
    if system == "earth" and _on_earth(y, x).mean() >= _MOST:
        return "degrees", True
    of_grid = min((np.abs(it) >= _LEAST_OF_GRID).mean() for it in (x, y)) >= _MOST
    return ("metres" if of_grid or system == "plane" else None), False


def _on_earth(x: _Numbers, y: _Numbers) -> NDArray[np.bool_]:
    """Return which points can be longitudes, also of 0 to 360, and latitudes."""
    return (x >= -180) & (x <= 360) & (np.abs(y) <= 90)
