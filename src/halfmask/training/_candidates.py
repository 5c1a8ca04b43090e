"""Candidates: ways to encode training rows and rows to predict, on a guided partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from halfmask.anonymize import Anonymizer, Guided, Mondrian
from halfmask.training._representatives import (
    CENTROID,
    CHOSEN,
    QUANTILE_SPREAD,
    REPRESENTATIVES,
    ClassRows,
    alike,
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
class Written:
    """The rows that a model is given, all with the first representative, then with the second.

    A row that stands for several people weighs as many.
    """

    rows: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)
    several: int

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """How many people each row stands for; None if each stands for one."""
        if len(self.rows) == self.several * len(self.places):
            return None
        return np.tile(np.bincount(self.places), self.several).astype(np.float64)

    def of_people(self) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return a row for each person and representative, and their labels."""
        starts = np.arange(self.several)[:, None] * (len(self.rows) // self.several)
        everyone = (starts + self.places).ravel()
        return self.rows[everyone], self.labels[everyone]


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
        self, representatives: NDArray[np.float64], *, people: NDArray[np.int64] | None = None
    ) -> Written:
        """Return the rows for the model, of all people or some, once with each representative.

        Of people who are equal in all that the model is given, one row stands for as many as there
        are representatives, if the learner takes weights: they are as many rows as people.
        """
        data, several = self.data, len(representatives)
        depends = data.encoding.depends_
        chosen = slice(None) if people is None else people
        encoded, labels, cells = data.encoded[chosen], data.labels[chosen], self.cells[chosen]
        stands = np.arange(len(labels))
        if several > 1 and weighs(data.estimator):
            codes = np.unique(labels, return_inverse=True)[1]
            stands = stand_ins(np.column_stack([cells, codes, encoded[:, ~depends]]), several)
        kept, places = np.unique(stands, return_inverse=True)
        rows = np.empty((several, len(kept), encoded.shape[1]), dtype=encoded.dtype)
        if not depends.all():
            rows[:] = encoded[kept]
        rows[:, :, np.flatnonzero(depends)] = representatives[:, cells[kept]]
        return Written(
            rows=rows.reshape(-1, encoded.shape[1]),
            labels=np.tile(labels[kept], several),
            places=places.reshape(-1),
            several=several,
        )


def stand_ins(given: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return for each row an equal one that stands for it, each for at most so many."""
    codes, n_rows = alike(given), np.arange(len(given))
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    rank = n_rows - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = np.empty(len(given), dtype=np.int64)
    found[order] = order[n_rows - rank % most]
    return found


def weighs(estimator: Any) -> bool:  # noqa: ANN401 # scikit-learn's
    """Return whether a learner takes a row of weight n as n rows.

    One that wraps another may drop weights on the way, and weights of labels are by numbers of
    rows: these get all rows.
    """
    settings = estimator.get_params()  # deep: those in a list, too
    by_rows = any(settings[name] is not None for name in settings if "class_weight" in name)
    by_rows |= bool(settings.get("is_unbalance"))  # LightGBM's
    wraps = any(hasattr(each, "fit") for each in settings.values())
    return has_fit_parameter(estimator, "sample_weight") and not (wraps or by_rows)


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
