"""Redaction: personal details in free text are replaced, and counted by type."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

import polars as pl

from halfmask._errors import ParameterError, SchemaError
from halfmask.data import as_text
from halfmask.masks._checked_mask import CheckedMask
from halfmask.masks._mask import MaskTraits
from halfmask.masks._strata import check_apart
from halfmask.masks._table_mask import HeldColumns
from halfmask.masks.text._entities import check_model
from halfmask.masks.text._names import KnownNames
from halfmask.masks.text._reading import read_text
from halfmask.masks.text._search import (
    USUAL_TYPES,
    Detail,
    DetailSearch,
    check_countries,
    check_types,
)

_TOKEN_DIGITS: Final = 16
_NOT_SIGNS: Final = re.compile(r"[\W_]+")
#: Types whose spaces and punctuation say nothing: one number has one token, however it's written.
_NUMBERS: Final = frozenset(
    {"card", "iban", "phone", "phone-form", "national-number", "passport", "driving-licence"}
)
_Write: TypeAlias = Callable[[str, str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRedaction(CheckedMask):
    """Replace personal details in free text: patterns, checksums, known names.

    Parameters
    ----------
    columns
        The columns of texts.
    replace
        ``"type"`` writes ``<EMAIL>`` and so on, ``"token"`` adds a keyed pseudonym, and
        ``"remove"`` writes nothing.
    types
        What is searched for, of `DETAIL_TYPES`.
    countries
        Countries (ISO 3166-1, two letters) whose telephone numbers without country code, national
        numbers, postal codes and inflected names are found.
    names_from
        Identifier columns of the table. The values of all rows are searched for in each text.
    lower_case_names
        Whether such a name is found where it stands alone and in lower case. Choose false where
        names are words of the language, too, such as "will".
    model
        An installed spaCy model, such as ``en_core_web_lg``. With the extra ``presidio`` it finds
        further names, places and groups of people.

    Raises
    ------
    ParameterError
        If a parameter isn't one of the above, or a column is both searched and searched for.
    MissingDependencyError
        If a type needs a library of the extra ``pii``, or Presidio or the model isn't there.

    Notes
    -----
    Numbers are checked: cards by Luhn's checksum and their scheme, IBANs by ISO 7064, telephone
    numbers by their country's plan (libphonenumber), national numbers by python-stdnum, passports'
    machine-readable lines by ICAO 9303, dates by the calendar.

    **Guarantees.** Of what was found, nothing is written with ``"type"`` and ``"remove"``. Details
    that overlap are replaced together, by the type of the longest. Texts without a detail are
    unchanged, and missing cells stay missing. The same detail has the same token in
    one release, whatever its case and punctuation; an inflected name has another.

    **Edge cases.** What isn't found stays: recall is measured, not guaranteed (see
    `benchmarks/quality/free_text.py`). Names that the table doesn't have, misspelt names, parts of
    full names, endings of names that `KnownNames` doesn't know, street addresses, numbers in
    words and all that describes a person stay. Release free text only where that is
    acceptable. A check digit lets through one wrong number in ten.

    **Cost.** The texts before and after, and the values of `names_from`, are in memory.

    Examples
    --------
    >>> notes = pl.DataFrame({"name": ["Ann Lee"], "note": ["ann lee: card 4111 1111 1111 1111."]})
    >>> mask = TextRedaction(columns=("note",), names_from=("name",), types=("card", "name"))
    >>> plan = mask.fit(notes, bytes(32))
    >>> plan.apply(notes, 0)["note"].to_list()
    ['<NAME>: card <CARD>.']
    >>> {column: dict(found) for column, found in plan.counts.items()}
    {'note': {'card': 1, 'name': 1}}
    """

    name: ClassVar[str] = "free-text"
    coarsens: ClassVar[bool] = True
    is_matchable: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True
    suppresses: ClassVar[bool] = False
    #: The names are those of the raw table, also where another mask writes pseudonyms for them.
    traits: ClassVar[MaskTraits] = MaskTraits(reads_raw=True)

    columns: tuple[str, ...]
    replace: Literal["type", "token", "remove"] = "type"
    types: tuple[str, ...] = USUAL_TYPES
    countries: tuple[str, ...] = ()
    names_from: tuple[str, ...] = ()
    lower_case_names: bool = True
    model: str | None = None

    def _check_together(self) -> None:
        check_apart(self.columns, self.names_from, mask=self.name, named="names_from")
        if not self.types and not self.names_from and self.model is None:
            raise ParameterError(
                "The mask 'free-text' searches for nothing.",
                hint="Give 'types', 'names_from' or both.",
            )
        check_types(self.types)
        check_countries(self.countries)
        if self.model is not None:
            check_model(self.model)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that the names are taken from."""
        return self.names_from

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        tokens = ("equality-leaking",) if self.replace == "token" else ()
        return ("free-text", *tokens, "nulls-visible")

    def written(self, dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Return String for each column; see `TableMask`."""
        for name in self.columns:
            if dtypes[name] != pl.String:
                raise SchemaError(
                    f"Column {name!r} has the mask 'free-text', which is for texts. "
                    f"Got the type {dtypes[name].base_type().__name__}.",
                    hint="Choose a mask for its type, or drop the column.",
                )
        for name in self.names_from:
            if dtypes[name].is_nested():
                raise SchemaError(
                    f"Column {name!r} of 'names_from' must hold single values. "
                    f"Got the type {dtypes[name].base_type().__name__}."
                )
        return {name: pl.String() for name in self.columns}

    def fit(self, table: pl.DataFrame, key: bytes) -> RedactedTexts:
        """Return the plan, which holds the replaced texts; see `TableMask`."""
        self.written(dict(table.schema))
        names = None
        if self.names_from:
            values = pl.concat([as_text(table[it]).unique() for it in self.names_from])
            names = KnownNames(
                values.drop_nulls(), countries=self.countries, lower_case=self.lower_case_names
            )
        search = DetailSearch(self.types, countries=self.countries, names=names, model=self.model)
        write = self._writer(key)
        made = {name: _redacted(table[name], search, write) for name in self.columns}
        return RedactedTexts(
            pl.DataFrame([texts for texts, _ in made.values()]),
            {name: counts for name, (_, counts) in made.items()},
        )

    def _writer(self, key: bytes) -> _Write:
        if self.replace == "remove":
            return lambda kind, found: ""  # noqa: ARG005 # as the others
        if self.replace == "type":
            return lambda kind, found: f"<{_label(kind)}>"  # noqa: ARG005 # as the others
        return lambda kind, found: f"<{_label(kind)}_{_token(kind, found, key)}>"


class RedactedTexts(HeldColumns):
    """A plan that holds the redacted texts, and counts of what was found."""

    def __init__(self, columns: pl.DataFrame, counts: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__(columns)
        self.counts = MappingProxyType(dict(counts))


def _redacted(
    texts: pl.Series, search: DetailSearch, write: _Write
) -> tuple[pl.Series, dict[str, int]]:
    counts: Counter[str] = Counter()
    rows, changed = [], []
    for row, text, details in search.find_each(texts):
        counts.update(it.type for it in details)
        rows.append(row)
        changed.append(_written(text, details, write))
    found = texts.clone()
    if rows:
        found = found.scatter(rows, pl.Series(changed, dtype=pl.String))
    return found, dict(sorted(counts.items()))


def _written(text: str, details: list[Detail], write: _Write) -> str:
    at, parts = 0, []
    for start, stop, kind in details:
        parts += [text[at:start], write(kind, text[start:stop])]
        at = stop
    return "".join([*parts, text[at:]])


def _label(kind: str) -> str:
    return kind.removesuffix("-form").replace("-", "_").upper()


def _token(kind: str, found: str, key: bytes) -> str:
    """Return a keyed pseudonym (BLAKE2b, RFC 7693), the same in any case and punctuation."""
    by = "" if kind in _NUMBERS else " "
    read = read_text(found).casefold()
    plain = _NOT_SIGNS.sub(by, read) if kind != "email" else read
    made = hashlib.blake2b(f"{kind}\0{plain}".encode(), key=key, digest_size=32)
    return made.hexdigest()[:_TOKEN_DIGITS]
