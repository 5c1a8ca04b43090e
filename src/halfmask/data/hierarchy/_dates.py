"""Hierarchies of dates: day, week, month, quarter, year, decade."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from halfmask._errors import HierarchyError, ParameterError
from halfmask._validation import one_of
from halfmask.data._calendar import day_of
from halfmask.data.hierarchy.tree import Hierarchy, leaf_text

UNITS = ("day", "week", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True)
class Dates:
    """Generalize dates to calendar units, the finest first; the root is ``"*"``.

    Parameters
    ----------
    levels
        Some of ``"day"``, ``"week"``, ``"month"``, ``"quarter"``, ``"year"``, ``"decade"``, the
        finest first.
    format
        The date format of text columns, in ``strftime`` codes such as ``"%m/%d/%Y"``;
        ``None`` is ISO 8601, with or without a time of day. Columns of dates need none.

    Raises
    ------
    ParameterError
        If a level is unknown, or they don't grow coarser; if a unit stands above weeks, which
        lie in no one month, quarter, year or decade.

    Notes
    -----
    Weeks are those of ISO 8601. Times with a zone have the day that its clock shows, and texts the
    day that they state.

    Examples
    --------
    >>> tree = Dates(levels=("quarter", "year")).build(
    ...     pl.Series(["2021-05-01", "2020-02-29"]), column="visit"
    ... )
    >>> tree.labels(1), tree.labels(2)
    (('2020-Q1', '2021-Q2'), ('2020', '2021'))
    """

    levels: Sequence[str]
    format: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.levels, str) or not self.levels:
            raise ParameterError("The 'levels' parameter of Dates must be a list, not empty.")
        object.__setattr__(self, "levels", tuple(self.levels))
        for level in self.levels:
            one_of(UNITS, owner="Dates", levels=level)
        if any(UNITS.index(b) <= UNITS.index(a) for a, b in itertools.pairwise(self.levels)):
            raise ParameterError(
                f"The 'levels' of Dates must grow coarser, in this order: {', '.join(UNITS)}."
            )
        if "week" in self.levels[:-1]:
            raise ParameterError(
                "The 'levels' of Dates have a coarser unit above 'week': weeks don't nest in it.",
                hint="Leave out 'week', or the units above it.",
            )

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of dates, the earliest first.

        Raises
        ------
        HierarchyError
            If a value is no date.
        """
        frame = pl.DataFrame({"0": leaf_text(values), "date": self._dates(values, column)})
        frame = frame.sort("date", "0")
        labels = [frame["0"]]
        for number, level in enumerate(self.levels, start=1):
            labels.append(_label(frame["date"], level).alias(str(number)))
        return Hierarchy.from_levels(pl.DataFrame(labels), column=column, root=True)

    def _dates(self, values: pl.Series, column: str) -> pl.Series:
        if isinstance(values.dtype, pl.Date | pl.Datetime):
            return day_of(values)
        text = leaf_text(values)
        if self.format is not None:
            try:
                dates = text.str.to_date(self.format, strict=False)
            except pl.exceptions.PolarsError:
                raise ParameterError(
                    "The 'format' parameter of Dates isn't a format of dates that is known.",
                    hint='Use the codes of strftime, such as "%m/%d/%Y".',
                ) from None
        else:
            iso = text.str.contains(r"^\d{4}-\d{2}-\d{2}([T ].*)?$").fill_null(value=False)
            day = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
            dates = day.set(~iso, None)
        if dates.null_count():
            raise HierarchyError(
                f"Column {column!r} has {dates.null_count()} values that are no dates "
                f"{'in ISO 8601' if self.format is None else 'in the format given'}.",
                hint='Say how they are spelt, such as format = "%m/%d/%Y".',
            )
        return dates


def _label(at: pl.Series, level: str) -> pl.Series:
    """Return the label of each date at a level; labels of one level sort as their dates do."""
    formats = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}
    if level in formats:
        return at.dt.strftime(formats[level])
    if level == "quarter":
        return at.dt.strftime("%Y-Q") + at.dt.quarter().cast(pl.String)
    return (at.dt.year() // 10 * 10).cast(pl.String).str.zfill(4) + "s"
