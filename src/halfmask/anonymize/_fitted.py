"""From a summary to cells: code the columns, grow the partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._validation import rows_of_share
from halfmask.anonymize._growth import check_whole, grow_partition
from halfmask.anonymize._lattice_growth import choose_levels
from halfmask.anonymize._lattice_partition import LatticePartition
from halfmask.anonymize._summary import PersonCodes, SensitiveCodes, written_codes
from halfmask.anonymize.coding import Coding, code_column, relative_weights
from halfmask.anonymize.method import as_guides
from halfmask.data import leaf_text
from halfmask.engines import map_in_order
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.anonymize._growth import GrowthPlan
    from halfmask.anonymize._partition import Partition
    from halfmask.anonymize._sealed_plan import SealedPlan
    from halfmask.anonymize._summary import Summary
    from halfmask.anonymize.coding import RangeGrid
    from halfmask.anonymize.lattice import NodePeople
    from halfmask.anonymize.method import Method
    from halfmask.data import Column, Schema
    from halfmask.guarantees import Guarantee, Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Cells, and the coded rows that they were grown from."""

    codings: tuple[Coding, ...]
    codes: tuple[NDArray[np.integer], ...]
    sensitive: tuple[SensitiveCodes, ...]
    guarantees: tuple[Guarantee, ...]
    partition: Partition
    cell_of_row: NDArray[np.int32]
    persons: PersonCodes | None = None

    def __repr__(self) -> str:
        return f"Fitted({self.partition!r})"

    def classes(self) -> Classes:
        """Count the rows that were kept, by their cells.

        Where a guarantee reads what is written for a cell, its number is there too; with
        full-domain generalization that of the node at the column's level.
        """
        kept = self.cell_of_row >= 0
        classes = Classes.from_codes(
            self.cell_of_row[kept],
            self.partition.n_cells,
            {column.name: (column.codes[kept], column.n_values) for column in self.sensitive},
            person_of_row=None if self.persons is None else self.persons.codes[kept],
        )
        if not any(guarantee.needs_written for guarantee in self.guarantees):
            return classes
        if isinstance(self.partition, LatticePartition):
            return replace(classes, written=self.partition.nodes.astype(np.int64))
        columns = (
            (self.cell_of_row[kept], codes[kept], coding.n_values)
            for codes, coding in zip(self.codes, self.codings, strict=True)
        )
        return replace(classes, written=written_codes(columns, classes.n_classes))

    def without(self, rows: NDArray[np.bool_]) -> Fitted:
        """Return the same cells without some rows."""
        return replace(self, cell_of_row=np.where(rows, np.int32(-1), self.cell_of_row))

    def judge(self) -> list[Judgement]:
        """Judge the rows that were kept, by their cells; a population isn't counted here."""
        classes = self.classes()
        judged = (guarantee for guarantee in self.guarantees if not guarantee.needs_population)
        return [guarantee.judge(classes) for guarantee in judged]


def fit_cells(  # noqa: PLR0913 # each says one thing, by its name
    summary: Summary,
    schema: Schema,
    *,
    guarantees: Sequence[Guarantee],
    method: Method,
    split_targets: Sequence[str],
    guides: NDArray[np.float64] | None,
    max_suppression_fraction: float = 0.0,
    person: str | None = None,
    grids: Mapping[str, RangeGrid] | None = None,
    people: Callable[[Sequence[Coding]], NodePeople] | None = None,
    reused: SealedPlan | None = None,
) -> Fitted:
    """Code a summary's rows and grow their partition, or find their cells in an earlier one."""
    rows = summary.rows
    if split_targets and guides is None:
        guides = np.hstack([as_guides(_column(rows[name])) for name in split_targets])
    target = None if guides is None else guides[:, 0]

    def code(name: str) -> tuple[Coding, NDArray[np.integer]]:
        coding, coded = _coded(rows[name], summary, schema[name], (grids or {}).get(name))
        coding, coded = _arranged(coding, coded, target, reused)
        return coding, coded.astype(np.min_scalar_type(max(0, coding.n_codes - 1)))

    codings, codes = zip(*map_in_order(schema.quasi_identifiers, code), strict=True)
    guarantees = tuple(_known_values(each, summary, schema) for each in guarantees)
    sensitive = _sensitive_codes(summary, guarantees)
    persons = None if person is None else PersonCodes.of(rows[person], summary.values(person))
    plan = method.plan_growth(guides)
    partition: Partition
    if plan.lattice is None and reused is not None:
        check_whole(guarantees, sensitive, rows.height, len(codes), persons)
        partition, cell_of_row = reused.cells(codings, codes)
    elif plan.lattice is None:
        partition, cell_of_row = _grow_cells(codings, codes, sensitive, guarantees, plan, persons)
    else:
        partition, cell_of_row = choose_levels(
            codings,
            codes,
            sensitive=sensitive,
            guarantees=guarantees,
            wanted=plan.lattice,
            guides=guides,
            persons=persons,
            max_suppressed=rows_of_share(max_suppression_fraction, rows.height),
            people=None if people is None else people(codings),
        )
    return Fitted(
        codings=tuple(codings),
        codes=tuple(codes),
        sensitive=sensitive,
        guarantees=guarantees,
        partition=partition,
        cell_of_row=cell_of_row,
        persons=persons,
    )


