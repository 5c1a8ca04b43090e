"""The table that a caller gives: opened as the policy reads it, and the frame to give back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import ParameterError
from halfmask.data import ReadOptions, Source, open_table
from halfmask.masks import MaskedTable, pseudonym_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.engines import Engine
    from halfmask.masks import AnyTableMask
    from halfmask.microdata._policy import Policy
    from halfmask.release import Inputs

#: Formats whose readers decide a column's type by all of its cells.
_TEXTS: Final = ("csv", "tsv", "jsonl")
_WORKBOOK: Final = "excel"


def behind_masks(
    source: Source,
    policy: Policy,
    table_masks: Sequence[AnyTableMask],
    inputs: Inputs,
    *,
    key: bytes,
    engine: Engine,
) -> MaskedTable:
    """Put the masks of a policy before an opened table."""
    return MaskedTable.of(
        source,
        policy.masks,
        table_masks,
        key=key,
        vault_key=None if inputs.vault is None else pseudonym_key(inputs.vault),
        engine=engine,
        ordinal=policy.ordinal_columns,
    )


def frame_given(table: object) -> object:
    """Return the frame that the caller gave; ``None`` for a path or an opened table."""
    is_read = isinstance(table, str | Source) or hasattr(table, "__fspath__")
    return None if is_read else table


def opened_as_texts(table: object, options: ReadOptions, dtypes: Mapping[str, str]) -> Source:
    """Open a table such that no cell of a file is read differently because of other rows."""
    as_texts = replace(options, dtypes={**options.dtypes, **dtypes})
    if isinstance(table, str) and table == "-":  # it can be read once
        return open_table(table, options=as_texts)
    source = open_table(table, options=options)
    if isinstance(table, Source) or source.format not in (*_TEXTS, _WORKBOOK):
        return source
    if source.format == _WORKBOOK:  # with one time of day, all days would be points in time
        free = set(dtypes) - set(options.typed())
        days = [name for name in free if source.dtypes.get(name) == pl.Date]
        as_texts = replace(options, dtypes={**options.dtypes, **dict.fromkeys(days, "datetime")})
    return open_table(table, options=as_texts)


def ledger_view(table: object, options: ReadOptions) -> Source:
    """Open a table as its ledger was set for it: cells in their own spelling."""
    if isinstance(table, str) and table == "-":
        raise ParameterError(
            "A table with a ledger is read twice, and standard input only once.",
            hint="Give the table as a file.",
        )
    return open_table(table, options=replace(options, normalize={}))


def text_columns(policy: Policy) -> dict[str, str]:
    """Return types for columns of text files: text, where the policy declares nothing.

    What a reader finds depends on every cell: one row would change the text of all others.
    """
    declared = policy.input
    known = {*declared.dtypes, *declared.date_formats, *declared.number_formats, *declared.lists}
    undeclared = {
        name: "string"
        for name, it in policy.columns.items()
        if name not in known and (it.role != "identifier" or name == policy.person)
    }
    return {**declared.dtypes, **undeclared}
