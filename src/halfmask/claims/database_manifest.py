"""What the manifest of a copied database holds: tables, masks, references, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.claims._details import Details
from halfmask.claims.manifest import DATABASE

if TYPE_CHECKING:
    from halfmask.claims.claim import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRows:
    """A table of the copy.

    Attributes
    ----------
    name, rows
        Its name and the number of its rows.
    """

    name: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedMask:
    """A mask of the copy.

    Attributes
    ----------
    table, column
        What it changed; several columns are listed in one text.
    mask, parameters
        Its name, and its parameters as of the policy.
    linked
        Whether foreign keys link the column, so that linked columns share a key.
    """

    table: str
    column: str
    mask: str
    parameters: Mapping[str, Json]
    linked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseDetails(Details):
    """What only the manifest of a copied database has: the copy itself is elsewhere.

    Attributes
    ----------
    tables
        The tables and their rows.
    masks
        The masks of columns, in the order of their tables.
    foreign_keys
        How many references lead to a row in each row of the copy.
    left_out
        Sentences: what the copy lacks.
    subset
        The table that rows were chosen of; None where all were copied.
    """

    kind = DATABASE
    called = "a copied database"

    tables: tuple[CopiedRows, ...]
    masks: tuple[CopiedMask, ...]
    foreign_keys: int
    left_out: tuple[str, ...]
    subset: str | None
