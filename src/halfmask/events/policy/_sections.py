"""What every section of an events' policy is: named keys, frozen, with errors in our words."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import Field, ValidationError

from halfmask._policy_files import Section
from halfmask.events.policy._faults import policy_error

Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1_000)]


class EventSection(Section):
    """A section that says itself what is wrong with it.

    Raises
    ------
    PolicyError
        If anything in it can't be. The message says where, what was got by its type or number, and
        what was probably meant; it never quotes a text, which may be a category.
    """

    def __init__(self, **keys: object) -> None:
        try:
            super().__init__(**keys)
        except ValidationError as error:
            raise policy_error(error, type(self)) from None


def table_of(section: EventSection) -> dict[str, Any]:
    """Return a section as TOML has it, without what is the default."""
    return section.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
