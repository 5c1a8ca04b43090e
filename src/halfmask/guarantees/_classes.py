"""The equivalence classes of a table as counts: all that a guarantee looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.guarantees._grouping import check_columns, class_of_row, class_sizes, value_codes
from halfmask.guarantees._histogram import ClassMembers, Histogram

if TYPE_CHECKING:
    import polars as pl

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The size of each equivalence class, and its histogram per sensitive column.

    It is a summary: it holds no cell and no value, and those of two batches that were grouped
    alike add up (``first + second``).

    Parameters
    ----------
    sizes
        The rows of each class (int64).
    histograms
        For each sensitive column, how often each of its values occurs in each class.
    population
        How many people of the population that the table was drawn from fit each class (int64),
        where a guarantee asks for it.
    shared
        How many of these fit another class, too; ``None``: nobody does.
    inside, outside
        How many people of the population fit a class, and none. ``inside`` is asked for where
        people are shared.
    members
        The persons of each class, where a person is the unit: each then counts once in a class,
        however many rows they have there.
    written
        The number of what is written for each class in each quasi-identifier, from 0, (classes,
        columns), where a guarantee asks for it.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m"], "ill": ["flu", "cold", "flu"]})
    >>> classes = Classes.of(frame, quasi_identifiers=["sex"], sensitive=["ill"])
    >>> sorted(classes.sizes.tolist()), classes.rows
    ([1, 2], 3)
    """

    sizes: Ints
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    population: Ints | None = None
    members: ClassMembers | None = None
    shared: Ints | None = None
    outside: int = 0
    written: Ints | None = None
    inside: int | None = None

    @classmethod
    def of(
        cls,
        frame: pl.DataFrame,
        *,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str] = (),
        orders: Mapping[str, Sequence[object]] | None = None,
    ) -> Classes:
        """Group a table by its quasi-identifiers and count.

        Parameters
        ----------
        frame
            The table.
        quasi_identifiers
            The columns whose values make a class. Without any, all rows are one class.
        sensitive
            The columns to count within the classes.
        orders
            For a sensitive column, all its values in order, such as ``hierarchy.leaves``. Values
            are compared as text. Other columns take their natural order.

        Returns
        -------
        Classes
            One class for each combination of values that occurs.

        Raises
        ------
        ColumnNotFoundError
            When the table lacks a column.
        HierarchyError
            When an order lacks a value that occurs.
        DataError
            When a column holds lists, structs or foreign objects.

        Notes
        -----
        **Guarantees.** Exact: rows share a class if and only if they agree in every
        quasi-identifier.

        **Edge cases.** Missing is a value of its own in quasi-identifiers and in sensitive
        columns, there the last in the order. A table without rows has no classes.
        """
        check_columns(frame, [*quasi_identifiers, *sensitive])
        if not sensitive:
            return cls(class_sizes(frame, quasi_identifiers=quasi_identifiers))
        of_row, n_classes = class_of_row(frame, quasi_identifiers=quasi_identifiers)
        coded = {
            name: value_codes(frame[name], order=(orders or {}).get(name)) for name in sensitive
        }
        return cls.from_codes(of_row, n_classes, coded)

    @classmethod
    def from_codes(
        cls,
        class_of_row: npt.ArrayLike,
        n_classes: int,
        sensitive: Mapping[str, tuple[npt.ArrayLike, int]] | None = None,
        *,
        person_of_row: npt.ArrayLike | None = None,
    ) -> Classes:
        """Count rows that are numbered already.

        Parameters
        ----------
        class_of_row
            The class of each row, from 0.
        n_classes
            The number of classes; a class may be without rows.
        sensitive
            For each sensitive column the code of each row, in the order of the values, and the
            number of codes.
        person_of_row
            The person of each row, from 0, where a person is the unit.

        Raises
        ------
        ParameterError
            When a class or code is out of range, or lengths differ.
        """
        rows = np.asarray(class_of_row, dtype=np.int64)
        if rows.size and (rows.min() < 0 or rows.max() >= n_classes):
            raise ParameterError(
                f"The 'class_of_row' parameter must hold integers in the range [0, {n_classes})."
            )
        histograms = {
            name: Histogram.count(rows, codes, n_classes=n_classes, n_values=n_values)
            for name, (codes, n_values) in (sensitive or {}).items()
        }
        sizes = np.bincount(rows, minlength=n_classes).astype(np.int64)
        if person_of_row is None:
            return cls(sizes, histograms)
        members = ClassMembers.count(rows, person_of_row, n_classes, sensitive)
        return cls(sizes, histograms, members=members)

    def by_person(self) -> Classes:
        """Return the classes with sizes and histograms of persons, each once.

        Without `members` these are the classes themselves, and each row is a person.
        """
        if self.members is None:
            return self
        sizes, histograms = self.members.sizes, self.members.histograms
        return Classes(sizes, histograms, self.population, written=self.written)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.sizes.sum())

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    def __len__(self) -> int:
        """Return the number of classes."""
        return len(self.sizes)

    @property
    def people(self) -> Ints:
        """The population of each class.

        Raises
        ------
        ParameterError
            When it wasn't counted.
        """
        if self.population is None:
            raise ParameterError(
                "The population of the classes wasn't counted.",
                hint="Give Classes the population of each class.",
            )
        return self.population

    def histogram(self, column: str) -> Histogram:
        """Return the histogram of a sensitive column.

        Parameters
        ----------
        column
            The sensitive column.

        Raises
        ------
        ColumnNotFoundError
            When the column wasn't counted.
        """
        if column not in self.histograms:
            raise ColumnNotFoundError.of(
                [column], self.histograms, where="the sensitive columns that were counted"
            )
        return self.histograms[column]

    def coarsened(self, into: npt.ArrayLike, n_classes: int) -> Classes:
        """Merge classes: class ``i`` becomes part of class ``into[i]`` of ``n_classes``.

        The people of merged classes add up; they are lost where a person fits several classes.

        Parameters
        ----------
        into
            The new class of each class.
        n_classes
            The number of classes afterwards.
        """
        target = np.asarray(into, dtype=np.int64)
        if target.shape != self.sizes.shape:
            raise ParameterError(
                f"The 'into' parameter must hold one class for each of the {self.n_classes}. "
                f"Got {target.size}."
            )

        def summed(counts: Ints) -> Ints:
            # As floats, exact to 2^53.
            return np.bincount(target, weights=counts, minlength=n_classes).astype(np.int64)

        merged = {
            name: histogram.coarsened(target, n_classes)
            for name, histogram in self.histograms.items()
        }
        # A person who fits two classes would be counted twice in what they are merged to.
        people = None if self.population is None or self.shared is not None else self.population
        return Classes(
            summed(self.sizes),
            merged,
            None if people is None else summed(people),
            None if self.members is None else self.members.renumbered(target, n_classes),
            outside=self.outside,
        )

    def without(self, classes: npt.ArrayLike) -> Classes:
        """Return the classes without some, given by index.

        The totals of the histograms shrink too: what is left is judged as a table of its own.

        Parameters
        ----------
        classes
            The indices of the classes to leave out.
        """
        kept = np.ones(self.n_classes, dtype=np.bool_)
        kept[np.asarray(classes, dtype=np.int64)] = False
        into = np.cumsum(kept) - 1
        n_kept = int(kept.sum())
        histograms = {}
        for name, histogram in self.histograms.items():
            of_entry = histogram.class_of_entry
            stays = kept[of_entry]
            histograms[name] = Histogram.count(
                into[of_entry[stays]],
                histogram.codes[stays],
                n_classes=n_kept,
                n_values=histogram.n_values,
                weights=histogram.counts[stays],
            )
        members = self.members and self.members.renumbered(np.where(kept, into, -1), n_kept)
        written = None if self.written is None else self.written[kept]
        if self.population is None or self.shared is not None:
            return Classes(self.sizes[kept], histograms, members=members, written=written)
        left = self.outside + int(self.population[~kept].sum())
        people = self.population[kept]
        return Classes(self.sizes[kept], histograms, people, members, outside=left, written=written)

    def __add__(self, other: Classes) -> Classes:
        """Add up the counts of two batches whose classes are numbered alike.

        The population is no part of a batch: it is taken from whichever has it.
        """
        if self.n_classes != other.n_classes or set(self.histograms) != set(other.histograms):
            raise ParameterError("Classes of different shapes or columns don't add up.")
        counted = other if self.population is None else self
        return Classes(
            self.sizes + other.sizes,
            {name: self.histograms[name] + other.histograms[name] for name in self.histograms},
            counted.population,
            self.members + other.members if self.members and other.members else None,
            counted.shared,
            counted.outside,
            inside=counted.inside,
        )