def _grow_cells(
    codings: Sequence[Coding],
    codes: Sequence[NDArray[np.int64]],
    sensitive: tuple[SensitiveCodes, ...],
    guarantees: tuple[Guarantee, ...],
    plan: GrowthPlan,
    persons: PersonCodes | None,
) -> tuple[Partition, NDArray[np.int32]]:
    """Return the cells that are cut or grouped, and the cell of each row."""
    axes = None
    if plan.search == "nearest":
        from halfmask.anonymize._axes import Axes  # noqa: PLC0415 # the compiler loads late

        axes = Axes.of(codings, codes)
    return grow_partition(
        codes,
        [coding.n_codes for coding in codings],
        [coding.boundaries for coding in codings],
        sensitive=sensitive,
        guarantees=guarantees,
        plan=plan,
        weights=relative_weights(coding.column.weight for coding in codings),
        axes=axes,
        persons=persons,
    )


def _column(series: pl.Series) -> NDArray[np.generic]:
    if series.dtype.is_numeric():
        return series.fill_null(strategy="mean").to_numpy()
    return series.cast(pl.String).fill_null("").to_numpy()


def _coded(
    series: pl.Series, summary: Summary, column: Column, grid: RangeGrid | None
) -> tuple[Coding, NDArray[np.int64]]:
    distinct = summary.values(column.name)
    ordered = column.kind not in ("categorical", "text", "geo")
    if grid is not None and ordered and grid.fits(distinct.dtype):
        if column.hierarchy is not None:
            raise SchemaError(
                f"Column {column.name!r} has a hierarchy, and its ranges are to end elsewhere.",
                hint='Write recoding = { name = "level" } for the column, or drop its hierarchy.',
            )
        coding = code_column(
            column, grid.starts(distinct).unique(), missing=column.name in summary.missing
        )
        coding = replace(coding, grid=grid)
        return coding, coding.codes(series)
    coding = code_column(column, _plain(distinct), missing=column.name in summary.missing)
    if series.dtype != pl.Categorical:
        return coding, coding.codes(series)
    # The rows are numbered already: number the numbers instead of reading the texts again.
    numbers = coding.values.cast(pl.Categorical).to_physical().to_numpy()
    table = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.int64)
    table[numbers] = np.arange(len(numbers))
    coded = table[series.to_physical().fill_null(int(numbers[0]) if len(numbers) else 0).to_numpy()]
    if coding.missing:
        coded[series.is_null().to_numpy()] = coding.n_values
    return coding, coded


def _arranged(
    coding: Coding,
    codes: NDArray[np.int64],
    target: NDArray[np.float64] | None,
    reused: SealedPlan | None,
) -> tuple[Coding, NDArray[np.int64]]:
    """Order categories as earlier ones, or by their rows' mean target: a cut parts what it parts.

    For a single target in squared deviations the best of all subsets is then among the cuts of this
    order: Fisher, "On grouping for maximum homogeneity" (1958).
    """
    order = None
    if reused is not None:
        order = reused.order_of(coding)
    elif target is not None and not coding.ordered and coding.hierarchy is None:
        counts = np.bincount(codes, minlength=coding.n_codes)
        sums = np.bincount(codes, weights=target, minlength=coding.n_codes)
        order = np.argsort((sums / np.maximum(counts, 1))[: coding.n_values], kind="stable")
    if order is None:
        return coding, codes
    rank = np.arange(coding.n_codes)
    rank[order] = np.arange(coding.n_values)
    return replace(coding, values=coding.values.gather(order)), rank[codes]


def _known_values(guarantee: Guarantee, summary: Summary, schema: Schema) -> Guarantee:
    """Return a guarantee that knows the values of its column, and their order."""
    if guarantee.column is None:
        return guarantee
    values = _plain(summary.values(guarantee.column))
    return guarantee.ordered(values, schema[guarantee.column].order).restricted(values)


def _sensitive_codes(
    summary: Summary, guarantees: Sequence[Guarantee]
) -> tuple[SensitiveCodes, ...]:
    orders: dict[str, tuple[str, ...] | None] = {}
    for guarantee in guarantees:
        name, order = guarantee.column, guarantee.order
        if name is None:
            continue
        if guarantee.needs_order:
            order = _natural_order(summary.values(name))
        known = orders.setdefault(name, order)
        if known is not None and order not in (None, known):
            raise ParameterError(
                f"Column {name!r} is to be judged in two different orders at once.",
                hint="Give its guarantees the same hierarchy.",
            )
        orders[name] = known or order
    return tuple(
        SensitiveCodes.of(
            summary.rows[name],
            order=order or _natural_order(summary.values(name)),
            missing=name in summary.missing,
        )
        for name, order in orders.items()
    )


def _natural_order(values: pl.Series) -> tuple[str, ...]:
    return tuple(leaf_text(_plain(values).sort()).to_list())


def _plain(values: pl.Series) -> pl.Series:
    """Return the values as the table had them: a summary keeps texts as numbers of a pool."""
    return values.cast(pl.String) if values.dtype == pl.Categorical else values
