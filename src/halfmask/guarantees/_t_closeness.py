"""t-closeness: in every class a sensitive column is distributed nearly as in the whole table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask._errors import HierarchyError, ParameterError
from halfmask._validation import decimal, fraction, one_of
from halfmask.data import Hierarchy, has_order, natural_order
from halfmask.guarantees._exact import at_most, integers_up_to
from halfmask.guarantees._guarantee import Criterion, Guarantee, Levels, Met

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.data import Kind
    from halfmask.guarantees._classes import Classes
    from halfmask.guarantees._exact import Ints
    from halfmask.guarantees._histogram import Histogram


_RULES = {"equal": "t-equal", "ordered": "t-ordered", "hierarchical": "t-hierarchical"}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TCloseness(Guarantee):
    """The earth mover's distance from each class to the whole table is at most ``t``.

    The level of a class is its distance, from 0 (distributed as the table) to 1. Source: N. Li, T.
    Li and S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE
    2007.

    Parameters
    ----------
    t
        The largest distance, from 0 to 1.
    column
        The sensitive column.
    distance
        How far two values are apart: ``"equal"``, the same for all pairs; ``"ordered"``, by their
        ranks; ``"hierarchical"``, by the level of their lowest common group.
    hierarchy
        For ``"hierarchical"`` the tree. For ``"ordered"`` one whose leaves give the order. Numbers,
        dates, ordered categories and labels of ranges need none; other texts do.

    Raises
    ------
    ParameterError
        When ``t`` isn't a number from 0 to 1, the distance is unknown, or a hierarchy is missing
        or not needed.

    See Also
    --------
    DistinctLDiversity : Simpler, and keeps more detail.
    KAnonymity : Protects from re-identification.

    Notes
    -----
    **Guarantees.** ``t`` is read as the decimal that was typed, and distances are fractions of
    integers: the comparison is exact. The reference is the whole table that is judged. If rows
    are suppressed, the reference is the table without them. Monotone: each distance is a norm of a
    difference of distributions and so convex, and merging doesn't change the reference.

    **Edge cases.** Missing is a value of its own: last in the order, and a branch of its own under
    the root of the tree. A column with one value has distance 0.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> pay = ([0, 1, 2, 3, 5, 8, 4, 6, 7], 9)  # 3,000 to 11,000 in nine steps
    >>> classes = Classes.from_codes([0, 0, 0, 1, 1, 1, 2, 2, 2], 3, {"pay": pay})
    >>> close = TCloseness(t=0.2, column="pay", distance="ordered").judge(classes)
    >>> [round(level, 3) for level in close.levels.tolist()], close.failing.tolist()
    ([0.375, 0.167, 0.236], [0, 2])

    The same with the two other distances, ``"equal"`` and ``"hierarchical"``:

    >>> from halfmask.data import Hierarchy
    >>> TCloseness(t=0.2, column="pay", distance="equal").judge(classes).achieved.__round__(3)
    0.667
    >>> rows = [("flu", "lung"), ("cough", "lung"), ("ulcer", "stomach")]
    >>> tree = Hierarchy.from_rows(rows, column="ill")
    >>> ill = Classes.from_codes([0, 0, 1, 1], 2, {"ill": ([0, 1, 1, 2], 3)})
    >>> TCloseness(t=0.3, column="ill", distance="hierarchical", hierarchy=tree).judge(ill).achieved
    0.25
    """

    model: ClassVar[str] = "t-closeness"
    sentence: ClassVar[str] = (
        "In every class the column is distributed as in the whole table, to a distance of t."
    )
    meaning: ClassVar[str] = (
        "In each class {column} is distributed as in the whole table, to a distance of {t} (0 is "
        "equal, 1 is nothing in common)."
    )
    bounded: ClassVar[str] = "t"
    worse_when_larger: ClassVar[bool] = True
    relative: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    t: float = field(metadata={"ge": 0, "lt": 1})
    column: str
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        fraction(owner="TCloseness", t=self.t)
        one_of(_RULES, owner="TCloseness", distance=self.distance)
        if self.distance == "hierarchical" and self.hierarchy is None:
            raise ParameterError(
                f"t-closeness of {self.column!r} by hierarchical distance lacks its hierarchy.",
                hint="Give the column a hierarchy, or choose distance 'equal' or 'ordered'.",
            )
        if self.distance == "equal" and self.hierarchy is not None:
            raise ParameterError(
                f"t-closeness of {self.column!r} by equal distance has no use for a hierarchy.",
                hint="Leave it out, or choose distance 'hierarchical' or 'ordered'.",
            )

    @property
    def order(self) -> tuple[str, ...] | None:
        """The order in which values are counted; ``None``: the natural order."""
        return None if self.hierarchy is None else tuple(self.hierarchy.leaves)

    @property
    def needs_order(self) -> bool:
        """Whether distances are by the order of the values, and no hierarchy gives it."""
        return self.distance == "ordered" and self.hierarchy is None

    @property
    def support(self) -> pl.DataFrame | None:
        """The tree, or the order, if there is one."""
        return None if self.hierarchy is None else self.hierarchy.levels

    @classmethod
    def needs_hierarchy(cls, parameters: Mapping[str, object], kind: Kind | None) -> bool:
        """Whether distances need a tree, or an order that the kind doesn't have.

        Numbers and dates have an order of their own, which the verifier takes.

        Parameters
        ----------
        parameters
            The parameters of the guarantee.
        kind
            The kind of the column, if it is known.
        """
        distance = parameters["distance"]
        return distance == "hierarchical" or (
            distance == "ordered" and kind not in {"numeric", "datetime"}
        )

    def ordered(self, values: pl.Series, order: tuple[str, ...]) -> TCloseness:
        """Return the guarantee with the order that a type or labels give its column.

        Parameters
        ----------
        values
            The column's values, in any order.
        order
            What its type says; empty if that says nothing.

        Raises
        ------
        ParameterError
            If the values are texts, and neither whole numbers nor labels of ranges.
        """
        if not self.needs_order:
            return self
        is_text = values.dtype in (pl.String, pl.Categorical)
        known = (is_text and order) or _order_of_texts(values, column=self.column)
        if not known:
            return self
        rows = [(value, "*") for value in known]
        return replace(self, hierarchy=Hierarchy.from_rows(rows, column=self.column))

    def restricted(self, values: pl.Series) -> TCloseness:
        """Return the guarantee with its hierarchy cut down to the values that occur.

        Values that the table lacks must neither be released nor count in a distance.

        Parameters
        ----------
        values
            The column's values, in any order; missing is no leaf.

        Raises
        ------
        HierarchyError
            If the hierarchy lacks one of them.
        """
        if self.hierarchy is None:
            return self
        held = np.sort(self.hierarchy.codes(values.drop_nulls().unique(), column=self.column))
        levels = self.hierarchy.levels[held]
        return replace(self, hierarchy=Hierarchy.from_levels(levels, column=self.column))

    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""
        return Criterion(
            rule=_RULES[self.distance],
            column=self.column,
            thresholds=(float(self.t),),
            hierarchy=self.hierarchy,
        )

    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        histogram = classes.histogram(self.column)
        if self.hierarchy is not None and self.distance == "hierarchical":
            moved, whole = hierarchical_distance(histogram, classes.sizes, self.hierarchy)
        elif self.distance == "ordered":
            moved, whole = ordered_distance(histogram, classes.sizes)
        else:
            moved, whole = equal_distance(histogram, classes.sizes)
        levels = np.asarray(moved / whole, dtype=np.float64)
        return levels, at_most(moved, whole, decimal(self.t))


def _order_of_texts(values: pl.Series, *, column: str) -> tuple[str, ...] | None:
    """Return the natural order of texts; None for other types."""
    if values.dtype not in (pl.String, pl.Categorical):
        return None
    texts = values.cast(pl.String).drop_nulls().unique()
    if texts.cast(pl.Int64, strict=False).null_count() == 0:
        return tuple(sorted(texts.to_list(), key=lambda text: (int(text), text)))
    if not has_order(texts):
        raise ParameterError(
            f"t-closeness of {column!r} by ordered distance needs an order: its texts have none.",
            hint="Give it a hierarchy whose leaves stand in order, or a type of ordered "
            "categories. Or choose distance 'equal'.",
        )
    return tuple(natural_order(texts).to_list())


Fractions = tuple["Ints", "Ints"]


def equal_distance(histogram: Histogram, sizes: npt.NDArray[np.int64]) -> Fractions:
    """Return half of the sum of ``|c_i / n - C_i / N|``: every two values are at distance 1.

    As the differences add up to 0, that is the sum of the positive ones, and only values that
    occur in the class have a positive one. Source: ICDE 2007, section 4.2, equal distance.
    """
    total = int(histogram.totals.sum())
    n = integers_up_to(int(sizes.max()) * total, sizes)
    return _excess(histogram, n, total), n * total


def ordered_distance(histogram: Histogram, sizes: npt.NDArray[np.int64]) -> Fractions:
    """Return the sum of the ``m - 1`` cumulated ``|e_1 + ... + e_i| / (n N)``, over ``m - 1``.

    ``m`` is the number of values that occur in the table, so that a value that only a hierarchy
    knows doesn't make distances look smaller. Source: ICDE 2007, section 4.2, ordered distance.

    Between two values that occur in the class its cumulated count stays, ``a``, while the table's,
    ``A_i``, grows: ``|a N - A_i n|`` falls, then rises. The turn is found by bisection and both
    parts are added up with the cumulated ``A``, so that a class costs as much as it has values.
    """
    histogram = histogram.compact()
    m, total = histogram.n_values, int(histogram.totals.sum())
    if m == 1:
        return np.zeros_like(sizes), np.ones_like(sizes)
    n = integers_up_to(int(sizes.max()) * total * m, sizes)
    starts, of_entry = histogram.offsets[:-1], histogram.class_of_entry
    table = np.cumsum(histogram.totals)
    table_sums = np.concatenate([[0], np.cumsum(table)])

    counted = np.cumsum(histogram.counts)
    before = (counted - histogram.counts)[starts]
    a = (counted - before[of_entry]).astype(n.dtype)
    low = histogram.codes.astype(np.int64)
    high = np.append(low[1:], m)
    high[histogram.offsets[1:] - 1] = m
    inside = n[of_entry]
    turn = np.searchsorted(table, (a * total // inside).astype(np.int64), side="right")
    turn = np.clip(turn, low, high)
    falling = (turn - low) * a * total - inside * (table_sums[turn] - table_sums[low])
    rising = inside * (table_sums[high] - table_sums[turn]) - (high - turn) * a * total
    moved = np.add.reduceat(falling + rising, starts) + n * table_sums[low[starts]]
    return moved, n * total * (m - 1)


def hierarchical_distance(
    histogram: Histogram, sizes: npt.NDArray[np.int64], hierarchy: Hierarchy
) -> Fractions:
    """Return the distance where two values are as far as the level at which they meet.

    In a tree of height ``H`` two values whose lowest common ancestor is at level ``j`` are ``j /
    H`` apart. Source: ICDE 2007, section 4.2, hierarchical distance. The paper adds up, over the
    inner nodes, the mass that is moved between their children; as mass must leave a node exactly
    when the node as a whole has too much of it, the same sum is the mean, over the levels below
    the root, of the equal distance between the values generalized to that level.

    Notes
    -----
    **Edge cases.** Missing is a branch of its own under the root.
    """
    leaves = len(hierarchy.leaves)
    if histogram.n_values not in {leaves, leaves + 1}:
        raise HierarchyError(
            f"{histogram.n_values} values were counted, the hierarchy has {leaves} leaves.",
            hint="Count the column with orders={column: hierarchy.leaves}.",
        )
    total = int(histogram.totals.sum())
    height = _height(hierarchy, histogram.n_values)
    n = integers_up_to(int(sizes.max()) * total * max(height, 1), sizes)
    moved = np.zeros_like(n)
    for level in range(height):
        nodes = _nodes(hierarchy, level, histogram.n_values)
        moved = moved + _excess(histogram.generalized(nodes), n, total)
    return moved, n * total * max(height, 1)


def _excess(histogram: Histogram, n: Ints, total: int) -> Ints:
    """Add up the positive ``e_i`` of each class."""
    of_entry = histogram.class_of_entry
    counts = histogram.counts.astype(n.dtype)
    excess = counts * total - histogram.totals[histogram.codes] * n[of_entry]
    return np.asarray(np.add.reduceat(np.maximum(excess, 0), histogram.offsets[:-1]))


def _height(hierarchy: Hierarchy, n_values: int) -> int:
    """Return the level of the root; a single leaf that shares the table with missing has one."""
    return max(int(hierarchy.height) - 1, 1 if n_values > 1 else 0)


def _nodes(hierarchy: Hierarchy, level: int, n_values: int) -> npt.NDArray[np.int64]:
    """Return each value's node at a level; leaves are in tree order, so nodes are runs of them."""
    parted = np.asarray(hierarchy.boundaries, dtype=np.int64) > level
    nodes = np.zeros(n_values, dtype=np.int64)
    nodes[1 : len(parted) + 1] = np.cumsum(parted)
    if n_values > len(hierarchy.leaves):
        nodes[-1] = nodes[-2] + 1
    return nodes
