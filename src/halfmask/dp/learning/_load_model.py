"""A released model, read again by a receiver: numbers and settings, no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import HalfmaskError, VerificationError
from halfmask.claims import Claim, Manifest, read_manifest
from halfmask.claims.manifest import PRIVATE_MODEL
from halfmask.dp.accounting import epsilon_of, event_from_json
from halfmask.dp.learning._boosting import PrivateBoostingClassifier
from halfmask.dp.learning._logistic_regression import PrivateLogisticRegression
from halfmask.dp.learning._naive_bayes import PrivateGaussianNB, PrivateMultinomialNB
from halfmask.dp.learning._release_model import MODEL_FILE, RELEASED
from halfmask.dp.learning._sgd import PrivateSGDClassifier, PrivateSGDRegressor
from halfmask.verifier import verify

if TYPE_CHECKING:
    from halfmask.dp.learning._private_estimator import PrivateEstimator

_WRONG: Final = (ValueError, TypeError, KeyError, IndexError, OSError)
#: By the kind of release and the name that its details state.
_CLASSES: Final[dict[tuple[str, str], type[PrivateEstimator]]] = {
    (PRIVATE_MODEL, kind.__name__): kind
    for kind in (
        PrivateBoostingClassifier,
        PrivateGaussianNB,
        PrivateLogisticRegression,
        PrivateMultinomialNB,
        PrivateSGDClassifier,
        PrivateSGDRegressor,
    )
}


def load_model(folder: str | Path) -> PrivateEstimator:
    """Return the model that `release_model` wrote, once it is verified.

    Parameters
    ----------
    folder
        The folder of the release.

    Returns
    -------
    PrivateEstimator
        With its settings, but without a ledger.

    Raises
    ------
    VerificationError
        If the folder isn't a released model, was altered, or its claim doesn't hold.

    Guarantees
    ----------
    Predictions are those of the model that was released. If it learned from named columns, a table
    with other names, or in another order, is refused. Nothing in the folder is run as code.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from halfmask.dp.learning import PrivateGaussianNB, release_model
    >>> model = PrivateGaussianNB(
    ...     epsilon=1.0, delta=0.0, bounds=(-1.0, 1.0), classes=["no", "yes"]
    ... ).fit(np.repeat([[-1.0], [1.0]], 500, axis=0), np.repeat(["no", "yes"], 500))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release_model(model, f"{folder}/model")
    ...     load_model(f"{folder}/model").predict([[-1.0], [1.0]]).tolist()
    ['no', 'yes']
    """
    where = Path(folder)
    if not verify(where).holds:
        raise VerificationError(
            "The release of the model was altered, or its claim doesn't hold.",
            hint="Look at the result of 'halfmask verify', and ask for the release again.",
        )
    manifest = read_manifest(where)
    try:
        model = _model(manifest, (where / MODEL_FILE).read_text(encoding="utf-8"))
        # A wrong shape shows here, and not in the predictions of a receiver.
        model.predict(_one_row(model))
    except (HalfmaskError, pl.exceptions.PolarsError, *_WRONG):
        raise VerificationError(
            "The release isn't a model of numbers that this halfmask reads.",
            hint="Load it with the version of halfmask that wrote it.",
        ) from None
    loaded: PrivateEstimator = model
    return loaded


def _model(manifest: Manifest, text: str) -> Any:  # noqa: ANN401 # attributes of any estimator
    """Return a model with the settings and attributes of a file."""
    lines = [json.loads(line) for line in text.splitlines()]
    settings = {line["parameter"]: line["values"] for line in lines if "parameter" in line}
    attributes = {line["attribute"]: line["values"] for line in lines if "attribute" in line}
    if not set(attributes) <= set(RELEASED):
        raise ValueError("An attribute that isn't one of numbers.")
    model: Any = _CLASSES[manifest.kind, str(manifest.details["estimator"])](**settings)
    for name, value in attributes.items():
        setattr(model, name, np.asarray(value) if isinstance(value, list) else value)
    model.n_features_in_ = int(str(manifest.details["features"]))
    if "feature_names_in_" in attributes:
        model.feature_names_in_ = model.feature_names_in_.astype(object)
    claim: Claim = manifest.claims[0]
    model.events_ = tuple(event_from_json(each) for each in _objects(claim.evidence["events"]))
    model.spent_epsilon_ = epsilon_of(model.events_, delta=model.delta)
    model.unit_ = str(claim.about["unit"])
    return model


def _one_row(model: Any) -> Any:  # noqa: ANN401 # attributes of any estimator
    """Return a row of zeros; under the names of the columns, if the model learned from some."""
    zeros = np.zeros((1, model.n_features_in_))
    names = getattr(model, "feature_names_in_", None)
    return zeros if names is None else pl.DataFrame(zeros, schema=[str(name) for name in names])


def _objects(events: object) -> list[dict[str, object]]:
    return [dict(each) for each in events] if isinstance(events, list) else []
