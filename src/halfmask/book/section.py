"""``[book]``: which book a release is written into, for whom, and what must still hold then."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StrictStr, model_validator

from halfmask._errors import PolicyError
from halfmask._sections import Names, Number, Section, Whole


class BookSection(Section):
    """``[book]``: the book of releases that the release is checked against, and written into."""

    dataset: StrictStr = Field(description="The name of the data set, and of its book.")
    receiver: StrictStr = Field(min_length=1, description="Who gets the release.")
    person: StrictStr | None = Field(
        default=None,
        description="The column that says whose row it is; by default the policy's person.",
    )
    match: Names = Field(
        default=(),
        description="Columns that stand for the person where no column names it: a weaker check. "
        "By default the quasi-identifiers.",
    )
    join: Literal["all", "receiver"] = Field(
        default="all",
        description="Which releases can be joined: of all receivers together, or of this one.",
    )
    min_k: Annotated[Whole, Field(ge=2)] | None = Field(
        default=None, description="The least k that must hold over all releases together."
    )
    min_l: Annotated[Whole, Field(ge=2)] | None = Field(
        default=None, description="The least number of sensitive values over all releases together."
    )
    max_t: Annotated[Number, Field(gt=0, le=1)] | None = Field(
        default=None, description="The greatest t over all releases together."
    )
    max_epsilon: Annotated[Number, Field(gt=0)] | None = Field(
        default=None, description="The greatest sum of epsilon over all releases."
    )
    reuse: Annotated[Whole, Field(ge=1)] | Literal["last"] | None = Field(
        default=None, description="The number of an earlier release whose classes are reused."
    )
    leave_out: Annotated[Number, Field(ge=0, lt=1)] = Field(
        default=0.0, description="The largest share of people that may wait or be left out."
    )
    accepted_by: StrictStr | None = Field(
        default=None, description="Who accepts what is weaker than the floor; it is booked."
    )
    reason: StrictStr | None = Field(default=None, description="Why it is accepted.")

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        said = [self.accepted_by, self.reason]
        if said != [None, None] and not all(each and each.strip() for each in said):
            raise PolicyError(
                "needs both 'accepted_by' and 'reason', and a word in each, or neither.",
                hint="Who accepts a weaker release says why.",
            )
        if self.leave_out and self.min_k is self.min_l is self.max_t is None:
            raise PolicyError(
                "has leave_out and no floor for which people could wait.",
                hint="Add [book] with min_k to the policy.",
            )
        if self.person is not None and self.match:
            raise PolicyError(
                "has a person and columns to match.", hint="Leave out match: a person is stronger."
            )
        return self


_OF_CLASSES: Final = ("min_k", "min_l", "max_t", "reuse", "leave_out")
_OF_PEOPLE: Final = ("person", "match")


def check_unused(section: BookSection | None, *, has_people: bool) -> None:
    """Raise where ``[book]`` has a key that means nothing for a release without classes."""
    unused = _OF_CLASSES if has_people else (*_OF_PEOPLE, *_OF_CLASSES)
    given = [key for key in unused if section is not None and key in section.model_fields_set]
    if given:
        what = "classes" if given[0] in _OF_CLASSES else "rows of people"
        raise PolicyError(
            f"[book] has the key {given[0]!r}, which is about {what}; the release has none.",
            hint="Leave it out.",
        )
