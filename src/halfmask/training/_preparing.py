"""Preparing: rows checked, encoded, and with what their partition is guided by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.anonymize.given_rows import named
from halfmask.training._candidates import TrainingData
from halfmask.training._checked import checked, seed_of
from halfmask.training._encoding import Encoding
from halfmask.training._split_targets import split_targets_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.training._checked import EstimatorSettings

#: The name under which guarantees judge y.
LABEL = "label"


def prepared(
    model: EstimatorSettings,
    X: Any,  # noqa: ANN401 # any table
    labels: NDArray[Any],
) -> TrainingData:
    """Return the rows in all forms that candidates need."""
    table, seed = checked(model, X, labels), seed_of(model.random_state)
    names = names_of(model.quasi_identifiers, table.columns)
    _generalize(names, model, table.columns)
    encoding = Encoding(model.encoder, names).fit(X)
    encoded = encoding.encode(X)
    targets = None
    if model.split_targets is not None:
        targets = split_targets_of(
            model.split_targets,
            model.estimator,
            encoded,
            labels,
            cv=model.cv,
            random_state=seed,
        )
    return TrainingData(
        estimator=model.estimator,
        table=_with_labels(table, labels, model),
        quasi_identifiers=names,
        encoding=encoding,
        encoded=encoded,
        labels=labels,
        targets=targets,
        guarantees=model.guarantees,
        seed=seed,
        hierarchies=model.hierarchies,
    )


def names_of(quasi_identifiers: Sequence[str | int] | None, columns: list[str]) -> list[str]:
    """Return the names of the quasi-identifiers, in the order of the columns."""
    if quasi_identifiers is None:
        return columns
    if not len(quasi_identifiers):
        raise ParameterError(
            "The 'quasi_identifiers' parameter of AnonymizedEstimator names no column: there is "
            "nothing to make classes of.",
            hint="Name the columns that an attacker may know, or None for all.",
        )
    names = [named(each, columns) for each in quasi_identifiers]
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ColumnNotFoundError.of(unknown, columns, where="the rows")
    return [name for name in columns if name in names]


def _generalize(names: list[str], model: EstimatorSettings, columns: list[str]) -> None:
    """Raise if a hierarchy is of a column that no class recodes: it would be without effect."""
    others = [name for name in model.hierarchies or {} if name in columns and name not in names]
    if others:
        raise ParameterError(
            f"Column {others[0]!r} has a hierarchy and isn't a quasi-identifier.",
            hint="Name it in quasi_identifiers, or leave its hierarchy out.",
        )


def _with_labels(
    table: pl.DataFrame, labels: NDArray[Any], model: EstimatorSettings
) -> pl.DataFrame:
    """Return the table with labels, if a guarantee is about them: numbers by size, else text."""
    if LABEL not in {guarantee.column for guarantee in model.guarantees}:
        return table
    if LABEL in table.columns:
        raise ParameterError(
            f"A guarantee is about y as {LABEL!r}, and a column has that name too.",
            hint="Rename the column.",
        )
    values = np.asarray(labels.tolist()) if labels.dtype == object else labels
    return table.with_columns(
        pl.Series(LABEL, values if values.dtype.kind in "iuf" else values.astype(str))
    )
