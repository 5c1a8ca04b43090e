"""What is true of the data themselves, for headings and to read accuracies by: no cell is measured.

The name of a set of quasi-identifiers is how many the paper has. Fewer are recoded where a file
lacks one, or where attributes are selected before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ml_models.datasets import DATASETS, missing_files, split
from ml_models.intervals import Mean
from ml_models.plan import selects
from ml_models.selection import selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ml_models.datasets import Dataset
    from ml_models.grid import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The data sets whose files are here, parted as the cells were.

    Parameters
    ----------
    datasets
        By name.
    most_rows
        How many rows the cells were measured on at most.
    left
        How many of its quasi-identifiers a selection left, by data set, their set and seed: it
        trains a tree, and three models' places share it.
    """

    datasets: dict[str, Dataset]
    most_rows: int | None
    left: dict[tuple[str, str, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, most_rows: int | None) -> Facts:
        """Read the data sets."""
        absent = missing_files()
        there = {name: make() for name, make in DATASETS.items() if name not in absent}
        return cls(datasets=there, most_rows=most_rows)

    def majority(self, data: str, seeds: Iterable[int]) -> Mean | None:
        """Return the share of test rows of their most frequent class, which needs no model."""
        dataset = self.datasets.get(data)
        if dataset is None:
            return None
        parts = [split(dataset, seed, self.most_rows) for seed in seeds]
        return Mean.of([float(np.bincount(each.y_test).max() / len(each.y_test)) for each in parts])

    def how_many(self, place: Place, seeds: Sequence[int]) -> str:
        """Say how many of the paper's quasi-identifiers are recoded: `12`, or `17 of 18`."""
        data, qi, _ = place
        if data not in self.datasets or not seeds:
            return qi
        if selects(place):
            counts = {self._left(data, qi, seed) for seed in seeds}
        else:
            counts = {len(self.datasets[data].qi_sets[qi])}
        return qi if counts == {int(qi)} else f"{' or '.join(map(str, sorted(counts)))} of {qi}"

    def heading(self, place: Place, seeds: Sequence[int]) -> str:
        """Say where it is: the data, what is recoded of them, the model."""
        data, _, model = place
        many = self.how_many(place, seeds)
        if selects(place):
            return f"{data}, {many} quasi-identifiers (selected attributes), {model}"
        of_papers = many.replace(" of ", " of the paper's ")
        return f"{data}, {of_papers} quasi-identifiers, {model}"

    def _left(self, data: str, qi: str, seed: int) -> int:
        if (data, qi, seed) not in self.left:
            dataset = self.datasets[data]
            left, _ = selected(dataset, split(dataset, seed, self.most_rows), seed)
            self.left[data, qi, seed] = len(left.qi_sets[qi])
        return self.left[data, qi, seed]
