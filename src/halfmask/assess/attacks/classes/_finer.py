"""Finer ways: how a class could have been written instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.assess.attacks._reading import common_type, spelt
from halfmask.assess.attacks.classes._people import class_numbers
from halfmask.assess.attacks.classes._worlds import Finer
from halfmask.guarantees import Classes

if TYPE_CHECKING:
    from halfmask.assess.attacks._targets import TableTarget
    from halfmask.guarantees import Guarantee

Ints = NDArray[np.int64]
Ways: TypeAlias = "Callable[[Ints, Sequence[Guarantee]], list[Finer]]"
NOBODY: Ints = np.zeros(0, dtype=np.int64)


def finer_ways(target: TableTarget, kind: Literal["medians", "values"], *, seen: Ints) -> Ways:
    """Return a function that lists finer ways of a class, given row numbers and guarantees.

    Ways that fail by the sizes of their sides are left out: they disclose no secrets.
    """
    truth = target.original[target.owner_of_row]
    columns = [name for name in target.quasi_identifiers if name in target.released.columns]
    if kind == "values":
        return _by_values(target.released, truth, columns, seen)
    hierarchies = target.hierarchies or {}
    return _by_medians([_ranks(truth[name]) for name in columns if name not in hierarchies])


def _by_medians(columns: Sequence[Ints]) -> Ways:
    def ways(members: Ints, guarantees: Sequence[Guarantee]) -> list[Finer]:
        found = []
        for ranks in columns:
            here = ranks[members]
            median = np.partition(here, len(here) // 2)[len(here) // 2]
            for side_of in (here >= median, here > median):
                n_right = int(side_of.sum())
                if 0 < n_right < len(here) and _large_enough(
                    [len(here) - n_right, n_right], guarantees
                ):
                    found.append(Finer(side_of.astype(np.int64), (NOBODY, NOBODY)))
        return found

    return ways


def _by_values(
    released: pl.DataFrame, truth: pl.DataFrame, columns: Sequence[str], seen: Ints
) -> Ways:
    types = {name: common_type(released[name].dtype, truth[name].dtype) for name in columns}
    # Columns have any names, none at all included.
    raw, written = (
        pl.DataFrame(
            {
                str(place): spelt(rows[name], dtype)
                for place, (name, dtype) in enumerate(types.items())
            }
        )
        for rows in (truth, released)
    )
    numbers = class_numbers(pl.concat([raw, written]), raw.columns).to_numpy()
    group, label = numbers[: raw.height], numbers[raw.height :]
    # People released with their raw values: another person with these values would join them.
    unchanged = np.flatnonzero(label == group)
    unchanged = unchanged[np.argsort(label[unchanged], kind="stable")]
    keys = label[unchanged]

    def ways(members: Ints, guarantees: Sequence[Guarantee]) -> list[Finer]:
        values, side_of = np.unique(group[members], return_inverse=True)
        if len(values) < 2 and values[0] == label[members[0]]:
            return []  # it isn't coarser than raw
        starts, ends = np.searchsorted(keys, values), np.searchsorted(keys, values, side="right")
        others = tuple(seen[unchanged[a:b]] for a, b in zip(starts, ends, strict=True))
        sizes = np.bincount(side_of) + [len(codes) for codes in others]
        if not _large_enough(sizes.tolist(), guarantees):
            return []
        return [Finer(side_of.astype(np.int64), others)]

    return ways


def _large_enough(sizes: Sequence[int], guarantees: Sequence[Guarantee]) -> bool:
    """Return whether sides of these sizes keep what needs no secret to be judged."""
    classes = Classes(np.asarray(sizes, dtype=np.int64))
    return all(
        not len(guarantee.judge(classes).failing)
        for guarantee in guarantees
        if guarantee.column is None and not guarantee.of_table
    )


def _ranks(column: pl.Series) -> Ints:
    """Return each value's place in the order in which columns are cut; missing is last."""
    if column.dtype in (pl.String, pl.Categorical):
        column = column.cast(pl.String)
    ranks = column.rank("dense").cast(pl.Int64)
    return ranks.fill_null(column.len() + 1).to_numpy()
