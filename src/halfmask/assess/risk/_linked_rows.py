"""What an attacker learns who knows several rows of a person, where rows can be linked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.assess.risk._wording import percent

if TYPE_CHECKING:
    from halfmask.guarantees import Classes


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRows:
    """How many persons the classes of all their rows single out.

    Parameters
    ----------
    persons
        The persons of the table.
    in_several
        Those whose rows lie in more than one class.
    unique
        Those whose rows lie in a set of classes that is no other person's.

    Examples
    --------
    >>> LinkedRows(persons=100, in_several=20, unique=5).share_unique
    0.05
    """

    persons: int
    in_several: int
    unique: int

    @property
    def share_unique(self) -> float:
        """The share of the persons whose set of classes is no other person's."""
        return self.unique / self.persons

    @property
    def sentence(self) -> str:
        """The numbers in words, for a privacy officer."""
        return (
            "Classes count persons one row at a time. An attacker who knows several rows of a "
            "person and can link the released rows of one person, for example by columns that are "
            f"released unchanged, can do more: of {self.persons:,} persons, {self.in_several:,} "
            f"have rows in several classes, and {self.unique:,} ({percent(self.share_unique)}) "
            "are the only one with rows in their set of classes."
        )

    def to_dict(self) -> dict[str, int]:
        """Return the numbers under their names, for JSON."""
        return {"persons": self.persons, "in_several": self.in_several, "unique": self.unique}


def linked_rows(classes: Classes) -> LinkedRows | None:
    """Count the persons whose rows lie in a set of classes that is no other person's.

    Parameters
    ----------
    classes
        The classes with their members; without members there is nothing to link.

    Examples
    --------
    >>> from halfmask.guarantees import Classes
    >>> classes = Classes.from_codes([0, 1, 0, 0], 2, person_of_row=[7, 7, 8, 9])
    >>> linked_rows(classes)
    LinkedRows(persons=3, in_several=1, unique=1)
    """
    if classes.members is None:
        return None
    sets = classes.members.persons.sort("class").group_by("person").agg("class")
    alike = sets.group_by("class").len()
    return LinkedRows(
        persons=sets.height,
        in_several=sets.filter(pl.col("class").list.len() > 1).height,
        unique=alike.filter(pl.col("len") == 1).height,
    )
