"""Substitutes: a realistic value in the place of each value, chosen by a key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, get_args

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._random import KEY_BYTES, keyed_integers
from halfmask.data._hierarchy import as_text
from halfmask.masks._pseudonym import Pseudonym
from halfmask.masks._substitute_pools import (
    SubstituteKind,
    SubstitutePool,
    faker_version,
    substitute_pool,
)
from halfmask.masks._technique import Technique

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.masks._value_counts import ValueCounts

__all__ = ["Substitutes"]

#: A pool of unique substitutes has so many for each value: then few draws find enough.
_ROOM: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitutes(Pseudonym):
    """Write a realistic name, address or other text in the place of each value.

    Parameters
    ----------
    kind
        ``"name"``, ``"first_name"``, ``"last_name"``, ``"email"``, ``"phone"``, ``"address"``,
        ``"street"``, ``"city"``, ``"postcode"``, ``"company"`` or ``"job"``.
    locale
        A locale of faker, such as ``"de_DE"``.
    unique
        Whether different values have different substitutes. Then all values are looked at first.
    faker_version
        The version of faker that must be installed, such as ``"40.63.0"``. The scope ``"vault"``
        needs it: another version has other substitutes.
    domain, scope
        Where a value has the same substitute; see `Pseudonym`. Not with `unique`.

    Raises
    ------
    ParameterError
        If a parameter can't be.

    Notes
    -----
    **Guarantees.** Equal values have equal substitutes under one key and domain. No value is its
    own substitute, whatever its case and blanks. Without the key, nothing else follows from it.

    **Edge cases.** Without `unique`, values share substitutes: the pool has some hundred thousand
    names, but only 8,192 addresses. With `unique`, a pool of less than twice the values is an
    error. A substitute can be the true name of somebody else, and a phone number can be in use.
    Sex, age and place of a name aren't kept. E-mail addresses are of example.com, .net and .org.

    Source: a keyed choice by BLAKE2b (RFC 7693) from texts of faker (extra `pii`).

    Examples
    --------
    >>> mask = Substitutes(kind="name", locale="de_DE")
    >>> plan = mask.fit("name", pl.String(), None, bytes(32))
    >>> written = plan.apply(pl.Series("name", ["Ann Doe", "Bo Roe", "Ann Doe", None]), 0)
    >>> written[0] == written[2] != "Ann Doe", written.null_count()
    (True, 1)
    """

    name: ClassVar[str] = "substitute"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = False
    about: ClassVar[Technique] = Technique(
        source="Keyed choice from texts of faker (practice)",
        keeps="Realistic values; which values are equal, so that tables join",
        oracle="A naive loop with hashlib; counts of different values",
    )

    kind: SubstituteKind
    locale: str = "en_US"
    unique: bool = False
    faker_version: str | None = None

    def __post_init__(self) -> None:
        Pseudonym.__post_init__(self)
        if self.kind not in get_args(SubstituteKind):
            raise ParameterError(
                "The 'kind' of Substitutes is none that there is.",
                hint=f"There are {', '.join(get_args(SubstituteKind))}.",
            )
        if self.unique and (self.domain is not None or self.scope != "release"):
            raise ParameterError(
                "Unique substitutes follow from all values of one column, so they have no 'domain' "
                "and no 'scope'.",
                hint="Leave 'unique' out, or take the mask 'token'.",
            )
        if self.scope == "vault" and self.faker_version is None:
            raise ParameterError(
                "Substitutes with the scope 'vault' need 'faker_version', since other versions "
                "have other substitutes.",
                hint="Name the version that is installed; pip show faker shows it.",
            )

    @property
    def needs_counts(self) -> bool:
        """Whether substitutes are unique, so that they follow from all values."""
        return self.unique

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        shared = () if self.unique else ("shared-substitutes",)
        return ("equality-leaking", "nulls-visible", *shared)

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return String; see `Mask`."""
        if not isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
            raise SchemaError(
                f"Column {column!r} has the mask {self.name!r}, which is for text. "
                f"Got the type {dtype.base_type()}.",
                hint="Read the column as text.",
            )
        return pl.String()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Chosen | _Assigned:
        """Return the plan, which holds the key or the values; see `Mask`."""
        self.written(column, dtype)
        installed = faker_version()
        if self.faker_version not in {None, installed}:
            raise ParameterError(
                f"The mask {self.name!r} of column {column!r} is for faker {self.faker_version}. "
                f"Got {installed}.",
                hint=f"Install it: pip install faker=={self.faker_version}.",
            )
        pool = substitute_pool(self.kind, self.locale)
        made = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"halfmask/substit")
        made.update(f"{self.kind}\0{self.locale}".encode())
        if not self.unique:
            return _Chosen(pool, made.digest())
        values = pl.Series([], dtype=pl.String) if counts is None else counts.values
        return _assigned(column, as_text(values), pool, made.digest())


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Each value chooses its substitute by itself."""

    pool: SubstitutePool
    key: bytes = field(repr=False)

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:  # noqa: ARG002 # a MaskPlan's
        texts = as_text(column)
        values = texts.drop_nulls().unique(maintain_order=True)
        numbers = (_drawn_by(values, self.key) % np.uint64(self.pool.size)).astype(np.int64)
        found = self.pool.texts(numbers)
        for _ in range(self.pool.size):
            own = (_folded(found) == _folded(values)).arg_true().to_numpy()
            if not own.size:
                break
            numbers[own] = (numbers[own] + 1) % self.pool.size
            found = self.pool.texts(numbers)
        return _placed(texts, values, found).alias(column.name)


@dataclass(frozen=True, slots=True, repr=False)
class _Assigned:
    """Substitutes of all values, all different."""

    values: pl.Series
    substitutes: pl.Series

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:  # noqa: ARG002 # a MaskPlan's
        texts = as_text(column)
        found = texts.replace_strict(
            self.values, self.substitutes, default=None, return_dtype=pl.String
        )
        unseen = found.null_count() - column.null_count()
        if unseen:
            raise DataError(
                f"Column {column.name!r} has {unseen} cells with values that have no unique "
                "substitute, since the fit didn't see them.",
                hint="Fit to all rows, or leave 'unique' out.",
            )
        return found


def _assigned(column: str, values: pl.Series, pool: SubstitutePool, key: bytes) -> _Assigned:
    """Give different substitutes to values, in an order that the key decides."""
    n = len(values)
    if pool.size < _ROOM * n + 1:
        raise DataError(
            f"Column {column!r} has {n:,} different values, and its mask 'substitute' has "
            f"{pool.size:,} texts to choose from. Unique substitutes need twice as many texts.",
            hint="Leave 'unique' out, choose another kind, or take the mask 'token'.",
        )
    order = np.argsort(_drawn_by(values, key), kind="stable")
    values = values.gather(order)
    # From twice as many texts, four draws a value find 1.7 different ones a value.
    drawn = keyed_integers(4 * n + 64, key=key) % np.uint64(pool.size)
    texts = pool.texts(drawn.astype(np.int64)).unique(maintain_order=True)
    own = (_folded(texts.head(n)) == _folded(values)).arg_true().to_numpy()
    places = np.arange(n)
    places[own] = n + np.arange(own.size)
    if n + own.size > len(texts):
        raise DataError(
            f"The mask 'substitute' of column {column!r} has too few different texts.",
            hint="Leave 'unique' out, or choose another kind.",
        )
    return _Assigned(values, texts.gather(places))


def _drawn_by(values: pl.Series, key: bytes) -> NDArray[np.uint64]:
    """Return 64 bits for each value, which only the holder of the key can compute."""
    keyed = hashlib.blake2b(key=key, digest_size=8)
    digests = []
    for value in values.to_list():
        own = keyed.copy()
        own.update(value.encode())
        digests.append(own.digest())
    return np.frombuffer(b"".join(digests), np.uint64)


def _folded(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.replace_all(r"\s", "")


def _placed(texts: pl.Series, values: pl.Series, made: pl.Series) -> pl.Series:
    if len(values) == len(texts):
        return made
    return texts.replace_strict(values, made, default=None, return_dtype=pl.String)
