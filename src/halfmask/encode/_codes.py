"""Columns of categories as keyed codes, frequent ones split, or as ranks, and fast look-ups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask.encode._ticks import from_ticks, read_only, to_ticks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.encode._ticks import Numbers


def whole_codes(
    coded: pl.Series, *, name: str, hidden: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each cell's code, 0 where it is missing, and which cells have one."""
    # A text file's column of whole numbers with missing cells may have been read as floats.
    codes = coded.cast(pl.Int64, strict=False)
    wrong = codes.null_count() - coded.null_count()
    if not wrong and not coded.dtype.is_integer():
        wrong = int((codes.cast(coded.dtype) != coded).sum())
    if wrong:
        raise DataError(
            f"Column {name!r} has {wrong} codes that are no whole numbers of 64 bits.",
            hint="Decode the encoded rows unchanged.",
        )
    if hidden and codes.null_count():
        raise DataError(
            f"Column {name!r} has {codes.null_count()} missing codes; encode gave none.",
            hint="Decode the encoded rows unchanged.",
        )
    return codes.fill_null(0).to_numpy(), coded.is_not_null().to_numpy()


#: The place of a value that wasn't there at the fit.
UNSEEN = -1
#: The place of a missing cell.
MISSING = -2
_MAX_BUCKETS = 1 << 20


class Buckets:
    """Sorted numbers cut into buckets of about equal width, so that few are looked at in each."""

    __slots__ = ("scale", "starts", "values")

    def __init__(self, values: NDArray[Any]) -> None:
        from halfmask.kernels.encoding.ranking import start_buckets  # noqa: PLC0415 # numba is heavy

        n_buckets = min(_MAX_BUCKETS, 1 << (2 * len(values)).bit_length())
        width = float(values[-1]) - float(values[0])
        with np.errstate(over="ignore", divide="ignore"):
            scale = float(np.float64(n_buckets) / np.float64(width))
        self.values = read_only(values)
        self.scale = scale if np.isfinite(scale) and np.isfinite(width) else 0.0
        self.starts = np.empty(n_buckets + 1, dtype=np.int64)
        start_buckets(self.values, self.scale, self.starts)


class Lookup:
    """The values of a categorical column, by their places."""

    __slots__ = ("_buckets", "_enum", "_values")

    def __init__(self, values: pl.Series) -> None:
        self._values = values
        self._enum: pl.Enum | None = None
        self._buckets: Buckets | None = None

    def places(self, column: pl.Series) -> NDArray[np.int64]:
        """Return each cell's place; `UNSEEN` for no value, `MISSING` if missing and no value.

        A column of another type than the values' is the caller's mistake.
        """
        places = self._found(column)
        if self._values.null_count() and column.null_count():
            places[column.is_null().to_numpy()] = int(self._values.is_null().arg_true()[0])
        return places

    def _found(self, column: pl.Series) -> NDArray[np.int64]:
        dtype = column.dtype
        if not len(self._values) or self._values.null_count() == len(self._values):
            return np.where(column.is_null().to_numpy(), MISSING, UNSEEN)
        if dtype == pl.String:
            return self._of_texts(column)
        if dtype == pl.Boolean or (
            (dtype.is_integer() or dtype.is_temporal()) and dtype not in {pl.Int128, pl.UInt128}
        ):
            return self._of_ticks(column)
        return self._joined(column)

    def _of_texts(self, column: pl.Series) -> NDArray[np.int64]:
        if self._enum is None:
            self._enum = pl.Enum(self._values.drop_nulls())
        physical = column.cast(self._enum, strict=False).to_physical()
        if not physical.null_count():
            return physical.to_numpy().astype(np.int64)
        places = physical.cast(pl.Int64).fill_null(UNSEEN).to_numpy().copy()
        if column.null_count():
            places[column.is_null().to_numpy()] = MISSING
        return places

    def _of_ticks(self, column: pl.Series) -> NDArray[np.int64]:
        from halfmask.kernels.encoding.ranking import find_places  # noqa: PLC0415 # numba is heavy

        if self._buckets is None:
            self._buckets = Buckets(to_ticks(self._values.drop_nulls())[0])
        known = self._buckets
        ticks, present = to_ticks(column)
        places = np.empty(len(ticks), dtype=np.int64)
        find_places(ticks, present, known.values, known.starts, known.scale, places)
        return places

    def _joined(self, column: pl.Series) -> NDArray[np.int64]:
        values = self._values.drop_nulls()
        known = pl.DataFrame({"value": values, "place": np.arange(len(values))})
        cells: Any = pl.DataFrame({"value": column})
        joined = cells.join(known, on="value", how="left", maintain_order="left")
        places: NDArray[np.int64] = joined["place"].fill_null(UNSEEN).to_numpy().copy()
        if column.null_count():
            places[column.is_null().to_numpy()] = MISSING
        return places


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


