"""As they are: what was found of rows that nothing was done to, which is the same for every k."""

from __future__ import annotations

from hashlib import blake2b
from inspect import isfunction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from halfmask.training._trials import Judge

__all__ = ["AsTheyAre"]

Found = TypeVar("Found")

#: What its own words tell from all others of its kind.
PLAIN = (bool, int, float, complex, str, bytes)
#: Arrays whose bytes are all of their cells.
TOLD_BY_BYTES = "biufSU"
#: Of a class that is written in Python.
WRITTEN = 1 << 9


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
    taken to do what it did, whatever it reads elsewhere, and so is a class. Copies remember
    nothing, and neither does what was written to a file and read again.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def once(self, what: str, judge: Judge, find: Callable[[], Found]) -> Found:
        """Return what is remembered of a judge's rows; the first time it is found."""
        try:
            key = (what, _told(judge.estimator), _rows(judge), judge.seed)
        except (_CannotBeToldError, RecursionError):
            return find()
        if key not in self._found:
            self._found[key] = find()
        found: Found = self._found[key]
        return found

    def __reduce__(self) -> tuple[type[AsTheyAre], tuple[()]]:
        return AsTheyAre, ()  # for all copies: another process may have other classes by a name


def _rows(judge: Judge) -> bytes:
    digest = blake2b(repr((judge.encoded.shape, judge.labels.dtype)).encode())
    for array in (judge.encoded, judge.depends):
        digest.update(np.ascontiguousarray(array).data)
    labels = judge.labels
    if labels.dtype == object:
        digest.update(repr([_told(label) for label in labels.tolist()]).encode())
    elif labels.dtype.kind in TOLD_BY_BYTES:
        digest.update(labels.tobytes())
    else:
        raise _CannotBeToldError
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
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype.kind in TOLD_BY_BYTES:
        return kind, value.dtype.str, value.shape, value.tobytes()
    if hasattr(value, "get_params") and _holds_all_in_its_dict(kind):
        return kind, _told(vars(value))
    raise _CannotBeToldError


def _holds_all_in_its_dict(kind: type) -> bool:
    """Tell whether what is of this class has no slots, and isn't a list, say, besides."""
    return all(
        base.__flags__ & WRITTEN and not vars(base).get("__slots__") for base in kind.__mro__[:-1]
    )
