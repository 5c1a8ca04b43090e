"""A topic: something that columns are about, with the words by which their names say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.data import Kind, Role


@dataclass(frozen=True, slots=True)
class Topic:
    """What columns are about: a description, a role, and words."""

    about: str
    role: Role
    words: str
    kind: Kind | None = None
    weak: bool = False
    most: int | None = None
    inside: int = 0
    few_are_groups: bool = True
