"""How far a known value is from a released cell: 0 where the cell may stand for it.

A released cell is a range of numbers or a set of categories, one value the smallest of either;
recodings write ranges, sets, nodes of hierarchies, the middle of a class or one of its rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._reading import NumberReader, as_numbers, read_numbers, recast, spelt
from halfmask.assess.attacks.tables._parsing import (
    EVERYTHING,
    label_ranges,
    label_sets,
    split_missing,
)
from halfmask.data import leaf_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.data import Hierarchy

#: The code of a category that no known row has.
FOREIGN = np.iinfo(np.int32).max
#: Squares of larger numbers may be too large for a float.
_SQUARED = 1e150
#: Numbers this many times as far from nearly all others as those lie apart set no scale.
FAR_OUT, FAR_OUT_OF_FEW, MANY_VALUES = 5.0, 100.0, 20


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReleasedCells:
    """The released cells of one column."""

    low: Floats
    high: Floats
    codes: Ints
    sets: Bools
    silent: Bools
    null: Bools
    admits: Bools

    def __len__(self) -> int:
        return len(self.silent)

    @property
    def middle(self) -> Floats:
        """The middle of each range, or its one end; NaN where the cell holds no information."""
        low = np.where(np.isinf(self.low), self.high, self.low)
        high = np.where(np.isinf(self.high), self.low, self.high)
        with np.errstate(invalid="ignore"):
            return np.where(self.silent, np.nan, low / 2 + high / 2)

    @property
    def taken(self) -> Floats:
        """The value that each cell is taken for: a middle or a set's first category; NaN: none."""
        if len(self.low):
            return self.middle
        first = self.sets.argmax(axis=1) if len(self.sets) else np.zeros(1, dtype=np.int64)
        place = np.minimum(np.maximum(-2 - self.codes, 0), len(first) - 1)
        return np.where(self.silent, np.nan, np.where(self.codes <= -2, first[place], self.codes))

    @property
    def bounded(self) -> Bools:
        """Whether each range has two ends."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @property
    def single(self) -> Bools:
        """Whether the cell stands for one value only."""
        return ~self.silent & ((self.low == self.high) if len(self.low) else (self.codes >= 0))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Matched:
    """One column of a released table, with the original column."""

    name: str
    is_number: bool
    cells: ReleasedCells
    categories: tuple[str, ...]
    spread: float
    deviation: float
    average_gap: float
    is_rounded: bool = False
    reader: NumberReader | None = None

    def known(self, values: pl.Series) -> Floats:
        """Return values as numbers or codes of categories; NaN where missing."""
        if self.reader is not None:
            numbers = self.reader.numbers(values).to_numpy().astype(np.float64)
            return _rounded(numbers) if self.is_rounded else numbers
        return _codes(values, self.categories)

    def as_known(self) -> Floats:
        """Return released cells in the form of `known`: as if they were a person's values."""
        taken = self.cells.taken
        return taken if self.is_number else np.minimum(taken, len(self.categories))


def match(
    name: str, released: pl.Series, people: Sequence[pl.Series], hierarchy: Hierarchy | None = None
) -> Matched:
    """Read a released column against the values that people have in it.

    Notes
    -----
    **Edge cases.** A missing released cell may be a suppressed one: it holds no information, and
    may stand for a missing value. So does a set with members left out (``{a, ... 40 in all}``). A
    label that isn't known and isn't written as a range or set is a category of its own.
    """
    original = people[0]
    if _holds_numbers(original, released):
        is_rounded = pl.Float32 in (original.dtype, released.dtype)
        plain = [values for values in (*people, released) if _is_plain(values)]
        reader = NumberReader.of(original.dtype, [] if is_rounded else [original, *plain])
        known = reader.numbers(original).drop_nulls().to_numpy()
        numbers = usual_numbers(known)
        cells = _number_cells(released, reader, hierarchy, _resolution(numbers))
        if is_rounded:
            cells = replace(cells, low=_rounded(cells.low), high=_rounded(cells.high))
        spread, deviation = (_scale(of, known, cells.middle) for of in (np.ptp, np.std))
        return Matched(
            name=name,
            is_number=True,
            cells=cells,
            categories=(),
            spread=spread or 1.0,
            deviation=deviation or 1.0,
            average_gap=_average_gap(numbers) / (spread or 1.0),
            is_rounded=is_rounded,
            reader=reader,
        )
    texts = [leaf_text(values).alias("text") for values in people]
    categories = pl.concat(texts).drop_nulls().unique().sort().to_list()
    # In an order of its own, for sums of shares depend on it.
    counts = texts[0].drop_nulls().value_counts(name="n")["n"].sort().to_numpy()
    share = counts / max(1, counts.sum())
    return Matched(
        name=name,
        is_number=False,
        cells=_category_cells(spelt(released, original.dtype), categories, hierarchy),
        categories=tuple(categories),
        spread=1.0,
        deviation=1.0,
        average_gap=1.0 - float((share * share).sum()) if len(share) else 0.0,
    )


