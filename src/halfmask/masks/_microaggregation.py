"""Microaggregation: rows in groups of at least k near rows, each written as its group's average."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits, counted_claim
from halfmask.masks._mixed_points import MixedColumn, mixed_points, standard_points
from halfmask.masks._numbers import DECLARE_TYPE
from halfmask.masks._ordered_columns import check_orders
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.claims import Claim
    from halfmask.masks._mask import ReadColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class Microaggregation(CheckedMask):
    """Write the average of at least k near rows in the place of each of them.

    Parameters
    ----------
    columns
        The columns that are grouped and written.
    k
        The least rows of a group, at least 2. A group has at most 2k - 1.
    method
        ``"mdav"``: numbers and dates, by squared differences of standardized values. ``"gower"``:
        columns of any kind. ``"univariate"``: each column by itself, with the least squared error.
    by
        Strata: rows are grouped only with rows that are equal in these columns.
    orders
        For an ordinal column of texts, its values from low to high. Only for ``"gower"``. Columns
        whose type has an order need none: polars' ``Enum``, ordered categories of pandas, Arrow.
    categories
        Columns whose numbers or order mean nothing: codes of categories. Only for ``"gower"``.
    block_rows
        Of more rows, blocks are made first and grouped by themselves. See the notes.

    Raises
    ------
    ParameterError
        If a parameter can't be, or one is given that the method doesn't use.

    Notes
    -----
    Numbers, dates and times are written as the mean, ordinal columns as the median (of two middle
    values the lower), categories as the most frequent value (of several the first in sorted order).

    ``"mdav"`` is MDAV (Domingo-Ferrer and Mateo-Sanz 2002; generic form: Domingo-Ferrer and Torra
    2005), ``"gower"`` the same with Gower's distance (1971), ``"univariate"`` the optimal groups
    of Hansen and Mukherjee (2003). Of equally near rows the first in the table is taken. A table
    of more than `block_rows` rows is halved at the median of the column that differs most, and
    again until no block has more rows. Then groups are those of MDAV within each block.

    **Guarantees.** With ``"mdav"`` and ``"gower"`` each written combination of `columns` and `by`
    is shared by at least k rows, missing cells included. With ``"univariate"`` each written value
    of one column is; combinations of columns can be unique. What is written depends on the
    table alone, without random draws.

    Two rows with one value of a column can have different averages. So a policy refuses a guarantee
    about a sensitive column that is microaggregated: what is counted could be one value of people.

    **Edge cases.** Integers, decimals, dates and times keep their type: means are exact, rounded
    half to even to the last place of the column. Means of floats have as many digits as they need.
    NaN is a missing cell. Missing cells stay missing. With ``"mdav"`` and ``"gower"``, if a group
    has a missing cell in a column, the column is missing for the whole group. A row with a missing
    cell is therefore far from rows that have the cell: by 3 standard deviations for ``"mdav"``, by
    the whole range for ``"gower"``. With ``"univariate"`` only known cells are grouped. Fewer than
    k rows, in the table or a stratum, are refused.

    Examples
    --------
    >>> people = pl.DataFrame({"age": [20, 61, 22, 60, 25], "pay": [1.0, 9.0, 2.0, 7.0, 3.0]})
    >>> mask = Microaggregation(columns=("age", "pay"), k=2)
    >>> mask.fit(people, bytes(32)).apply(people, 0).rows()
    [(22, 2.0), (60, 8.0), (22, 2.0), (60, 8.0), (22, 2.0)]
    """

    name: ClassVar[str] = "microaggregation"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True  # the nearest group
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    traits: ClassVar[MaskTraits] = MaskTraits(
        rewrites=True, splits_values=True, takes_order=True, unstated=("orders",)
    )

    columns: tuple[str, ...]
    k: int = field(metadata={"ge": 2})
    method: Literal["mdav", "gower", "univariate"] = "mdav"
    by: tuple[str, ...] = ()
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    block_rows: int = field(default=100_000, metadata={"ge": 1})

    def _check_together(self) -> None:
        check_apart(self.columns, self.by, mask=self.name, named="by")
        check_orders(self.orders, self.columns, mask=self.name)
        kinds = [*self.orders, *self.categories]
        if kinds and self.method != "gower":
            raise ParameterError(
                f"The method {self.method!r} of the mask 'microaggregation' is for numbers, and "
                "has no 'orders' or 'categories'.",
                hint="Choose method='gower'.",
            )
        unknown = [name for name in kinds if name not in self.columns]
        if unknown or len(set(kinds)) < len(kinds):
            raise ParameterError(
                "The 'orders' and 'categories' of the mask 'microaggregation' must name columns "
                "that it groups, each once."
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The strata."""
        return self.by

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        apart = ("grouped-by-column",) if self.method == "univariate" else ()
        return ("exact-averages", *apart, "nulls-visible", "outlier-visible")

    def claims(self, columns: Sequence[str], read: ReadColumns) -> list[Claim]:
        """Return the claim that k rows share each combination; see `ClaimingMask`.

        With ``"univariate"`` there is one claim a column. A missing cell is a value of its own.
        Nothing is claimed where fewer rows are counted, such as after sampling.
        """
        apart = self.method == "univariate"
        found = []
        for names in [[name] for name in columns] if apart else [list(columns)]:
            smallest = read(names).group_by(names).len()["len"].min()
            if isinstance(smallest, int) and smallest >= self.k:
                evidence = {"smallest": smallest}
                found.append(counted_claim("groups-of-k", names, evidence=evidence, k=self.k))
        return found

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return the columns' own types; see `TableMask`."""
        for name in self.columns:
            dtype = dtypes[name]
            if self._is_number(name, dtype):
                continue
            if self.method != "gower":
                raise SchemaError(
                    f"Column {name!r} has the mask 'microaggregation', whose method "
                    f"{self.method!r} is for numbers, dates and times. "
                    f"Got the type {dtype.base_type().__name__}.",
                    hint=f"{DECLARE_TYPE}, or choose method='gower'.",
                )
            is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
            if not (is_text or dtype == pl.Boolean or name in self.categories):
                raise SchemaError(
                    f"Column {name!r} has the mask 'microaggregation', which is for single values. "
                    f"Got the type {dtype.base_type().__name__}."
                )
            if name in self.orders and not is_text:
                raise SchemaError(
                    f"Column {name!r} has an order, which is for texts. "
                    f"Got the type {dtype.base_type().__name__}."
                )
        return {name: dtypes[name] for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> HeldColumns:
        """Return the plan, which holds the written columns of all rows; see `TableMask`.

        Raises
        ------
        DataError
            If the table or a stratum has fewer than k rows, or a number is infinite.
        """
        self.written(table.schema)
        if not table.height:
            return HeldColumns(table.select(self.columns))
        columns = [self._column(table[name]) for name in self.columns]
        strata = list(self._strata(table))
        if self.method == "univariate":
            return HeldColumns(pl.DataFrame([self._alone(it, strata) for it in columns]))
        group = self._groups(columns, strata)
        written = [column.written(group, mask=self.name) for column in columns]
        return HeldColumns(pl.DataFrame(written))

    def _is_number(self, name: str, dtype: pl.DataType) -> bool:
        return (dtype.is_numeric() or dtype.is_temporal()) and name not in self.categories

    def _column(self, cells: pl.Series) -> MixedColumn:
        order = self.orders.get(cells.name)
        if isinstance(cells.dtype, pl.Enum) and cells.name not in (*self.orders, *self.categories):
            order = tuple(cells.dtype.categories)
        is_number = self._is_number(cells.name, cells.dtype)
        return MixedColumn.of(cells, order=order, is_number=is_number, mask=self.name)

    def _strata(self, table: pl.DataFrame) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of each stratum, in order; raise if one has too few."""
        rows = pl.Series("\0row", np.arange(table.height))
        if self.by:
            parts = (
                table.select(self.by).with_columns(rows).partition_by(self.by, maintain_order=True)
            )
        else:
            parts = [rows.to_frame()]
        few = [part.height for part in parts if part.height < self.k]
        if few:
            where = f"{len(few)} strata have" if self.by else "the table has"
            raise DataError(
                f"The mask 'microaggregation' makes groups of at least {self.k} rows, and {where} "
                f"only {min(few)}{' or a few more' if len(few) > 1 else ''}.",
                hint="Choose a smaller k, or fewer strata." if self.by else "Choose a smaller k.",
            )
        for part in parts:
            yield part["\0row"].to_numpy()

    def _groups(
        self, columns: list[MixedColumn], strata: list[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        from halfmask.kernels.partition.mdav import PointColumns, mdav_groups  # noqa: PLC0415 # the compiler loads late

        if self.method == "mdav":
            points = standard_points(columns)
            kinds = PointColumns.means(points.shape[1])
        else:
            points, kinds = mixed_points(columns)
        group, n_groups = np.empty(len(points), dtype=np.int64), 0
        for rows in strata:
            found = mdav_groups(points[rows], kinds.of(rows), k=self.k, block_rows=self.block_rows)
            group[rows] = found + n_groups
            n_groups += int(found.max()) + 1
        return group

    def _alone(self, column: MixedColumn, strata: list[NDArray[np.int64]]) -> pl.Series:
        """Return a column that is grouped by itself; its missing cells stay missing."""
        from halfmask.kernels.partition.univariate import sorted_groups  # noqa: PLC0415 # the compiler loads late

        points = standard_points([column])[:, 0]
        known = column.cells.is_not_null().to_numpy()
        group, n_groups = np.full(len(points), -1, dtype=np.int64), 0
        for rows in strata:
            held = rows[known[rows]]
            if not len(held):
                continue
            if len(held) < self.k:
                raise DataError(
                    f"Column {column.cells.name!r} has {len(held)} known cells in the table or a "
                    f"stratum. The mask 'microaggregation' makes groups of at least {self.k}.",
                    hint="Choose a smaller k, or method='mdav'.",
                )
            order = held[np.argsort(points[held], kind="stable")]
            group[order] = sorted_groups(points[order], self.k) + n_groups
            n_groups = int(group[order].max()) + 1
        cells = column.cells.filter(pl.Series(known))
        averages = MixedColumn(cells=cells, average="mean").written(group[known], mask=self.name)
        places = np.cumsum(known) - 1
        return averages.gather(pl.Series(np.where(known, places, -1)).replace(-1, None))
