"""A topic: something that columns are about, with the words by which their names say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.data._schema import Kind, Role

__all__ = ["Topic"]


@dataclass(frozen=True, slots=True)
class Topic:
    """What columns are about: a description, a role, and words.

    Parameters
    ----------
    about
        Its description, as it reads after "Its name speaks of".
    role
        The role of columns with these words in their names.
    words
        Words and phrases, separated by commas.
    kind
        The kind that its values have, where that isn't to be seen of them.
    weak
        Whether the words say little by themselves, and give way to all other topics.
    most
        The most different values with which the words mean this topic. ``None`` is any number.
    inside
        The most different values with which a short word means this topic where it stands inside
        another, such as ``isex``. 0 is never.
    few_are_groups
        Whether values that many people share make an identifier a quasi-identifier.
    """

    about: str
    role: Role
    words: str
    kind: Kind | None = None
    weak: bool = False
    most: int | None = None
    inside: int = 0
    few_are_groups: bool = True
