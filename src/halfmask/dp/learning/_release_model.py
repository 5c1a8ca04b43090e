"""A model as a release: its numbers in a file, and what its training cost as a claim."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ParameterError
from halfmask.claims import Claim
from halfmask.claims.manifest import PRIVATE_MODEL
from halfmask.dp._weaknesses import NOISE_UNSEEN, OTHER_RELEASES, ROWS_NOT_PERSONS
from halfmask.release import Release, ReleaseKind, RowFiles, TextBlock
from halfmask.release.release import StatedPolicy
from halfmask.release.row_files import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.claims import Manifest
    from halfmask.claims.claim import Json
    from halfmask.dp.learning._private_estimator import PrivateEstimator
    from halfmask.release import WriteJob
    from halfmask.release.page import AnyBlock

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
    return make(model).write(Path(out)).written[0]


def make(model: PrivateEstimator) -> Release[PrivateEstimator]:
    """Claim what a model's training cost."""
    check_is_fitted(model, "events_")
    if not set(_attributes(model)) - _DECLARED:
        raise ParameterError(
            f"A {type(model).__name__} has no attributes of numbers that can be released.",
            hint="Release the model that scikit-learn fitted in a format of your own.",
        )
    claim = Claim(
        model="differential-privacy",
        parameters={"epsilon": float(model.epsilon), "delta": float(model.delta)},
        about={
            "estimator": type(model).__name__,
            "unit": model.unit_,
            "neighbours": _NEIGHBOURS[model.unit_],
        },
        basis="accounted",
        evidence={"events": [dict(each.to_json()) for each in model.events_]},
    )
    return Release(
        kind=KIND,
        policy=StatedPolicy(PRIVATE_MODEL, json.dumps(_settings(model), sort_keys=True)),
        claims=(claim,),
        rows={},
        facts=model,
        copies=0,
    )


@contextmanager
def files(release: Release[PrivateEstimator], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how a line for each setting and attribute is written: its name and its numbers."""
    del job
    model = release.facts
    lines: list[dict[str, Json]] = [
        *({"parameter": name, "values": value} for name, value in _declared(model).items()),
        *({"attribute": name, "values": _plain(it)} for name, it in _attributes(model).items()),
    ]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    yield RowFiles(write=lambda folder: [write_lines(folder, MODEL_FILE, text)])


def weaknesses(release: Release[PrivateEstimator]) -> list[str]:
    """Name what the claim doesn't cover."""
    return [*_WEAKNESSES, *([ROWS_NOT_PERSONS] if release.facts.unit_ == "row" else [])]


def details(release: Release[PrivateEstimator]) -> dict[str, Json]:
    """Return the class of the model, and of how many columns it is."""
    return _settings(release.facts)


def blocks(release: Release[PrivateEstimator]) -> list[AnyBlock]:
    """Return the same in a sentence."""
    it = _settings(release.facts)
    sentence = f"{it['estimator']} of {it['features']} columns."
    return [TextBlock(title="Model", sentences=[sentence])]


def _settings(model: PrivateEstimator) -> dict[str, Json]:
    return {"estimator": type(model).__name__, "features": int(model.n_features_in_)}


def _attributes(model: PrivateEstimator) -> dict[str, Any]:
    return {name: getattr(model, name) for name in RELEASED if hasattr(model, name)}


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


KIND = ReleaseKind(
    name=PRIVATE_MODEL, files=files, weaknesses=weaknesses, details=details, blocks=blocks
)
