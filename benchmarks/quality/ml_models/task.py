"""What a method is given and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ml_models.datasets import Labels, Split
    from ml_models.encoding import Encoder, Matrix
    from ml_models.models import Model

#: A table of the attributes, or the matrix that the models see.
Rows: TypeAlias = "pl.DataFrame | Matrix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Training rows to be anonymized for a model.

    Parameters
    ----------
    split
        The parts; `split.train` is to be anonymized, `split.test` isn't to be looked at.
    encoder
        Makes matrices of tables; fitted to the raw training rows.
    encoded
        The raw training rows as the models see them.
    model
        The raw model: trained on `encoded` and the true labels.
    model_name
        Its name in `models.MODELS`, for methods that train others like it.
    probabilities
        What it says of each training row.
    quasi_identifiers
        What is to be recoded; all other attributes stay.
    k, seed
        As ever.
    ks
        Every k that will be asked for, so that a slow starter may do them all at once.
    cache
        A folder for what other processes made.
    """

    split: Split
    encoder: Encoder
    encoded: Matrix
    model: Model
    model_name: str
    probabilities: NDArray[np.float64]
    quasi_identifiers: tuple[str, ...]
    k: int
    seed: int
    ks: tuple[int, ...]
    cache: Path

    @property
    def train(self) -> pl.DataFrame:
        """The rows to be anonymized."""
        return self.split.train

    @property
    def labels(self) -> Labels:
        """Their true labels."""
        return self.split.y_train

    @property
    def predictions(self) -> Labels:
        """The label that the raw model gives each training row."""
        found: Labels = self.model.classes_[self.probabilities.argmax(axis=1)]
        return found

    @property
    def columns(self) -> list[int]:
        """The columns of `encoded` that belong to quasi-identifiers."""
        names = [
            name
            for name in (*self.encoder.numeric, *self.encoder.categorical)
            if name in self.quasi_identifiers
        ]
        return [column for name in names for column in self.encoder.columns_of(name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymized:
    """What a method made of the training rows.

    Parameters
    ----------
    rows
        All training rows in their order, the quasi-identifiers recoded: as a table or as a matrix.
    transform
        Does the same with other rows, such as test rows; `None` if the method can't.
    labels
        What to train on, where it isn't the true labels.
    model
        The model that was trained on the rows, if the method did that itself.
    more
        The same rows as they were written besides, where a class has several points.
    """

    rows: Rows
    transform: Callable[[pl.DataFrame], Rows] | None = None
    labels: Labels | None = None
    model: Model | None = None
    more: tuple[Rows, ...] = ()


def as_matrix(rows: Rows, encoder: Encoder) -> Matrix:
    """Return rows as the models see them."""
    return encoder.encode(rows) if isinstance(rows, pl.DataFrame) else rows
