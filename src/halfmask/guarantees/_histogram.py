"""Counts of classes: the values of a sensitive column, and the persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask._errors import ParameterError

Ints = npt.NDArray[np.int64]

# Where the whole grid of classes and values has this few cells, counting into it beats sorting.
_GRID_LIMIT = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The counts of each value of a sensitive column in each class, sparse.

    Class ``i`` has the entries ``offsets[i]`` to ``offsets[i + 1]``. It holds codes and counts,
    never a value.

    Parameters
    ----------
    offsets
        Where the entries of each class begin, and after the last class the number of entries
        (int64, classes + 1).
    codes
        The value of each entry, as its place in the order of the values; ascending within a class
        (int32). Missing, where it occurs, is a value of its own, the last.
    counts
        The rows of each entry, at least 1 (int64).
    totals
        The rows of each value in the whole table, 0 for a value that doesn't occur (int64).

    Examples
    --------
    >>> histogram = Histogram.count([0, 0, 1], [2, 0, 2], n_classes=2, n_values=3)
    >>> histogram.codes.tolist(), histogram.counts.tolist(), histogram.totals.tolist()
    ([0, 2, 2], [1, 1, 1], [1, 0, 2])
    """

    offsets: Ints
    codes: npt.NDArray[np.int32]
    counts: Ints
    totals: Ints

    @classmethod
    def count(
        cls,
        class_of_row: npt.ArrayLike,
        codes: npt.ArrayLike,
        *,
        n_classes: int,
        n_values: int,
        weights: Ints | None = None,
    ) -> Histogram:
        """Count rows by class and code, a row ``weights`` times.

        Parameters
        ----------
        class_of_row, codes
            The class and the code of each row.
        n_classes, n_values
            The number of classes and of codes.
        weights
            How often each row counts; ``None``: once.

        Raises
        ------
        ParameterError
            When the arrays differ in length, or a class or code is out of range.
        """
        rows = np.asarray(class_of_row, dtype=np.int64)
        values = np.asarray(codes, dtype=np.int64)
        if rows.shape != values.shape:
            raise ParameterError(f"{rows.size} classes and {values.size} codes: one each per row.")
        _check_range(rows, n_classes, "class_of_row")
        _check_range(values, n_values, "codes")
        keys = rows * n_values + values
        distinct, counts = _counted(keys, n_classes * n_values, weights)
        entry_class = distinct // max(n_values, 1)
        entry_code = distinct - entry_class * n_values
        return cls(
            offsets=np.searchsorted(entry_class, np.arange(n_classes + 1)).astype(np.int64),
            codes=entry_code.astype(np.int32),
            counts=counts,
            totals=_summed(entry_code, counts, n_values),
        )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.offsets) - 1

    @property
    def n_values(self) -> int:
        """The number of codes, of values that don't occur too."""
        return len(self.totals)

    @property
    def class_of_entry(self) -> Ints:
        """The class of each entry."""
        return np.repeat(np.arange(self.n_classes, dtype=np.int64), np.diff(self.offsets))

    def coarsened(self, into: Ints, n_classes: int) -> Histogram:
        """Merge classes: what class ``i`` counted is counted by class ``into[i]``.

        Parameters
        ----------
        into
            The new class of each class.
        n_classes
            The number of classes afterwards.
        """
        return Histogram.count(
            into[self.class_of_entry],
            self.codes,
            n_classes=n_classes,
            n_values=self.n_values,
            weights=self.counts,
        )

    def compact(self) -> Histogram:
        """Drop the codes of values that don't occur; the order of the others stays."""
        occurs = self.totals > 0
        if occurs.all():
            return self
        renumbered = np.cumsum(occurs) - 1
        return Histogram(
            offsets=self.offsets,
            codes=renumbered[self.codes].astype(np.int32),
            counts=self.counts,
            totals=self.totals[occurs],
        )

    def generalized(self, nodes: Ints) -> Histogram:
        """Count value ``i`` as value ``nodes[i]``; ``nodes`` ascend in tree order.

        Parameters
        ----------
        nodes
            The new value of each value, ascending.
        """
        of_entry, codes = self.class_of_entry, nodes[self.codes]
        starts = np.flatnonzero(
            np.concatenate([[True], (np.diff(of_entry) != 0) | (np.diff(codes) != 0)])
        )
        return Histogram(
            offsets=np.searchsorted(of_entry[starts], np.arange(self.n_classes + 1)),
            codes=codes[starts].astype(np.int32),
            counts=np.add.reduceat(self.counts, starts),
            totals=_summed(nodes, self.totals, int(nodes[-1]) + 1),
        )

    def __add__(self, other: Histogram) -> Histogram:
        """Add up the counts of two batches, class by class and value by value."""
        if (self.n_classes, self.n_values) != (other.n_classes, other.n_values):
            raise ParameterError("Histograms of different classes or values don't add up.")
        return Histogram.count(
            np.concatenate([self.class_of_entry, other.class_of_entry]),
            np.concatenate([self.codes, other.codes]),
            n_classes=self.n_classes,
            n_values=self.n_values,
            weights=np.concatenate([self.counts, other.counts]),
        )


