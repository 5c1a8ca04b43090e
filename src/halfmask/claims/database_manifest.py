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
    """A table of the copy."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedMask:
    """A mask of the copy."""

    table: str
    column: str
    mask: str
    parameters: Mapping[str, Json]
    linked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseDetails(Details):
    """What only the manifest of a copied database has: the copy itself is elsewhere."""

    kind = DATABASE
    called = "a copied database"

    tables: tuple[CopiedRows, ...]
    masks: tuple[CopiedMask, ...]
    foreign_keys: int
    left_out: tuple[str, ...]
    subset: str | None
