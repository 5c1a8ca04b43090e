"""Guidance: what a guide says of each row, and of its quasi-identifiers alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize.training._as_they_are import AsTheyAre
from halfmask.anonymize.training._fitting import fitted
from halfmask.anonymize.training._guides import cross_fits, guide_values, is_several, predicted

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Guidance", "guidance"]

#: How many other rows lend each row their other columns.
LENDERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What leads the classes, in the two forms that a guide has.

    Parameters
    ----------
    said
        What it says of each row as it is, (rows, outputs).
    alone
        What it says of each row's quasi-identifiers alone, (rows, outputs): the mean over other
        columns as the population has them. ``None`` where there are no other columns, or where the
        guide can't be asked: predictions that were given, labels.
    crossed
        Whether nothing that was asked about a row had learned from it.
    as_they_are
        What fits that share the guidance find of rows as they are, once for all of them.

    Notes
    -----
    Classes are made of quasi-identifiers only. Where other columns move the prediction too, rows
    with the same quasi-identifiers differ in it, and a tree that is led by it spends its cuts on
    what it can't part. ``alone`` is the partial dependence (Friedman, "Greedy function
    approximation", 2001, section 8.2) of the quasi-identifiers.
    """

    said: NDArray[np.float64]
    alone: NDArray[np.float64] | None = None
    crossed: bool = False
    as_they_are: AsTheyAre = field(default_factory=AsTheyAre, repr=False, compare=False)

    def of(self, places: NDArray[np.int64]) -> Guidance:
        """Return what it says of some of the rows."""
        alone = None if self.alone is None else self.alone[places]
        return Guidance(said=self.said[places], alone=alone, crossed=self.crossed)

    def __repr__(self) -> str:
        return f"Guidance({len(self.said)} rows, alone={self.alone is not None})"


def guidance(
    guide: object,
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    y: NDArray[Any],
    *,
    recoded: NDArray[np.bool_],
    folds: int,
    seed: int,
) -> Guidance:
    """Return a guide's guidance.

    Parameters
    ----------
    guide, estimator, rows, y, folds, seed
        As in :func:`guide_values`; a :class:`Guidance` is returned as it is.
    recoded
        Which columns depend on a quasi-identifier, (columns,).

    Raises
    ------
    ParameterError, DataError
        As :func:`guide_values` does.
    """
    if isinstance(guide, Guidance):
        said = guide_values(guide.said, estimator, rows, y, folds=folds, seed=seed)
        alone = guide.alone
        if alone is not None:
            alone = guide_values(alone, estimator, rows, y, folds=folds, seed=seed)
        return replace(guide, said=said, alone=alone)
    if is_several(guide, len(rows)):
        parts = [
            guidance(each, estimator, rows, y, recoded=recoded, folds=folds, seed=seed)
            for each in guide
        ]
        return _together(parts)
    lenders = _Lenders(rows, ~recoded, seed)
    if isinstance(guide, str) and guide == "cross-fitted" and (~recoded).any():
        return _crossed(estimator, rows, y, lenders, folds=folds, seed=seed)
    if isinstance(guide, str) and guide == "fitted":
        guide = fitted(estimator, rows, y)
    said = guide_values(guide, estimator, rows, y, folds=folds, seed=seed)
    if recoded.all() or not (hasattr(guide, "predict") or callable(guide)):
        crossed = isinstance(guide, str) and guide == "cross-fitted"
        return Guidance(said=said, crossed=crossed)
    return Guidance(said=said, alone=lenders.mean(guide, np.arange(len(rows))))


@dataclass(frozen=True, slots=True)
class _Lenders:
    """Rows of the population that lend their other columns."""

    rows: NDArray[np.float64]
    others: NDArray[np.bool_]
    seed: int

    def mean(self, guide: Any, places: NDArray[np.int64]) -> NDArray[np.float64]:  # noqa: ANN401
        """Return what a guide says on average of some rows with lent columns."""
        rng = np.random.default_rng([self.seed, len(places)])
        sums: NDArray[np.float64] | float = 0.0
        for _ in range(LENDERS):
            lent = self.rows[places]
            lenders = rng.integers(len(self.rows), size=len(places))
            lent[:, self.others] = self.rows[lenders][:, self.others]
            sums = sums + predicted(guide, lent)
        return np.asarray(sums) / LENDERS


def _crossed(
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    y: NDArray[Any],
    lenders: _Lenders,
    *,
    folds: int,
    seed: int,
) -> Guidance:
    said: NDArray[np.float64] | None = None
    alone: NDArray[np.float64] | None = None
    for model, held in cross_fits(estimator, rows, y, folds=folds, seed=seed):
        part = predicted(model, rows[held])
        if said is None or alone is None:
            said, alone = np.empty((len(y), part.shape[1])), np.empty((len(y), part.shape[1]))
        said[held], alone[held] = part, lenders.mean(model, held)
    return Guidance(said=np.asarray(said), alone=alone, crossed=True)


def _together(parts: list[Guidance]) -> Guidance:
    """Return guides that lead together; one that can't say it of parts says it of rows."""
    said = np.hstack([part.said for part in parts])
    crossed = all(part.crossed for part in parts)
    if all(part.alone is None for part in parts):
        return Guidance(said=said, crossed=crossed)
    alone = [part.said if part.alone is None else part.alone for part in parts]
    return Guidance(said=said, alone=np.hstack(alone), crossed=crossed)
