"""Hierarchies from rules: intervals, an order, prefixes and groups."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, runtime_checkable

import polars as pl

from halfmask._errors import HierarchyError, ParameterError
from halfmask._validation import integer_at_least, number_between
from halfmask.data.hierarchy.tree import Hierarchy, leaf_text

# What a policy file or a caller may nest, to any depth.
Nested: TypeAlias = Sequence[Any]


@runtime_checkable
class HierarchyRule(Protocol):
    """Anything that builds a hierarchy from the values of a column."""

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of ``values``, which are distinct and not missing.

        Parameters
        ----------
        values
            The values, distinct and not missing.
        column
            The name of the column.
        """


#: Of wider intervals the bins of the narrowest couldn't be counted in 64 bits.
MAX_TIMES = 10**18


@dataclass(frozen=True, slots=True)
class Intervals:
    """Numbers in ever wider intervals of equal width, and the root ``"*"`` above.

    Parameters
    ----------
    widths
        The width of the intervals of each level, in the column's unit, the narrowest first; each
        is a whole multiple of the one before, so that intervals nest.
    origin
        Where an interval of every level starts.

    Raises
    ------
    ParameterError
        If there are no widths, one isn't positive and finite, or they don't nest.

    Notes
    -----
    Labels are half-open, ``[20, 25)``. They depend on the rule alone and not on the data.

    Examples
    --------
    >>> tree = Intervals(widths=(5, 10)).build(pl.Series([31, 22, 39]), column="age")
    >>> tree.leaves, tree.labels(1), tree.labels(2)
    (('22', '31', '39'),
     ('[20, 25)', '[30, 35)', '[35, 40)'),
     ('[20, 30)', '[30, 40)', '[30, 40)'))
    """

    widths: Sequence[float]
    origin: float = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", _some(self.widths, "Intervals", "widths"))
        number_between(-math.inf, math.inf, owner="Intervals", origin=self.origin)
        for width in self.widths:
            number_between(0, math.inf, owner="Intervals", low_open=True, widths=width)
        if _exact(max(self.widths)) > _exact(min(self.widths)) * MAX_TIMES:
            raise ParameterError(
                f"The widest of the 'widths' of Intervals must be at most {MAX_TIMES:.0e} times "
                f"the narrowest. Got {self.widths} instead."
            )
        for narrow, wide in itertools.pairwise(map(_exact, self.widths)):
            if wide <= narrow or wide % narrow:
                raise ParameterError(
                    "Each of the 'widths' of Intervals must be a whole multiple of the one "
                    f"before. Got {wide} after {narrow} instead."
                )

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of numbers; numbers stored as text are read.

        Raises
        ------
        HierarchyError
            If a value is no finite number.
        """
        numbers = _numbers(values, column)
        leaves = pl.DataFrame({"0": leaf_text(values), "n": numbers}).sort("n", maintain_order=True)
        narrowest = _exact(self.widths[0])
        bins = _find_bins(leaves["n"], self.widths[0], self.origin)
        levels = [leaves["0"]]
        for width in self.widths:
            # From the narrowest bins, in whole numbers: rounding can't break the nesting.
            coarse = bins // int(_exact(width) / narrowest)
            labels = {
                k: f"[{_plain(_exact(self.origin) + k * _exact(width))}, "
                f"{_plain(_exact(self.origin) + (k + 1) * _exact(width))})"
                for k in coarse.unique().to_list()
            }
            levels.append(coarse.replace_strict(labels, return_dtype=pl.String))
        return _with_root(levels, column)


@dataclass(frozen=True, slots=True)
class Order:
    """Values in a declared order, in groups of neighbours, and the root ``"*"``.

    Parameters
    ----------
    groups
        The values in their order; nested lists are groups, to any depth, the same everywhere:
        ``[["low", "medium"], ["high"]]``. A flat list is an order without groups.
    sizes
        For a flat list: how many neighbours form a group at each level, the smallest first, each
        a whole multiple of the one before.

    Raises
    ------
    ParameterError
        If there are no values, or sizes don't nest or come with nested groups.

    Examples
    --------
    >>> tree = Order([["none", "primary"], ["secondary", "tertiary"]]).build(
    ...     pl.Series(["tertiary", "none"]), column="school"
    ... )
    >>> tree.labels(1)
    ('[none, primary]', '[none, primary]', '[secondary, tertiary]', '[secondary, tertiary]')
    """

    groups: Nested
    sizes: Sequence[int] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", _freeze_groups(_some(self.groups, "Order", "groups")))
        object.__setattr__(self, "sizes", tuple(self.sizes))
        for size in self.sizes:
            integer_at_least(2, owner="Order", sizes=size)
        if any(b <= a or b % a for a, b in itertools.pairwise(self.sizes)):
            raise ParameterError(
                "Each of the 'sizes' of Order must be a whole multiple of the one before."
            )
        if self.sizes and any(isinstance(item, tuple) for item in self.groups):
            raise ParameterError("The 'sizes' of Order go with a flat list, not with groups.")

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy; named values that the column lacks stay leaves.

        Raises
        ------
        HierarchyError
            If the order lacks a value, names one twice, or nests unevenly.
        """
        if self.sizes:
            flat = [_text_of(item) for item in self.groups]
            chunks = [[flat[i - i % n :][:n] for i in range(len(flat))] for n in self.sizes]
            rows = [[leaf, *(_span(chunk[i]) for chunk in chunks)] for i, leaf in enumerate(flat)]
        else:
            rows = [list(path) for path in _spans(tuple(self.groups))]
        return _tree_of_paths(rows, values, column)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first characters of each value, the others masked, and the root ``"*"``.

    Parameters
    ----------
    keep
        How many characters stay at each level, the most first, at least 1.
    length
        The length of all labels in characters; ``None`` is the length of the longest value.
    mask
        The character that stands for those that don't stay.

    Raises
    ------
    ParameterError
        If keep doesn't fall from level to level, or mask isn't one character.

    Notes
    -----
    Whole numbers are padded with zeros on the left to ``length`` before they are cut: a ZIP code
    that was read as a number has lost its zeros. Shorter text is padded with the mask.
    Source: ARX, ``HierarchyBuilderRedactionBased``.

    Examples
    --------
    >>> tree = Prefix(keep=(4, 2)).build(pl.Series(["13053", "13068", "14850"]), column="zip")
    >>> tree.labels(1), tree.labels(2)
    (('1305*', '1306*', '1485*'), ('13***', '13***', '14***'))
    """

    keep: Sequence[int]
    length: int | None = None
    mask: str = "*"

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", _some(self.keep, "Prefix", "keep"))
        for n in self.keep:
            integer_at_least(1, owner="Prefix", keep=n)
        if any(b >= a for a, b in itertools.pairwise(self.keep)):
            raise ParameterError("The 'keep' of Prefix must fall from level to level.")
        if self.length is not None:
            integer_at_least(max(self.keep), owner="Prefix", length=self.length)
        if len(self.mask) != 1:
            raise ParameterError(
                "The 'mask' parameter of Prefix must be one character. "
                f"Got {len(self.mask)} characters instead."
            )

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of the values' texts, in lexical order.

        Raises
        ------
        HierarchyError
            If a value is longer than ``length``.
        """
        text = leaf_text(values)
        longest = int(text.str.len_chars().max() or 0)  # type: ignore[arg-type] # a count
        length = self.length or max(longest, *self.keep)
        too_long = (text.str.len_chars() > length).sum()
        if too_long:
            raise HierarchyError(
                f"Column {column!r} has {too_long} values of more than {length} characters.",
                hint="Give Prefix a greater length.",
            )
        padded = text.str.zfill(length) if values.dtype.is_integer() else text
        frame = pl.DataFrame({"0": text, "padded": padded}).sort("padded", "0")
        padded = frame["padded"].str.pad_end(length, self.mask)
        cut = [
            (padded.str.slice(0, n).alias(str(i)) + self.mask * (length - n))
            for i, n in enumerate(self.keep, start=1)
        ]
        return _with_root([frame["0"], *cut], column)


