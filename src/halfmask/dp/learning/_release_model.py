"""A model as a release: its numbers in a file, and what its training cost as a claim."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ParameterError
from halfmask.claims import Claim
from halfmask.claims.manifest import PRIVATE_MODEL
from halfmask.dp._weaknesses import NOISE_UNSEEN, OTHER_RELEASES, ROWS_NOT_PERSONS
from halfmask.release import Product, TextBlock, publish
from halfmask.release.json_lines import write_lines

if TYPE_CHECKING:
    from halfmask.claims import DataFile, Manifest
    from halfmask.claims.claim import Json
    from halfmask.dp.learning._private_estimator import PrivateEstimator

#: The file of such a release.
MODEL_FILE: Final = "data/model.jsonl"

#: Fitted attributes that no training learns, such as the names of columns in their order.
_DECLARED: Final = frozenset({"classes_", "feature_names_in_", "C_"})
#: Fitted attributes that are numbers or texts, in the order in which they are written.
RELEASED: Final = (
    *("feature_names_in_", "classes_", "C_", "coef_", "intercept_", "class_prior_", "theta_"),
    *("var_", "class_log_prior_", "feature_log_prob_", "shapes_"),
)
_NEIGHBOURS: Final = {
    "row": "one row is added or removed",
    "person": "all rows of one person are added or removed",
}
_WEAKNESSES: Final = (
    NOISE_UNSEEN,
    "bounds-unseen: no file can show that bounds were declared without a look at the data.",
    OTHER_RELEASES,
)


def release_model(model: PrivateEstimator, out: str | Path) -> Manifest:
    """Write a trained model into a folder, with the claim of what its training cost.

    Parameters
    ----------
    model
        A fitted estimator of this package whose attributes are numbers.
    out
        The folder to make; it must not exist.

    Returns
    -------
    Manifest
        What the folder states.

    Raises
    ------
    ParameterError
        If the model isn't fitted with numbers, such as the student of PATE.
    ReleaseError
        If the folder exists or can't be written.
    VerificationError
        If the verifier's arithmetic doesn't bear out the claim: nothing is left then.

    See Also
    --------
    load_model : Reads it again.

    Guarantees
    ----------
    The claim is accounted: the verifier composes the stated events again, with none of this
    package's code. It can't see the noise.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import halfmask
    >>> from halfmask.dp.learning import PrivateLogisticRegression
    >>> model = PrivateLogisticRegression(
    ...     epsilon=1.0, delta=0.0, row_norm=1.0, classes=[0, 1], C=0.1
    ... ).fit(np.repeat([[-1.0], [1.0]], 50, axis=0), np.repeat([0, 1], 50))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release_model(model, f"{folder}/model")
    ...     halfmask.verify(f"{folder}/model").holds
    True
    """
    check_is_fitted(model, "events_")
    attributes = {name: getattr(model, name) for name in RELEASED if hasattr(model, name)}
    if not set(attributes) - _DECLARED:
        raise ParameterError(
            f"A {type(model).__name__} has no attributes of numbers that can be released.",
            hint="Release the model that scikit-learn fitted in a format of your own.",
        )
    kind = type(model).__name__
    settings: dict[str, Json] = {"estimator": kind, "features": int(model.n_features_in_)}
    claim = Claim(
        model="differential-privacy",
        parameters={"epsilon": float(model.epsilon), "delta": float(model.delta)},
        about={
            "estimator": kind,
            "unit": model.unit_,
            "neighbours": _NEIGHBOURS[model.unit_],
        },
        basis="accounted",
        evidence={"events": [dict(each.to_json()) for each in model.events_]},
    )
    product = Product(
        kind=PRIVATE_MODEL,
        policy_sha256=hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
        write=lambda folder: [_written(_declared(model), attributes, folder)],
        claims=lambda _: [claim],
        weaknesses=[*_WEAKNESSES, *([ROWS_NOT_PERSONS] if model.unit_ == "row" else [])],
        blocks=[TextBlock(title="Model", sentences=[f"{kind} of {settings['features']} columns."])],
        details=settings,
    )
    return publish(product, Path(out))


def _declared(model: PrivateEstimator) -> dict[str, Json]:
    """Return the settings of a model, which were declared; its ledger is the owner's."""
    settings = model.get_params(deep=False)
    return {name: _plain(value) for name, value in settings.items() if name != "ledger"}


def _plain(value: Any) -> Json:  # noqa: ANN401 # a setting of any estimator
    """Return numbers, texts, and lists of them as JSON has them."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if value is None or isinstance(value, str | int | float):
        return value
    return [_plain(each) for each in value]


def _written(settings: dict[str, Json], attributes: dict[str, Any], folder: Path) -> DataFile:
    """Write a line a setting and a line an attribute: its name and its numbers."""
    lines: list[dict[str, Json]] = [
        *({"parameter": name, "values": value} for name, value in settings.items()),
        *({"attribute": name, "values": _plain(value)} for name, value in attributes.items()),
    ]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    return write_lines(folder, MODEL_FILE, text)
