"""Guidance: what a guide says of each row, and of its quasi-identifiers, on average and by case."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.training._as_they_are import AsTheyAre
from halfmask.training._fitting import fitted
from halfmask.training._guides import (
    as_wide_as,
    cross_fits,
    guide_values,
    is_several,
    predicted,
)
from halfmask.training._lenders import Lenders, comparable_cases, together
from halfmask.training._stepwise import all_or_nothing, answers_in_steps

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
    crossed
        Whether nothing that was asked about a row had learned from it.
    as_they_are
        What fits that share the guidance find of rows as they are, once for all of them.
    cases
        What it says of each row's quasi-identifiers beside the other columns of each of some rows,
        (rows, cases, outputs), of two shares one, and numbers brought into [0, 1]; for a model that
        answers in steps, but for a classifier's lone tree that is grown to the end, which learned
        no more by it; else ``None``.

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
    crossed: bool = False
    as_they_are: AsTheyAre = field(default_factory=AsTheyAre, repr=False, compare=False)
    cases: NDArray[np.float64] | None = None

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
        Whether it is asked case by case, too, for a model that has a use for it. That costs two
        trainings on a thousand rows to find out, and then as much again as asking for the mean; it
        matters where several partitions are tried only.

    Raises
    ------
    ParameterError, DataError
        As :func:`guide_values` does.
    """
    asked = _Asked(estimator, rows, y, Lenders(rows, ~recoded, seed), folds=folds, by_case=by_case)
    return asked.guided(guide)


@dataclass(frozen=True)  # without slots: what is found of the model is kept
class _Asked:
    """What guides are asked about."""

    estimator: Any
    rows: NDArray[np.float64]
    y: NDArray[Any]
    lenders: Lenders
    folds: int
    by_case: bool

    def guided(self, guide: Any) -> Guidance:  # noqa: ANN401 # many kinds
        """Return what a guide says, or several together."""
        if isinstance(guide, Guidance):
            return self._given(guide)
        if is_several(guide, len(self.rows)):
            return _together([self.guided(each) for each in guide])
        others = bool(self.lenders.others.any())
        crossed = isinstance(guide, str) and guide == "cross-fitted"
        if crossed and others:
            return self._crossed()
        if isinstance(guide, str) and guide == "fitted":
            guide = fitted(self.estimator, self.rows, self.y)
        said = self._values(guide)
        if not others or not (hasattr(guide, "predict") or callable(guide)):
            return Guidance(said=said, crossed=crossed)
        everyone = np.arange(len(self.rows))
        alone = self.lenders.mean(guide, everyone)
        if not self._looks_at_cases:
            return Guidance(said=said, alone=alone)
        cases = comparable_cases(self.lenders.cases(guide, everyone))
        return Guidance(said=said, alone=alone, cases=cases)

    def _crossed(self) -> Guidance:
        """Return what models say that didn't see the rows that they are asked about."""
        places: list[NDArray[np.int64]] = []
        said: list[NDArray[np.float64]] = []
        alone: list[NDArray[np.float64]] = []
        cases: list[NDArray[np.float64]] = []
        seed = self.lenders.seed
        for model, held in cross_fits(
            self.estimator, self.rows, self.y, folds=self.folds, seed=seed
        ):
            places.append(held)
            of_held = predicted(model, self.rows[held])
            said.append(as_wide_as(said[0] if said else of_held, of_held))
            alone.append(as_wide_as(of_held, self.lenders.mean(model, held)))
            if self._looks_at_cases:
                cases.append(self.lenders.cases(model, held))
        order = np.argsort(np.concatenate(places))
        return Guidance(
            said=np.concatenate(said)[order],
            alone=np.concatenate(alone)[order],
            cases=comparable_cases(np.concatenate(cases)[order]) if cases else None,
            crossed=True,
        )

    def _given(self, guide: Guidance) -> Guidance:
        """Return a guidance that was given, if it says something of each row."""
        cases = guide.cases
        if cases is not None:
            side_by_side = cases.reshape(len(cases), math.prod(cases.shape[1:]))
            cases = self._values(side_by_side).reshape(cases.shape)
        alone = None if guide.alone is None else self._values(guide.alone)
        return replace(guide, said=self._values(guide.said), alone=alone, cases=cases)

    def _values(self, guide: object) -> NDArray[np.float64]:
        seed = self.lenders.seed
        return guide_values(guide, self.estimator, self.rows, self.y, folds=self.folds, seed=seed)

    @cached_property
    def _looks_at_cases(self) -> bool:
        """Whether cases are of use; asked after a guide, so that this fails of no bad model."""
        of_these, seed = (self.estimator, self.rows, self.y), self.lenders.seed
        return (
            self.by_case
            and answers_in_steps(*of_these, seed=seed)
            and not all_or_nothing(*of_these, seed=seed)
        )


def _together(parts: list[Guidance]) -> Guidance:
    """Return guides that lead together; one that can't say it of parts says it of rows."""
    said = np.hstack([part.said for part in parts])
    crossed = all(part.crossed for part in parts)
    if all(part.alone is None for part in parts):
        return Guidance(said=said, crossed=crossed)
    alone = [part.said if part.alone is None else part.alone for part in parts]
    cases = None
    if any(part.cases is not None for part in parts):
        cases = together(
            [
                comparable_cases(of_rows[:, None, :]) if part.cases is None else part.cases
                for part, of_rows in zip(parts, alone, strict=True)
            ]
        )
    return Guidance(said=said, alone=np.hstack(alone), cases=cases, crossed=crossed)
