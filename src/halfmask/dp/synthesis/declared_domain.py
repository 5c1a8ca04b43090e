"""What a column may hold, as the owner declares it: never read off the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberDomain:
    """Numbers in bins.

    Parameters
    ----------
    edges
        Where bins begin and end, ascending, 2 at least; the last bin holds its end too. Numbers
        outside count as the nearest edge.
    atoms
        Numbers with a bin of their own, such as 0.
    whole
        Whether synthetic numbers are whole; else they lie anywhere in a bin.
    missing
        Whether cells may be missing. If not, a missing cell is an error.

    Examples
    --------
    >>> NumberDomain(edges=(0, 10, 100), atoms=(0,), whole=True).n_codes
    3
    """

    edges: tuple[float, ...]
    whole: bool
    atoms: tuple[float, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        object.__setattr__(self, "atoms", tuple(self.atoms))
        numbers = [*self.edges, *self.atoms]
        rising = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) < 2 or not rising or not all(map(math.isfinite, numbers)):
            raise ParameterError(
                "The 'edges' parameter of NumberDomain must be two ascending numbers or more. "
                f"Got {len(self.edges)}."
            )
        if len(set(self.atoms)) < len(self.atoms):
            raise ParameterError("The 'atoms' parameter of NumberDomain must be different numbers.")

    @property
    def n_codes(self) -> int:
        """How many codes there are: bins, atoms, and missing."""
        return len(self.edges) - 1 + len(self.atoms) + self.missing

    def codes(self, cells: pl.Series) -> NDArray[np.int64]:
        """Return the code of each cell.

        Parameters
        ----------
        cells
            Numbers.

        Raises
        ------
        SchemaError
            If the column holds none, or cells are missing and may not be.
        """
        if not cells.dtype.is_numeric():
            raise SchemaError(
                f"Column {cells.name!r} is declared in bins and holds {cells.dtype}.",
                hint="Declare its values, or turn it into numbers.",
            )
        numbers = cells.cast(pl.Float64).fill_null(math.nan).to_numpy()
        if not self.missing and np.isnan(numbers).any():
            raise _undeclared(cells.name, "missing cells")
        known = np.where(np.isnan(numbers), self.edges[0], numbers)
        inner = np.asarray(self.edges[1:-1], dtype=np.float64)
        codes = np.searchsorted(inner, known, side="right").astype(np.int64)
        for place, atom in enumerate(self.atoms):
            codes[known == atom] = len(self.edges) - 1 + place
        if self.missing:
            codes[np.isnan(numbers)] = self.n_codes - 1
        return codes

    def cells(self, codes: NDArray[np.int64], rng: np.random.Generator) -> pl.Series:
        """Return a number for each code, drawn evenly from its bin.

        Parameters
        ----------
        codes
            The code of each row.
        rng
            Where draws come from.
        """
        n_bins = len(self.edges) - 1
        edges = np.asarray(self.edges, dtype=np.float64)
        places = np.minimum(codes, n_bins - 1)
        low, high = edges[places], edges[places + 1]
        if self.whole:
            last = places == n_bins - 1
            low, high = np.ceil(low), np.where(last, np.floor(high), np.ceil(high) - 1)
            drawn = np.floor(low + rng.random(len(codes)) * (np.maximum(high, low) - low + 1))
        else:
            drawn = low + rng.random(len(codes)) * (high - low)
        for place, atom in enumerate(self.atoms):
            drawn[codes == n_bins + place] = atom
        found = pl.Series(drawn)
        if self.missing:
            found = found.set(pl.Series(codes == self.n_codes - 1), None)
        return found.cast(pl.Int64) if self.whole else found


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryDomain:
    """Categories.

    Parameters
    ----------
    values
        Texts, truths or whole numbers, all different and of one type, 1 at least. A value that
        isn't declared counts as missing.
    missing
        Whether cells may be missing. If not, a missing cell or an undeclared value is an error.

    Examples
    --------
    >>> CategoryDomain(values=("yes", "no")).n_codes
    2
    """

    values: tuple[str, ...] | tuple[bool, ...] | tuple[int, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        kinds = {type(value) for value in self.values}
        if len(kinds) != 1 or not kinds <= {str, bool, int}:
            raise ParameterError("The 'values' parameter of CategoryDomain must be of one type.")
        if len(set(self.values)) < len(self.values):
            raise ParameterError(
                "The 'values' parameter of CategoryDomain must be different values."
            )

    @property
    def n_codes(self) -> int:
        """How many codes there are: values, and missing."""
        return len(self.values) + self.missing

    def codes(self, cells: pl.Series) -> NDArray[np.int64]:
        """Return the code of each cell.

        Parameters
        ----------
        cells
            Of the type of the values.

        Raises
        ------
        SchemaError
            If the column is of another type, or holds what isn't declared and none may be missing.
        """
        declared = pl.Series(self.values)
        plain = cells.cast(pl.String) if cells.dtype in (pl.Categorical, pl.Enum) else cells
        alike = plain.dtype == declared.dtype or (
            plain.dtype.is_integer() and declared.dtype.is_integer()
        )
        if not alike:
            raise SchemaError(
                f"Column {cells.name!r} holds {cells.dtype}, and values of {declared.dtype} are "
                "declared."
            )
        codes = plain.replace_strict(
            declared.cast(plain.dtype, strict=False),
            pl.Series(range(len(declared)), dtype=pl.Int64),
            default=None,
            return_dtype=pl.Int64,
        )
        if not self.missing and codes.null_count():
            raise _undeclared(cells.name, "missing cells, or values that aren't declared")
        return codes.fill_null(self.n_codes - 1).to_numpy().copy()

    def cells(self, codes: NDArray[np.int64], rng: np.random.Generator) -> pl.Series:
        """Return the value of each code.

        Parameters
        ----------
        codes
            The code of each row.
        rng
            Not used: a code is one value.
        """
        del rng
        return pl.Series([*self.values, None] if self.missing else self.values).gather(codes)


def _undeclared(name: str, what: str) -> SchemaError:
    """Return the error about cells that would count as another value; the owner alone sees it."""
    return SchemaError(
        f"Column {name!r} has {what}, and its domain says that none are missing.",
        hint="Declare missing = true for it.",
    )


ColumnDomain: TypeAlias = NumberDomain | CategoryDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDomain:
    """What each column of a table may hold."""

    columns: Mapping[str, ColumnDomain]

    def __post_init__(self) -> None:
        if not self.columns or not all(
            isinstance(each, NumberDomain | CategoryDomain) for each in self.columns.values()
        ):
            raise ParameterError(
                "The 'domain' parameter must map one column or more to what it may hold.",
                hint="Declare what a column may hold; the data must not say it.",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each column has."""
        return tuple(each.n_codes for each in self.columns.values())

    def codes(self, table: pl.DataFrame) -> NDArray[np.int64]:
        """Return a table as codes, (columns, rows)."""
        absent = [name for name in self.columns if name not in table.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, table.columns, where="the table")
        return np.stack([each.codes(table[name]) for name, each in self.columns.items()])

    def cells(self, codes: NDArray[np.int64], rng: np.random.Generator) -> pl.DataFrame:
        """Return codes as a table."""
        return pl.DataFrame(
            [
                each.cells(own, rng).alias(name)
                for (name, each), own in zip(self.columns.items(), codes, strict=True)
            ]
        )
