"""What a model says of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._answers import answers, own_classes, pool_labels
from halfmask.assess.attacks._asking import Asking, is_regressor, predicted_numbers
from halfmask.assess.attacks.attributes._rows import with_column

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._scene import Party
    from halfmask.assess.attacks.attributes._secret import SecretColumn

__all__ = ["chances_of_label", "output_of"]


def output_of(target: ModelTarget, rows: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any rows
    """Return the model's probabilities of its own classes: (rows, classes).

    Of a regressor it is one column, what it predicts.

    Raises
    ------
    DataError
        If the model fails, or what it gives are no probabilities of these rows and classes.
    """
    labels = pool_labels(target)
    if is_regressor(target.model, labels):
        return predicted_numbers(target.model, rows, who="The model")[:, None]
    classes = own_classes(target.model, labels)
    return answers(target.model, rows, classes, who="The model")


def chances_of_label(
    target: ModelTarget, party: Party, secret: SecretColumn
) -> NDArray[np.float64]:
    """Return what the model gives the true label with each candidate in place: (rows, values)."""
    found = np.empty((len(party), len(secret)))
    asking = Asking.of(target)
    for number, candidate in enumerate(secret.candidates):
        rows = with_column(party.rows, secret.column, candidate)
        if asking.classes is None:
            found[:, number] = asking.nearness(target.model, rows, party.true, who="The model")
            continue
        said = output_of(target, rows)
        told = said[np.arange(len(party)), party.labels]
        found[:, number] = np.where(party.labels >= 0, told, 0.0)
    return found