@dataclass(frozen=True, slots=True)
class Groups:
    """Named groups of values, and the root ``"*"`` above.

    Parameters
    ----------
    groups
        Each group's label and its values; groups may hold groups, to the same depth everywhere:
        ``{"Europe": {"South": ["IT", "ES"]}}``.

    Raises
    ------
    ParameterError
        If there are no groups.

    Examples
    --------
    >>> tree = Groups({"yes": ["always", "often"], "no": ["never"]}).build(
    ...     pl.Series(["never", "always"]), column="smokes"
    ... )
    >>> tree.leaves, tree.labels(1)
    (('always', 'often', 'never'), ('yes', 'yes', 'no'))
    """

    groups: Mapping[str, Any]

    def __post_init__(self) -> None:
        groups: object = self.groups  # a policy file or a caller may have anything here
        if not isinstance(groups, Mapping) or not groups:
            raise ParameterError("The 'groups' parameter of Groups must be a mapping, not empty.")

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy; named values that the column lacks stay leaves.

        Raises
        ------
        HierarchyError
            If the groups lack a value, name one twice, or nest unevenly.
        """
        return _tree_of_paths([list(path) for path in _paths(self.groups)], values, column)

    def __hash__(self) -> int:
        return hash(tuple(self.groups))


def _some(items: object, owner: str, name: str) -> tuple[Any, ...]:
    """Return the items as a tuple; raise if there are none or they are one string."""
    if not isinstance(items, list | tuple) or not items:
        raise ParameterError(f"The {name!r} parameter of {owner} must be a list, not empty.")
    return tuple(items)


def _freeze_groups(items: Nested) -> tuple[Any, ...]:
    return tuple(_freeze_groups(it) if isinstance(it, list | tuple) else it for it in items)


def _exact(number: float) -> Decimal:
    """Return a number as its decimal digits say: 0.1 is a tenth."""
    return Decimal(str(number))


def _plain(number: Decimal) -> str:
    """Return a number without exponent and without zeros that say nothing."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _numbers(values: pl.Series, column: str) -> pl.Series:
    """Return values as Int64 or Float64; raise if one is no finite number."""
    if values.dtype.is_integer():
        numbers = values.cast(pl.Int64, strict=False)
    else:
        text_or_float = values if values.dtype.is_numeric() else leaf_text(values)
        numbers = text_or_float.cast(pl.Float64, strict=False)
        numbers = numbers.set(~numbers.is_finite().fill_null(value=False), None)
    if numbers.null_count():
        raise HierarchyError(
            f"Column {column!r} has {numbers.null_count()} values that are no finite numbers.",
            hint="Name the markers of missing values[[| under [input]]], or choose another "
            "hierarchy.",
        )
    return numbers


