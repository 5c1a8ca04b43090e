"""Rules that every synthetic row keeps: at most, sums, and combinations that occur."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask._validation import is_text, list_of
from halfmask.synth._column_codes import decimals_of

#: Sums of fractions may differ by this much, as a share of their size.
TOLERANCE = 1e-9


class RowRule(ABC):
    """What every row of a table keeps, and so does every synthetic row.

    A rule takes columns out of a table that the others determine, or writes them so that any value
    keeps the rule, and puts them back into synthetic rows.
    """

    name: ClassVar[str]
    """The name in policies."""
    sentence: ClassVar[str]
    """What it says of each row, in one sentence."""

    @property
    @abstractmethod
    def about(self) -> tuple[str, ...]:
        """The columns that it is about."""

    @abstractmethod
    def broken(self, schema: pl.Schema) -> pl.Expr:
        """Return whether a row breaks it; a missing cell breaks none.

        Parameters
        ----------
        schema
            The types of the columns.
        """

    @abstractmethod
    def reduced(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table without what the rule determines.

        Parameters
        ----------
        table
            Rows that keep the rule.
        """

    @abstractmethod
    def restored(self, table: pl.DataFrame, like: pl.Schema) -> pl.DataFrame:
        """Return synthetic rows with what the rule determines.

        Parameters
        ----------
        table
            Rows as `reduced` returns them.
        like
            The types of the original columns.
        """

    def check(self, table: pl.DataFrame) -> None:
        """Raise unless the rule is about columns of the table, and all rows keep it.

        Parameters
        ----------
        table
            The original rows.

        Raises
        ------
        ColumnNotFoundError
            If the table lacks a column.
        SchemaError
            If a column is of a type that the rule isn't about.
        DataError
            If some rows break it.
        """
        absent = [name for name in self.about if name not in table.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, table.columns, where="the table")
        self._check_types(table.schema)
        n = int(table.select(self.broken(table.schema).fill_null(value=False).sum()).item())
        if n:
            raise DataError(
                f"{n} of {table.height} rows break the rule {self!r}.",
                hint="Mend the rows, or leave the rule out.",
            )

    @abstractmethod
    def _check_types(self, schema: pl.Schema) -> None:
        """Raise where the rule can't be about columns of these types."""


