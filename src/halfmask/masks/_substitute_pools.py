"""Pools of realistic substitutes: made once for each kind and locale by faker."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import ParameterError
from halfmask._optional import need

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
