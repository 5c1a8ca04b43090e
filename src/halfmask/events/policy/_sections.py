"""What every section of an events' policy is: named keys, frozen, with errors in our words."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from halfmask.events.policy._faults import policy_error

__all__ = ["Number", "Section", "Text", "Whole", "said_of"]

Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole: TypeAlias = Annotated[int, Field(strict=True)]
Text: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1_000)]


class Section(BaseModel):
    """A table of the policy file: no key that isn't named, no value that its type doesn't have.

    Raises
    ------
    PolicyError
        If anything in it can't be. The message says where, what was got by its type or number, and
        what was probably meant; it never quotes a text, which may be a category.
    """

    # Pydantic's own messages quote what was given; a policy can hold categories in conditions.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def __init__(self, **said: object) -> None:
        try:
            super().__init__(**said)
        except ValidationError as error:
            raise policy_error(error, type(self)) from None


def said_of(section: Section) -> dict[str, Any]:
    """Return a section as TOML has it, without what is the default."""
    return section.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
