"""Dates shifted by person: all dates of a person move by the same number of days."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import ClassVar

import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask.data import day_of, moved_by_days
from halfmask.masks._mask import MaskTraits
from halfmask.masks._strata import check_apart
from halfmask.masks._token import text_of
from halfmask.masks.pseudonym import Pseudonym

_FIRST, _LAST = date(1, 1, 1), date(9999, 12, 31)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftedDates(Pseudonym):
    """Move all dates of a person by the same secret number of days.

    Parameters
    ----------
    columns
        Columns of dates or times.
    person
        The column that says whose row it is. Its mask, if any, writes tokens.
    max_days
        The most days that a date moves, forwards or backwards: 1 to 36,500.
    domain, scope
        Where a person has the same number of days; see `Pseudonym`. Give a domain if dates of a
        person are in several tables.

    Notes
    -----
    **Guarantees.** Dates of one person keep the days between them, exactly, and times of day stay.
    Every number of days from 1 to `max_days`, in both directions, has the same chance. None is 0.

    **Edge cases.** One known date of a person reveals all others, and the days between dates can
    single a person out. A date that stands for "unknown", such as 1900-01-01, reveals the number:
    make it missing first. Dates that would leave the years 1 to 9999 are an error, and so are
    rows with a date and without a person. Times with a zone keep the time that its clock shows. A
    time that the clock skips on the new day, at a change to summer time, is written later by what
    it skips. Of a time that the clock has twice, the first is written.

    Source: practice; the numbers of days are drawn by BLAKE2b (RFC 7693) under the key.

    Examples
    --------
    >>> stays = pl.DataFrame(
    ...     {"id": [7, 7], "came": [date(2020, 1, 2), date(2020, 3, 4)]},
    ... )
    >>> mask = ShiftedDates(columns=("came",), person="id", max_days=180)
    >>> moved = mask.fit(stays.clear(), bytes(32)).apply(stays, 0)["came"]
    >>> moved[0] == date(2020, 1, 2), moved[1] - moved[0] == date(2020, 3, 4) - date(2020, 1, 2)
    (False, True)
    """

    name: ClassVar[str] = "shifted-dates"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = False
    suppresses: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("interval-fingerprint", "known-date")

    columns: tuple[str, ...]
    person: str
    max_days: int = field(metadata={"ge": 1, "le": 36_500})

    def _check_together(self) -> None:
        check_apart(self.columns, (self.person,), mask=self.name, named="person")

    @property
    def reads(self) -> tuple[str, ...]:
        """The column of the person."""
        return (self.person,)

    @property
    def traits(self) -> MaskTraits:
        """The person: rows of one must stay rows of one."""
        return MaskTraits(keyed_by=(self.person,))

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the same types; see `TableMask`."""
        absent = [it for it in (*self.columns, self.person) if it not in dtypes]
        if absent:
            raise ColumnNotFoundError.of(absent, list(dtypes), where="the table")
        for column in self.columns:
            if not isinstance(dtypes[column], pl.Date | pl.Datetime):
                raise SchemaError(
                    f"Column {column!r} has the mask {self.name!r}, which is for dates. "
                    f"Got the type {dtypes[column].base_type()}.",
                    hint="Read the column as date or datetime.",
                )
        if dtypes[self.person].is_nested():
            raise SchemaError(
                f"Column {self.person!r} names a person in each row. "
                f"Got the type {dtypes[self.person].base_type()}."
            )
        return {column: dtypes[column] for column in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> _Shifts:
        """Return the plan, which holds the key; see `TableMask`."""
        return _Shifts(self, key)


@dataclass(frozen=True, slots=True)
class _Shifts:
    mask: ShiftedDates
    key: bytes = field(repr=False)

    def apply(self, batch: pl.DataFrame, first_row: int) -> pl.DataFrame:
        columns = list(self.mask.columns)
        persons = text_of(batch[self.mask.person])
        nobody = batch.select(pl.any_horizontal(pl.col(columns).is_not_null())).to_series()
        n_nobody = int((persons.is_null() & nobody).sum())
        if n_nobody:
            raise DataError(
                f"Column {self.mask.person!r} is missing in {n_nobody} rows that have dates: how "
                "far these move isn't known.",
                hint="Drop these rows, or make their dates missing.",
            )
        days = self._days(persons)
        return pl.DataFrame([self._moved(batch[name], days) for name in columns])

    def _days(self, persons: pl.Series) -> pl.Series:
        different = persons.drop_nulls().unique()
        most = self.mask.max_days
        drawn = []
        for person in different.to_list():
            digest = hashlib.blake2b(
                person.encode(), key=self.key, digest_size=16, person=b"halfmask/days"
            )
            number = int.from_bytes(digest.digest(), "big") % (2 * most) - most
            drawn.append(number if number < 0 else number + 1)
        return persons.replace_strict(
            different, pl.Series(drawn, dtype=pl.Int64), default=None, return_dtype=pl.Int64
        )

    def _moved(self, cells: pl.Series, days: pl.Series) -> pl.Series:
        # In days first: sums of nanoseconds would wrap around without an error.
        landed = day_of(cells).cast(pl.Int64) + days
        epoch = date(1970, 1, 1)
        first, last = ((it - epoch).days for it in (_FIRST, _LAST))
        if isinstance(cells.dtype, pl.Datetime) and cells.dtype.time_unit == "ns":
            first, last = -106_750, 106_750  # what 64 bits hold, less a day
        outside = int(((landed < first) | (landed > last)).sum())
        if outside:
            raise DataError(
                f"Column {cells.name!r} has {outside} dates that would move beyond the years that "
                "its type holds.",
                hint="Make dates that stand for 'unknown' or 'never' missing.",
            )
        return moved_by_days(cells, days).alias(cells.name)