# How far apart codes of neighbouring values are: `STEP` of `halfmask.kernels.encoding.ranking`,
# which is slow to import.
STEP = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A strictly increasing map of a column's fitted values to integer codes.

    Guarantees
    ----------
    Codes of neighbouring fitted values are four apart, and decode bit-equal. A value between two
    fitted ones is coded next to the nearer of them, the lower at a tie: exactly on the side of the
    middle between them where a threshold of scikit-learn's puts it. Such a code, and one beyond
    the range, can't be decoded, and `decode` says so. Unless missing cells are encoded, zero has
    code 0, and other codes the sign of their values: LightGBM gives zero a bin of its own, and cuts
    either side of it by itself. So which code is zero's, and which values are negative, shows.
    """

    name: str
    token: str
    dtype: pl.DataType
    values: Numbers
    null_at: int
    out_of_range: str
    _buckets: Buckets | None = field(init=False, repr=False, compare=False, default=None)

    def encode(self, column: pl.Series) -> pl.Series:
        """Return the codes of a column of the fitted type."""
        from halfmask.kernels.encoding.ranking import rank_codes  # noqa: PLC0415 # numba is heavy

        ticks, present = to_ticks(column)
        known = self._known(present)
        codes = np.empty(len(ticks), dtype=np.int64)
        outside = rank_codes(
            ticks, present, known.values, known.starts, known.scale, self.null_at,
            ticks.dtype != np.float64, codes,
        )  # fmt: skip
        if outside and self.out_of_range == "error":
            raise SchemaError(
                f"Column {self.name!r} has {outside} cells outside of its range at the fit.",
                hint='Check the unit, or make the codec with out_of_range="extrapolate".',
            )
        codes -= self._zero
        coded = pl.Series(self.token, codes)
        if self.null_at >= 0 or present.all():
            return coded
        return coded.set(pl.Series(~present), None)

    def decode(self, coded: pl.Series) -> pl.Series:
        """Return the values of codes."""
        from halfmask.kernels.encoding.ranking import rank_values  # noqa: PLC0415 # numba is heavy

        codes, there = whole_codes(coded, name=self.name, hidden=self.null_at >= 0)
        codes = codes + self._zero
        ticks = np.empty_like(self.values, shape=len(codes))
        present = np.empty(len(codes), dtype=np.bool_)
        lost = rank_values(codes, there, self.values, self.null_at, ticks, present)
        if lost:
            raise DataError(
                f"Column {self.name!r} has {lost} codes of values that were not there "
                "at the fit: an encoding for trees says only where they lie.",
                hint="Decode rows that the codec was fitted to; predictions decode for any row.",
            )
        return from_ticks(ticks, present, name=self.name, dtype=self.dtype)

    @property
    def _zero(self) -> int:
        """What four times a rank is at zero; between two ranks where no fitted value is zero.

        0 where missing cells are encoded: their sign might be one that no value has.
        """
        if not len(self.values) or self.null_at >= 0:
            return 0
        zero = to_ticks(pl.Series(self.name, [0]).cast(self.dtype))[0][0]
        place = int(np.searchsorted(self.values, zero))
        fitted = place < len(self.values) and self.values[place] == zero
        return STEP * place - (0 if fitted else STEP // 2)

    def _known(self, present: NDArray[np.bool_]) -> Buckets:
        """Return the values in buckets; a column without any has one for its missing cells."""
        if not len(self.values) and present.any():
            raise SchemaError(
                f"Column {self.name!r} had no value at the fit and has {int(present.sum())} now.",
                hint="Fit the codec to rows that have values.",
            )
        known = self._buckets
        if known is None:
            known = Buckets(
                self.values if len(self.values) else np.zeros_like(self.values, shape=1)
            )
            object.__setattr__(self, "_buckets", known)
        return known
