"""Terms of a budget: table, unit, bounds, keys, settled when it was set; and rows of its units."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError, IntegrityError, ParameterError
from halfmask._validation import integer_at_least, number_between

if TYPE_CHECKING:
    from halfmask.data import Source

#: Rows of a part that is hashed at once; another number would change every fingerprint.
_ROWS = 1 << 16


def fingerprint_of(source: Source) -> str:
    """Return the SHA-256 of a table's columns, types and cells, row by row.

    It identifies the table, so it belongs into the vault.

    Examples
    --------
    >>> from halfmask.data import open_table
    >>> table = pl.DataFrame({"age": [41, 17]})
    >>> fingerprint_of(open_table(table)) == fingerprint_of(open_table(table.to_arrow()))
    True
    >>> fingerprint_of(open_table(table)) == fingerprint_of(open_table(table.reverse()))
    False
    """
    digest = hashlib.sha256()
    for name, dtype in source.dtypes.items():
        digest.update(f"{name!r}:{dtype!r};".encode())
    for batch in source.batches(_ROWS):
        for column in batch:
            digest.update(np.packbits(column.is_null().to_numpy()).tobytes())
            _hash_cells(digest, column)
    return digest.hexdigest()


def _hash_cells(digest: hashlib._Hash, column: pl.Series) -> None:
    """Hash what a column's cells are, and their number; what stands behind a null is left out."""
    dtype = column.dtype
    is_plain = dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean
    # NumPy has neither decimals nor numbers of 128 bits.
    if not is_plain or dtype.is_decimal() or str(dtype).endswith("128"):
        text = column.cast(pl.String).drop_nulls()
        digest.update(text.str.len_bytes().to_numpy().astype("<u4").tobytes())
        digest.update("".join(text.to_list()).encode())
        return
    numbers = column.to_physical().drop_nulls().to_numpy()
    digest.update(numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes())


#: Sums of 2**31 squares of such numbers, with noise, are finite.
_FARTHEST: Final = 1e100


def checked_bounds(column: str, bounds: object) -> tuple[float, float]:
    """Return bounds as a tuple."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            f"The bounds of {column!r} must be two numbers, the least and the greatest value."
        )
    low, high = bounds
    number_between(-_FARTHEST, _FARTHEST, owner=f"the bounds of {column!r}", low=low, high=high)
    if 0 < high - low < 1 / _FARTHEST:
        raise ParameterError(f"The bounds of {column!r} must be at least {1 / _FARTHEST:g} apart.")
    if low >= high:
        raise ParameterError(
            f"The lower bound of {column!r} must be below the upper one.",
            hint="Declare bounds from general knowledge, not from the data.",
        )
    return low, high


def check_declared(
    dtypes: Mapping[str, pl.DataType],
    bounds: Mapping[str, tuple[float, float]],
    keys: Mapping[str, Sequence[Any]],
) -> None:
    """Raise unless bounds and keys can be those of their columns: a budget is set once."""
    for column, ends in bounds.items():
        checked_bounds(column, ends)
        dtype = dtypes.get(column)
        if dtype is not None and not (dtype.is_numeric() or dtype == pl.Boolean):
            raise ParameterError(f"The column {column!r} has bounds, and holds no numbers.")
    for column, listed in keys.items():
        if not listed or len(set(listed)) < len(listed):
            raise ParameterError(
                f"The keys of {column!r} must be a list of at least one, each there once."
            )


#: More rows or groups of one person than this make noise that no answer survives.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """A row, or all rows of a person with bounds on what a person contributes.

    Two tables are neighbours if one has all rows of one unit more than the other (add or remove).

    Parameters
    ----------
    person
        The column that names the person of each row; ``None`` if each row is a unit.
    max_rows
        The most rows of a person that count in one answer, or in one group of it. At least 1.
    max_groups
        The most groups of one answer that a person counts in. At least 1.

    Examples
    --------
    >>> PrivacyUnit(person="customer", max_rows=10, max_groups=2).sentence()
    "all rows of one 'customer', at most 10 of them in a group and in at most 2 groups"
    """

    person: str | None = None
    max_rows: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        owner = "PrivacyUnit"
        integer_at_least(1, owner=owner, max_rows=self.max_rows, max_groups=self.max_groups)
        if self.person is None and (self.max_rows, self.max_groups) != (1, 1):
            raise ParameterError(
                "Bounds on rows and groups are for persons, and no column names them.",
                hint="Give the column by person=, or leave the bounds out.",
            )
        if max(self.max_rows, self.max_groups) > _MOST:
            raise ParameterError(
                f"The bounds of PrivacyUnit must be at most {_MOST:,}.",
                hint="Noise grows with them: choose what most persons have.",
            )

    def l1(self, value: int, *, grouped: bool) -> int:
        """Return the L1 sensitivity of sums, where a row adds at most ``value`` to one.

        Parameters
        ----------
        value
            The largest absolute value of a row, in units of the grid.
        grouped
            Whether the sums are those of groups.
        """
        return value * self.max_rows * (self.max_groups if grouped else 1)

    def l2_squared(self, value: int, *, grouped: bool) -> int:
        """Return the squared L2 sensitivity of sums, as an exact integer.

        Parameters
        ----------
        value, grouped
            As of `l1`.
        """
        return (value * self.max_rows) ** 2 * (self.max_groups if grouped else 1)

    def l2(self, value: int, *, grouped: bool) -> float:
        """Return the L2 sensitivity of sums, rounded up.

        Parameters
        ----------
        value, grouped
            As of `l1`.
        """
        squared = self.l2_squared(value, grouped=grouped)
        root = math.isqrt(squared)
        return float(root) if root * root == squared else math.nextafter(squared**0.5, math.inf)

    def sentence(self) -> str:
        """Return the unit in words, as a claim states it."""
        if self.person is None:
            return "one row"
        rows = f"at most {self.max_rows:,} of them in a group"
        groups = "groups" if self.max_groups > 1 else "group"
        return (
            f"all rows of one {self.person!r}, {rows} and in at most {self.max_groups:,} {groups}"
        )

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the unit as a dictionary of JSON."""
        return asdict(self)


