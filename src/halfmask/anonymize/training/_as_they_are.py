"""As they are: what was found of rows that nothing was done to, which is the same for every k."""

from __future__ import annotations

from hashlib import blake2b
from inspect import isfunction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from halfmask.anonymize.training._trials import Judge

__all__ = ["AsTheyAre"]

Found = TypeVar("Found")

#: What its own words tell from all others of its kind.
PLAIN = (bool, int, float, complex, str, bytes)


class _CannotBeToldError(Exception):
    """Something isn't known to be equal to something else."""


class AsTheyAre:
    """Remembers what a judge's models say of rows as they are.

    Notes
    -----
    It goes along with a guidance, which fits of several k may share. What was found is found again
    by all that it depends on: the rows, labels and which columns are written, by a digest; the
    model, by all that it and its parts hold, and by the very classes and functions; the seed.

    **Edge cases.** Of a model that holds what can't be told from others, such as a fitted tree, a
    generator of random numbers or a method of some object, nothing is remembered. A function is
    taken to do what it did, whatever it reads elsewhere. Copies remember nothing.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def once(self, what: str, judge: Judge, find: Callable[[], Found]) -> Found:
        """Return what is remembered of a judge's rows; the first time it is found."""
        try:
            model = _told(judge.estimator)
        except (_CannotBeToldError, RecursionError):
            return find()
        key = (what, model, _rows(judge), judge.seed)
        if key not in self._found:
            self._found[key] = find()
        found: Found = self._found[key]
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> AsTheyAre:
        return AsTheyAre()


def _rows(judge: Judge) -> bytes:
    digest = blake2b(repr((judge.encoded.shape, judge.labels.dtype)).encode())
    for array in (judge.encoded, judge.depends):
        digest.update(np.ascontiguousarray(array).data)
    labels = judge.labels
    digest.update(repr(labels.tolist()).encode() if labels.dtype == object else labels.tobytes())
    return digest.digest()


def _told(value: Any) -> Hashable:  # noqa: ANN401 # whatever a model holds
    """Return what tells a model, or what it holds, from others; equal only if those are.

    Raises
    ------
    _CannotBeToldError
        If it is of a kind of which that isn't known.
    """
    if value is None or isinstance(value, type) or isfunction(value):
        return value
    kind = type(value)
    if kind in PLAIN:
        return kind, repr(value)
    if kind in (list, tuple):
        return kind, tuple(map(_told, value))
    if kind is dict:
        return kind, tuple((_told(name), _told(held)) for name, held in value.items())
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in "biufSU":
        return kind, value.dtype.str, value.shape, value.tobytes()
    if hasattr(value, "get_params") and hasattr(value, "__dict__"):
        return kind, _told(vars(value))
    raise _CannotBeToldError
