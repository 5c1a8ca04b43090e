"""Identifiers whose values repeat: rows of one person, which guarantees would count as several."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halfmask.data import Source
    from halfmask.description._proposal import Proposal

#: Fewer different values than these, or than this share of the rows, are no persons.
_FEWEST_PERSONS: Final = 20
_LEAST_SHARE: Final = 0.01
#: The share of the rows, at least, that repeat a value.
_LEAST_REPEATED: Final = 0.1
#: Names of numbers that say whose row it is: amounts, such as weights, repeat as well.
_IS_KEY: Final = re.compile(
    r"(?i)id|num|nr|no\b|key|code|ssn|patient|person|user|customer|client|member|account|subject"
)
#: Rows that `repeated_identifiers` looks at.
_ROWS: Final = 100_000


def proposed_person(proposals: Iterable[Proposal]) -> Proposal | None:
    """Return the identifier that probably says whose row it is; ``None`` where none repeats.

    Notes
    -----
    Of several identifiers whose values repeat, that with the most different values: two people may
    have one name, and no two one number.
    """
    found = [
        each
        for each in proposals
        if each.role == "identifier"
        and each.kind != "datetime"
        and _repeats(
            int(each.evidence["distinct"]),
            round(each.evidence["rows"] * (1 - each.evidence["missing_share"])),
        )
    ]
    return max(found, key=lambda each: each.evidence["distinct"], default=None)


def repeated_identifiers(source: Source, identifiers: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return identifiers whose values repeat, each with its different values and its rows."""
    names = [name for name in identifiers if not source.dtypes[name].is_temporal()]
    if not names:
        return {}
    first = next(iter(source.batches(_ROWS, columns=names)), None)
    if first is None:
        return {}
    found = {}
    for name in names:
        cells = first[name].drop_nulls()
        if cells.dtype.is_nested() or cells.dtype == pl.Object:
            continue
        distinct = cells.n_unique()
        if _repeats(distinct, len(cells)) and (cells.dtype == pl.String or _IS_KEY.search(name)):
            found[name] = (distinct, len(cells))
    return found


def _repeats(distinct: int, rows: int) -> bool:
    fewest = max(_FEWEST_PERSONS, _LEAST_SHARE * rows)
    return fewest <= distinct <= (1 - _LEAST_REPEATED) * rows
