"""What a released label says: a range of numbers, a set of categories, or nothing.

Labels are read as a stranger would who knows how tables are usually generalized: ``[17, 30]``,
``17-30``, ``{a, b}``, a node of a published hierarchy, ``*``, and ``or missing`` behind any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from halfmask.data import Hierarchy

__all__ = [
    "EVERYTHING",
    "as_numbers",
    "label_ranges",
    "label_sets",
    "read_numbers",
    "split_missing",
]

OR_MISSING = " or missing"
#: What stands for everything, in hierarchies and where people suppress by hand.
EVERYTHING = "*"
RANGE = r"^\[(.+), (.+)\]$"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
LOOSE_RANGE = rf"^[\[\(\]]?\s*({_NUMBER})\s*(?:,|-|\.\.|to)\s*({_NUMBER})\s*[\]\)\[]?$"


def split_missing(labels: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return labels without ``or missing``, and whether it stood there."""
    return labels.str.strip_suffix(OR_MISSING), labels.str.ends_with(OR_MISSING)


def as_numbers(values: pl.Series) -> pl.Series:
    """Return numbers, dates and times as floating-point numbers; missing where not finite."""
    physical = values.to_physical() if values.dtype.is_temporal() else values
    numbers = physical.cast(pl.Float64, strict=False)
    return numbers.set(~numbers.is_finite().fill_null(value=False), None)


def read_numbers(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the numbers that texts spell, as `as_numbers` has those of a type; else missing."""
    if dtype == pl.Date:
        return as_numbers(texts.str.to_date(strict=False))
    if isinstance(dtype, pl.Datetime):
        formatted = texts.str.to_datetime("%+", strict=False, time_unit=dtype.time_unit)
        plain = texts.str.to_datetime(
            "%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit=dtype.time_unit
        )
        return as_numbers(plain).fill_null(as_numbers(formatted))
    if dtype == pl.Time:
        return as_numbers(texts.str.to_time(strict=False))
    return as_numbers(texts.str.strip_chars().cast(pl.Float64, strict=False))


def label_ranges(labels: pl.Series, dtype: pl.DataType, tree: Hierarchy | None) -> pl.DataFrame:
    """Return ``low`` and ``high`` of each label, as numbers; missing where it says nothing."""
    plain = read_numbers(labels, dtype)
    low, high = plain, plain
    for pattern in (RANGE, LOOSE_RANGE):
        first, last = (read_numbers(labels.str.extract(pattern, i), dtype) for i in (1, 2))
        whole = first.is_not_null() & last.is_not_null() & (first <= last).fill_null(value=False)
        low = low.fill_null(first.set(~whole, None))
        high = high.fill_null(last.set(~whole, None))
    if tree is not None:
        nodes = _node_ranges(tree, dtype)
        found = pl.DataFrame({"label": labels}).join(
            nodes, on="label", how="left", maintain_order="left"
        )
        low, high = low.fill_null(found["low"]), high.fill_null(found["high"])
    return pl.DataFrame({"low": low, "high": high})


def label_sets(labels: list[str], known: dict[str, int], tree: Hierarchy | None) -> list[list[int]]:
    """Return the codes of the categories that each label may stand for; none if it says nothing.

    Parameters
    ----------
    labels
        Labels that are no category themselves.
    known
        The code of each category.
    tree
        The column's published hierarchy.
    """
    nodes = {} if tree is None else _node_sets(tree, known)
    return [nodes.get(label) or _braced(label, known) for label in labels]


def _braced(label: str, known: dict[str, int]) -> list[int]:
    """Return the codes of ``{a, b}``; none where a member isn't known, or some aren't named."""
    if not (label.startswith("{") and label.endswith("}")):
        return []
    codes: list[int] = []
    member = ""
    for part in label[1:-1].split(", "):
        # A category may hold the separator itself.
        member = f"{member}, {part}" if member else part
        if member in known:
            codes.append(known[member])
            member = ""
    return [] if member else codes


def _nodes(tree: Hierarchy) -> pl.DataFrame:
    """Return each label above the leaves with each leaf below it; the root says nothing."""
    leaves = tree.levels.to_series(0)
    above = [
        pl.DataFrame({"label": tree.levels.to_series(level), "leaf": leaves})
        for level in range(1, tree.height)
    ]
    if not above:
        return pl.DataFrame(schema={"label": pl.String, "leaf": pl.String})
    return pl.concat(above).unique(maintain_order=True).filter(pl.col("label") != EVERYTHING)


def _node_ranges(tree: Hierarchy, dtype: pl.DataType) -> pl.DataFrame:
    nodes = _nodes(tree)
    numbers = read_numbers(nodes["leaf"], dtype)
    return (
        nodes.with_columns(number=numbers)
        .group_by("label")
        .agg(low=pl.col("number").min(), high=pl.col("number").max())
    )


def _node_sets(tree: Hierarchy, known: dict[str, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for label, leaf in _nodes(tree).iter_rows():
        if leaf in known:
            found.setdefault(label, []).append(known[leaf])
    return found
