"""The way back: which masks of a table of a copy the holder of the vault can reverse."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from halfmask._errors import PolicyError
from halfmask.databases._database import open_source
from halfmask.databases._domains import domains_of
from halfmask.masks import is_reversible

if TYPE_CHECKING:
    from halfmask.data import DatabaseUrl
    from halfmask.databases._policy import DatabasePolicy
    from halfmask.masks import Mask


def reversible_masks(url: DatabaseUrl, policy: DatabasePolicy) -> dict[str, Mask]:
    """Return the masks of a table of a copy that can be reversed, by column."""
    section = policy.tables.get(url.table or "")
    if section is None or section.drop:
        raise PolicyError(
            "The policy copies no table of this name.", hint="Give the table that the URL names."
        )
    with closing(open_source(replace(url, table=None))[0]) as base:
        keys = [key for table in base.tables() for key in table.foreign_keys if key.parent]
    rules = {
        (name, column): rule
        for name, table in policy.tables.items()
        for column, rule in table.columns.items()
        if rule.word != "drop"
    }
    copied = [
        key
        for key in keys
        if all((key.table, it) in rules for it in key.columns)
        and all((key.parent, it) in rules for it in key.parent_columns)
    ]
    domains = domains_of(rules, copied)
    found = {}
    for column, rule in section.columns.items():
        domain = domains.get((url.table or "", column))
        mask = rule.mask if domain is None else domain.mask
        if mask is not None and is_reversible(mask):
            found[column] = mask
    return found
