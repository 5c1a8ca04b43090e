"""What a model says of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask.assess.attacks.attributes._rows import with_column

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._scene import Party
    from halfmask.assess.attacks.attributes._secret import Secret

__all__ = ["chances_of_label", "output_of"]


def output_of(target: ModelTarget, rows: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any rows
    """Return the model's probabilities: (rows, classes).

    Raises
    ------
    DataError
        If they aren't a finite number for each row and class.
    """
    ask = getattr(target.model, "predict_proba", target.model)
    said = np.asarray(ask(rows), dtype=np.float64)
    if said.ndim != 2 or len(said) != len(rows) or not np.isfinite(said).all():
        raise DataError(
            f"The model must give a finite number for each row and class, of {len(rows)} rows. "
            f"Got an array of shape {said.shape}."
        )
    return said


def chances_of_label(target: ModelTarget, party: Party, secret: Secret) -> NDArray[np.float64]:
    """Return what the model gives the true label with each candidate in place: (rows, values)."""
    found = np.empty((len(party), len(secret)))
    for number, candidate in enumerate(secret.candidates):
        said = output_of(target, with_column(party.rows, secret.column, candidate))
        told = said[np.arange(len(party)), party.labels]
        found[:, number] = np.where(party.labels >= 0, told, 0.0)
    return found
