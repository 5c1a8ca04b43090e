"""What all sections of a policy file share, and the types of their keys."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictStr

__all__ = ["Character", "Names", "Number", "Section", "Whole"]

Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole: TypeAlias = Annotated[int, Field(strict=True)]
Names: TypeAlias = tuple[StrictStr, ...]
Character: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1)]


class Section(BaseModel):
    """A table of the policy file: no key that isn't named, no value that its type doesn't have."""

    # Pydantic's own messages quote what was given; a policy can hold category levels.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
