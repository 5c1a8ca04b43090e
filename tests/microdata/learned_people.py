"""People of whom a label is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmask.microdata import protect
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    policy,
)

if TYPE_CHECKING:
    import polars as pl


def compared(table, label="buys", **sections) -> Any:
    """Return the comparison that protecting a table makes."""
    columns = sections.pop("columns", {})
    wanted = policy(
        columns={**columns, label: {**columns.get(label, {}), "label": True}}, **sections
    )
    return protect(table, wanted, key=KEY).utility.model


def codes(table: pl.DataFrame) -> pl.Series:
    """Return what stands for the label in another column."""
    return table["buys"].replace_strict({"yes": "J", "no": "N"})
