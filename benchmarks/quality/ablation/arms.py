"""The arms: from no protection at all to the whole search, each by its name."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ablation.scene import Answers, answers, fitted
from halfmask.guarantees import KAnonymity
from halfmask.training import AnonymizedEstimator, _candidates, _selection, _split_targets
from halfmask.training._candidates import Partitioned, TrainingData, partitioned
from halfmask.training._encoding import Encoding
from halfmask.training._representatives import CENTROID, QUANTILE_SPREAD
from halfmask.training._split_targets import cross_fitted, one_hot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ablation.scene import Scene

Fitted = TypeVar("Fitted")


@dataclass(frozen=True)  # without slots: what arms share is kept
class Setup:
    """A scene, encoded, with a cross-fitted guide: what all arms of it share."""

    scene: Scene
    #: CPU seconds of the fit, of arms that are compared by it.
    spent: list[float] = field(default_factory=list)

    def timed(self, fit: Callable[[], Fitted]) -> Fitted:
        """Return what is fitted, and note its CPU seconds."""
        start = time.process_time()
        found = fit()
        self.spent[:] = [time.process_time() - start]
        return found

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
                self.scene.model(), self.train, self.scene.y, cv=3, random_state=self.scene.seed
            )

    def partition(self, targets: NDArray[np.float64] | None) -> Partitioned:
        """Return classes, guided by these targets; without any, Mondrian's."""
        return partitioned(
            TrainingData(
                estimator=self.scene.model(),
                table=self.scene.train,
                quasi_identifiers=self.scene.table.quasi_identifiers,
                encoding=self.encoding,
                encoded=self.train,
                labels=self.scene.y,
                targets=targets,
                guarantees=[KAnonymity(k=self.scene.k)],
                seed=self.scene.seed,
            )
        )


def raw(setup: Setup) -> Answers:
    model = setup.timed(lambda: fitted(setup.scene.model(), setup.train, setup.scene.y))
    return answers(model, setup.train, setup.test)


def raw_regularized(setup: Setup) -> Answers:
    model = fitted(setup.scene.model(regularized=True), setup.train, setup.scene.y)
    return answers(model, setup.train, setup.test)


def _represented(setup: Setup, partition: Partitioned, name: str) -> Answers:
    written = partition.written(partition.represented(name))
    model = fitted(setup.scene.model(), *written.of_people())
    return answers(model, setup.train, setup.test)


def mondrian_centroid(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(None), CENTROID)


def mondrian_spread(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(None), QUANTILE_SPREAD)


def guided_centroid(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.guide), CENTROID)


def guided_spread(setup: Setup) -> Answers:
    return _represented(setup, setup.partition(setup.guide), QUANTILE_SPREAD)


def labels_spread(setup: Setup) -> Answers:
    targets = one_hot(setup.scene.model(), setup.scene.y)
    return _represented(setup, setup.partition(targets), QUANTILE_SPREAD)


def transformed(setup: Setup) -> Answers:
    """Rows to predict are written by their class, too; categories never seen stay raw."""
    return _of_estimator(setup, predict_on="transformed")


def rows_chosen(setup: Setup) -> Answers:
    """Whether the centroid's model predicts raw or transformed rows is chosen, too."""
    return _of_estimator(setup, predict_on="chosen")


def landed(setup: Setup) -> Answers:
    """The estimator by its defaults."""
    return _of_estimator(setup)


def _of_estimator(setup: Setup, **settings: Any) -> Answers:  # noqa: ANN401 # the estimator's
    scene = setup.scene
    model = AnonymizedEstimator(
        scene.model(),
        guarantees=[KAnonymity(k=scene.k)],
        quasi_identifiers=list(scene.table.quasi_identifiers),
        random_state=scene.seed,
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rows, _ = setup.timed(lambda: model.fit_protect(scene.train, scene.y))
    _, counts = np.unique(rows[:, model.encoder_.depends_], axis=0, return_counts=True)
    if counts.min() < scene.k:
        raise AssertionError("A class has fewer than k rows.")
    return answers(model, scene.train, scene.test)


def _without(names: Sequence[str]) -> Callable[[Setup], Answers]:
    """Return the defaults without some of what makes a fit quick."""

    def arm(setup: Setup) -> Answers:
        with ExitStack() as stack:
            for name in names:
                module, attribute, value = QUICKER[name]
                stack.enter_context(mock.patch.object(module, attribute, value))
            return landed(setup)

    return arm


ALL = 10**9
#: What makes a fit quick, and what takes it away.
QUICKER: dict[str, tuple[Any, str, object]] = {
    "weights": (_candidates, "weighs", lambda _: False),
    "few people to choose by": (_selection, "ENOUGH", ALL),
    "few rows to guide": (_split_targets, "MOST_LEARNED", ALL),
}

#: Arms that earned nothing are gone with their code; docs/accuracy-and-attacks.md has figures.
ARMS: dict[str, Callable[[Setup], Answers]] = {
    "raw": raw,
    "raw, regularized": raw_regularized,
    "Mondrian, centroid": mondrian_centroid,
    "Mondrian, 4 spread": mondrian_spread,
    "Guided, centroid": guided_centroid,
    "Guided, 4 spread": guided_spread,
    "Guided by labels, 4 spread": labels_spread,
    "Guided, centroid, transformed": transformed,
    "default": landed,
    "default, rows chosen": rows_chosen,
    "default, guided by labels": lambda setup: _of_estimator(setup, split_targets="labels"),
    **{f"default, without {name}": _without([name]) for name in QUICKER},
    "default, without all of them": _without(list(QUICKER)),
}
