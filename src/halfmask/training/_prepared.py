"""Prepared: rows as the model sees them, and what leads their classes, before any is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halfmask.training._anonymizing import names_of
from halfmask.training._checked import checked
from halfmask.training._encoding import Encoding
from halfmask.training._guidance import Guidance, guidance
from halfmask.training._representatives import CHOSEN, representative_named

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.training._estimator import AnonymizedEstimator

__all__ = ["Prepared", "prepared"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What every k of the same rows begins with.

    Parameters
    ----------
    table
        The rows as they are.
    names
        The quasi-identifiers.
    encoding
        How the model sees rows, fitted.
    encoded
        The rows as it sees them, (rows, columns).
    guidance
        What leads their classes.
    """

    table: pl.DataFrame = field(repr=False)
    names: list[str]
    encoding: Encoding
    encoded: NDArray[np.float64] = field(repr=False)
    guidance: Guidance


def prepared(
    model: AnonymizedEstimator,
    X: Any,  # noqa: ANN401 # any table, scikit-learn's name
    labels: NDArray[Any],
    *,
    guide: object,
) -> Prepared:
    """Check and encode rows, and train or ask what is to lead their classes.

    Raises
    ------
    ParameterError, DataError, ColumnNotFoundError
        If the estimator's settings, the rows or the labels can't be fitted, or the guide fails.
    """
    table = checked(model, X, labels)
    names = names_of(model.quasi_identifiers, table.columns)
    encoding = Encoding(model.encoder, names).fit(X)
    encoded = encoding.encode(X)
    led_by = guidance(
        guide,
        model.estimator,
        encoded,
        labels,
        recoded=encoding.depends_,
        folds=model.folds,
        seed=model.seed,
        by_case=representative_named(model.representative) == CHOSEN,
    )
    return Prepared(table=table, names=names, encoding=encoding, encoded=encoded, guidance=led_by)
