"""ZIP codes by HIPAA's rule: three digits where enough people live."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._maps import AreaMap
from halfmask.geo._place_rule import PlaceRule, check_known, check_people, rising, rooted

#: Those under 20,000 people in the census of 2000: guidance on 45 CFR 164.514(b)(2)(i)(B).
CENSUS_2000: Final = frozenset(
    "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split()  # noqa: SIM905
)
_REST: Final = "000"
_DIGITS: Final = 5
_PREFIX: Final = 3
_LOWEST: Final = 501
_LOST: Final = "Codes that were stored as numbers have lost zeros: write them in front again."
_CODE: Final = r"^\d{5}(-?\d{4})?$"


@dataclass(frozen=True)
class Zip3(PlaceRule):
    """The first three digits of ZIP codes, and the root ``"*"`` above.

    Parameters
    ----------
    people
        How many people live in each ZIP code, or in each area of three digits; ``None`` is the
        census of 2000, with 20,000 people.
    least
        How many people must live where three digits begin a ZIP code; else these are ``000``.
        HIPAA asks for more than 20,000, which is 20,001.

    Examples
    --------
    >>> Zip3(None).of_codes(pl.Series(["10013", "03601", "10001"]), column="zip").to_list()
    ['100', '000', '100']
    """

    people: AreaMap | None
    least: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", rising(self.least, owner="Zip3"))
        if len(self.least) != (self.people is not None):
            raise ParameterError(
                "Zip3 takes one number of people as 'least' with a map of people, and none "
                f"without. Got {len(self.least)}."
            )
        if self.people is not None:
            check_people(self.people, AreaMap, owner="Zip3")

    def of_codes(self, codes: pl.Series, *, column: str) -> pl.Series:
        """Return the first three digits of ZIP codes; numbers get their zeros again."""
        texts = _digits(codes)
        strange = int((~texts.str.contains(_CODE)).sum())
        if strange:
            raise DataError(
                f"Column {column!r} has {strange} values that are no ZIP codes of five or nine "
                "digits.",
                hint=_LOST,
            )
        return self._groups(texts)

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of ZIP codes; see `PlaceRule`."""
        texts = leaf_text(values)
        if values.dtype == pl.String and (texts.str.len_chars() == _PREFIX).all():
            groups = self._groups(texts)
            check_known((groups == texts).to_list(), column, "digits of ZIP codes")
            return rooted((texts,), column)
        codes = _digits(values)
        check_known(codes.str.contains(_CODE).to_list(), column, "ZIP codes")
        return rooted((texts, self._groups(codes)), column)

    def people_of(self, label: str) -> float | None:
        """Return how many people live where three digits begin a ZIP code."""
        if self.people is None or len(label) != _PREFIX:
            return None
        if label == _REST:
            return sum(many for prefix, many in self._people.items() if self._is_small(prefix))
        return self._people.get(label)

    def _groups(self, codes: pl.Series) -> pl.Series:
        """Return the first three digits of each code where enough people live, else ``000``."""
        digits = codes.str.slice(0, _PREFIX)
        few = [prefix for prefix in digits.drop_nulls().unique() if self._is_small(prefix)]
        return digits.set(digits.is_in(few).fill_null(value=False), _REST)

    def _is_small(self, prefix: str) -> bool:
        if self.people is None or prefix == _REST:
            return prefix in {*CENSUS_2000, _REST}
        return self._people.get(prefix, 0.0) < self.least[0]

    @cached_property
    def _people(self) -> dict[str, float]:
        """The people behind each three digits."""
        if self.people is None:
            return {}
        names = self.people.names
        short = int((~names.str.contains(r"^(\d{3}|\d{5})$")).sum())
        if short or names.str.len_chars().n_unique() > 1:
            raise DataError(
                "The map of people of Zip3 must name its areas by five digits, or by three. "
                f"{short} of {len(names)} names are longer or shorter.",
                hint=_LOST,
            )
        people = pl.DataFrame({"of": names.str.slice(0, _PREFIX), "n": self.people.people})
        return dict(people.group_by("of").agg(pl.col("n").sum()).iter_rows())


def _digits(codes: pl.Series) -> pl.Series:
    """Return codes as texts; numbers get their zeros again, and may not be three digits of all."""
    texts = leaf_text(codes)
    if not codes.dtype.is_numeric():
        return texts
    # The lowest code is 00501. Three digits of codes are numbers below 1000, all of them.
    least = _LOWEST if codes.max() is not None and float(codes.max()) >= 1000 else 1000  # type: ignore[arg-type] # a number
    return texts.str.zfill(_DIGITS).set((codes < least).fill_null(value=False), "")