def _holds_numbers(original: pl.Series, released: pl.Series) -> bool:
    if original.dtype.is_numeric() or original.dtype.is_temporal():
        return True
    if original.dtype != pl.String or as_numbers(original).null_count() > original.null_count():
        return False
    # Numbers kept as text may be released as ranges, or as the numbers they are, all the same.
    if released.dtype != pl.String:
        return released.dtype.is_numeric()
    labels, _ = split_missing(released.drop_nulls().unique())
    ends = label_ranges(labels, lambda texts: read_numbers(texts, original.dtype), None)
    return bool((ends["low"] < ends["high"]).any())


def _is_plain(values: pl.Series) -> bool:
    """Return whether a column holds numbers or times themselves, not their texts."""
    return values.dtype.is_numeric() or values.dtype.is_temporal()


def _number_cells(
    released: pl.Series, reader: NumberReader, tree: Hierarchy | None, step: float
) -> ReleasedCells:
    null, dtype = released.is_null(), reader.dtype
    if not _is_plain(released):
        texts = released.cast(pl.String)
        labels = texts.drop_nulls().unique(maintain_order=True)
        bare, with_missing = split_missing(labels)
        ends = label_ranges(bare, reader.spelt, tree, step=step).with_columns(
            label=labels, or_missing=with_missing
        )
        found = pl.DataFrame({"label": texts}).join(
            ends, on="label", how="left", maintain_order="left"
        )
        low, high = found["low"], found["high"]
        or_missing = found["or_missing"].fill_null(value=False)
    else:
        same_kind = recast(released, dtype) if dtype.is_temporal() else released
        low = high = reader.numbers(same_kind)
        null = low.is_null()
        or_missing = pl.Series([False]).new_from_index(0, len(released))
    silent = low.is_null().to_numpy()
    return ReleasedCells(
        low=np.where(silent, -np.inf, low.fill_null(0.0).to_numpy()),
        high=np.where(silent, np.inf, high.fill_null(0.0).to_numpy()),
        codes=np.empty(0, dtype=np.int64),
        sets=np.zeros((0, 0), dtype=np.bool_),
        silent=silent,
        null=null.to_numpy(),
        admits=silent | or_missing.to_numpy(),
    )


def _category_cells(
    texts: pl.Series, categories: list[str], tree: Hierarchy | None
) -> ReleasedCells:
    labels = texts.drop_nulls().unique().sort()
    bare, with_missing = split_missing(labels)
    itself = labels.is_in(categories)
    # A category that itself ends in "or missing" stands for itself.
    names = labels.zip_with(itself, bare).to_list()
    code_of, sets = _label_codes(names, categories, tree)
    read = pl.DataFrame(
        {
            "text": labels,
            "code": [code_of[name] for name in names],
            "or_missing": with_missing & ~itself,
        },
        schema={"text": pl.String, "code": pl.Int64, "or_missing": pl.Boolean},
    )
    found = pl.DataFrame({"text": texts}).join(read, on="text", how="left", maintain_order="left")
    codes = found["code"].fill_null(-1).to_numpy()
    return ReleasedCells(
        low=np.empty(0),
        high=np.empty(0),
        codes=codes,
        sets=sets,
        silent=codes == -1,
        null=texts.is_null().to_numpy(),
        admits=(codes == -1) | found["or_missing"].fill_null(value=False).to_numpy(),
    )