def _find_bins(numbers: pl.Series, width: float, origin: float) -> pl.Series:
    """Return the number of each value's interval, counted from the origin."""
    if numbers.dtype == pl.Int64 and float(width).is_integer() and float(origin).is_integer():
        return (numbers - int(origin)) // int(width)
    # Division can land a hair below a whole number (0.3 / 0.1); what is that near is the bound.
    steps = (numbers.cast(pl.Float64) - origin) / width
    near = steps.round()
    close = (steps - near).abs() <= 1e-9 * steps.abs().clip(1)
    return near.zip_with(close, steps.floor()).cast(pl.Int64)


def _with_root(levels: list[pl.Series], column: str) -> Hierarchy:
    frame = pl.DataFrame([level.alias(str(i)) for i, level in enumerate(levels)])
    return Hierarchy.from_levels(frame, column=column, root=True)


def _tree_of_paths(rows: list[list[str]], values: pl.Series, column: str) -> Hierarchy:
    """Return the hierarchy of listed rows, with a root, if it covers the values."""
    height = max(map(len, rows), default=0)
    rooted = [[*row, "*"] if len(row) == height else row for row in rows]
    tree = Hierarchy.from_rows(rooted, column=column)
    tree.cover(values, column=column)
    return tree


def _text_of(value: object) -> str:
    """Return a listed value as a leaf spells it: policy files hold numbers, too."""
    return str(leaf_text(pl.Series([value])).item())


def _span(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"[{values[0]}, {values[-1]}]"


def _leaves(item: object) -> Iterator[str]:
    if isinstance(item, tuple):
        for inner in item:
            yield from _leaves(inner)
    else:
        yield _text_of(item)


def _spans(items: tuple[Any, ...]) -> Iterator[tuple[str, ...]]:
    """Yield each value with the spans of the groups around it, the innermost first."""
    for item in items:
        if isinstance(item, tuple):
            label = _span(list(_leaves(item)) or [""])
            for path in _spans(item):
                yield (*path, label)
        else:
            yield (_text_of(item),)


def _paths(groups: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield each value with the labels of the groups around it, the innermost first."""
    for label, inner in groups.items():
        if isinstance(inner, Mapping):
            for path in _paths(inner):
                yield (*path, str(label))
        elif isinstance(inner, str) or not isinstance(inner, Sequence):
            raise ParameterError("Each group of Groups must hold a list of values, or groups.")
        else:
            for value in inner:
                yield (_text_of(value), str(label))
