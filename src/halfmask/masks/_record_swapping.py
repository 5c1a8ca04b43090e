"""Targeted record swapping: records at risk change places with similar ones elsewhere."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from halfmask._errors import ColumnWarning, DataError, ParameterError
from halfmask._foreign import need
from halfmask._random import keyed_order
from halfmask._validation import decimal
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits
from halfmask.masks._row_draws import row_fractions
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks._value_counts import check_single

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetedRecordSwapping(CheckedMask):
    """Swap the areas of records at risk with those of similar records elsewhere.

    Parameters
    ----------
    columns
        The areas, the largest first, such as ``("region", "district")``.
    risk
        The columns by which a record stands out in its area.
    k
        A record is at risk in an area where fewer than k records agree with it in ``risk``.
    swap_rate
        The share of households, or of records, that are swapped at least, 0 to 1.
    similar
        Columns that swapped records agree in.
    household
        The column that says which records move together.

    Raises
    ------
    ParameterError
        If columns are missing or in two of the lists, k is below 2, or the rate is no share.

    Notes
    -----
    Targeted record swapping for census data (Shlomo, Tudor and Groom 2010), as sdcMicro's
    ``recordSwap`` has it. Level by level, from the largest areas to the smallest, each household
    with a record at risk is swapped with a random free one of another area of this level. One
    within the same larger area comes first. Then random households are swapped between the
    smallest areas until the rate is reached. Each is swapped once.

    **Guarantees.** Only the areas change. Swapped households agree in the number of their records
    and in ``similar``, record by record. So each count over an area and ``similar`` is that of
    before, at each level. A household at risk stays only where no free similar one is left
    in another area; a warning says how many stay. Draws are unknown without the key.

    **Edge cases.** Records whose area is missing stay. A missing household is a household of one.
    A household with records in several areas is an error. The more columns are ``similar``, the
    fewer households have a partner. At risk are records of the sample, not of the population.

    Examples
    --------
    >>> people = pl.DataFrame({"town": ["A", "A", "A", "B", "B"], "job": ["x", "x", "z", "x", "x"]})
    >>> mask = TargetedRecordSwapping(columns=("town",), risk=("job",), k=2, swap_rate=0.0)
    >>> mask.fit(people, bytes(32)).apply(people, 0)["town"][2]
    'B'
    """

    name: ClassVar[str] = "record-swapping"
    coarsens: ClassVar[bool] = False
    is_matchable: ClassVar[bool] = True  # with the probability that a record isn't swapped
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    weaknesses: ClassVar[tuple[str, ...]] = ("left-out-values", "mostly-true", "nulls-visible")

    columns: tuple[str, ...]
    risk: tuple[str, ...]
    k: int = field(metadata={"ge": 2})
    swap_rate: float = field(metadata={"ge": 0, "le": 1})
    similar: tuple[str, ...] = ()
    household: str | None = None

    def _check_together(self) -> None:
        for named in ("risk", "similar"):
            check_apart(self.columns, getattr(self, named), mask=self.name, named=named)
        if not self.risk:
            raise ParameterError(
                f"The mask {self.name!r} has no columns of 'risk'.", hint="Name one at least."
            )
        if self.household is not None and self.household in (*self.columns, *self.similar):
            raise ParameterError(
                f"The 'household' of the mask {self.name!r} is also one of its other columns."
            )

    @property
    def traits(self) -> MaskTraits:
        """The household: records of one must stay records of one."""
        return MaskTraits(keyed_by=() if self.household is None else (self.household,))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of risk, those that agree, and the household."""
        return tuple(dict.fromkeys((*self.risk, *self.similar, *self.traits.keyed_by)))

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the areas' own types; see `TableMask`."""
        for name in (*self.columns, *self.reads):
            check_single(name, dtypes[name], mask=self.name)
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the areas of all rows; see `TableMask`.

        Warns
        -----
        ColumnWarning
            If records at risk have no partner.
        """
        need("numba")
        self.written(table.schema)
        households = _Households.of(table, self)
        partner = _Swaps(households, key).made(swap_rate=self.swap_rate)
        left = int((households.at_risk[-1] & (partner == np.arange(len(partner)))).sum())
        if left:
            warnings.warn(
                f"The mask {self.name!r} leaves {left} of {int(households.at_risk[-1].sum())} "
                f"{'records' if self.household is None else 'households'} at risk in their area: "
                "no similar one of another area is free.",
                ColumnWarning,
                stacklevel=2,
            )
        source = households.first_row[partner[households.of_row]]
        return HeldColumns(table.select(self.columns)[source])


@dataclass(frozen=True, slots=True)
class _Households:
    """What is known of each household: its records' first row, areas, profile and risks."""

    of_row: NDArray[np.int64]
    first_row: NDArray[np.int64]
    areas: list[NDArray[np.int64]]
    profile: NDArray[np.int64]
    at_risk: list[NDArray[np.bool_]]
    may_move: NDArray[np.bool_]

    @classmethod
    def of(cls, table: pl.DataFrame, mask: TargetedRecordSwapping) -> _Households:
        rows = np.arange(table.height)
        of_row = rows
        if mask.household is not None:
            ids = table[mask.household]
            alone = np.where(ids.is_null().to_numpy(), rows, -1)
            of_row = _codes([ids, pl.Series("alone", alone)])
        n = int(of_row.max(initial=-1)) + 1
        first_row = np.full(n, table.height)
        np.minimum.at(first_row, of_row, rows)
        area_of_row = [
            _codes(table.select(mask.columns[: i + 1]).get_columns())
            for i in range(len(mask.columns))
        ]
        apart = of_row[area_of_row[-1] != area_of_row[-1][first_row[of_row]]]
        if len(apart):
            raise DataError(
                f"The table has {len(np.unique(apart))} households with records in several areas "
                f"of the mask {mask.name!r}.",
                hint="Give each household one area, or leave out 'household'.",
            )
        risk = _codes(table.select(mask.risk).get_columns())
        at_risk = []
        for areas in area_of_row:
            cells = _codes([pl.Series("area", areas), pl.Series("risk", risk)])
            rare = np.bincount(cells)[cells] < mask.k
            at_risk.append(np.bincount(of_row, weights=rare, minlength=n) > 0)
        missing = table.select(pl.any_horizontal(pl.col(mask.columns).is_null())).to_series()
        return cls(
            of_row=of_row,
            first_row=first_row,
            areas=[areas[first_row] for areas in area_of_row],
            profile=_profiles(of_row, _codes(table.select(mask.similar).get_columns())),
            at_risk=[it & ~missing.to_numpy()[first_row] for it in at_risk],
            may_move=~missing.to_numpy()[first_row],
        )


