"""``[synthesis]`` of a policy: which rows are drawn, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StrictStr, model_validator

from halfmask._errors import PolicyError
from halfmask._policy_files import Names, Number, Section, Whole
from halfmask.microdata._choices import Choice, OneOf
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


class SynthesisSection(Section):
    """``[synthesis]``: how synthetic rows are drawn; see `halfmask.synth.Synthesizer`."""

    kind: Literal["full", "partial", "hybrid"] = Field(
        description="Whether all cells are synthetic, some are, or rows lie between original and "
        "synthetic ones."
    )
    model: Literal["trees", "forest", "boosting", "parametric"] = Field(
        default="trees", description="What a column is drawn by."
    )
    min_leaf: Annotated[Whole, Field(ge=1)] = Field(
        default=5, description="The least number of rows that a cell is drawn from."
    )
    order: Names = Field(
        default=(), description="The order in which columns are drawn; empty: by entropy."
    )
    rules: tuple[Annotated[Choice, OneOf(_RULES, "rule")], ...] = Field(
        default=(), description="What every row keeps."
    )
    rows: Annotated[Whole, Field(ge=1)] | None = Field(
        default=None, description="For full: how many rows; if absent, as many as the table has."
    )
    copies: Annotated[Whole, Field(ge=1, le=100)] = Field(
        default=1, description="How many tables are drawn, for halfmask.synth.combine_estimates."
    )
    columns: Names = Field(
        default=(), description="For partial: the columns that are drawn, given the others."
    )
    class_size_below: Annotated[Whole, Field(ge=2)] | None = Field(
        default=None,
        description="For partial: only rows are changed that share their quasi-identifiers with "
        "fewer than so many rows, themselves included.",
    )
    original_share: Annotated[Number, Field(ge=0, lt=1)] | None = Field(
        default=None,
        description="For hybrid: how near a row is to the original one; 0 is the synthetic row.",
    )
    k: Annotated[Whole, Field(ge=2)] | None = Field(
        default=None,
        description="For hybrid: rows are drawn from what groups of so many rows have in common.",
    )
    control_fraction: Annotated[Number, Field(ge=0, le=0.5)] = Field(
        default=0.1,
        description="The share of rows that aren't learnt from: attacks are compared on them.",
    )
    epsilon: Annotated[Number, Field(gt=0)] | None = Field(
        default=None,
        description="For full: the budget of differential privacy; rows are drawn from noisy "
        "counts, and nothing is measured against the table.",
    )
    delta: Annotated[Number, Field(gt=0, lt=1)] | None = Field(
        default=None, description="With epsilon: far below one in the number of rows."
    )
    max_rows: Annotated[Whole, Field(ge=1)] = Field(
        default=1,
        description="With epsilon and person: so many rows of a person are learnt from at most.",
    )
    domain: dict[str, DomainSection] = Field(
        default_factory=dict, description="With epsilon: what each column may hold."
    )

    @property
    def named(self) -> list[str]:
        """All columns that it names."""
        about = [name for rule in self.rules for name in rule.made().about]
        return [*self.order, *self.columns, *about, *self.domain]

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        own = {
            "full": {"rows", "epsilon", "delta", "domain", "max_rows"},
            "partial": {"columns", "class_size_below"},
            "hybrid": {"original_share", "k"},
        }
        for kind, keys in own.items():
            given = sorted(keys & self.model_fields_set)
            if given and kind != self.kind:
                raise PolicyError(
                    f"has the key {given[0]!r}, which goes with kind {kind!r}. Got {self.kind!r}."
                )
        if self.kind == "partial" and not self.columns:
            raise PolicyError("lacks the key 'columns', the columns that are drawn.")
        if self.kind == "hybrid":
            self._check_hybrid()
        self._check_budget()
        return self

    def _check_budget(self) -> None:
        budget = {"epsilon", "delta", "domain"}
        given = budget & self.model_fields_set
        if not given:
            if "max_rows" in self.model_fields_set:
                raise PolicyError("lacks the key 'epsilon', which goes with 'max_rows'.")
            return
        if given != budget:
            raise PolicyError(
                f"lacks the key {min(budget - given)!r}, which goes with {min(given)!r}."
            )
        other = self.model_fields_set - budget - {"kind", "rows", "max_rows"}
        if other:
            raise PolicyError(
                f"has the keys 'epsilon' and {min(other)!r}: rows under a budget are drawn from "
                "noisy counts alone."
            )

    def _check_hybrid(self) -> None:
        if (self.original_share is None) == (self.k is None):
            raise PolicyError(
                "needs one of the keys 'original_share' and 'k'.",
                hint="'original_share' blends each row with its nearest synthetic row; 'k' draws "
                "rows from groups of k.",
            )
        if self.rules:
            raise PolicyError(
                "has rules, which hybrid rows don't keep.",
                hint="Rules go with the kinds 'full' and 'partial'.",
            )
        learnt = {"model", "min_leaf", "order"} & self.model_fields_set
        if self.k is not None and learnt:
            raise PolicyError(
                f"has the keys 'k' and {min(learnt)!r}: rows of groups need no model of columns."
            )


def check_synthesis(
    section: SynthesisSection, roles: Mapping[str, Role], person: str | None
) -> None:
    """Raise where a section doesn't fit the columns of its policy."""
    if person is not None and section.epsilon is None:
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
    if section.epsilon is not None:
        undeclared = [
            name
            for name, role in roles.items()
            if role != "identifier" and name not in section.domain
        ]
        if undeclared:
            raise PolicyError(
                f"[synthesis.domain] lacks {undeclared[0]!r}, which is released.",
                hint="Declare what it may hold, or give it the role 'identifier'.",
            )
    if section.class_size_below is not None and "quasi_identifier" not in roles.values():
        raise PolicyError(
            "[synthesis] class_size_below is about quasi-identifiers, and there are none.",
            hint="Give that role to columns that point at a person together with others.",
        )
    if all(role == "identifier" for role in roles.values()):
        raise PolicyError("All columns are identifiers; no column is left to synthesize.")
