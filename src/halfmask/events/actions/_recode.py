"""Recode: another value for each, by a secret table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from halfmask.events.actions._action import Action
from halfmask.events.actions._memo import Memo
from halfmask.events.block._words import lookup_word, scalar_token
from halfmask.events.policy._sections import Text

if TYPE_CHECKING:
    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Kind
    from halfmask.events.block._words import Token
    from halfmask.events.running._context import Applier
    from halfmask.events.secrets._tables import TableKind


class Recode(Action):
    """Write what a secret table says for the value.

    Parameters
    ----------
    table
        The name of a secret table of kind ``recode``.
    other
        What is written for values that it doesn't have; without it they are dropped, and counted
        as ``not-in-table``. They can't be kept: a value that nobody thought of could be anybody's.

    Notes
    -----
    **Guarantees.** Nothing is written but what the table or `other` says.

    **Edge cases.** It reveals which values are equal, unless the table gives several the same,
    and how often each occurs. The holder of the table can reverse it. It is no key, so a second
    release by the same table can be joined to this one. Values are looked up by their text: the
    number 1.0 and the text "1" are the entry "1".

    Examples
    --------
    >>> Recode(table="quantities").weaknesses
    ('equality-leaking', 'frequency-leaking', 'joinable')
    """

    do: Literal["recode"] = "recode"
    table: Text
    other: StrictStr | StrictBool | StrictInt | StrictFloat | None = Field(
        default=None, union_mode="left_to_right"
    )

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What recoded values reveal."""
        return ("equality-leaking", "frequency-leaking", "joinable")

    def tables(self) -> tuple[tuple[str, TableKind], ...]:
        """Return the table's name."""
        return ((self.table, "recode"),)

    def bind(self, resources: Resources) -> Applier:
        """Return the recoder."""
        entries: dict[str, Token] = resources.table(self.table, "recode").entries()
        other = None if self.other is None else scalar_token(self.other)

        def recoded(kind: Kind, token: bytes) -> Token | str:
            found = entries.get(lookup_word(kind, token) or "", other)
            return "not-in-table" if found is None else found

        return Memo(recoded)
