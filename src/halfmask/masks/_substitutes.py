"""Substitutes: a realistic value in the place of each value, chosen by a key."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._random import KEY_BYTES
from halfmask.data import as_text
from halfmask.masks._substitute_pools import (
    SubstituteKind,
    SubstitutePool,
    faker_version,
    substitute_pool,
)
from halfmask.masks._token import put_in_place
from halfmask.masks._traits import MaskTraits
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.masks._value_counts import ValueCounts

#: Of the word that tells unique substitutes apart, 16 letters and digits: no pool is large enough
#: for values that follow from nothing but the key.
_WORD_BYTES: Final = 10


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
        Whether different values have different substitutes: each ends in a keyed word of 16
        letters and digits, before the ``@`` of an e-mail address.
    faker_version
        The version of faker that must be installed, such as ``"40.63.0"``. The scope ``"vault"``
        needs it: another version has other substitutes.
    domain, scope
        Where a value has the same substitute; see `Pseudonym`.

    Raises
    ------
    ParameterError
        If a parameter can't be.

    Notes
    -----
    **Guarantees.** Equal values have equal substitutes under one key and domain. No value is its
    own substitute, whatever its case and blanks. Without the key, nothing else follows from it.
    With `unique`, two among a billion values share a substitute with a chance below 1e-6.

    **Edge cases.** Without `unique`, values share substitutes: the pool has some hundred thousand
    names, but only 8,192 addresses. A substitute can be the true name of somebody else, and a
    phone number can be in use. Sex, age and place of a name aren't kept. E-mail addresses are of
    example.com, .net and .org.

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
    needs_counts: ClassVar[bool] = False

    kind: SubstituteKind
    locale: str = "en_US"
    unique: bool = False
    faker_version: str | None = None

    def _check_together(self) -> None:
        if self.scope == "vault" and self.faker_version is None:
            raise ParameterError(
                "Substitutes with the scope 'vault' need 'faker_version', since other versions "
                "have other substitutes.",
                hint="Name the version that is installed; pip show faker shows it.",
            )

    @property
    def traits(self) -> MaskTraits:
        """Whether different values stay different; see `MaskTraits`."""
        return MaskTraits(keeps_equality=self.unique)

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
                hint="Read the column as text, in a policy by dtypes of [input].",
            )
        return pl.String()

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> _Chosen:
        """Return the plan, which holds the key; see `Mask`."""
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
        return _Chosen(pool, made.digest(), is_unique=self.unique)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Each value chooses its substitute by itself."""

    pool: SubstitutePool
    key: bytes = field(repr=False)
    is_unique: bool

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
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
        if self.is_unique:
            found = _with_words(found, values, self.key)
        return put_in_place(found, of=values, cells=texts)


def _drawn_by(values: pl.Series, key: bytes) -> NDArray[np.uint64]:
    """Return 64 bits for each value, which only the holder of the key can compute."""
    keyed = hashlib.blake2b(key=key, digest_size=8)
    digests = []
    for value in values.to_list():
        own = keyed.copy()
        own.update(value.encode())
        digests.append(own.digest())
    return np.frombuffer(b"".join(digests), np.uint64)


def _with_words(texts: pl.Series, values: pl.Series, key: bytes) -> pl.Series:
    """Put a keyed word of each value behind its text, or before the @ of an address."""
    keyed = hashlib.blake2b(key=key, digest_size=_WORD_BYTES, person=b"halfmask/unique")
    words = []
    for value in values.to_list():
        own = keyed.copy()
        own.update(value.encode())
        words.append(base64.b32encode(own.digest()).decode().lower())
    made = pl.DataFrame({"text": texts, "word": pl.Series(words, dtype=pl.String)})
    text, word = pl.col("text"), pl.col("word")
    address = text.str.replace("@", pl.concat_str(pl.lit("."), word, pl.lit("@")), literal=True)
    is_address = text.str.contains("@", literal=True)
    return made.select(
        pl.when(is_address).then(address).otherwise(pl.concat_str(text, pl.lit(" "), word))
    ).to_series()


def _folded(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().str.replace_all(r"\s", "")
