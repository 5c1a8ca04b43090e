"""Check digits: which numbers of one format are valid, and the digits that make them so."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np

from halfmask._errors import ParameterError
from halfmask._foreign import need
from halfmask.masks._ff1 import LEAST_DOMAIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: ASCII letters and digits, a row for each value.
Characters: TypeAlias = "NDArray[np.uint8]"

_MODULE: Final = re.compile(r"[a-z]\w*(\.[a-z]\w*)?")
#: An attacker who knows the check's rule has so many times fewer numbers to try, at most.
_CHECK_VALUES: Final = 100
#: The sum of the digits of twice a digit.
_DOUBLED: Final = np.array([0, 2, 4, 6, 8, 1, 3, 5, 7, 9], np.uint8)
_CARD_DIGITS: Final = range(12, 20)  # ISO/IEC 7812


class CheckDigits(Protocol):
    """The check digits of numbers of one format."""

    @property
    def computed(self) -> tuple[int, ...]:
        """Columns that follow from the others."""

    @property
    def kept(self) -> tuple[int, ...]:
        """Columns that must keep their characters."""

    @property
    def least(self) -> int:
        """Fewest values of a format."""

    def complete(self, numbers: Characters) -> None:
        """Write the computed columns."""

    def valid(self, numbers: Characters) -> NDArray[np.bool_]:
        """Return which numbers are valid."""


@dataclass(frozen=True, slots=True)
class Luhn:
    """Payment cards: 12 to 19 digits, the last one by Luhn's algorithm (ISO/IEC 7812-1).

    Examples
    --------
    >>> card = np.frombuffer(b"4111111111111111", np.uint8)[None, :]
    >>> Luhn("0" * 16).valid(card).tolist()
    [True]
    """

    pattern: str

    @property
    def computed(self) -> tuple[int, ...]:
        """The last column."""
        return (len(self.pattern) - 1,)

    @property
    def kept(self) -> tuple[int, ...]:
        """No column."""
        return ()

    @property
    def least(self) -> int:
        """A million, as of every format."""
        return LEAST_DOMAIN

    def complete(self, numbers: Characters) -> None:
        """Write the last digit; see `CheckDigits`."""
        total = np.zeros(len(numbers), np.int16)
        for behind, column in enumerate(range(len(self.pattern) - 2, -1, -1)):
            digit = numbers[:, column] - ord("0")
            total += digit if behind % 2 else _DOUBLED[digit % 10]
        numbers[:, -1] = ord("0") + -total % 10

    def valid(self, numbers: Characters) -> NDArray[np.bool_]:
        """Return which last digits are right; see `CheckDigits`."""
        if len(self.pattern) not in _CARD_DIGITS or set(self.pattern) != {"0"}:
            return np.zeros(len(numbers), np.bool_)
        return _is_complete(self, numbers)


@dataclass(frozen=True, slots=True)
class Mod97:
    """IBAN: two check digits behind the country, modulo 97 (ISO 13616, ISO/IEC 7064).

    Notes
    -----
    Structures of countries, and the national check digits of some, are those of python-stdnum.
    """

    pattern: str

    @property
    def computed(self) -> tuple[int, ...]:
        """The digits behind the country."""
        return (2, 3)

    @property
    def kept(self) -> tuple[int, ...]:
        """The country."""
        return (0, 1)

    @property
    def least(self) -> int:
        """Some countries have check digits of their own in the rest."""
        return LEAST_DOMAIN * _CHECK_VALUES

    def complete(self, numbers: Characters) -> None:
        """Write the two check digits; see `CheckDigits`."""
        rest = np.zeros(len(numbers), np.int64)
        for column in (*range(4, len(self.pattern)), 0, 1):
            character = numbers[:, column].astype(np.int64)
            if self.pattern[column] == "0":
                rest = (rest * 10 + character - ord("0")) % 97
            else:  # A is 10, in either case
                rest = (rest * 100 + (character & 31) + 9) % 97
        check = 98 - rest * 100 % 97
        numbers[:, 2], numbers[:, 3] = ord("0") + check // 10, ord("0") + check % 10

    def valid(self, numbers: Characters) -> NDArray[np.bool_]:
        """Return which are IBANs of a country that has this format; see `CheckDigits`."""
        if self.pattern[:4].upper() != "AA00":
            return np.zeros(len(numbers), np.bool_)
        iban = import_module("stdnum.iban")
        national = import_module("stdnum.util").get_cc_module
        found = _is_complete(self, numbers)
        countries, country_of = np.unique(
            numbers[:, :2] & ~np.uint8(32), axis=0, return_inverse=True
        )
        for place, country in enumerate(countries):
            rows = np.flatnonzero(found & (country_of.reshape(-1) == place))
            # All valid check digits of a country and a format have one structure.
            if not rows.size or not iban.is_valid(
                _texts(numbers[rows[:1]])[0], check_country=False
            ):
                found[rows] = False
            elif national(country.tobytes().decode().lower(), "iban") is not None:
                found[rows] = [iban.is_valid(it) for it in _texts(numbers[rows])]
        return found


@dataclass(frozen=True, slots=True)
class StandardNumber:
    """Numbers that a module of python-stdnum judges, such as ``nl.bsn``."""

    is_valid: Callable[[str], bool]

    @property
    def computed(self) -> tuple[int, ...]:
        """No column: numbers are encrypted until they are valid."""
        return ()

    @property
    def kept(self) -> tuple[int, ...]:
        """No column."""
        return ()

    @property
    def least(self) -> int:
        """A hundred times as many, since only valid numbers are written."""
        return LEAST_DOMAIN * _CHECK_VALUES

    def complete(self, numbers: Characters) -> None:
        """Do nothing; see `CheckDigits`."""

    def valid(self, numbers: Characters) -> NDArray[np.bool_]:
        """Ask the module; see `CheckDigits`."""
        return np.array([self._accepts(it) for it in _texts(numbers)], np.bool_)

    def _accepts(self, text: str) -> bool:
        try:
            return bool(self.is_valid(text))
        except (LookupError, ValueError):
            # Some modules fail on what they don't list, such as a place in China.
            return False


def is_scheme_name(name: str) -> bool:
    """Return whether a name can be that of check digits; it needn't be installed.

    Examples
    --------
    >>> is_scheme_name("card"), is_scheme_name("nl.bsn"), is_scheme_name("../x")
    (True, True, False)
    """
    return _MODULE.fullmatch(name) is not None


def check_digits(name: str) -> Callable[[str], CheckDigits]:
    """Return what makes check digits for a pattern."""
    if name == "card":
        return Luhn
    need("stdnum")
    if name == "iban":
        return Mod97
    try:
        is_valid = import_module(f"stdnum.{name}").is_valid
    except (ImportError, AttributeError):
        raise ParameterError(
            f"python-stdnum has no numbers called {name!r}.",
            hint="Take 'card', 'iban', or a country and a number, such as 'nl.bsn'.",
        ) from None
    return lambda _pattern: StandardNumber(is_valid)


def _is_complete(scheme: CheckDigits, numbers: Characters) -> NDArray[np.bool_]:
    """Return which numbers have the check digits that would be computed."""
    complete = numbers.copy()
    scheme.complete(complete)
    return np.asarray((complete == numbers).all(axis=1))


def _texts(numbers: Characters) -> list[str]:
    width = numbers.shape[1]
    whole = numbers.tobytes().decode("ascii")
    return [whole[start : start + width] for start in range(0, len(whole), width)]
