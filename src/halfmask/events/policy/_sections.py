"""What every section of an events' policy is: named keys, frozen, with errors in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Field, ValidationError

from halfmask._sections import Section
from halfmask.events.policy._faults import policy_error

if TYPE_CHECKING:
    from halfmask._errors import PolicyError

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
            raise self._refused(error) from None

    @classmethod
    def _refused(cls, error: ValidationError) -> PolicyError:
        return policy_error(error, cls)


def table_of(section: EventSection) -> dict[str, Any]:
    """Return a section as TOML has it, without what is the default."""
    return section.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
