"""The output of a model for rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask.assess.attacks._answers import answers, classes_of_model, pool_labels
from halfmask.assess.attacks._model_queries import ModelQueries, is_regressor, predicted_numbers
from halfmask.assess.attacks.attributes._rows import with_column

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from halfmask.assess.attacks._targets import ModelTarget
    from halfmask.assess.attacks.attributes._inference_setup import Subpopulation
    from halfmask.assess.attacks.attributes._secret import SecretColumn


def output_of(target: ModelTarget, rows: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any rows
    """Return the model's probabilities of its own classes: (rows, classes).

    Of a regressor it is one column, what it predicts.
    """
    labels = pool_labels(target)
    if is_regressor(target.model, labels):
        return predicted_numbers(target.model, rows, who="The model")[:, None]
    classes = classes_of_model(target.model, labels)
    return answers(target.model, rows, classes, who="The model")


def chances_of_label(
    target: ModelTarget, people: Subpopulation, secret: SecretColumn
) -> NDArray[np.float64]:
    """Return what the model gives the true label with each candidate in place: (rows, values)."""
    found = np.empty((len(people), len(secret)))
    queries = ModelQueries.of(target)
    for number, candidate in enumerate(secret.candidates):
        rows = with_column(people.rows, secret.column, candidate)
        if queries.classes is None:
            found[:, number] = queries.nearness(target.model, rows, people.true, who="The model")
            continue
        output = output_of(target, rows)
        of_label = output[np.arange(len(people)), people.labels]
        found[:, number] = np.where(people.labels >= 0, of_label, 0.0)
    return found
