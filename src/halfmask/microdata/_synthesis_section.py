"""``[synthesis]`` of a policy: which rows are drawn, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from halfmask._errors import PolicyError
from halfmask._sections import Choice, Names, Number, OneOf, Section, Whole
from halfmask.synth import AtMost, FixedCombinations, RowRule, SumOf

if TYPE_CHECKING:
    from halfmask.data import Role


#: The rules of rows, by their names in policies.
_RULES: Final[Mapping[str, type[RowRule]]] = {
    AtMost.name: AtMost,
    SumOf.name: SumOf,
    FixedCombinations.name: FixedCombinations,
}


class DomainSection(Section):
    """What a column may hold, declared by the owner; see `halfmask.dp.synthesis`."""

    edges: tuple[Number, ...] = Field(
        default=(), description="Where bins of numbers begin and end, ascending."
    )
    atoms: tuple[Number, ...] = Field(
        default=(), description="Numbers with a bin of their own, such as 0."
    )
    whole: bool = Field(default=False, description="Whether numbers are whole.")
    values: tuple[StrictStr, ...] | tuple[StrictBool, ...] | tuple[StrictInt, ...] = Field(
        default=(), description="Categories; others count as missing, or are an error."
    )
    missing: bool = Field(
        default=False, description="Whether cells may be missing; else one that is, is an error."
    )

    @model_validator(mode="after")
    def _is_bins_or_values(self) -> Self:
        if bool(self.edges) == bool(self.values) or (self.values and self.atoms):
            raise PolicyError("needs one of the keys 'edges' (with 'atoms') and 'values'.")
        return self


Model: TypeAlias = Annotated[
    Literal["trees", "forest", "boosting", "parametric"],
    Field(description="What a column is drawn by."),
]
MinLeaf: TypeAlias = Annotated[
    Whole, Field(ge=1, description="The least number of rows that a cell is drawn from.")
]
Order: TypeAlias = Annotated[
    Names, Field(description="The order in which columns are drawn; empty: by entropy.")
]
Rules: TypeAlias = Annotated[
    tuple[Annotated[Choice, OneOf(kinds=_RULES, key="rule")], ...],
    Field(description="What every row keeps."),
]
Rows: TypeAlias = Annotated[
    Annotated[Whole, Field(ge=1)] | None,
    Field(description="How many rows; if absent, as many as are learnt from."),
]
Copies: TypeAlias = Annotated[
    Whole,
    Field(
        ge=1,
        le=100,
        description="How many tables are drawn, for halfmask.synth.combine_estimates.",
    ),
]
ControlFraction: TypeAlias = Annotated[
    Number,
    Field(
        ge=0,
        le=0.5,
        description="The share of rows that aren't learnt from: attacks are compared on them.",
    ),
]


class _SynthesisSection(Section):
    """``[synthesis]``: how synthetic rows are drawn. The kinds are its subclasses.

    Their keys stand in one order, that of hashes of policies.
    """

    kind: Literal["full", "partial", "hybrid"]

    @model_validator(mode="before")
    @classmethod
    def _without_empty_rules(cls, keys: Any) -> Any:  # noqa: ANN401 # whatever the file has
        """Take ``rules = []`` where rows keep no rules."""
        if not isinstance(keys, Mapping) or keys.get("rules") or "rules" in cls.model_fields:
            return keys
        return {key: value for key, value in keys.items() if key != "rules"}

    @property
    def row_rules(self) -> tuple[RowRule, ...]:
        """What every row keeps."""
        rules: tuple[Choice, ...] = getattr(self, "rules", ())
        return tuple(each.made() for each in rules)

    @property
    def least_rows(self) -> int:
        """How many rows a cell, or the rows of a group, are drawn from at least."""
        least: int = getattr(self, "k", 0) or getattr(self, "min_leaf", 1)
        return least

    @property
    def named(self) -> list[str]:
        """All columns that it names."""
        listed = (name for key in ("order", "columns", "domain") for name in getattr(self, key, ()))
        return [*listed, *(name for rule in self.row_rules for name in rule.about)]


class LearntSection(_SynthesisSection):
    """Rows that are drawn from a model of each column; see `halfmask.synth.Synthesizer`."""

    model: Model = "trees"
    min_leaf: MinLeaf = 5
    order: Order = ()


class FullSection(LearntSection):
    """``kind = "full"``: all cells are synthetic."""

    kind: Literal["full"]
    rules: Rules = ()
    rows: Rows = None
    copies: Copies = 1
    control_fraction: ControlFraction = 0.1


class PartialSection(LearntSection):
    """``kind = "partial"``: some columns are synthetic, given the others."""

    kind: Literal["partial"]
    rules: Rules = ()
    copies: Copies = 1
    columns: Names = Field(
        min_length=1, description="The columns that are drawn, given the others."
    )
    class_size_below: Annotated[Whole, Field(ge=2)] | None = Field(
        default=None,
        description="Only rows are changed that share their quasi-identifiers with fewer than so "
        "many rows, themselves included.",
    )
    control_fraction: ControlFraction = 0.1


class BlendedSection(LearntSection):
    """``kind = "hybrid"``: rows lie between original and synthetic ones."""

    kind: Literal["hybrid"]
    copies: Copies = 1
    original_share: Annotated[Number, Field(ge=0, lt=1)] = Field(
        description="How near a row is to the original one; 0 is the synthetic row. The key 'k' in "
        "its place draws rows from groups.",
    )
    control_fraction: ControlFraction = 0.1


class GroupsSection(_SynthesisSection):
    """``kind = "hybrid"`` with ``k``: rows are drawn from groups of rows."""

    kind: Literal["hybrid"]
    copies: Copies = 1
    k: Annotated[Whole, Field(ge=2)] = Field(
        description="Rows are drawn from what groups of so many rows have in common."
    )
    control_fraction: ControlFraction = 0.1


class PrivateSection(_SynthesisSection):
    """``kind = "full"`` under differential privacy: nothing is measured against the table."""

    kind: Literal["full"]
    rows: Rows = None
    epsilon: Annotated[Number, Field(gt=0)] = Field(
        description="The budget of differential privacy; rows are drawn from noisy counts alone."
    )
    delta: Annotated[Number, Field(gt=0, lt=1)] = Field(
        description="Far below one in the number of rows."
    )
    max_rows: Annotated[Whole, Field(ge=1)] = Field(
        default=1, description="With person: so many rows of a person are learnt from at most."
    )
    domain: dict[str, DomainSection] = Field(min_length=1, description="What each column may hold.")


SynthesisSection: TypeAlias = (
    FullSection | PartialSection | BlendedSection | GroupsSection | PrivateSection
)
_OF_BUDGET: Final = ("epsilon", "delta", "max_rows", "domain")


def _kind_of(section: object) -> str | None:
    """Return which kind of rows a section asks for: its kind, and what it gives besides."""
    if not isinstance(section, Mapping):
        return next((name for name, it in _KINDS.items() if type(section) is it), None)
    kind = section.get("kind")
    if kind == "full":
        return f"full {'with' if any(key in section for key in _OF_BUDGET) else 'without'} epsilon"
    if kind == "hybrid":
        return f"hybrid {'with' if 'k' in section else 'without'} k"
    return str(kind) if isinstance(kind, str) else None


_KINDS: Final[Mapping[str, type[Section]]] = {
    "full without epsilon": FullSection,
    "partial": PartialSection,
    "hybrid without k": BlendedSection,
    "hybrid with k": GroupsSection,
    "full with epsilon": PrivateSection,
}
SYNTHESIS: Final = OneOf(kinds=_KINDS, key="kind", kind_of=_kind_of)


def check_synthesis(
    section: SynthesisSection, roles: Mapping[str, Role], person: str | None
) -> None:
    """Raise where a section doesn't fit the columns of its policy."""
    if person is not None and not isinstance(section, PrivateSection):
        raise PolicyError(
            "person says whose rows are protected, and [synthesis] has no epsilon.",
            hint="Leave it out: rows are then learnt from one by one.",
        )
    if person is None and "max_rows" in section.model_fields_set:
        raise PolicyError(
            "[synthesis] max_rows is about persons, and the policy names none.",
            hint='Name the identifier that says whose row it is: person = "...".',
        )
    dropped = [name for name in section.named if roles[name] == "identifier"]
    if dropped:
        raise PolicyError(
            f"[synthesis] names {dropped[0]!r}, an identifier; identifiers are dropped."
        )
    if isinstance(section, PrivateSection):
        released = [name for name, role in roles.items() if role != "identifier"]
        undeclared = [name for name in released if name not in section.domain]
        if undeclared:
            raise PolicyError(
                f"[synthesis.domain] lacks {undeclared[0]!r}, which is released.",
                hint="Declare what it may hold, or give it the role 'identifier'.",
            )
    if (
        getattr(section, "class_size_below", None) is not None
        and "quasi_identifier" not in roles.values()
    ):
        raise PolicyError(
            "[synthesis] class_size_below is about quasi-identifiers, and there are none.",
            hint="Give that role to columns that point at a person together with others.",
        )
    if all(role == "identifier" for role in roles.values()):
        raise PolicyError("All columns are identifiers; no column is left to synthesize.")
