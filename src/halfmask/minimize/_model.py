"""A model as the minimizer sees it: codes of rows in, codes of predictions out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask._foreign import foreign
from halfmask.anonymize.given_rows import as_array
from halfmask.data import like, to_polars
from halfmask.data.arrays import is_missing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

BATCH = 200_000  # rows in one call of the model


@dataclass(frozen=True, slots=True)
class ValuePool:
    """The distinct values of each column, in the caller's own types, to make rows from.

    Models need their own types: a pandas category, an integer or an object must come back alike.
    """

    like: Any
    names: tuple[str, ...]
    columns: tuple[Any, ...]

    @classmethod
    def of(cls, X: Any, names: Sequence[str], firsts: Sequence[NDArray[np.int64]]) -> ValuePool:  # noqa: ANN401 # any table
        """Take the values of some rows of each column."""
        if isinstance(X, np.ndarray):
            columns = [X[first, j] for j, first in enumerate(firsts)]
            return cls(X[:0], tuple(names), tuple(columns))
        if hasattr(X, "iloc"):
            parts = [X.iloc[first, j] for j, first in enumerate(firsts)]
            taken = tuple(part.reset_index(drop=True) for part in parts)
            return cls(X.iloc[:0], tuple(names), taken)
        table = X if isinstance(X, pl.DataFrame) else to_polars(X)
        series = tuple(table.to_series(j).gather(first) for j, first in enumerate(firsts))
        return cls(like(table.clear(), X), tuple(names), series)

    def rows(self, codes: NDArray[np.int64]) -> Any:  # noqa: ANN401 # the caller's own library
        """Return rows of the caller's kind from codes of shape (n_columns, n_rows)."""
        chosen = [self.column(j, part) for j, part in enumerate(codes)]
        if isinstance(self.like, np.ndarray):
            table = np.empty((codes.shape[1], len(chosen)), dtype=self.like.dtype)
            for j, part in enumerate(chosen):
                table[:, j] = part
            return table
        if hasattr(self.like, "iloc"):
            made = type(self.like)(dict(enumerate(chosen)))
            made.columns = self.like.columns
            return made
        return like(pl.DataFrame(dict(zip(self.names, chosen, strict=True))), self.like)

    def column(self, j: int, codes: NDArray[np.int64]) -> Any:  # noqa: ANN401 # of the caller's library
        """Return one column's values from its codes."""
        values = self.columns[j]
        if isinstance(values, np.ndarray):
            return values[codes]
        if isinstance(values, pl.Series):
            return values.gather(codes)
        return values.take(codes).reset_index(drop=True)

    def completed(self, X: Any, idle: Mapping[int, int]) -> Any:  # noqa: ANN401 # any frame
        """Return a frame to which the missing columns are added that aren't needed."""
        there = list(X.columns) if hasattr(X, "iloc") else to_polars(X).columns
        lacking = {j: code for j, code in idle.items() if self.names[j] not in map(str, there)}
        if not lacking or len(there) + len(lacking) != len(self.names):
            return X
        made = {self.names[j]: (j, code) for j, code in lacking.items()}
        n = len(X)
        if hasattr(X, "iloc"):
            X = X.copy(deep=False)
            for name, (j, code) in made.items():
                column = self.column(j, np.full(n, code))
                column.index = X.index
                X.insert(min(j, X.shape[1]), name, column)
            return X[list(self.like.columns)]
        table = to_polars(X)
        new = [self.column(j, np.full(n, code)).alias(name) for name, (j, code) in made.items()]
        return like(table.with_columns(new).select(self.names), X)


@dataclass(slots=True)
class LabelledModel:
    """A model with the labels that it has predicted so far."""

    model: Any
    pool: ValuePool
    regression: bool | None = None
    classes: NDArray[Any] = field(default_factory=lambda: np.zeros(0, dtype=object))

    def __call__(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the model's answers to rows given as codes, (n_columns, n_rows).

        For a regression what it predicts, otherwise the position of the label in ``classes``.
        """
        n = codes.shape[1]
        if not n:
            return np.zeros(0)
        starts = range(0, n, BATCH)
        parts = [self.ask(self.pool.rows(codes[:, s : s + BATCH])) for s in starts]
        return np.concatenate(parts)

    def ask(self, rows: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return the model's answers to rows of the caller's kind, coded."""
        call = getattr(self.model, "predict", self.model)
        hint = "Call its predict on such rows yourself to see why."
        with foreign(f"The model failed on {len(rows)} rows", hint=hint):
            answers = as_array(call(rows))
        if answers.ndim > 1:
            _without_nan(answers)
            if answers.shape[1:] == (1,):
                answers = answers[:, 0]
            elif call is self.model and answers.ndim == 2:  # rows, classes
                # A function of rows may be somebody's predict_proba.
                answers = answers.argmax(axis=1)
        if answers.shape != (len(rows),):
            raise DataError(
                f"The model must give one prediction for each of {len(rows)} rows. "
                f"Got shape {answers.shape}."
            )
        _without_nan(answers)
        if self.regression is None:
            self.regression = is_regression(self.model, answers)
        if not self.regression:
            return self.coded(answers)
        with foreign("The model is a regression, and gave no numbers"):
            return answers.astype(np.float64)

    def encoded_truth(self, truth: NDArray[Any]) -> NDArray[np.float64]:
        """Return true answers in the codes of the model's answers."""
        failed = "The model predicts numbers, and y holds something else"
        with foreign(failed, hint="Pass the true numbers as y."):
            truth = truth.astype(np.float64) if self.regression else truth
        if _missing(truth).any():
            raise DataError(f"y has {int(_missing(truth).sum())} cells that are missing.")
        return truth if self.regression else self.coded(truth)

    def coded(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return the position of each label in ``classes``, which grows by new ones."""
        distinct, places = np.unique(labels, return_inverse=True)
        known = {label: i for i, label in enumerate(self.classes.tolist())}
        new = [label for label in distinct.tolist() if label not in known]
        if new:
            known |= {label: len(known) + i for i, label in enumerate(new)}
            self.classes = np.array([*self.classes.tolist(), *new], dtype=object)
        table = np.array([known[label] for label in distinct.tolist()], dtype=np.float64)
        coded: NDArray[np.float64] = table[places.reshape(-1)]
        return coded


def is_regression(model: object, answers: NDArray[Any]) -> bool:
    """Return whether a model's answers are numbers with a distance.

    What scikit-learn calls a regressor; of other things those that answer floating-point numbers
    that aren't whole.
    """
    from sklearn.base import is_classifier, is_regressor  # noqa: PLC0415 # sklearn loads late

    if hasattr(model, "__sklearn_tags__") and (is_regressor(model) or is_classifier(model)):
        return bool(is_regressor(model))
    return answers.dtype.kind == "f" and bool((answers != np.round(answers)).any())


def _missing(answers: NDArray[Any]) -> NDArray[np.bool_]:
    if answers.dtype.kind == "f":
        return np.asarray(~np.isfinite(answers), dtype=bool)
    if answers.dtype.kind == "O":
        return np.array([is_missing(answer) for answer in answers.reshape(-1)], dtype=bool)
    return np.zeros(answers.shape, dtype=bool)


def _without_nan(answers: NDArray[Any]) -> None:
    wrong = int(_missing(answers).sum())
    if wrong:
        raise DataError(
            f"The model gave {wrong} predictions that are NaN, infinite or missing, "
            f"of {len(answers)}.",
            hint="Call its predict on the rows yourself to see where.",
        )
