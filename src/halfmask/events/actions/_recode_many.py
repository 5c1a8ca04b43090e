"""Recode to many: an element of an array becomes several, by a secret table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from halfmask.events.actions._action import Action
from halfmask.events.block._words import lookup_word
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.block._level import Level
    from halfmask.events.running._context import Context
    from halfmask.events.secrets._tables import ElementPart, TableKind

#: An element stays unchanged; it is dropped.
STAYS, GOES = -1, -2


class RecodeMany(Action):
    """Replace each element of an array by several, by a secret table.

    A sale of 2 pieces of one product becomes 2 of another and 6 of a third. The rules of the
    element's fields then work on what the table made: without a rule a field isn't written.

    Parameters
    ----------
    table
        The name of a secret table of kind ``recode-many``. Its fields are named from the element
        on, such as ``name`` or ``size.width``; ``""`` is an element that is no object.
    by
        The path of the field that is looked up, such as ``products[].name``.
    other
        What becomes of elements that the table doesn't have: ``drop`` them, counted as
        ``not-in-table``, or leave them to ``stay``: what is kept of them is up to the rules of
        their fields.

    Notes
    -----
    **Guarantees.** Elements come in the order of the table, in the place of the one that they were.
    Numbers are multiplied exactly.

    **Edge cases.** It reveals that elements belong together: those that always come together,
    in the same proportions, show what the table says. Frequent elements become frequent groups.
    The holder of the table can reverse it. Conditions see the original element. With ``stay``, an
    attacker sees which elements the table lacks.

    Examples
    --------
    >>> RecodeMany(table="shelf", by="products[].name").weaknesses
    ('equality-leaking', 'frequency-leaking', 'joinable')
    """

    do: Literal["recode-many"] = "recode-many"
    table: Text
    by: Text
    other: Literal["drop", "stay"] = "drop"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What groups of elements reveal."""
        return ("equality-leaking", "frequency-leaking", "joinable")

    def reads(self) -> tuple[str, ...]:
        """Return the path of the field that is looked up."""
        return (self.by,)

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return ((self.table, "recode-many"),)

    def splitter(self, resources: Resources) -> Splitter:
        """Return what chooses the entry of each element.

        Parameters
        ----------
        resources
            The secret tables and keys of the run.
        """
        entries = resources.table(self.table, "recode-many").entries()
        return Splitter(by=self.by, entries=entries, stays=self.other == "stay")


class Splitter:
    """Chooses the table's entry for each element."""

    __slots__ = ("_by", "_numbers", "_stays", "parts")

    def __init__(
        self, *, by: str, entries: dict[str, tuple[ElementPart, ...]], stays: bool
    ) -> None:
        self._by = by
        self._stays = stays
        self._numbers = {word: number for number, word in enumerate(entries)}
        #: What an element of each entry becomes.
        self.parts = tuple(entries.values())

    def fields(self) -> set[str]:
        """Return the fields that the table sets or multiplies, from the element on."""
        each = (part for parts in self.parts for part in parts)
        return {field for part in each for field in (*part.set, *part.times)}

    def chosen(self, level: Level, slots: NDArray[np.bool_], context: Context) -> NDArray[np.int64]:
        """Return the entry of each element, or `STAYS`, or `GOES`."""
        codes, tokens = context.values(self._by, level).distinct()
        words = [lookup_word(*token) for token in tokens]
        found = [STAYS if word is None else self._numbers.get(word, STAYS) for word in words]
        chosen = np.array([*found, STAYS], np.int64)[codes]
        lacking = chosen == STAYS
        if not self._stays:
            context.fail("not-in-table", level, slots & lacking)
            chosen = np.where(lacking, np.int64(GOES), chosen)
        return chosen