def _check_different(rule: RowRule, name: str, columns: Sequence[str]) -> None:
    """Raise unless a parameter is a list of two or more different columns."""
    owner, hint = type(rule).__name__, None
    list_of("names of columns", is_text, owner=owner, hint=hint, **{name: columns})
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be two different columns at least. "
            f"Got {len(set(columns))} different of {len(columns)}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost(RowRule):
    """One number or time is at most another: ``start <= end``.

    Parameters
    ----------
    low, high
        The columns of the lesser and the greater value.

    Notes
    -----
    The difference is synthesized in the place of `high`. Where `low` or the difference is missing,
    `high` is missing in synthetic rows.
    """

    name: ClassVar[str] = "at-most"
    sentence: ClassVar[str] = "One number or time is at most another."
    low: str = field(metadata={"description": "The column of the lesser value."})
    high: str = field(metadata={"description": "The column of the greater value."})

    def __post_init__(self) -> None:
        if self.low == self.high:
            raise ParameterError("The rule AtMost must be about two different columns.")

    @property
    def about(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.low, self.high)

    def broken(self, schema: pl.Schema) -> pl.Expr:  # noqa: ARG002 # of sums alone
        """Return whether the lesser value is above the greater.

        Parameters
        ----------
        schema
            The types of the columns.
        """
        return pl.col(self.low) > pl.col(self.high)

    def reduced(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table with the difference in the place of the greater value."""
        gap = _wide(self.high, table.schema) - _wide(self.low, table.schema)
        if table.schema[self.high].is_temporal():
            gap = gap.dt.total_microseconds()
        gap = _rounded(gap, table, (self.low, self.high))
        return table.with_columns(gap.alias(self.high))

    def restored(self, table: pl.DataFrame, like: pl.Schema) -> pl.DataFrame:
        """Return rows with the greater value: the lesser plus the difference."""
        low, gap = _wide(self.low, table.schema), pl.col(self.high)
        if like[self.high].is_temporal():
            gap = pl.duration(microseconds=gap)
        total = _rounded(low + gap, table, self.about)
        # A sum of fractions is rounded, by less than what lies between two values.
        total = pl.when(total < low).then(low).otherwise(total)
        if like[self.high].is_integer():
            total = total.ceil()
        return _with_cast(table, total, self.high, like)

    def _check_types(self, schema: pl.Schema) -> None:
        low, high = schema[self.low], schema[self.high]
        if not (low.is_numeric() and high.is_numeric()) and not _are_times(low, high):
            raise SchemaError(
                f"The rule {self!r} needs two numbers, or two times of one type. Got {low} and "
                f"{high}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SumOf(RowRule):
    """A number is the sum of others: ``total = wage + bonus``.

    Parameters
    ----------
    total
        The column of the sum.
    parts
        The columns that it is the sum of, two at least.
    """

    name: ClassVar[str] = "sum-of"
    sentence: ClassVar[str] = "A number is the sum of others."
    total: str = field(metadata={"description": "The column of the sum."})
    parts: tuple[str, ...] = field(
        metadata={"description": "What it is the sum of.", "min_length": 2}
    )

    def __post_init__(self) -> None:
        _check_different(self, "parts", self.parts)
        if self.total in self.parts:
            raise ParameterError("The 'parts' parameter of SumOf must be other columns than total.")

    @property
    def about(self) -> tuple[str, ...]:
        """The sum and its parts."""
        return (self.total, *self.parts)

    def broken(self, schema: pl.Schema) -> pl.Expr:
        """Return whether the sum differs from that of the parts.

        Parameters
        ----------
        schema
            The types of the columns.
        """
        own, total = _wide(self.total, schema), _sum(self.parts, schema)
        if not any(schema[name].is_float() for name in self.about):
            return own != total
        return (own - total).abs() > TOLERANCE * (1 + total.abs())

    def reduced(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table without the sum."""
        return table.drop(self.total)

    def restored(self, table: pl.DataFrame, like: pl.Schema) -> pl.DataFrame:
        """Return rows with the sum of the parts; missing where one is."""
        total = _rounded(_sum(self.parts, table.schema), table, self.parts)
        return _with_cast(table, total, self.total, like)

    def _check_types(self, schema: pl.Schema) -> None:
        wrong = [name for name in self.about if not schema[name].is_numeric()]
        if wrong:
            raise SchemaError(f"The rule {self!r} needs numbers. {wrong[0]!r} holds none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedCombinations(RowRule):
    """Only combinations that occur in the table, such as town and region.

    Parameters
    ----------
    columns
        The columns, two at least. They are synthesized as one.
    """

    name: ClassVar[str] = "fixed-combinations"
    sentence: ClassVar[str] = "Only combinations that occur in the table are written."
    columns: tuple[str, ...] = field(metadata={"description": "The columns.", "min_length": 2})

    def __post_init__(self) -> None:
        _check_different(self, "columns", self.columns)

    @property
    def about(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    def broken(self, schema: pl.Schema) -> pl.Expr:  # noqa: ARG002 # of sums alone
        """Return that no row of the original can break it: it is what it is about.

        Parameters
        ----------
        schema
            The types of the columns.
        """
        return pl.lit(value=False)

    def reduced(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table with one column of combinations in the place of the first."""
        combined = pl.struct(self.columns).struct.json_encode().alias(self.columns[0])
        return table.with_columns(combined).drop(self.columns[1:])

    def restored(self, table: pl.DataFrame, like: pl.Schema) -> pl.DataFrame:
        """Return rows with the columns of each combination."""
        fields = pl.Struct({name: _in_json(like[name]) for name in self.columns})
        parts = table[self.columns[0]].str.json_decode(fields).struct.unnest()
        return table.with_columns(parts[name].cast(like[name]) for name in self.columns)

    def _check_types(self, schema: pl.Schema) -> None:
        wrong = [name for name in self.columns if not _survives_json(schema[name])]
        if wrong:
            raise SchemaError(
                f"The rule {self!r} needs categories or whole numbers. {wrong[0]!r} holds "
                f"{schema[wrong[0]]}."
            )


#: Every rule by its name in policies.
RULES: dict[str, type[RowRule]] = {rule.name: rule for rule in (AtMost, SumOf, FixedCombinations)}


def _sum(parts: tuple[str, ...], schema: pl.Schema) -> pl.Expr:
    total = _wide(parts[0], schema)
    for name in parts[1:]:
        total = total + _wide(name, schema)
    return total


def _rounded(found: pl.Expr, table: pl.DataFrame, parts: tuple[str, ...]) -> pl.Expr:
    """Round a sum of fractions to the digits of its parts: 0.1 + 0.2 has one, not seventeen."""
    if not any(table.schema[name].is_float() for name in parts):
        return found
    digits = [decimals_of(table[name]) for name in parts]
    known = [it for it in digits if it is not None]
    return found.round(max(known)) if len(known) == len(digits) else found


def _wide(name: str, schema: pl.Schema) -> pl.Expr:
    """Return a column in which sums of whole numbers don't wrap around."""
    return pl.col(name).cast(pl.Int128) if schema[name].is_integer() else pl.col(name)


def _with_cast(table: pl.DataFrame, found: pl.Expr, name: str, like: pl.Schema) -> pl.DataFrame:
    """Return the table with a column in its own type; raise where that can't hold it."""
    n_missing = int(table.select(found.null_count()).item())
    made = table.with_columns(found.cast(like[name], strict=False).alias(name))
    n = made[name].null_count() - n_missing
    if n:
        raise DataError(
            f"{n} of {table.height} synthetic rows have a value of {name!r} that {like[name]} "
            "can't hold.",
            hint="Give the column a wider type, such as Int64.",
        )
    return made


def _are_times(low: pl.DataType, high: pl.DataType) -> bool:
    return low == high and low.is_temporal() and low != pl.Time


def _survives_json(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum)


def _in_json(dtype: pl.DataType) -> pl.DataType:
    return pl.String() if dtype in (pl.Categorical, pl.Enum) else dtype