def _check_range(codes: Ints, n: int, name: str) -> None:
    if codes.size and (codes.min() < 0 or codes.max() >= n):
        raise ParameterError(f"The {name!r} parameter must hold integers in the range [0, {n}).")


def _counted(keys: Ints, n_keys: int, weights: Ints | None) -> tuple[Ints, Ints]:
    """Return the keys that occur, ascending, and how often each does."""
    if n_keys <= _GRID_LIMIT:
        grid = _summed(keys, weights, n_keys)
        distinct = np.flatnonzero(grid)
        return distinct, grid[distinct]
    if weights is None:
        distinct, counts = np.unique(keys, return_counts=True)
        return distinct, counts.astype(np.int64)
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct, _summed(inverse, weights, len(distinct))


def _summed(keys: Ints, weights: Ints | None, n: int) -> Ints:
    """Add up integer weights by key; numpy's bincount adds weights as floats, exact to 2^53."""
    return np.bincount(keys, weights=weights, minlength=n).astype(np.int64)


#: Numbers below this are 64-bit integers.
_MAX_PACKED = 2**63


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Classes and keys that occur together, each pair once, by ascending key.

    A key is a person, or ``person * n_values + value``.
    """

    classes: Ints
    keys: Ints

    @classmethod
    def of(cls, classes: Ints, keys: Ints, n_classes: int) -> _Pairs:
        n = max(1, n_classes)
        if int(keys.max(initial=0)) + 1 > _MAX_PACKED // n:
            order = np.lexsort((classes, keys))
            classes, keys = classes[order], keys[order]
            new = (np.diff(keys, prepend=-1) != 0) | (np.diff(classes, prepend=-1) != 0)
            return cls(classes[new], keys[new])
        packed = np.sort(keys * n + classes)
        packed = packed[np.diff(packed, prepend=-1) != 0]
        found = packed // n
        return cls(packed - found * n, found)

    def renumbered(self, into: Ints, n_classes: int) -> _Pairs:
        from halfmask.kernels.lattice.persons import merged_pairs  # noqa: PLC0415 # compiles late

        merged = np.empty_like(self.classes), np.empty_like(self.keys)
        seen = np.full(n_classes, -1, dtype=np.int64)
        n = merged_pairs(self.classes, self.keys, into, seen, merged)
        return _Pairs(merged[0][:n].copy(), merged[1][:n].copy())

    def joined(self, other: _Pairs, n_classes: int) -> _Pairs:
        return _Pairs.of(
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.keys, other.keys]),
            n_classes,
        )


@dataclass(frozen=True, eq=False)  # no slots: what was counted once is kept
class ClassMembers:
    """Which persons each class has, and with which sensitive values.

    Like `Classes`, it holds numbers and no value, and those of two batches that were numbered alike
    add up.

    Parameters
    ----------
    n_classes
        The number of classes.
    pairs
        Each class and person that occur together.
    values
        For each sensitive column the class, person and value that occur together, and how many
        codes of values there are.

    Notes
    -----
    Pairs are kept in the order of persons, so that merging classes takes one pass over them: nodes
    of a lattice are judged by the hundred.

    Examples
    --------
    >>> members = ClassMembers.count([0, 0, 1], [5, 5, 2], 2)
    >>> members.sizes.tolist(), members.n_persons
    ([1, 1], 2)
    """

    n_classes: int
    pairs: _Pairs
    values: Mapping[str, tuple[_Pairs, int]]

    @classmethod
    def count(
        cls,
        class_of_row: npt.ArrayLike,
        person_of_row: npt.ArrayLike,
        n_classes: int,
        sensitive: Mapping[str, tuple[npt.ArrayLike, int]] | None = None,
    ) -> ClassMembers:
        """Count rows that are numbered already.

        Parameters
        ----------
        class_of_row, person_of_row
            The class and the person of each row, from 0.
        n_classes
            The number of classes.
        sensitive
            For each sensitive column the code of each row, and the number of codes.
        """
        classes = np.asarray(class_of_row, dtype=np.int64)
        persons = np.asarray(person_of_row, dtype=np.int64)
        values = {
            name: (
                _Pairs.of(
                    classes, persons * n_values + np.asarray(codes, dtype=np.int64), n_classes
                ),
                n_values,
            )
            for name, (codes, n_values) in (sensitive or {}).items()
        }
        return cls(n_classes, _Pairs.of(classes, persons, n_classes), values)

    def __repr__(self) -> str:
        return f"ClassMembers({self.n_classes} classes, {self.n_persons} persons)"

    @property
    def persons(self) -> pl.DataFrame:
        """Each class and person that occur together: ``class``, ``person``."""
        return pl.DataFrame({"class": self.pairs.classes, "person": self.pairs.keys})

    @cached_property
    def sizes(self) -> Ints:
        """The persons of each class."""
        return np.bincount(self.pairs.classes, minlength=self.n_classes).astype(np.int64)

    @property
    def n_persons(self) -> int:
        """The persons of all classes; one who is in several counts once."""
        return _runs(self.pairs.keys)

    @cached_property
    def histograms(self) -> dict[str, Histogram]:
        """How many persons of each class have each value, by column."""
        return {
            name: Histogram.count(
                found.classes,
                found.keys % n_values,
                n_classes=self.n_classes,
                n_values=n_values,
            )
            for name, (found, n_values) in self.values.items()
        }

    def smallest_classes(self) -> Ints:
        """Return for each person the persons of the smallest class that they are in."""
        starts = np.flatnonzero(np.diff(self.pairs.keys, prepend=-1))
        return np.minimum.reduceat(self.sizes[self.pairs.classes], starts)

    def with_several_values(self, column: str) -> int:
        """Return how many persons have more than one value of a sensitive column.

        Parameters
        ----------
        column
            The sensitive column.
        """
        found, n_values = self.values[column]
        different = found.keys[np.diff(found.keys, prepend=-1) != 0] // n_values
        again = different[1:] == different[:-1]
        return _runs(different[1:][again])

    def renumbered(self, into: Ints, n_classes: int) -> ClassMembers:
        """Return the members of merged classes; -1 drops a class.

        Parameters
        ----------
        into
            The new class of each class.
        n_classes
            The number of classes afterwards.
        """
        target = np.ascontiguousarray(into, dtype=np.int64)
        return ClassMembers(
            n_classes,
            self.pairs.renumbered(target, n_classes),
            {name: (it.renumbered(target, n_classes), n) for name, (it, n) in self.values.items()},
        )

    def __add__(self, other: ClassMembers) -> ClassMembers:
        """Return the members of both batches."""
        values = {
            name: (found.joined(other.values[name][0], self.n_classes), n)
            for name, (found, n) in self.values.items()
        }
        pairs = self.pairs.joined(other.pairs, self.n_classes)
        return ClassMembers(self.n_classes, pairs, values)


def _runs(ascending: Ints) -> int:
    """Return how many different numbers there are, of 0 or more."""
    return int(np.count_nonzero(np.diff(ascending, prepend=-1)))
