"""The settings of a hasher, its columns, and what hashes each: a slot a feature, or a bag."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask._validation import integer_at_least, one_of
from halfmask.hashing._rows import MAX_BITS
from halfmask.hashing._slots import (
    BinSlot,
    CategorySlot,
    CrossedSlot,
    HasherKeys,
    LogSlot,
    RawSlot,
    SetBag,
    TextBag,
    hash_of,
    table_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.hashing._slots import Bag, Slot
    from halfmask.vault import Secret


Numbers: TypeAlias = Literal["quantiles", "log", "raw"]
Role: TypeAlias = Literal["category", "number", "text", "set"]
_NUMBERS = ("quantiles", "log", "raw")
_MAX_BINS = 1 << 16
_BINS_PER_OCTAVE = (1, 2, 4, 8, 16)
_LONGEST_RUN = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HasherSettings:
    """The settings of a hasher; `KeyedHasher` describes each of them.

    Parameters
    ----------
    bits, signed, interactions, numbers, bins, bins_per_octave
        As in `KeyedHasher`.
    categorical, text, ngrams, characters, sets, name
        As in `KeyedHasher`.

    Raises
    ------
    ParameterError
        If one is out of range.
    """

    bits: int = 22
    signed: bool = False
    interactions: tuple[tuple[str, ...], ...] = ()
    numbers: Numbers = "quantiles"
    bins: int = 32
    bins_per_octave: int = 4
    categorical: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    ngrams: tuple[int, int] | None = (1, 1)
    characters: tuple[int, int] | None = None
    sets: tuple[str, ...] = ()
    name: str = "hasher"

    def __post_init__(self) -> None:
        integer_at_least(1, owner="KeyedHasher", bits=self.bits)
        integer_at_least(2, owner="KeyedHasher", bins=self.bins)
        one_of(_NUMBERS, owner="KeyedHasher", numbers=self.numbers)
        if self.bits > MAX_BITS or self.bins > _MAX_BINS:
            raise ParameterError(
                f"KeyedHasher has at most {MAX_BITS} bits and {_MAX_BINS:,} bins. "
                f"Got {self.bits} and {self.bins}."
            )
        if type(self.signed) is not bool:
            raise ParameterError("The 'signed' parameter of KeyedHasher must be True or False.")
        if self.bins_per_octave not in _BINS_PER_OCTAVE:
            raise ParameterError(
                "The 'bins_per_octave' parameter of KeyedHasher must be 1, 2, 4, 8 or 16."
            )
        if type(self.name) is not str or not self.name:
            raise ParameterError("The 'name' parameter of KeyedHasher must be a text, not empty.")
        for name in ("categorical", "text", "sets"):
            object.__setattr__(self, name, _check_names(getattr(self, name), name))
        object.__setattr__(self, "interactions", _check_interactions(self.interactions))
        for name in ("ngrams", "characters"):
            object.__setattr__(self, name, _check_lengths(getattr(self, name), name))
        if self.text and self.ngrams is None and self.characters is None:
            raise ParameterError(
                "A KeyedHasher of texts needs 'ngrams' of words, or of 'characters', or both."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings under the names that stored hashers have had since 0.1."""
        stored = asdict(self)
        stored["per_doubling"] = stored.pop("bins_per_octave")
        if self.numbers == "raw":
            stored["numbers"] = "kept"
        return stored

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the settings that `to_dict` gave.

        Parameters
        ----------
        stored
            What `to_dict` returned.

        Raises
        ------
        KeyError, TypeError, ParameterError
            If they are none.
        """
        given = dict(stored)
        given["bins_per_octave"] = given.pop("per_doubling")
        if given["numbers"] == "kept":
            given["numbers"] = "raw"
        return cls(**given)

    def role_of(self, column: str, kind: str) -> Role:
        """Return how a column of a kind is hashed.

        Parameters
        ----------
        column
            The name of the column.
        kind
            What its cells are, such as ``"integer"``.

        Raises
        ------
        SchemaError
            If the declaration of the column doesn't fit its kind.
        """
        lists = [n for n in ("categorical", "text", "sets") if column in getattr(self, n)]
        if len(lists) > 1:
            raise SchemaError(f"Column {column!r} is in {lists[0]!r} and in {lists[1]!r}.")
        listed = kind.startswith("list of ")
        if column in self.text:
            if kind not in {"text", "empty"}:
                raise SchemaError(f"Column {column!r} is in 'text', and isn't one of texts.")
            return "text"
        if column in self.sets:
            if not (listed or kind == "empty"):
                raise SchemaError(f"Column {column!r} is in 'sets', and isn't one of lists.")
            return "set"
        if listed:
            raise SchemaError(
                f"Column {column!r} holds lists.", hint="Name it in 'sets', or leave it out."
            )
        if column in self.categorical or kind in {"text", "bytes", "boolean", "empty"}:
            return "category"
        return "number"

    def check_columns(self, roles: dict[str, Role]) -> None:
        """Raise unless all named columns exist and interactions are of categories.

        Parameters
        ----------
        roles
            How each column of the table is hashed.

        Raises
        ------
        ColumnNotFoundError, SchemaError
            If they aren't.
        """
        asked = [
            *self.categorical,
            *self.text,
            *self.sets,
            *(n for c in self.interactions for n in c),
        ]
        absent = [name for name in dict.fromkeys(asked) if name not in roles]
        if absent:
            raise ColumnNotFoundError.of(absent, roles, where="the table")
        for crossed in self.interactions:
            for name in crossed:
                raw = roles[name] == "number" and self.numbers == "raw"
                if raw or roles[name] in {"text", "set"}:
                    raise SchemaError(
                        f"Column {name!r} can't be part of an interaction: it isn't hashed as one "
                        "category.",
                        hint="Bin numbers that interact; texts and sets have no interactions.",
                    )


def _check_names(names: Any, parameter: str) -> tuple[str, ...]:  # noqa: ANN401 # what the caller gave
    fits = isinstance(names, Sequence) and not isinstance(names, str | bytes)
    if not fits or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            f"The {parameter!r} parameter of KeyedHasher must be a list of column names."
        )
    if len(set(names)) < len(names):
        raise ParameterError(f"A column is twice in the {parameter!r} parameter of KeyedHasher.")
    return tuple(names)


def _check_interactions(interactions: Any) -> tuple[tuple[str, ...], ...]:  # noqa: ANN401 # as above
    if not isinstance(interactions, Sequence) or isinstance(interactions, str | bytes):
        raise ParameterError(
            "The 'interactions' parameter of KeyedHasher must be a list of lists of column names."
        )
    crossed = tuple(_check_names(each, "interactions") for each in interactions)
    if any(len(each) < 2 for each in crossed) or len(set(crossed)) < len(crossed):
        raise ParameterError(
            "Each of the 'interactions' of KeyedHasher must be of two columns or more, and differ."
        )
    return crossed


def _check_lengths(lengths: Any, parameter: str) -> tuple[int, int] | None:  # noqa: ANN401 # as above
    if lengths is None:
        return None
    fits = (
        isinstance(lengths, Sequence)
        and len(lengths) == 2
        and all(type(each) is int for each in lengths)
        and 1 <= lengths[0] <= lengths[1] <= _LONGEST_RUN
    )
    if not fits:
        raise ParameterError(
            f"The {parameter!r} parameter of KeyedHasher must be two whole numbers, the shortest "
            f"and the longest run, from 1 to {_LONGEST_RUN}; or None."
        )
    return lengths[0], lengths[1]


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


def wire_columns(
    columns: Sequence[HashedColumn], *, settings: HasherSettings, secret: Secret
) -> Wired:
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
