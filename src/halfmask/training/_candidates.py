"""Candidates: ways to encode training rows and rows to predict, on a guided partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize import Anonymizer, Guided, Mondrian
from halfmask.training._representatives import (
    CENTROID,
    CHOSEN,
    QUANTILE_SPREAD,
    REPRESENTATIVES,
    ClassRows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.data import Hierarchy, HierarchyRule
    from halfmask.guarantees import Guarantee
    from halfmask.training._encoding import Encoding

#: What the model predicts: raw rows, or rows written by the representative of their class.
RAW, TRANSFORMED = "raw", "transformed"
PREDICT_ON = (CHOSEN, RAW, TRANSFORMED)

#: Larger tables (rows times encoded columns) aren't written four times.
MAX_CELLS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingData:
    """The training rows, in all forms that a candidate needs."""

    estimator: Any
    table: pl.DataFrame = field(repr=False)
    quasi_identifiers: Sequence[str]
    encoding: Encoding = field(repr=False)
    encoded: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    targets: NDArray[np.float64] | None = field(repr=False)
    guarantees: Sequence[Guarantee]
    seed: int
    hierarchies: Mapping[str, Hierarchy | HierarchyRule] | None = None

    def subset(self, places: NDArray[np.int64]) -> TrainingData:
        """Return some of the rows."""
        return replace(
            self,
            table=self.table[places],
            encoded=self.encoded[places],
            labels=self.labels[places],
            targets=None if self.targets is None else self.targets[places],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioned:
    """Classes of the rows, fitted."""

    data: TrainingData
    anonymizer: Anonymizer

    @property
    def cells(self) -> NDArray[np.int64]:
        """The class of each row."""
        cells: NDArray[np.int64] = self.anonymizer.cells_.astype(np.int64)
        return cells

    def represented(self, name: str) -> NDArray[np.float64]:
        """Return the representatives, (representatives, classes, columns)."""
        data = self.data
        targets = data.targets
        order = (
            np.unique(data.labels, return_inverse=True)[1] if targets is None else targets[:, -1]
        )
        rows = ClassRows(
            encoded=data.encoded[:, data.encoding.depends_],
            classes=self.cells,
            parts=data.encoding.parts_,
            order=order.astype(np.float64),
            seed=data.seed,
        )
        return REPRESENTATIVES[name](rows)

    def written(
        self, representatives: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the rows and labels for the model: all rows once with each representative."""
        rows = np.concatenate([self.data.encoded] * len(representatives))
        rows[:, self.data.encoding.depends_] = np.concatenate(list(representatives[:, self.cells]))
        return rows, np.concatenate([self.data.labels] * len(representatives))


def partitioned(data: TrainingData) -> Partitioned:
    """Return classes of the rows that keep the guarantees."""
    anonymizer = Anonymizer(
        guarantees=data.guarantees,
        method=Mondrian() if data.targets is None else Guided(),
        quasi_identifiers=[*data.quasi_identifiers],
        hierarchies=data.hierarchies,
    )
    return Partitioned(data=data, anonymizer=anonymizer.fit(data.table, data.targets))


def placed(
    anonymizer: Anonymizer,
    table: pl.DataFrame,
    encoded: NDArray[np.float64],
    *,
    columns: NDArray[np.bool_],
    points: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows written by the classes that they fall into, and these.

    Notes
    -----
    **Edge cases.** A row with a category that the fit never saw stays raw; its class is -1.
    """
    cells = anonymizer.plan_.cells(table).astype(np.int64)
    known = np.flatnonzero(cells >= 0)
    rows = encoded.copy()
    rows[np.ix_(known, np.flatnonzero(columns))] = points[cells[known]]
    return rows, cells


def candidates_of(
    data: TrainingData, *, representative: str, predict_on: str
) -> list[tuple[str, str]]:
    """Return representatives with what they predict; the first is what the others must beat."""
    first = CENTROID if representative == CHOSEN else representative
    found = [(first, RAW)]
    if not data.encoding.depends_.any():
        return found
    if representative == CHOSEN and data.encoded.size <= MAX_CELLS:
        found.append((QUANTILE_SPREAD, RAW))
    if predict_on == CHOSEN:
        found.append((first, TRANSFORMED))
    return found
