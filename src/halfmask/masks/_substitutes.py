"""Substitutes: a realistic value in the place of each value, chosen by a key."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask._foreign import need
from halfmask._random import KEY_BYTES
from halfmask.data import as_text
from halfmask.masks._mask import MaskTraits
from halfmask.masks._token import put_in_place
from halfmask.masks.pseudonym import Pseudonym

if TYPE_CHECKING:
    from collections.abc import Callable

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


#: What substitutes are made for.
SubstituteKind: TypeAlias = Literal[
    "name",
    "first_name",
    "last_name",
    "email",
    "phone",
    "address",
    "street",
    "city",
    "postcode",
    "company",
    "job",
]
#: The method of faker of each kind whose substitutes are drawn whole.
_METHODS: Final[dict[str, str]] = {
    "first_name": "first_name",
    "last_name": "last_name",
    "phone": "phone_number",
    "address": "address",
    "street": "street_address",
    "city": "city",
    "postcode": "postcode",
    "company": "company",
    "job": "job",
}
_DRAWS: Final = 8192
#: The pool is public, and the same everywhere; the key chooses from it.
_SEED: Final = 38
#: Domains that nobody's mail goes to (RFC 2606).
_DOMAINS: Final = ("@example.com", "@example.net", "@example.org")
_FORMAT: Final = re.compile(
    r"\{\{(first|last)_name\w*\}\}(\W*)\{\{(?!\1)(first|last)_name\w*\}\}", re.ASCII
)


@dataclass(frozen=True, slots=True)
class SubstitutePool:
    """All combinations of parts, by number.

    Examples
    --------
    >>> pool = SubstitutePool((pl.Series(["Ada", "Bo"]), pl.Series(["Day", "Roe"])), " ")
    >>> pool.size, pool.texts(np.array([0, 3])).to_list()
    (4, ['Ada Day', 'Bo Roe'])
    """

    parts: tuple[pl.Series, ...]
    between: str = ""

    def __repr__(self) -> str:
        return f"SubstitutePool({self.size} texts)"

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return math.prod(map(len, self.parts))

    def texts(self, numbers: NDArray[np.int64]) -> pl.Series:
        """Return the combinations of numbers, each from 0 to below `size`."""
        places = np.unravel_index(numbers, tuple(map(len, self.parts)))
        columns = {
            str(at): part.gather(place)
            for at, (part, place) in enumerate(zip(self.parts, places, strict=True))
        }
        joined = pl.concat_str(list(columns), separator=self.between)
        return pl.DataFrame(columns).select(joined.alias("")).to_series()


def faker_version() -> str:
    """Return the version of faker, whose texts the pools are made of."""
    need("faker")
    import faker  # noqa: PLC0415 # an extra

    return str(faker.VERSION)


@lru_cache(maxsize=32)
def substitute_pool(kind: SubstituteKind, locale: str) -> SubstitutePool:
    """Return the pool of a kind in a locale of faker."""
    maker = _maker(locale)
    if kind == "name":
        names = {it: _drawn(getattr(maker, f"{it}_name")) for it in ("first", "last")}
        order, between = _order(maker)
        return SubstitutePool(tuple(names[it] for it in order), between)
    if kind == "email":
        users = _drawn(maker.user_name)
        numbers = pl.Series([str(it) for it in range(10, 10_000)])
        return SubstitutePool((users, numbers, pl.Series(_DOMAINS)))
    return SubstitutePool((_drawn(getattr(maker, _METHODS[kind])),))


def _maker(locale: str) -> Any:  # noqa: ANN401 # faker's own, an extra
    need("faker")
    from faker import Faker  # noqa: PLC0415 # an extra

    try:
        # Without weights, rare names are as frequent as others: fewer values share one.
        maker = Faker(locale, use_weighting=False)
    except (AttributeError, ValueError):
        raise ParameterError(
            f"faker has no locale {locale!r}.", hint="Such as 'en_US', 'de_DE' or 'ja_JP'."
        ) from None
    maker.seed_instance(_SEED)
    return maker


def _drawn(draw: Callable[[], object]) -> pl.Series:
    """Return different texts, in order, so that only the drawn ones matter."""
    found = {" ".join(str(draw()).replace("\n", ", ").split()) for _ in range(_DRAWS)}
    return pl.Series(sorted(found), dtype=pl.String)


def _order(maker: Any) -> tuple[tuple[str, str], str]:  # noqa: ANN401 # faker's own, an extra
    """Return the order of first and last name in a locale, and what stands between them."""
    for provider in maker.factories[0].providers:
        for each in getattr(provider, "formats", ()) if hasattr(provider, "last_name") else ():
            found = _FORMAT.fullmatch(each)
            if found:
                return (found[1], found[3]), found[2]
    return ("first", "last"), " "
