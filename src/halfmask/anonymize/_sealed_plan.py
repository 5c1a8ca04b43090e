"""SealedPlan: the cells of an earlier release, as a tree over the codes of other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask._errors import ParameterError, SchemaError
from halfmask.anonymize._partition import Partition
from halfmask.data import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.anonymize._summary import Summary
    from halfmask.anonymize.coding import Coding
    from halfmask.anonymize.method import Method

Integers = NDArray[np.int64]

#: The arrays of a tree; no column of a table may have such names.
TREE: Final = {"\0feature": np.int32, "\0cut": np.int64, "\0left": np.int32, "\0right": np.int32}


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedPlan:
    """How the cells of an earlier release are found: a tree of cuts, or a level for each column.

    It has the values of quasi-identifiers, in the order of their codes: it belongs in a vault.
    """

    method: str
    columns: tuple[str, ...]
    forms: Mapping[str, str]
    levels: Mapping[str, int]
    arrays: pl.DataFrame

    def __repr__(self) -> str:
        return f"SealedPlan({self.method!r}, on {list(self.columns)})"

    def check(self, method: Method, schema: Schema) -> None:
        """Raise unless a protection can take its cells from this plan."""
        if not self.levels and self.arrays.is_empty():
            raise ParameterError(
                f"The classes of the earlier release can't be reused: {self.method!r} groups near "
                "rows, or gave rows of equal values to different classes.",
                hint='Use strict Mondrian; in a policy [method] name = "mondrian".',
            )
        if method.name != self.method or getattr(method, "rounds", 1) > 1:
            raise ParameterError(
                f"The earlier release was made by {self.method!r}, and this one is to be made by "
                f"{method!r}.",
                hint="Use the method and the rounds of the earlier release, or don't reuse it.",
            )
        if set(self.columns) != set(schema.quasi_identifiers):
            raise SchemaError(
                f"The earlier release has {len(self.columns)} quasi-identifiers, and this one has "
                f"{len(schema.quasi_identifiers)}: they must be the same columns.",
                hint="Give the columns the roles that they had.",
            )

    def prepared(self, summary: Summary, schema: Schema) -> tuple[Summary, Schema]:
        """Return a summary that knows the earlier values, too, and a schema of fixed levels."""
        if self.levels:
            levels = ((column, self.levels.get(column.name)) for column in schema.columns)
            pinned = (
                column
                if level is None
                else replace(column, least_level=level, greatest_level=level)
                for column, level in levels
            )
            return summary, Schema(tuple(pinned))
        both = [_both(self._array(name), summary.values(name)) for name in self.columns]
        return replace(summary, distinct=summary.distinct.with_columns(both)), schema

    def order_of(self, coding: Coding) -> Integers | None:
        """Return the order of a column's codes in which cuts part the earlier values as they did.

        ``None``: no other order. New categories come last if the earlier ones had an order of their
        own, as that of a guide.
        """
        name = coding.column.name
        if self.forms[name] != form_of(coding):
            raise SchemaError(
                f"The ranges of column {name!r} ended elsewhere in the earlier release, or its "
                "hierarchy had another height.",
                hint="Give the column the recoding and the hierarchy that it had.",
            )
        if self.levels:
            return None
        places = _places(coding, self._array(name))
        if (np.diff(places) > 0).all():
            return None
        if coding.ordered or coding.hierarchy is not None:
            raise SchemaError(
                f"The values of column {name!r} have another order than in the earlier release.",
                hint="Give it the kind and the hierarchy that it had.",
            )
        new = np.setdiff1d(np.arange(coding.n_values), places)
        return np.concatenate([places, new])

    def cells(
        self, codings: Sequence[Coding], codes: Sequence[NDArray[np.integer[Any]]]
    ) -> tuple[Partition, NDArray[np.int32]]:
        """Return the earlier cells as a tree over new codes, and the cell of each row."""
        feature, cut, left, right = one_leaf_a_cell(*map(self._array, TREE))
        place_of = {coding.column.name: place for place, coding in enumerate(codings)}
        own = np.array([place_of[name] for name in self.columns], dtype=np.int32)
        moved = cut.copy()
        for place, name in enumerate(self.columns):
            here = feature == place
            moved[here] = _moved_cuts(cut[here], codings[own[place]], self._array(name))
        n_cells = int(np.count_nonzero(feature < 0))
        boxes = np.zeros((n_cells, len(codings)), dtype=np.int32)  # mending finds them of the rows
        partition = Partition(
            feature=np.where(feature < 0, -1, own[feature]).astype(np.int32),
            cut=moved,
            left=left,
            right=right,
            low=boxes,
            high=boxes,
            sizes=np.zeros(n_cells, dtype=np.int64),
        )
        return partition, partition.cells_of([column.astype(np.int64) for column in codes])

    def _array(self, name: str) -> pl.Series:
        """Return the values of a column in the order of their codes, or a part of the tree."""
        return self.arrays[name].explode(empty_as_null=False)


def _both(earlier: pl.Series, today: pl.Series) -> pl.Series:
    """Return one list of the earlier values and today's, in today's type if it holds them."""
    if today.dtype == pl.Null:
        return earlier.implode()
    try:
        cast = earlier.cast(today.dtype)
        is_exact = cast.cast(earlier.dtype).equals(earlier)
    except pl.exceptions.PolarsError:
        cast, is_exact = earlier, False
    if not is_exact:
        raise SchemaError(
            f"Column {today.name!r} held {earlier.dtype} in the earlier release. Got "
            f"{today.dtype}, which doesn't hold the same values.",
            hint="Read the new table with the same column types.",
        )
    return pl.concat([today, cast]).unique().implode()


def _places(coding: Coding, earlier: pl.Series) -> Integers:
    """Return the code of each earlier value."""
    known = coding.values
    return coding.codes(earlier if known.dtype == pl.String else earlier.cast(known.dtype))


def _moved_cuts(cuts: Integers, coding: Coding, earlier: pl.Series) -> Integers:
    """Return the codes that cuts after earlier codes come after now.

    A new value goes where the next smaller earlier one went. With a hierarchy the cut stays at the
    edge of the node that it was at.
    """
    places, edges = _places(coding, earlier), coding.boundaries
    known, of_cut = np.unique(cuts, return_inverse=True)
    moved = np.full(len(known), coding.n_values - 1)  # where a cut parts values from missing cells
    for number, cut in enumerate(known[known < len(places) - 1].tolist()):
        between = edges[places[cut] : places[cut + 1]]
        moved[number] = places[cut + 1] - 1 - int(np.argmax(between[::-1]))
    return moved[of_cut].astype(np.int64)


def one_leaf_a_cell(*tree: pl.Series) -> tuple[NDArray[Any], ...]:
    """Return feature, cut, left and right of a tree whose leaves are cells, from left to right.

    Leaves that were joined become the node above them, and a leaf that was dropped joins the one
    next to it. Nodes are numbered before the nodes below them.
    """
    feature, cut, left, right = (array.to_list() for array in tree)
    for node in range(len(feature) - 1, -1, -1):  # a node's children have higher numbers
        one, other = left[node], right[node]
        if feature[node] >= 0 and feature[one] < 0 and feature[other] < 0:
            low, high = sorted((left[one], left[other]))
            if low in (-1, high):
                feature[node], left[node] = -1, high
    made: list[list[int]] = []
    waiting, n_cells = [(0, -1)], 0
    while waiting:
        node, above = waiting.pop()
        if above >= 0:
            made[above][2 if made[above][2] < 0 else 3] = len(made)
        if feature[node] < 0:
            made.append([-1, 0, n_cells, -1])
            n_cells += 1
        else:
            waiting += [(right[node], len(made)), (left[node], len(made))]
            made.append([feature[node], cut[node], -1, -1])
    columns = np.array(made, dtype=np.int64).T
    return tuple(
        np.ascontiguousarray(column, dtype=dtype)
        for column, dtype in zip(columns, TREE.values(), strict=True)
    )


def form_of(coding: Coding) -> str:
    """Return where the ranges of a column may end, and how high its hierarchy is."""
    height = None if coding.hierarchy is None else coding.hierarchy.height
    return f"{coding.grid}, {height}"
