"""Remembered: what was found of rows as they are, which is the same for every k and partition."""

from __future__ import annotations

import sys
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.anonymize.training._trials import Judge

__all__ = ["Remembered"]

Found = TypeVar("Found")


class Remembered:
    """Remembers what a judge's models say of rows that nothing was done to.

    Notes
    -----
    It goes along with a guidance, which several fits may share. What was found is found again by
    all that it depends on: the rows, labels and which columns are written, by a digest; the model,
    by its settings; the seed.

    **Edge cases.** Settings that have no words of their own (an object that is printed by its
    address) are others in each copy: then everything is found anew.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Any] = {}

    def once(self, what: str, judge: Judge, find: Callable[[], Found]) -> Found:
        """Return what is remembered of a judge's rows; the first time it is found."""
        key = (what, _model(judge.estimator), _rows(judge), judge.seed)
        if key not in self._found:
            self._found[key] = find()
        found: Found = self._found[key]
        return found


def _rows(judge: Judge) -> bytes:
    digest = blake2b(repr((judge.encoded.shape, judge.labels.dtype)).encode())
    for array in (judge.encoded, judge.depends):
        digest.update(np.ascontiguousarray(array).data)
    labels = judge.labels
    digest.update(repr(labels.tolist()).encode() if labels.dtype == object else labels.tobytes())
    return digest.digest()


def _model(estimator: Any) -> tuple[str, str]:  # noqa: ANN401 # scikit-learn ships no types
    kind = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
    with np.printoptions(threshold=sys.maxsize):
        return kind, repr(sorted(estimator.get_params(deep=True).items()))
