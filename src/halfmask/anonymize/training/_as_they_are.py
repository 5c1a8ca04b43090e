"""As they are: what was found of rows that nothing was done to, which is the same for every k."""

from __future__ import annotations

from hashlib import blake2b
from inspect import isroutine
from typing import TYPE_CHECKING, Any, TypeVar

import joblib
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from halfmask.anonymize.training._trials import Judge

__all__ = ["AsTheyAre"]

Found = TypeVar("Found")


class AsTheyAre:
    """Remembers what a judge's models say of rows as they are.

    Notes
    -----
    It goes along with a guidance, which fits of several k may share. What was found is found again
    by all that it depends on: the rows, labels and which columns are written, by a digest; the
    model, by a digest of its settings, and by the very classes and functions among them; the seed.

    **Edge cases.** Of a model whose settings have no digest, such as one with a lambda, nothing is
    remembered. Copies and pickles remember nothing.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def once(self, what: str, judge: Judge, find: Callable[[], Found]) -> Found:
        """Return what is remembered of a judge's rows; the first time it is found."""
        model = _model(judge.estimator)
        if model is None:
            return find()
        key = (what, model, _rows(judge), judge.seed)
        if key not in self._found:
            self._found[key] = find()
        found: Found = self._found[key]
        return found

    def __reduce__(self) -> tuple[type[AsTheyAre], tuple[()]]:
        return AsTheyAre, ()


def _rows(judge: Judge) -> bytes:
    digest = blake2b(repr((judge.encoded.shape, judge.labels.dtype)).encode())
    for array in (judge.encoded, judge.depends):
        digest.update(np.ascontiguousarray(array).data)
    labels = judge.labels
    digest.update(repr(labels.tolist()).encode() if labels.dtype == object else labels.tobytes())
    return digest.digest()


def _model(estimator: Any) -> Hashable | None:  # noqa: ANN401 # scikit-learn ships no types
    """Return what tells a model from others; ``None`` where nothing does."""
    try:
        digest = joblib.hash(estimator)  # knows a class or a function by its name only
        settings = estimator.get_params(deep=True).values()
    except Exception:  # noqa: BLE001 # settings of others, which may be anything
        return None
    functions = tuple(value for value in settings if isroutine(value))
    return digest, type(estimator), tuple(map(type, settings)), functions
