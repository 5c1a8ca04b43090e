"""The arms: from no protection at all to the whole search, each by its name."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ablation.scene import Answers, answers, fitted
from halfmask.anonymize import Anonymizer, Guided, Mondrian
from halfmask.training import AnonymizedEstimator, Encoding, cross_fitted
from halfmask.training._lenders import Lenders
from halfmask.training._linear_view import LinearView, unconfounded
from halfmask.training._points import ClassRows, centroids, typical
from halfmask.training._spread import spread_over
from halfmask.guarantees import KAnonymity

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ablation.scene import Scene

REPRESENTATIVES = 4


@dataclass(frozen=True)  # without slots: what arms share is kept
class Setup:
    """A scene, encoded, with a cross-fitted guide: what all arms of it share."""

    scene: Scene

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding(None, list(self.scene.table.quasi_identifiers)).fit(self.scene.train)

    @cached_property
    def train(self) -> NDArray[np.float64]:
        return self.encoding.encode(self.scene.train)

    @cached_property
    def test(self) -> NDArray[np.float64]:
        return self.encoding.encode(self.scene.test)

    @cached_property
    def guide(self) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return cross_fitted(
                self.scene.model(), self.train, self.scene.y, folds=3, seed=self.scene.seed
            )

    @cached_property
    def averaged(self) -> NDArray[np.float64]:
        """What one model says of quasi-identifiers, on average over eight donor rows."""
        halves = np.array_split(
            np.random.default_rng(self.scene.seed).permutation(len(self.train)), 2
        )
        found = np.empty((len(self.train), self.guide.shape[1]))
        for learned, asked in (halves, halves[::-1]):
            model = fitted(self.scene.model(), self.train[learned], self.scene.y[learned])
            donors = Lenders(self.train, ~self.encoding.depends_, self.scene.seed)
            found[asked] = donors.mean(model, asked)
        return found

    def partition(self, guide: Any, *, least_gain: float = 0.07) -> Anonymizer:  # noqa: ANN401 # what fit takes
        method = Mondrian() if guide is None else Guided(least_gain=least_gain)
        return Anonymizer(
            guarantees=[KAnonymity(k=self.scene.k)],
            method=method,
            quasi_identifiers=list(self.scene.table.quasi_identifiers),
        ).fit(self.scene.train, guide)

    def rows(self, partition: Anonymizer) -> ClassRows:
        cells = partition.cells_.astype(np.int64)
        return ClassRows(
            encoded=self.train[:, self.encoding.depends_],
            others=self.train[:, ~self.encoding.depends_],
            classes=cells,
            guide=self.guide,
            majority=np.ones(len(cells), dtype=np.bool_),
            shares=not self.scene.table.regression,
            parts=tuple(self.encoding.parts_),
        )

    def learned(self, representatives: NDArray[np.float64], cells: NDArray[np.int64]) -> Any:  # noqa: ANN401 # scikit-learn's
        """Return a model of rows that were written once for each representative of their class."""
        several = representatives if representatives.ndim > 2 else representatives[None]
        written = np.concatenate([self.train] * len(several))
        written[:, self.encoding.depends_] = np.concatenate([each[cells] for each in several])
        return fitted(self.scene.model(), written, np.concatenate([self.scene.y] * len(several)))


def raw(setup: Setup) -> Answers:
    model = fitted(setup.scene.model(), setup.train, setup.scene.y)
    return answers(model, setup.train, setup.test)


def raw_regularized(setup: Setup) -> Answers:
    model = fitted(setup.scene.model(regularized=True), setup.train, setup.scene.y)
    return answers(model, setup.train, setup.test)


def _represented(setup: Setup, partition: Anonymizer, find: Callable[..., Any]) -> Answers:
    rows = setup.rows(partition)
    model = setup.learned(find(rows), rows.classes)
    return answers(model, setup.train, setup.test)


def _four(setup: Setup) -> Callable[[ClassRows], NDArray[np.float64]]:
    return lambda rows: spread_over(rows, REPRESENTATIVES, seed=setup.scene.seed)


def mondrian_centroid(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(None), centroids)


def mondrian_four(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(None), _four(setup))


def guided_centroid(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.guide), centroids)


def guided_nearest(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.guide), typical)


def guided_debiased(setup: Setup) -> Answers:
    return _represented(
        setup,
        setup.partition(setup.guide),
        lambda rows: unconfounded(rows, LinearView.known(rows), strength=0.5),
    )


def guided_spread(setup: Setup) -> Answers:
    one = lambda rows: spread_over(rows, 1, seed=setup.scene.seed)  # noqa: E731 # one more like it
    return _represented(setup, setup.partition(setup.guide), one)


def guided_four(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.guide), _four(setup))


def guided_four_to_the_end(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.guide, least_gain=0.0), _four(setup))


def labels_four(setup: Setup) -> Answers:
    y = setup.scene.y
    guide = y if setup.scene.table.regression else y.astype(str)
    return _represented(setup, setup.partition(guide), _four(setup))


def averaged_centroid(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.averaged), centroids)


def averaged_four(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.averaged), _four(setup))


def transformed_centroid(setup: Setup) -> Answers:
    """Rows to predict are written by their class, too; categories never seen stay as they are."""
    partition = setup.partition(setup.guide)
    points = centroids(setup.rows(partition))
    model = setup.learned(points, partition.cells_.astype(np.int64))
    said = []
    for frame, encoded in ((setup.scene.train, setup.train), (setup.scene.test, setup.test)):
        cells, written = partition.plan_.cells(frame), encoded.copy()
        placed = np.flatnonzero(cells >= 0)
        columns = np.flatnonzero(setup.encoding.depends_)
        written[np.ix_(placed, columns)] = points[cells[placed]]
        said.append(written)
    return answers(model, *said)


def search(setup: Setup) -> Answers:
    """The whole search: the estimator by its defaults."""
    scene = setup.scene
    model = AnonymizedEstimator(
        scene.model(),
        guarantees=[KAnonymity(k=scene.k)],
        quasi_identifiers=list(scene.table.quasi_identifiers),
        seed=scene.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(scene.train, scene.y)
    return answers(model, scene.train, scene.test)


ARMS: dict[str, Callable[[Setup], Answers]] = {
    "raw": raw,
    "raw, regularized": raw_regularized,
    "Mondrian, centroid": mondrian_centroid,
    "Mondrian, 4 spread": mondrian_four,
    "Guided, centroid": guided_centroid,
    "Guided, nearest to mean": guided_nearest,
    "Guided, debiased mean": guided_debiased,
    "Guided, 1 spread": guided_spread,
    "Guided, 4 spread": guided_four,
    "Guided to pure leaves, 4 spread": guided_four_to_the_end,
    "Guided by labels, 4 spread": labels_four,
    "Guided by donor rows, centroid": averaged_centroid,
    "Guided by donor rows, 4 spread": averaged_four,
    "Guided, centroid, transformed": transformed_centroid,
}
#: Slow: some cells only.
SEARCH = "whole search"
#: Where no column stays unchanged there is nothing to average over.
PARTIAL_ONLY = {name for name in ARMS if "donor" in name}