_DRAWN: Final = "\0drawn"


def rows_of_units(table: pl.DataFrame, unit: PrivacyUnit) -> pl.DataFrame:
    """Return at most `PrivacyUnit.max_rows` rows of each person, without the person's column.

    Guarantees
    ----------
    Rows are drawn by the operating system's randomness, and which rows of a person are kept depends
    on no other person's rows. So all rows of one person more or less change at most
    ``unit.max_rows`` of the returned rows.

    Examples
    --------
    >>> from halfmask.dp.ledger import PrivacyUnit
    >>> visits = pl.DataFrame({"patient": [1, 1, 1, 2], "ill": ["flu", "flu", "flu", "asthma"]})
    >>> rows_of_units(visits, PrivacyUnit(person="patient")).rows()
    [('flu',), ('asthma',)]
    """
    person = unit.person
    if person is None:
        return table
    if person not in table.columns:
        raise ColumnNotFoundError.of([person], table.columns, where="the table")
    if missing := table[person].null_count():
        raise DataError(
            f"The column {person!r} names no person in {missing:,} rows.",
            hint="Leave these rows out, or give each of them a person of its own.",
        )
    drawn = pl.Series(_DRAWN, np.frombuffer(os.urandom(8 * table.height), dtype=np.uint64))
    rank = pl.col(_DRAWN).rank("ordinal").over(person)
    return table.with_columns(drawn).filter(rank <= unit.max_rows).drop(_DRAWN, person)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetTerms:
    """The budget of one data set: for which table, for whom, and how much.

    Parameters
    ----------
    dataset
        The name of the data set.
    fingerprint
        The SHA-256 of the table; see `fingerprint_of`.
    columns
        The name and type of each column, which analysts may know.
    epsilon
        The most that all charges together may cost, above 0.
    delta
        At which epsilon is counted, from 0 to below 1.
    unit
        Whose presence is protected.
    key
        64 hexadecimal digits: the key by which rows of a person are sampled.
    bounds
        The least and greatest value of columns, declared from general knowledge.
    keys
        The keys of columns that rows may be grouped by, declared from general knowledge.
    version
        How many versions of the table the budget was for so far, from 1.
    """

    dataset: str
    fingerprint: str
    columns: dict[str, str]
    epsilon: float
    delta: float
    unit: PrivacyUnit
    key: str
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    keys: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    version: int = 1

    def __post_init__(self) -> None:
        owner = "PrivacyLedger"
        integer_at_least(1, owner=owner, version=self.version)
        number_between(0, math.inf, owner=owner, low_open=True, epsilon=self.epsilon)
        number_between(0, 1, owner=owner, high_open=True, delta=self.delta)
        absent = [name for name in (*self.bounds, *self.keys) if name not in self.columns]
        if self.unit.person is not None and self.unit.person not in self.columns:
            absent.append(self.unit.person)
        if absent:
            raise ColumnNotFoundError.of(absent, self.columns, where="the table")

    def __repr__(self) -> str:
        unit = self.unit.sentence()
        return (
            f"BudgetTerms(dataset={self.dataset!r}, epsilon={self.epsilon:g}, "
            f"delta={self.delta:g}, unit={unit!r})"
        )

    def sentence(self) -> str:
        """Return the guarantee in words: epsilon, delta, unit and neighbouring relation."""
        return (
            f"All answers together are (epsilon {self.epsilon:g}, delta {self.delta:g})-"
            f"differentially private for {self.unit.sentence()}; neighbouring tables differ by "
            f"adding or removing that{self.everywhere}."
        )

    @property
    def everywhere(self) -> str:
        """In which versions neighbours differ, in words; empty if there is one."""
        return f", in all {self.version:,} versions of the table" if self.version > 1 else ""

    def check_columns(self, dtypes: Mapping[str, pl.DataType]) -> None:
        """Raise unless a new version of the table has the same columns.

        Parameters
        ----------
        dtypes
            The columns of the new version.

        Raises
        ------
        DataError
            If it has others.
        """
        if {name: str(dtype) for name, dtype in dtypes.items()} != self.columns:
            raise DataError(
                "The new version of the table has other columns, or columns of other types.",
                hint="Analysts know names and types: give the same ones, or set a budget for "
                "another data set.",
            )

    def check_table(self, fingerprint: str) -> None:
        """Raise unless a table is the one that the budget was set for.

        Parameters
        ----------
        fingerprint
            The fingerprint of the table.

        Raises
        ------
        DataError
            If it is another table, or the table has changed.
        """
        if fingerprint != self.fingerprint:
            raise DataError(
                "The table isn't the one that the budget was set for, or it has changed since.",
                hint="Answers on both add up. Restore the table, or let the same budget cover the "
                "new version, too: [[PrivacyLedger.update|halfmask budget update]].",
            )

    def check_person(self, person: str | None) -> None:
        """Raise unless the budget protects what a release protects.

        Parameters
        ----------
        person
            The column of persons whose rows a release protects; ``None``: it protects single rows.
        """
        if person != self.unit.person:
            ours, theirs = (
                "single rows" if it is None else f"all rows of one {it!r}"
                for it in (self.unit.person, person)
            )
            raise ParameterError(
                f"The budget protects {ours}, and the release {theirs}: their costs don't add up.",
                hint="Name the budget's person for the release, or leave person out if the budget "
                "has none.",
            )

    def to_text(self) -> str:
        """Return the terms as JSON, for the ledger's own file."""
        named = asdict(self)
        if self.version == 1:
            del named["version"]  # as earlier releases of halfmask read it
        return json.dumps(named, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the terms that `to_text` wrote.

        Parameters
        ----------
        text
            The terms in JSON.

        Raises
        ------
        IntegrityError
            If they aren't terms.
        """
        try:
            named = json.loads(text)
            bounds = {name: (low, high) for name, (low, high) in named["bounds"].items()}
            keys = {name: tuple(listed) for name, listed in named["keys"].items()}
            unit = PrivacyUnit(**named["unit"])
            return cls(**{**named, "unit": unit, "bounds": bounds, "keys": keys})
        except (ValueError, TypeError, KeyError, ParameterError):
            raise IntegrityError("The terms of the ledger are damaged.") from None
