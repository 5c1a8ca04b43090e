"""Persons behind rows: whose each row is, and one row of each by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import DataError
from halfmask._random import fresh_key, keyed_order

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def person_codes(groups: ArrayLike, n: int, *, owner: str) -> NDArray[np.int64]:
    """Return a number from 0 for the person of each row."""
    listed = np.asarray(groups)
    if listed.shape != (n,):
        raise DataError(
            f"The 'groups' parameter of {owner} must be a list with the person of each of {n} rows."
        )
    persons = listed.tolist()
    missing = sum(each is None or each != each for each in persons)  # noqa: PLR0124 # NaN
    missing += int(np.isnat(listed).sum()) if listed.dtype.kind in "mM" else 0
    if missing:
        raise DataError(
            f"The 'groups' parameter of {owner} names no person in {missing} rows.",
            hint="Leave these rows out, or give each of them a person of its own.",
        )
    seen: dict[object, int] = {}
    try:
        codes = [seen.setdefault(each, len(seen)) for each in persons]
    except TypeError:
        raise DataError(f"The 'groups' parameter of {owner} must be texts or numbers.") from None
    return np.array(codes, dtype=np.int64)


def one_row_each(persons: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of one row of each person, in the order of the rows.

    Guarantees
    ----------
    Each row of a person is chosen with the same probability, independently of all other persons,
    by the operating system's randomness.
    """
    order = keyed_order(len(persons), key=fresh_key())
    _, first = np.unique(persons[order], return_index=True)
    return np.sort(order[first]).astype(np.int64)