def _codes(columns: Sequence[pl.Series]) -> NDArray[np.int64]:
    """Return a number for each different combination of cells, from 0; zeros without columns."""
    if not columns:
        return np.zeros(0, np.int64)
    frame = pl.DataFrame([each.alias(str(i)) for i, each in enumerate(columns)])
    codes = frame.select(pl.struct(pl.all()).rank("dense")).to_series()
    return codes.to_numpy().astype(np.int64) - 1


def _profiles(of_row: NDArray[np.int64], similar: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for the records of each household: how many, and what they agree in."""
    records = pl.DataFrame({"of": of_row, "is": similar if len(similar) else np.zeros_like(of_row)})
    joined = (
        records.sort("of", "is")
        .group_by("of", maintain_order=True)
        .agg(pl.col("is").cast(pl.String).str.join(","))
    )
    return _codes([joined["is"]])


class _Swaps:
    """The partners of households, found level by level."""

    def __init__(self, households: _Households, key: bytes) -> None:
        n = len(households.first_row)
        self._households = households
        self._order = keyed_order(n, key=key)
        self._draws = row_fractions(n, key=key, stream=1)
        self._partner = np.arange(n)

    def made(self, *, swap_rate: float) -> NDArray[np.int64]:
        """Return the partner of each household, itself where it has none."""
        known, n = self._households, len(self._order)
        for level in range(len(known.areas)):
            self._swap(known.at_risk[level], level, room=n)
        wanted = math.ceil(decimal(swap_rate) * n)
        self._swap(known.may_move, len(known.areas) - 1, room=wanted)
        return self._partner

    def _swap(self, wanted: NDArray[np.bool_], level: int, *, room: int) -> None:
        """Swap until so many households are swapped; partners in the same larger area first."""
        known = self._households
        nowhere = np.zeros_like(known.profile)
        for parent in [known.areas[level - 1], nowhere] if level else [nowhere]:
            swapped = int((self._partner != np.arange(len(self._partner))).sum())
            if swapped < room and wanted.any():
                group = _codes([pl.Series(known.profile), pl.Series(parent)])
                self._swap_within(group, wanted, level, room - swapped)

    def _swap_within(
        self, group: NDArray[np.int64], wanted: NDArray[np.bool_], level: int, room: int
    ) -> None:
        from halfmask.kernels.swapping.areas import (  # noqa: PLC0415 # numba takes a second
            swap_between_areas,
        )

        area = self._households.areas[level]
        some = self._order[self._households.may_move[self._order]]
        members = some[np.argsort(group[some], kind="stable")]
        starts = np.searchsorted(group[members], np.arange(int(group.max()) + 2))
        pair = _codes([pl.Series(group), pl.Series(area)])
        chosen = self._order[wanted[self._order]]
        swap_between_areas(
            chosen, members, starts, group, area, pair, self._draws, self._partner, room
        )
