"""Guidance: what a guide says of each row, and of its quasi-identifiers, on average and by case."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.anonymize.training._as_they_are import AsTheyAre
from halfmask.anonymize.training._fitting import fitted
from halfmask.anonymize.training._guides import cross_fits, guide_values, is_several, predicted
from halfmask.anonymize.training._lenders import CASES, Lenders, in_one_range
from halfmask.anonymize.training._stepwise import all_or_nothing, answers_in_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Guidance", "guidance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What leads the classes, in the forms that a guide has.

    Parameters
    ----------
    said
        What it says of each row as it is, (rows, outputs).
    alone
        What it says of each row's quasi-identifiers alone, (rows, outputs): the mean over other
        columns as the population has them. ``None`` where there are no other columns, or where the
        guide can't be asked: predictions that were given, labels.
    cases
        What it says of each row's quasi-identifiers beside the other columns of each of some rows,
        (rows, cases times outputs), for a model that answers in steps, but for a classifier's lone
        tree that is grown to the end, which learned no more by it; else ``None``.
    crossed
        Whether nothing that was asked about a row had learned from it.
    as_they_are
        What fits that share the guidance find of rows as they are, once for all of them.

    Notes
    -----
    Classes are made of quasi-identifiers only. Where other columns move the prediction too, rows
    with the same quasi-identifiers differ in it, and a tree that is led by it spends its cuts on
    what it can't part. ``alone`` is the partial dependence (Friedman, "Greedy function
    approximation", 2001, section 8.2) of the quasi-identifiers. What they do may depend on the
    other columns, and cancel on average: models that answer in steps learn such things, and
    ``cases`` has them one by one.
    """

    said: NDArray[np.float64]
    alone: NDArray[np.float64] | None = None
    cases: NDArray[np.float64] | None = None
    crossed: bool = False
    as_they_are: AsTheyAre = field(default_factory=AsTheyAre, repr=False, compare=False)

    def of(self, places: NDArray[np.int64]) -> Guidance:
        """Return what it says of some of the rows."""
        alone = None if self.alone is None else self.alone[places]
        cases = None if self.cases is None else self.cases[places]
        return Guidance(said=self.said[places], alone=alone, cases=cases, crossed=self.crossed)

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
    by_case: bool = True,
) -> Guidance:
    """Return a guide's guidance.

    Parameters
    ----------
    guide, estimator, rows, y, folds, seed
        As in :func:`guide_values`; a :class:`Guidance` is returned as it is.
    recoded
        Which columns depend on a quasi-identifier, (columns,).
    by_case
        Whether it is asked case by case, too, if ``cases`` has a use for it: that costs as much
        again as asking for the mean, and matters where several partitions are tried only.

    Raises
    ------
    ParameterError, DataError
        As :func:`guide_values` does.
    """
    if isinstance(guide, Guidance):
        return _checked(guide, estimator, rows, y)
    if is_several(guide, len(rows)):
        parts = [
            guidance(
                each,
                estimator,
                rows,
                y,
                recoded=recoded,
                folds=folds,
                seed=seed,
                by_case=by_case,
            )
            for each in guide
        ]
        return _together(parts)
    asked = _Asked(estimator, rows, y, Lenders(rows, ~recoded, seed), by_case=by_case)
    if isinstance(guide, str) and guide == "cross-fitted" and (~recoded).any():
        return asked.crossed(folds)
    if isinstance(guide, str) and guide == "fitted":
        guide = fitted(estimator, rows, y)
    said = guide_values(guide, estimator, rows, y, folds=folds, seed=seed)
    if recoded.all() or not (hasattr(guide, "predict") or callable(guide)):
        crossed = isinstance(guide, str) and guide == "cross-fitted"
        return Guidance(said=said, crossed=crossed)
    return asked.of(guide, said)


def _checked(
    guide: Guidance,
    estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
    rows: NDArray[np.float64],
    y: NDArray[Any],
) -> Guidance:
    """Return a guidance that was given, if it says something of each row."""

    def values(said: NDArray[np.float64]) -> NDArray[np.float64]:
        return guide_values(said, estimator, rows, y, folds=0, seed=0)  # nothing is drawn

    return replace(
        guide,
        said=values(guide.said),
        alone=None if guide.alone is None else values(guide.alone),
        cases=None if guide.cases is None else values(guide.cases),
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What guides are asked about, where there are other columns."""

    estimator: Any
    rows: NDArray[np.float64]
    y: NDArray[Any]
    lenders: Lenders
    by_case: bool

    def of(self, guide: Any, said: NDArray[np.float64]) -> Guidance:  # noqa: ANN401 # many kinds
        """Return what one guide of all rows says."""
        everyone = np.arange(len(self.rows))
        alone = self.lenders.mean(guide, everyone)
        cases = self.lenders.cases(guide, everyone) if self._looks_at_cases() else None
        return Guidance(said=said, alone=alone, cases=_in_one_range(cases))

    def crossed(self, folds: int) -> Guidance:
        """Return what models say that didn't see the rows that they are asked about."""
        places, said, alone, cases = [], [], [], []
        fits = cross_fits(self.estimator, self.rows, self.y, folds=folds, seed=self.lenders.seed)
        looks_at_cases = None
        for model, held in fits:
            places.append(held)
            said.append(predicted(model, self.rows[held]))
            alone.append(self.lenders.mean(model, held))
            if looks_at_cases is None:  # what fails of the model has failed by now
                looks_at_cases = self._looks_at_cases()
            if looks_at_cases:
                cases.append(self.lenders.cases(model, held))
        order = np.argsort(np.concatenate(places))
        return Guidance(
            said=np.concatenate(said)[order],
            alone=np.concatenate(alone)[order],
            cases=_in_one_range(np.concatenate(cases)[order] if cases else None),
            crossed=True,
        )

    def _looks_at_cases(self) -> bool:
        of_these = (self.estimator, self.rows, self.y)
        return (
            self.by_case
            and answers_in_steps(*of_these, seed=self.lenders.seed)
            and not all_or_nothing(*of_these, seed=self.lenders.seed)
        )


def _in_one_range(cases: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    return None if cases is None else in_one_range(cases)


def _together(parts: list[Guidance]) -> Guidance:
    """Return guides that lead together; one that can't say it of parts says it of rows."""
    said = np.hstack([part.said for part in parts])
    crossed = all(part.crossed for part in parts)
    if all(part.alone is None for part in parts):
        return Guidance(said=said, crossed=crossed)
    alone = [part.said if part.alone is None else part.alone for part in parts]
    together = Guidance(said=said, alone=np.hstack(alone), crossed=crossed)
    if all(part.cases is None for part in parts):
        return together
    cases = [np.tile(part.said, CASES) if part.cases is None else part.cases for part in parts]
    return replace(together, cases=np.hstack(cases))
