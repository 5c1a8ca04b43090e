"""The search for personal details in texts: all types, the longest of those that overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import polars as pl

from halfmask._errors import ParameterError
from halfmask._foreign import need
from halfmask.masks.text._addresses import EMAIL, IP, MAC, URL, UUID
from halfmask.masks.text._dates import DATES
from halfmask.masks.text._documents import (
    CARD,
    DRIVING_LICENCES,
    IBAN,
    NATIONAL_COUNTRIES,
    PASSPORTS,
    POSTCODE_AFTER_WORD,
    POSTCODES,
    national_numbers,
)
from halfmask.masks.text._entities import ModelEntities
from halfmask.masks.text._names import INTRODUCED_NAMES
from halfmask.masks.text._pattern import DetailPattern
from halfmask.masks.text._phones import PHONE_FORM, check_regions, phones
from halfmask.masks.text._reading import readings

if TYPE_CHECKING:
    from halfmask.masks.text._names import KnownNames

_Countries: TypeAlias = tuple[str, ...]
_Patterns: TypeAlias = tuple[DetailPattern, ...]


def _always(*patterns: DetailPattern) -> Callable[[_Countries], _Patterns]:
    return lambda _: patterns


def _national(countries: _Countries) -> _Patterns:
    return tuple(it for each in countries if each in NATIONAL_COUNTRIES
                 for it in national_numbers(each))  # fmt: skip


def _postcodes(countries: _Countries) -> _Patterns:
    return (POSTCODE_AFTER_WORD, *(POSTCODES[it] for it in countries if it in POSTCODES))


#: The patterns of each type. Of details that are equally long, the type that comes first wins.
_PATTERNS: Final[Mapping[str, Callable[[_Countries], _Patterns]]] = {
    "email": _always(EMAIL),
    "url": _always(URL),
    "iban": _always(IBAN),
    "card": _always(CARD),
    "ip": _always(*IP),
    "mac": _always(MAC),
    "uuid": _always(UUID),
    "national-number": _national,
    "date": _always(*DATES),
    "phone": lambda countries: (phones(countries),),
    "passport": _always(*PASSPORTS),
    "driving-licence": _always(*DRIVING_LICENCES),
    "postcode": _postcodes,
    "name": _always(INTRODUCED_NAMES),
    "phone-form": _always(PHONE_FORM),
}
_NAME: Final = "name"
_NEEDS: Final = {"phone": "phonenumbers", "national-number": "stdnum"}
#: All types. "phone-form" needs no library and takes other long numbers, too: "phone" is better.
DETAIL_TYPES: Final = tuple(_PATTERNS)
#: What is searched for by default.
USUAL_TYPES: Final = tuple(it for it in DETAIL_TYPES if it != "phone-form")


class Detail(NamedTuple):
    """Start, stop and type of a personal detail in a text."""

    start: int
    stop: int
    type: str


class DetailSearch:
    """A search for personal details in texts.

    Parameters
    ----------
    types
        What is searched for, of `DETAIL_TYPES`.
    countries
        Countries (ISO 3166-1, two letters) whose telephone numbers without country code, national
        numbers and postal codes are found. `KnownNames` takes those of inflected names.
    names
        Known names, found as the type "name". Without them, only names after a title or "name is"
        are found.
    model
        An installed spaCy model that is asked for further names, places and groups, by Presidio.

    Raises
    ------
    ParameterError
        If a type or a country isn't known.
    MissingDependencyError
        If a type needs a library of the extra ``pii``, or Presidio or the model isn't there.

    Notes
    -----
    Details that overlap are one detail, of the type of the longest. Digits, blanks and dashes of
    any script are read as those of ASCII. What nobody sees, such as a soft hyphen, is read once as
    nothing and once as a blank. A detail may touch signs of scripts without spaces between words.

    **Cost.** Time grows with the
    length of the text, for any text. **Edge cases.** See `TextRedaction`.

    Examples
    --------
    >>> search = DetailSearch(("email", "card"))
    >>> [tuple(it) for it in search.find("ann@x.org pays by 4111 1111 1111 1111")]
    [(0, 9, 'email'), (18, 37, 'card')]
    """

    __slots__ = ("_entities", "_needs", "_patterns", "names", "types")

    def __init__(
        self,
        types: Sequence[str],
        *,
        countries: Sequence[str] = (),
        names: KnownNames | None = None,
        model: str | None = None,
    ) -> None:
        check_types(types)
        check_countries(countries)
        wanted = {it for it in types if it != "national-number" or countries}
        need(*(_NEEDS[it] for it in _NEEDS if it in wanted))
        if "phone" in types:
            check_regions(countries)
        self.types = tuple(it for it in DETAIL_TYPES if it in types)
        self.names = names
        self._entities = None if model is None else ModelEntities(model)
        self._patterns = [
            (each, pattern) for each in self.types for pattern in _PATTERNS[each](tuple(countries))
        ]
        # Texts without any sign of a detail are ruled out in one pass of compiled code each.
        self._needs = [
            pl.col("text").str.contains(pattern.needs).alias(str(at))
            for at, (_, pattern) in enumerate(self._patterns)
        ]

    def find(self, text: str) -> list[Detail]:
        """Return the details of a text from left to right; none overlaps another.

        Parameters
        ----------
        text
            Any text.
        """
        return self._found(text, self._patterns)

    def find_each(self, texts: pl.Series) -> Iterator[tuple[int, str, list[Detail]]]:
        """Yield each text with details: its number, the text, and the details.

        Parameters
        ----------
        texts
            A column of texts; missing ones have no details.
        """
        seen = texts.alias("text").cast(pl.String)
        # Where patterns see another text than is written, its signs are looked for in that one.
        others = seen.str.contains(r"[^\x00-\x7f]|  ").fill_null(value=False).arg_true()
        if others.len():
            read = ["\n".join(it.seen for it in readings(text)) for text in seen.gather(others)]
            seen = seen.clone().scatter(others, pl.Series(read, dtype=pl.String))
        signs = seen.to_frame().select(self._needs).fill_null(value=False)
        rows = signs.to_numpy() if self._needs else [()] * texts.len()
        always = self.names is not None or self._entities is not None
        for row, text in enumerate(texts):
            likely = [it for it, seen in zip(self._patterns, rows[row], strict=True) if seen]
            if text and (likely or always):
                details = self._found(text, likely)
                if details:
                    yield row, text, details

    def _found(self, text: str, patterns: list[tuple[str, DetailPattern]]) -> list[Detail]:
        found = [
            (*reading.place(start, stop), order, each)
            for reading in (readings(text) if patterns else ())
            for seen in (reading.seen,)
            for order, (each, pattern) in enumerate(patterns)
            for start, stop in pattern.spans(seen)
        ]
        if self.names is not None:
            found += [(*it, len(patterns), _NAME) for it in self.names.spans(text)]
        if self._entities is not None:
            found += [
                (start, stop, len(patterns), each)
                for start, stop, each in self._entities.spans(text)
            ]
        return _joined(found) if len(found) > 1 else [Detail(*it[:2], it[3]) for it in found]


def _joined(found: list[tuple[int, int, int, str]]) -> list[Detail]:
    """Join details that overlap: nothing that was found is kept, and the longest gives the type."""
    found.sort()
    joined: list[Detail] = []
    longest = (0, 0)
    for start, stop, order, each in found:
        size = (stop - start, -order)
        if joined and start < joined[-1].stop:
            last = joined[-1]
            kind = each if size > longest else last.type
            joined[-1] = Detail(last.start, max(stop, last.stop), kind)
            longest = max(size, longest)
        else:
            joined.append(Detail(start, stop, each))
            longest = size
    return joined


def check_types(types: Sequence[str]) -> None:
    """Raise if a type isn't one of `DETAIL_TYPES`."""
    unknown = [it for it in types if it not in _PATTERNS]
    if unknown:
        raise ParameterError(
            f"There is no type of personal details called {unknown[0]!r}.",
            hint=f"Choose from {', '.join(DETAIL_TYPES)}.",
        )


def check_countries(countries: Sequence[str]) -> None:
    """Raise if a country isn't two capital letters."""
    for it in countries:
        if not (len(it) == 2 and it.isascii() and it.isalpha() and it.isupper()):
            raise ParameterError(
                f"A country must be two capital letters (ISO 3166-1). Got {it!r}.",
                hint="Write GB, not UK or gb.",
            )


def count_details(
    texts: pl.Series,
    *,
    types: Sequence[str] = USUAL_TYPES,
    countries: Sequence[str] = (),
    names: KnownNames | None = None,
) -> dict[str, int]:
    """Count the personal details in texts, by type.

    Parameters
    ----------
    texts
        A column of texts, or a sample of it.
    types, countries, names
        As in `DetailSearch`.

    Returns
    -------
    dict[str, int]
        How many details of each type there are, the most frequent first; no type without any.

    Examples
    --------
    >>> count_details(pl.Series(["a@x.org", "c@x.org or 10.0.0.1", None]), types=["email", "ip"])
    {'email': 2, 'ip': 1}
    """
    search = DetailSearch(types, countries=countries, names=names)
    found = Counter(it.type for _, _, details in search.find_each(texts) for it in details)
    return dict(found.most_common())
