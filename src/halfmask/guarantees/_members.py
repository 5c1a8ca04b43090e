"""The persons of each class, where a person may have several rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from halfmask.guarantees._histogram import Histogram

__all__ = ["ClassMembers"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ClassMembers:
    """Which persons each class has, and with which sensitive values.

    Like `Classes`, it holds numbers and no value, and those of two batches that were numbered alike
    add up.

    Parameters
    ----------
    n_classes
        The number of classes.
    persons
        Each class and person that occur together: ``class``, ``person``.
    values
        For each sensitive column the class, person and value that occur together, and how many
        codes of values there are.

    Examples
    --------
    >>> members = ClassMembers.count([0, 0, 1], [5, 5, 2], 2)
    >>> members.sizes.tolist(), members.n_persons
    ([1, 1], 2)
    """

    n_classes: int
    persons: pl.DataFrame
    values: Mapping[str, tuple[pl.DataFrame, int]]

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
        rows = pl.DataFrame(
            {
                "class": np.asarray(class_of_row, dtype=np.int64),
                "person": np.asarray(person_of_row, dtype=np.int64),
            }
        )
        values = {
            name: (
                rows.with_columns(pl.Series("value", np.asarray(codes, dtype=np.int64))).unique(),
                n_values,
            )
            for name, (codes, n_values) in (sensitive or {}).items()
        }
        return cls(n_classes, rows.unique(), values)

    def __repr__(self) -> str:
        return f"ClassMembers({self.n_classes} classes, {self.n_persons} persons)"

    @property
    def sizes(self) -> Ints:
        """The persons of each class."""
        return np.bincount(self.persons["class"].to_numpy(), minlength=self.n_classes).astype(
            np.int64
        )

    @property
    def n_persons(self) -> int:
        """The persons of all classes; one who is in several counts once."""
        return self.persons["person"].n_unique()

    def histograms(self) -> dict[str, Histogram]:
        """Return how many persons of each class have each value, by column."""
        return {
            name: Histogram.count(
                found["class"].to_numpy(),
                found["value"].to_numpy(),
                n_classes=self.n_classes,
                n_values=n_values,
            )
            for name, (found, n_values) in self.values.items()
        }

    def with_several_values(self, column: str) -> int:
        """Return how many persons have more than one value of a sensitive column.

        Parameters
        ----------
        column
            The sensitive column.
        """
        pairs = self.values[column][0].select("person", "value").unique()
        return pairs.group_by("person").len().filter(pl.col("len") > 1).height

    def renumbered(self, into: Ints, n_classes: int) -> ClassMembers:
        """Return the members of merged classes; -1 drops a class.

        Parameters
        ----------
        into
            The new class of each class.
        n_classes
            The number of classes afterwards.
        """

        def moved(rows: pl.DataFrame) -> pl.DataFrame:
            target = pl.Series("class", into[rows["class"].to_numpy()])
            return rows.with_columns(target).filter(target >= 0).unique()

        return ClassMembers(
            n_classes,
            moved(self.persons),
            {name: (moved(rows), n) for name, (rows, n) in self.values.items()},
        )

    def __add__(self, other: ClassMembers) -> ClassMembers:
        """Return the members of both batches."""

        def joined(mine: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
            return pl.concat([mine, theirs]).unique()

        values = {
            name: (joined(rows, other.values[name][0]), n)
            for name, (rows, n) in self.values.items()
        }
        return replace(self, persons=joined(self.persons, other.persons), values=values)
