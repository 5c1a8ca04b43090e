"""A column of categories as keyed codes, frequent ones split."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.encode._lookup import MISSING, UNSEEN, Lookup
from halfmask.encode._whole_codes import whole_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """A keyed map of a column's values to codes, one or more for each value.

    Guarantees
    ----------
    The codes are those of a permutation that is uniform without the key. Every
    code but the reserved one decodes to its value, bit-equal; the reserved one to a missing cell.
    """

    name: str
    token: str
    values: pl.Series
    value_of: NDArray[np.int64]
    weights: NDArray[np.float64]
    cuts: tuple[NDArray[np.float64], ...]
    unseen: str
    hidden: bool
    lookup: Lookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", Lookup(self.values))

    @property
    def is_split(self) -> bool:
        """Whether any value has more than one code."""
        return any(len(cut) for cut in self.cuts)

    @property
    def dtype(self) -> pl.DataType:
        """The column's type at home."""
        return self.values.dtype

    def siblings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all codes grouped by their value, and where each value's codes begin."""
        kept = np.flatnonzero(self.value_of >= 0)
        grouped = kept[np.argsort(self.value_of[kept], kind="stable")]
        return grouped, np.searchsorted(self.value_of[grouped], np.arange(len(self.values) + 1))

    def places(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the number of each cell's value; -1 if never seen, -2 if missing and not coded."""
        return self.lookup.places(column)

    def encode(self, places: NDArray[np.int64], score: NDArray[np.float64] | None) -> pl.Series:
        """Return the codes of cells, by the numbers of their values and their rows' scores."""
        unseen = int((places == UNSEEN).sum())
        if unseen and self.unseen == "error":
            raise SchemaError(
                f"Column {self.name!r} has {unseen} cells whose values were not there at the fit.",
                hint='Fit the codec to all categories, or make it with unseen="reserve".',
            )
        grouped, starts = self.siblings()
        # Behind all codes, what a cell gets that is missing, and one that was never seen.
        codes_of = np.concatenate([grouped, [0, self.reserved]])
        first = np.append(starts[:-1], [len(grouped), len(grouped) + 1])
        if score is None:
            codes = codes_of[first][places]
        else:
            codes = codes_of[first[places] + self._within(places, score)]
        coded = pl.Series(self.token, codes)
        missing = places == MISSING
        return coded.set(pl.Series(missing), None) if missing.any() else coded

    def decode(self, coded: pl.Series) -> pl.Series:
        """Return the values of codes."""
        places = self.decoded(coded)
        taken = pl.Series(places)
        if (places < 0).any():
            taken = taken.set(pl.Series(places < 0), None)
        return self.values.gather(taken).alias(self.name)

    def decoded(self, coded: pl.Series) -> NDArray[np.int64]:
        """Return the numbers of cells' values, `UNSEEN` for the reserved code, and `MISSING`."""
        codes, present = whole_codes(coded, name=self.name, hidden=self.hidden)
        return np.where(present, self.places_of(codes, present), MISSING)

    def places_of(self, codes: NDArray[np.int64], present: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the numbers of the values of codes, `UNSEEN` for the reserved one."""
        none = (codes < 0) | (codes >= len(self.value_of))
        places: NDArray[np.int64] = np.append(self.value_of, UNSEEN)[np.where(none, -1, codes)]
        lost = int((present & none).sum())
        if lost:
            raise DataError(
                f"Column {self.name!r} has {lost} codes that stand for no value of the fit.",
                hint="They were made by another codec, or changed.",
            )
        return places

    def _within(self, places: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.int64]:
        from halfmask.kernels.encoding.siblings import count_cuts  # noqa: PLC0415 # numba is heavy

        starts = np.cumsum([0, *map(len, self.cuts)], dtype=np.int64)
        within = np.empty(len(places), dtype=np.int64)
        count_cuts(places, score, np.concatenate([*self.cuts, np.empty(0)]), starts, within)
        return within

    @property
    def reserved(self) -> int:
        """The code of values never seen; -1 where there is none."""
        reserved = np.flatnonzero(self.value_of < 0)
        return int(reserved[0]) if len(reserved) else -1
