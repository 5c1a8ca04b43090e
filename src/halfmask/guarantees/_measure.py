"""Judge a table by several guarantees at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask._validation import each_name, list_of
from halfmask.data import orders_of, to_polars
from halfmask.guarantees._agreeing_rows import class_codes
from halfmask.guarantees._classes import Classes
from halfmask.guarantees._grouping import check_columns, class_of_row, value_codes
from halfmask.guarantees._guarantee import Guarantee
from halfmask.guarantees._histogram import Histogram

if TYPE_CHECKING:
    from halfmask.guarantees._guarantee import Judgement


def measure(
    frame: object,
    *,
    quasi_identifiers: Sequence[str],
    guarantees: Sequence[Guarantee],
    population: object = None,
) -> list[Judgement]:
    """Group a table by its quasi-identifiers and judge it by each guarantee.

    Parameters
    ----------
    frame
        The table, raw or as released: a frame of polars, pandas or pyarrow.
    quasi_identifiers
        The columns whose values make a class.
    guarantees
        What to judge it by; several may be of one column, also with different hierarchies.
    population
        For guarantees about a population: its people, generalized as the table is. They fit a
        class if they are equal to it in every quasi-identifier.

    Returns
    -------
    list
        One judgement for each guarantee, in their order.

    Raises
    ------
    DataError
        When it is no frame.
    ColumnNotFoundError
        When the table lacks a column.
    HierarchyError
        When a guarantee's hierarchy lacks a value that occurs.
    ParameterError
        When the table has no rows.

    See Also
    --------
    Classes : Counts a table once, for many questions.
    halfmask.protect : Finds classes that keep a guarantee.

    Notes
    -----
    **Guarantees.** Counts are exact, and so is every judgement as its guarantee states it.

    **Edge cases.** Missing is a value of its own. A sensitive column isn't used to group rows by:
    to protect several, so that knowing one doesn't reveal another, name the others as
    quasi-identifiers.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.guarantees import DistinctLDiversity, KAnonymity
    >>> people = pl.DataFrame({"sex": ["f", "f", "m", "m"], "ill": ["flu", "cold", "flu", "flu"]})
    >>> for judgement in measure(
    ...     people,
    ...     quasi_identifiers=["sex"],
    ...     guarantees=[KAnonymity(k=2), DistinctLDiversity(l=2, column="ill")],
    ... ):
    ...     print(judgement.guarantee, judgement.achieved, judgement.holds)
    KAnonymity(k=2) 2.0 True
    DistinctLDiversity(l=2, column='ill') 1.0 False
    """
    quasi_identifiers = each_name(quasi_identifiers, owner="measure")
    list_of(
        "guarantees", lambda it: isinstance(it, Guarantee), owner="measure", guarantees=guarantees
    )
    orders = orders_of(frame)
    frame = frame if isinstance(frame, pl.DataFrame) else to_polars(frame)
    sensitive = [guarantee.column for guarantee in guarantees if guarantee.column is not None]
    check_columns(frame, [*quasi_identifiers, *sensitive])
    people, outside = None, 0
    needs_written = any(guarantee.needs_written for guarantee in guarantees)
    if population is None and not sensitive and not needs_written:
        only_sizes = Classes.of(frame, quasi_identifiers=quasi_identifiers)
        return [guarantee.judge(only_sizes) for guarantee in guarantees]
    of_row, n_classes = class_of_row(frame, quasi_identifiers=quasi_identifiers)
    sizes = np.bincount(of_row, minlength=n_classes).astype(np.int64)
    if population is not None:
        people, outside = _people(frame, population, quasi_identifiers, of_row)
    written = None
    if needs_written:
        written = class_codes(frame, of_row, n_classes, quasi_identifiers)
    counted: dict[tuple[str, tuple[str, ...] | None], Histogram] = {}
    judgements = []
    for guarantee in guarantees:
        histograms = {}
        name = guarantee.column
        if name is not None:
            guarantee = guarantee.ordered(frame[name], orders.get(name, ()))  # noqa: PLW2901
            order = guarantee.order
            key = (name, order)
            if key not in counted:
                codes, n_values = value_codes(frame[name], order=order)
                counted[key] = Histogram.count(
                    of_row, codes, n_classes=n_classes, n_values=n_values
                )
            histograms = {name: counted[key]}
        classes = Classes(sizes, histograms, people, outside=outside, written=written)
        judgements.append(guarantee.judge(classes))
    return judgements


def _people(
    frame: pl.DataFrame,
    population: object,
    names: Sequence[str],
    of_row: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], int]:
    """Return how many people equal each class, and how many equal none."""
    people = population if isinstance(population, pl.DataFrame) else to_polars(population)
    check_columns(people, names)
    both = pl.concat([frame.select(names), people.select(names)], how="vertical_relaxed")
    of_both, n_both = class_of_row(both, quasi_identifiers=names)
    there = np.bincount(of_both[frame.height :], minlength=n_both).astype(np.int64)
    number = np.empty(int(of_row.max(initial=-1)) + 1, dtype=np.int64)
    number[of_row] = of_both[: frame.height]
    return there[number], people.height - int(there[number].sum())