def _label_codes(
    names: list[str], categories: list[str], tree: Hierarchy | None
) -> tuple[dict[str, int], Bools]:
    """Return the code of each label, and the sets."""
    code_of = {category: code for code, category in enumerate(categories)}
    unknown = sorted(set(names).difference(code_of))
    members = label_sets(unknown, code_of, tree)
    sets_of_labels = [
        (label, among) for label, among in zip(unknown, members, strict=True) if among
    ]
    # The last column is for categories that aren't known: they are in no set.
    sets = np.zeros((len(sets_of_labels), len(categories) + 1), dtype=np.bool_)
    for label in unknown:
        code_of[label] = -1 if label == EVERYTHING or label.startswith("{") else FOREIGN
    for place, (label, among) in enumerate(sets_of_labels):
        code_of[label] = -2 - place
        sets[place, among] = True
    return code_of, sets


def _codes(values: pl.Series, categories: tuple[str, ...]) -> Floats:
    """Return the code of each category, one past the last where unknown; NaN where missing."""
    texts = leaf_text(values)
    codes = texts.replace_strict(
        pl.Series(categories, dtype=pl.String),
        pl.Series(range(len(categories)), dtype=pl.Float64),
        default=pl.lit(float(len(categories))),
        return_dtype=pl.Float64,
    )
    return codes.set(texts.is_null(), None).to_numpy().astype(np.float64)


def usual_numbers(numbers: Floats) -> Floats:
    """Return numbers without those that lie far from nearly all others, such as codes.

    Of the different values, nine tenths that lie together are usual. So no few values, however
    frequent, decide what a gap is worth. Few values don't tell what is usual: far is farther there.
    """
    distinct = np.unique(numbers)
    n = len(distinct)
    if n < 3:
        return numbers
    others = max(1, n // 10)
    with np.errstate(over="ignore"):
        widths = distinct[n - 1 - others :] - distinct[: others + 1]
        first = int(widths.argmin())
        reach = widths[first] * (FAR_OUT if n >= MANY_VALUES else FAR_OUT_OF_FEW)
        low, high = distinct[first] - reach, distinct[first] + widths[first] + reach
    return np.asarray(numbers[(numbers >= low) & (numbers <= high)])


def _scale(of: Callable[..., np.float64], known: Floats, middle: Floats) -> float:
    """Return the scale of usual numbers, known or released: noise that codes set drowns others.

    At most that of all known numbers.
    """
    both = usual_numbers(known), usual_numbers(middle[np.isfinite(middle)])
    largest = max((finite_scale(of, each) for each in both if len(each)), default=0.0)
    return min(largest, finite_scale(of, known)) if len(known) else 0.0


def finite_scale(of: Callable[..., np.float64], numbers: Floats) -> float:
    """Return a scale of numbers whose squares, sums and differences may be too large for floats."""
    most = float(np.abs(numbers).max())
    if most < _SQUARED:
        return float(of(numbers))
    return min(float(of(numbers / most)) * most, sys.float_info.max)


def _resolution(numbers: Floats) -> float:
    """Return how far different numbers are apart at least: 1 for most that are whole."""
    with np.errstate(over="ignore"):
        gaps = np.diff(np.unique(numbers))
        # What numbers differ by in their last bits isn't a gap.
        gaps = gaps[gaps > 1e-9 * gaps.sum()]
    return float(gaps.min()) if len(gaps) else 0.0


def _rounded(numbers: Floats) -> Floats:
    """Return numbers as single precision has them."""
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _average_gap(numbers: Floats) -> float:
    """Return how far two numbers are apart on average: Gini's mean difference."""
    n = len(numbers)
    if n < 2:
        return 0.0
    ranks = 2 * np.arange(1, n + 1) - n - 1
    return finite_scale(lambda each: 2 * (ranks * np.sort(each)).sum() / (n * (n - 1)), numbers)
