"""The columns of a hasher, and what hashes each: a slot for each feature, or a bag of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halfmask._errors import DataError
from halfmask._validation import one_of
from halfmask.hashing._bags import SetBag, TextBag
from halfmask.hashing._slots import (
    BinSlot,
    CategorySlot,
    CrossedSlot,
    HasherKeys,
    LogSlot,
    RawSlot,
    hash_of,
    table_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.hashing._bags import Bag
    from halfmask.hashing._settings import HasherSettings, Role
    from halfmask.hashing._slots import Slot
    from halfmask.vault import Secret

_ROLES = ("category", "number", "text", "set")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HashedColumn:
    """A column's name, what it holds, and how it is hashed."""

    name: str
    kind: str
    role: Role
    edges: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        one_of(_ROLES, owner="a hasher's column", role=self.role)
        edges = self.edges
        if edges is not None and not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise DataError("The edges of a column's bins must be finite and ascend.")


_SIGN_AND_EXPONENT = 12


class Wired(NamedTuple):
    """What hashes a row: slots that have one feature each, and bags that have some."""

    slots: tuple[Slot, ...]
    bags: tuple[Bag, ...]


def wired(columns: Sequence[HashedColumn], *, settings: HasherSettings, secret: Secret) -> Wired:
    """Return slots and bags of columns, in a keyed order.

    The order of a row's features follows from the key and the names alone, so that it tells
    nothing of the order of the columns, and doesn't change with it.
    """
    keys = HasherKeys(secret=secret, name=settings.name)
    slots: dict[tuple[str, ...], Slot] = {}
    bags: dict[tuple[str, ...], Sequence[Bag]] = {}
    for column in columns:
        if column.role == "text":
            bags[column.name,] = _texts(column.name, settings, keys)
        elif column.role == "set":
            bags[column.name,] = (
                SetBag(column=column.name, member=_category(column.name, keys, "member")),
            )
        else:
            slots[column.name,] = _slot(column, settings, keys)
    for crossed in settings.interactions:
        parts = tuple(slots[name,] for name in crossed)
        slots[crossed] = CrossedSlot(parts=parts, key=keys.of("interaction", *crossed))
    order = keys.of("order")

    def place(names: tuple[str, ...]) -> int:
        return int(hash_of(order, json.dumps(names, ensure_ascii=False).encode()))

    return Wired(
        slots=tuple(slots[names] for names in sorted(slots, key=place)),
        bags=tuple(bag for names in sorted(bags, key=place) for bag in bags[names]),
    )


def _slot(column: HashedColumn, settings: HasherSettings, keys: HasherKeys) -> Slot:
    name = column.name
    if column.role == "category":
        return _category(name, keys, "value")
    missing = hash_of(keys.of("missing", name))
    if settings.numbers == "raw":
        own = hash_of(keys.of("number", name))
        return RawSlot(column=name, table=np.array([own, missing], np.uint64))
    key = keys.of("bin", name)
    if settings.numbers == "log":
        bits = settings.bins_per_octave.bit_length() - 1
        return LogSlot(
            column=name, bits=bits, table=table_of(key, 1 << (_SIGN_AND_EXPONENT + bits), missing)
        )
    edges = np.zeros(0) if column.edges is None else column.edges
    return BinSlot(column=name, edges=edges, table=table_of(key, len(edges) + 1, missing))


def _category(name: str, keys: HasherKeys, purpose: str) -> CategorySlot:
    missing = hash_of(keys.of("missing", name))
    return CategorySlot(column=name, key=keys.of(purpose, name), missing=missing)


def _texts(name: str, settings: HasherSettings, keys: HasherKeys) -> list[Bag]:
    found: list[Bag] = []
    asked = (("word", settings.ngrams), ("character", settings.characters))
    for purpose, lengths in asked:
        if lengths is not None:
            found.append(
                TextBag(
                    column=name,
                    key=keys.of(purpose, name),
                    # One missing text is one feature, however many kinds of runs are asked for.
                    missing=None if found else hash_of(keys.of("missing", name)),
                    by_word=purpose == "word",
                    lengths=lengths,
                )
            )
    return found
