"""A column as small integers: its values in order, missing last; and drawn cells."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from halfmask._errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Fractions with more digits than this have no grid: any number between two values may be drawn.
MAX_DECIMALS = 6
#: Codes at each end of whole numbers that don't decide on their grid, of so many values for each.
MOST_CODES, FEWEST_FOR_A_CODE = 3, 20
#: Of a column that is drawn, so many rows must have a cell that may be written.
MIN_SHARE_WRITTEN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnCodes:
    """The values of one column, and how many rows have each."""

    name: str
    dtype: pl.DataType
    is_number: bool
    values: pl.Series
    counts: NDArray[np.int64]
    decimals: int | None
    step: int

    @classmethod
    def of(cls, cells: pl.Series, *, is_number: bool) -> tuple[Self, NDArray[np.int32]]:
        """Return a column's coding and the code of each row."""
        if cells.dtype.is_nested() or cells.dtype in (pl.Object, pl.Binary):
            raise SchemaError(
                f"Column {cells.name!r} holds {cells.dtype}, which can't be synthesized.",
                hint="Leave it out, or turn it into columns of plain values.",
            )
        plain = cells.fill_nan(None) if cells.dtype.is_float() else cells
        if cells.dtype.is_float() and plain.is_infinite().any():
            raise SchemaError(
                f"Column {cells.name!r} holds infinite numbers.",
                hint="Replace them, or make them missing.",
            )
        if is_number:
            _check_width(plain)
        texts = plain.cast(pl.String) if plain.dtype in (pl.Categorical, pl.Enum) else plain
        values = texts.drop_nulls().unique().sort()
        codes = _places(texts, values)
        counts = np.bincount(codes, minlength=len(values) + 1).astype(np.int64)
        decimals, step = _grid(values) if is_number else (None, 1)
        made = cls(
            name=cells.name,
            dtype=cells.dtype,
            is_number=is_number,
            values=values,
            counts=counts,
            decimals=decimals,
            step=step,
        )
        return made, codes

    def __repr__(self) -> str:
        what = "numbers" if self.is_number else "categories"
        return f"ColumnCodes({self.name!r}, {len(self.values)} {what})"

    @property
    def n_codes(self) -> int:
        """How many codes there are: one for each value, and one for a missing cell."""
        return len(self.values) + 1

    @property
    def missing(self) -> int:
        """The code of a missing cell."""
        return len(self.values)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """The share of known cells below each value, half of its own included; missing is -1."""
        known = self.counts[:-1]
        middle = (np.cumsum(known) - known / 2) / max(1, known.sum())
        return np.append(middle, -1.0)

    def codes_of(self, cells: pl.Series) -> NDArray[np.int32]:
        """Return the codes of other rows; of a value that was never seen, that of a neighbour."""
        if cells.dtype != self.dtype:
            raise SchemaError(
                f"Column {self.name!r} held {self.dtype} at the fit. Got {cells.dtype}.",
                hint="Read the table with the same column types.",
            )
        plain = cells.fill_nan(None) if cells.dtype.is_float() else cells
        return _places(plain.cast(self.values.dtype), self.values)

    def code_of(self, value: object) -> int | None:
        """Return the code of a value, ``None`` for one that the column never had."""
        if value is None:
            return self.missing if self.counts[self.missing] else None
        try:
            asked = pl.Series([value]).cast(self.values.dtype)
        except (TypeError, pl.exceptions.PolarsError):
            return None
        place = int(self.values.search_sorted(asked[0]))
        return place if place < len(self.values) and self.values[place] == asked[0] else None

    def cells(
        self, drawn: Drawn, *, rare: NDArray[np.bool_], rng: np.random.Generator
    ) -> pl.Series:
        """Return drawn codes as cells; a rare number is drawn between it and the one next to it."""
        codes = drawn.codes
        if not len(self.values):
            return pl.Series(self.name, [None] * len(codes), dtype=self.dtype)
        absent = codes == self.missing
        cells = self.values.gather(np.where(absent, 0, codes))
        if self.is_number:
            again = rare[codes] & ~absent
            if again.any():
                cells = self._with(cells, again, self._between(drawn, again, rare, rng))
        if absent.any():
            cells = cells.set(pl.Series(absent), None)
        return cells.cast(self.dtype).alias(self.name)

    def rare(self, min_leaf: int) -> NDArray[np.bool_]:
        """Return which values fewer rows have; missing isn't one."""
        return np.append(self.counts[:-1] < min_leaf, False)

    def drawable(self, codes: NDArray[np.int32], *, min_leaf: int) -> NDArray[np.int32]:
        """Return codes with -1 for rare categories, and for rare numbers without another near."""
        written = ~self.rare(min_leaf)[codes] | (self.is_number and self.has_room(min_leaf))
        if written.mean() < MIN_SHARE_WRITTEN:
            what = "number" if self.is_number else "category"
            raise SchemaError(
                f"Column {self.name!r} has {int((~written).sum())} of {len(codes)} rows with a "
                f"{what} that fewer than {min_leaf} rows have; it can't be written.",
                hint="List it as an identifier, generalize it first, leave it out, or lower "
                "min_leaf.",
            )
        return np.where(written, codes, np.int32(-1))

    def has_room(self, min_leaf: int) -> bool:
        """Return whether a number can be written that isn't a rare end of the column."""
        if len(self.values) < 2:
            return bool(len(self.values)) and not self.rare(min_leaf)[0]
        rare, ends = self.rare(min_leaf), np.array([0, len(self.values) - 1])
        is_inside = self._inside(ends, ends[::-1], rare, np.full(2, 0.5))[1]
        return len(self.values) > 2 or not rare[ends].all() or bool(is_inside.all())

    def _between(
        self,
        drawn: Drawn,
        again: NDArray[np.bool_],
        rare: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> pl.Series:
        """Return numbers between two codes, on the grid of the column, in physical terms.

        The number of the own code isn't among them, nor a rare one of the other code. Where the
        grid has none between, it is the next number inside of the column's rare ends.
        """
        own, other = drawn.codes[again].astype(np.int64), drawn.neighbour[again].astype(np.int64)
        # A group of one number has no neighbour: then the next number in the table is taken.
        # What many rows have can be a code, such as -8: nothing lies between it and amounts.
        alone = (other == own) | (other == self.missing) | ~rare[other]
        side = np.where(rng.random(len(own)) < 0.5, -1, 1)
        other = np.where(alone, self._beside(own, side, rare), other)
        found, is_inside = self._inside(own, other, rare, rng.random(len(own)))
        first, last = _inner_codes(rare)
        if first > last:
            return pl.Series(found)
        beside = np.clip(other, first, last)
        beside = np.where(beside == own, np.clip(2 * own - other, first, last), beside)
        inside = pl.Series(found)
        taken = self.values.to_physical().gather(beside).cast(inside.dtype)
        return inside.zip_with(pl.Series(is_inside), taken)

    def _beside(
        self, own: NDArray[np.int64], side: NDArray[np.int64], rare: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return the next value on a side; on the other one where only that is there, or rare."""
        last = len(self.values) - 1
        next_on, next_off = own + side, own - side
        is_there = (next_on >= 0) & (next_on <= last)
        off_there = (next_off >= 0) & (next_off <= last)
        is_rare, off_rare = rare[np.clip(next_on, 0, last)], rare[np.clip(next_off, 0, last)]
        return np.where(~is_there | (off_there & off_rare & ~is_rare), next_off, next_on)

    def _inside(
        self,
        own: NDArray[np.int64],
        other: NDArray[np.int64],
        rare: NDArray[np.bool_],
        share: NDArray[np.float64],
    ) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
        """Return numbers a share of the way to another code, and whether they are neither's."""
        physical = self.values.to_physical()
        points: NDArray[Any] = (
            physical if physical.dtype.is_float() else physical.cast(pl.Int64)
        ).to_numpy()
        if not physical.dtype.is_float():
            # Steps are counted in whole numbers: floats would be off by one beyond 2**53.
            apart = points[other] - points[own]
            steps = np.sign(apart) * (np.abs(apart) // self.step)
            found = points[own] + _some_steps(steps, rare[other], share) * self.step
        elif self.decimals is None or points[-1] / 2 - points[0] / 2 > 2**52 / 10**self.decimals:
            found = points[own] * (1 - share) + points[other] * share
        else:
            grid = 10.0**self.decimals
            steps = np.rint((points[other] - points[own]) * grid)
            found = points[own] + _some_steps(steps, rare[other], share) / grid
            found = np.round(found, self.decimals)
        found = found.astype(points.dtype)
        return found, (found != points[own]) & ((found != points[other]) | ~rare[other])

    def _with(self, cells: pl.Series, again: NDArray[np.bool_], drawn: pl.Series) -> pl.Series:
        """Return cells with some of them replaced, in order."""
        places = np.zeros(len(cells), dtype=np.int64)
        places[again] = np.arange(len(drawn))
        physical = cells.to_physical()
        new = drawn.cast(physical.dtype).gather(places)
        return of_physical(new.zip_with(pl.Series(again), physical), self.values.dtype)


def _inner_codes(rare: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the first and the last value without the least and greatest, where these are rare."""
    return int(rare[0]), len(rare) - 2 - int(rare[-2])


def _some_steps(
    steps: NDArray[Any], is_other_rare: NDArray[np.bool_], share: NDArray[np.float64]
) -> NDArray[Any]:
    """Return one step at least towards another number, and not as far as a rare one."""
    most = np.maximum(np.abs(steps) - is_other_rare, 1)
    taken = np.minimum(np.floor(share * most).astype(most.dtype) + 1, most)
    signed: NDArray[Any] = np.sign(steps) * taken
    return signed


def of_physical(numbers: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return cells from the numbers that stand for them."""
    if not isinstance(dtype, pl.Decimal):
        return numbers.cast(dtype)
    # A cast would take 125, which stands for 1.25, as the number 125.
    cells = [None if it is None else Decimal(it).scaleb(-dtype.scale) for it in numbers]
    return pl.Series(numbers.name, cells, dtype=dtype)


def _check_width(cells: pl.Series) -> None:
    """Raise where a number, or a difference of two, takes more than 64 bits."""
    physical = cells.to_physical()
    if physical.dtype.is_float() or physical.null_count() == len(physical):
        return
    least, most = int(physical.min()), int(physical.max())  # type: ignore[arg-type] # numbers
    if least < -(2**63) or most >= 2**63:
        what = "numbers that take more than 64 bits with a sign"
    elif most - least >= 2**63:
        what = "numbers whose differences take more than 64 bits with a sign"
    else:
        return
    raise SchemaError(
        f"Column {cells.name!r} holds {what}.",
        hint="Make it a category, an identifier, or a column of floats.",
    )


def _places(cells: pl.Series, values: pl.Series) -> NDArray[np.int32]:
    """Return the place of each cell among the values; missing is one behind the last."""
    if not len(values):
        return np.zeros(len(cells), dtype=np.int32)
    found = values.search_sorted(cells.fill_null(values[0])).cast(pl.Int32).to_numpy().copy()
    np.minimum(found, len(values) - 1, out=found)
    found[cells.is_null().to_numpy()] = len(values)
    return found


def decimals_of(numbers: pl.Series) -> int | None:
    """Return the digits after the point that numbers have at most; None beyond six."""
    if not numbers.dtype.is_float():
        return numbers.dtype.scale if isinstance(numbers.dtype, pl.Decimal) else 0
    known = numbers.drop_nulls().drop_nans().to_numpy()
    every = range(MAX_DECIMALS + 1)
    return next((it for it in every if np.array_equal(np.round(known, it), known)), None)


def _grid(values: pl.Series) -> tuple[int | None, int]:
    """Return the decimals of fractions, and the common step of whole numbers and times."""
    physical = values.to_physical()
    if physical.dtype.is_float():
        return decimals_of(physical), 1
    if physical.dtype.is_decimal() or not len(values):
        return None, 1
    whole = physical.cast(pl.Int64).to_numpy()
    # Codes of what isn't known lie at the ends, such as -8 and 9999, and on no grid.
    cut = min(MOST_CODES, len(whole) // FEWEST_FOR_A_CODE)
    whole = whole[cut : len(whole) - cut]
    return 0, max(1, int(np.gcd.reduce(np.diff(whole)))) if len(whole) > 1 else 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Codes drawn for some rows."""

    codes: NDArray[np.int32]
    neighbour: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Drawn({len(self.codes)} rows)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Donors:
    """The codes of rows in groups, ascending within each."""

    codes: NDArray[np.int32]
    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Donors({len(self.codes)} rows in {len(self.starts)} groups)"

    @classmethod
    def of(
        cls,
        groups: NDArray[np.int64],
        codes: NDArray[np.int32],
        n_groups: int,
        *,
        ends: NDArray[np.int64] | None = None,
    ) -> Self:
        """Gather the codes of each group."""
        drawable = codes >= 0
        own = groups[drawable]
        order = np.lexsort((codes[drawable], own))
        edges = np.append(0, np.cumsum(np.bincount(own, minlength=n_groups)))
        starts = edges[:-1].copy()
        sizes = edges[np.arange(1, n_groups + 1) if ends is None else ends] - starts
        empty = sizes == 0
        starts[empty], sizes[empty] = 0, len(own)
        return cls(codes=codes[drawable][order], groups=own[order], starts=starts, sizes=sizes)

    def drawn(self, groups: NDArray[np.integer], rng: np.random.Generator) -> Drawn:
        """Return for each row the code of a row that is drawn from its group."""
        offsets = (rng.random(len(groups)) * self.sizes[groups]).astype(np.int64)
        places = self.starts[groups] + offsets
        steps = np.where(rng.random(len(groups)) < 0.5, -1, 1)
        others = np.clip(places + steps, 0, len(self.codes) - 1)
        others = np.where(self.groups[others] == self.groups[places], others, places)
        return Drawn(codes=self.codes[places], neighbour=self.codes[others])
