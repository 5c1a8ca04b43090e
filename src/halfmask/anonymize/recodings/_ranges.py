"""Ranges of numbers and dates, sets of categories."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np
import polars as pl

from halfmask._errors import SchemaError
from halfmask._validation import one_of
from halfmask.anonymize.coding import RangeGrid
from halfmask.data import Unit, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halfmask.anonymize._cells import CellColumn
    from halfmask.anonymize.recodings._recoding import Recoding
    from halfmask.data import Column


#: What the names of both columns of bounds end in.
BOUND_SUFFIXES: Final = ("_from", "_to")

#: A set with more members than this is written with its first members and a count.
MAX_MEMBERS = 32
#: How many these are.
SHOWN_OF_MANY = 4
#: A member of a set that holds one of these could be taken for several members, or for none.
_AMBIGUOUS_MEMBER = re.compile(r'[,{}\[\]"\\\n]|^\s|\s$|^\.\.\. |^$| or missing$')
#: A single value that looks like one of these could be taken for a set, a range, a quote or a root.
_AMBIGUOUS_VALUE = re.compile(r'^[{\["]| or missing$|^\*$')


@dataclass(frozen=True, slots=True)
class Ranges:
    """Write the range of a class's numbers or dates, and the set of its categories.

    A range is ``[17, 30]``, both ends among the class's own values; a set ``{a, b}`` names the
    categories between the class's first and last, in the order of the codes; a single value stands
    by itself. A class that has missing cells too ends in ``or missing``; one of missing cells only
    stays missing.

    Parameters
    ----------
    form
        ``"text"``: as above. ``"bounds"``: numbers and dates are two columns of their own type,
        ``NAME_from`` and ``NAME_to``, both ends included; categories stay sets.
    step
        Ranges of numbers end at multiples of it, and the upper end isn't included:
        ``[15, 30)``. No end is then the value of a person. ``None``: they end at values.
    unit
        The same for dates and times: ranges end at the start of a ``"second"``, ``"minute"``,
        ``"hour"``, ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.
    whole_sets
        Whether sets of more than 32 members name all of them. `protect` does so for guarantees
        about a population: a person fits a set that names them.

    Raises
    ------
    ParameterError
        If the form is neither, the step isn't above 0, or the unit isn't one of these.
    SchemaError
        If a class of a column that is written as bounds has missing cells and values, which two
        numbers can't say.

    See Also
    --------
    Level : Labels of a hierarchy.
    Centroid : One value a class.

    Edge cases
    ----------
    A set of more than 32 members is written with its first four and their count. Members that no
    row of the release has aren't named. A text that could be read as something else, such as a
    member with a comma or a brace, is written in quotes as in JSON: ``{"a, b", c}``.

    Examples
    --------
    >>> Ranges(form="bounds")
    Ranges(form='bounds', step=None, unit=None, whole_sets=False)
    """

    name: ClassVar[str] = "ranges"
    sentence: ClassVar[str] = "Ranges of numbers and sets of categories are written for a class."
    form: Literal["text", "bounds"] = field(
        default="text",
        metadata={"description": "Whether numbers and dates are texts, or two columns of bounds."},
    )

    step: float | None = field(
        default=None,
        metadata={"gt": 0, "description": "Ranges of numbers end at multiples of it."},
    )
    unit: Unit | None = field(
        default=None, metadata={"description": "Ranges of dates end at the start of one."}
    )
    whole_sets: bool = field(
        default=False,
        metadata={"description": "Whether sets of more than 32 members name all of them."},
    )

    def __post_init__(self) -> None:
        one_of(("text", "bounds"), owner="Ranges", form=self.form)
        RangeGrid(step=self.step, unit=self.unit)  # checks both

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """That ends are values of people, unless both numbers and dates end elsewhere."""
        return () if self.step and self.unit else ("range-ends-are-values",)

    @property
    def grid(self) -> RangeGrid | None:
        """Where ranges may end; ``None``: at values."""
        if self.step is None and self.unit is None:
            return None
        return RangeGrid(step=self.step, unit=self.unit)

    def write(self, cells: CellColumn) -> pl.Series:
        """Return one column's text, or both its bounds, for each cell.

        Parameters
        ----------
        cells
            One column of all cells.
        """
        if self.form == "bounds" and cells.coding.ordered:
            return _bounds(cells)
        low, high = cells.value_range()
        mixed = cells.mixes_missing() & (low >= 0)
        n_values = cells.coding.n_values + 1
        keys = ((low + 1) * n_values + (high + 1)) * 2 + mixed
        distinct, of_cell = np.unique(keys, return_inverse=True)
        texts = as_text(cells.coding.values).to_list()
        grid = cells.coding.grid
        ends = [] if grid is None else as_text(grid.ends(cells.coding.values)).to_list()
        occurring = cells.occurring().tolist()
        labels: list[str | None] = []
        for key in distinct.tolist():
            pair, with_missing = divmod(key, 2)
            first, last = pair // n_values - 1, pair % n_values - 1
            if first < 0:
                labels.append(None)
                continue
            if grid is not None:
                text = f"[{texts[first]}, {ends[last]})"
            elif first == last:
                text = _quoted(texts[first], _AMBIGUOUS_VALUE)
            elif cells.coding.ordered:
                text = f"[{texts[first]}, {texts[last]}]"
            else:
                members = [texts[i] for i in range(first, last + 1) if occurring[i]]
                text = _set(members, whole=self.whole_sets)
            labels.append(f"{text} or missing" if with_missing else text)
        return pl.Series(cells.coding.column.name, labels, dtype=pl.String).gather(of_cell)


def _bounds(cells: CellColumn) -> pl.Series:
    """Return the least and the greatest value of each cell as the fields of a struct."""
    name = cells.coding.column.name
    low, high = cells.value_range()
    mixed = int(np.count_nonzero(cells.mixes_missing() & (low >= 0)))
    if mixed:
        raise SchemaError(
            f"Column {name!r} can't be written as bounds: {mixed} classes have missing cells and "
            "values.",
            hint='Set missing = "suppress" for the column, or write form = "text".',
        )
    values, grid = cells.coding.values, cells.coding.grid
    several = zip(
        BOUND_SUFFIXES,
        (values, values if grid is None else grid.ends(values)),
        (low, high),
        strict=True,
    )
    ends = {
        name + suffix: those.gather(pl.Series(codes).replace(-1, None))
        for suffix, those, codes in several
    }
    return pl.DataFrame(ends).to_struct(name)


def _set(members: list[str], *, whole: bool) -> str:
    many = len(members) > MAX_MEMBERS and not whole
    shown = members[:SHOWN_OF_MANY] if many else members
    quoted = [_quoted(member, _AMBIGUOUS_MEMBER) for member in shown]
    return f"{{{', '.join(quoted)}{f', ... {len(members)} in all' if many else ''}}}"


def _quoted(text: str, ambiguous: re.Pattern[str]) -> str:
    return json.dumps(text, ensure_ascii=False) if ambiguous.search(text) else text


_HOLDS = {"step": "numbers", "unit": "dates or times"}


def check_ranges(
    table: Recoding, own: Mapping[str, Recoding], columns: Iterable[tuple[Column, pl.Series]]
) -> None:
    """Raise where ranges have a step or unit that a column can't use, or lack one it needs."""
    used = set()
    for column, values in columns:
        wanted, recoding = _wanted(column, values), own.get(column.name)
        if not len(values):
            continue
        if isinstance(recoding, Ranges):
            _check_own(column.name, recoding, wanted, is_set=not _in_order(column, values))
        elif isinstance(recoding or table, Ranges) and wanted and column.hierarchy is None:
            used.add(wanted)
            if isinstance(table, Ranges) and _stated(table) and wanted not in _stated(table):
                raise SchemaError(
                    f"Column {column.name!r} holds {_HOLDS[wanted]}, and ranges of the table have "
                    f"a {_stated(table)[0]} and no {wanted}: their ends would be values of people.",
                    hint=f"Add a {wanted} to the recoding, or give the column one of its own.",
                )
    idle = [key for key in _stated(table) if key not in used] if isinstance(table, Ranges) else []
    if idle:
        raise SchemaError(
            f"Ranges of the table have a {idle[0]}, and none of its quasi-identifiers without a "
            f"hierarchy or a recoding of its own holds {_HOLDS[idle[0]]}.",
            hint="Leave it out, or declare how the columns are written[[| under [input]]].",
        )


def _check_own(name: str, recoding: Ranges, wanted: str | None, *, is_set: bool) -> None:
    idle = [key for key in _stated(recoding) if key != wanted]
    if is_set and recoding.form == "bounds":
        idle.append("form")
    if idle:
        holds = "neither numbers nor dates in order" if wanted is None else _HOLDS[wanted]
        raise SchemaError(
            f"Column {name!r} holds {holds}, and its recoding has a {idle[0]}, which would have no "
            "effect.",
            hint="Ranges of numbers have a step, ranges of dates a unit.",
        )


def _stated(recoding: Ranges) -> list[str]:
    return [key for key in _HOLDS if getattr(recoding, key) is not None]


def _in_order(column: Column, values: pl.Series) -> bool:
    numbers = values.dtype.is_numeric() or values.dtype.is_temporal()
    return numbers and column.kind not in {"categorical", "text", "geo"}


def _wanted(column: Column, values: pl.Series) -> str | None:
    """Return the key that says where ranges of a column may end; None where nothing does."""
    if not _in_order(column, values):
        return None
    if values.dtype.is_numeric():
        return "step"
    return "unit" if isinstance(values.dtype, pl.Date | pl.Datetime) else None
