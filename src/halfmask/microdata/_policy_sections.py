"""The sections of a policy file, as pydantic models; `Policy` puts them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, StrictBool, StrictStr, field_validator, model_validator

from halfmask._errors import PolicyError
from halfmask.data import Kind, Missing, Role
from halfmask.microdata._hierarchy_section import HierarchySection
from halfmask.microdata._section import Character, Names, Number, Section, Whole

__all__ = [
    "ColumnSection",
    "GuaranteeSection",
    "InputSection",
    "MethodSection",
    "MondrianSection",
    "OutputSection",
    "RangesSection",
    "RecodingSection",
    "SuppressionSection",
    "kinds_having",
    "section_at",
]


class InputSection(Section):
    """``[input]``: how the table is read; see `halfmask.data.ReadOptions`."""

    missing: Names | None = Field(default=None, description="Texts that mean a missing cell.")
    encoding: StrictStr = Field(default="utf-8", description="Encoding of a text file.")
    delimiter: Character | None = Field(
        default=None, description="Character between cells; found if absent."
    )
    quote: Character = Field(default='"', description="Character around cells.")
    header: StrictBool | None = Field(
        default=None,
        description="Whether the first row of a CSV file holds names; if absent, a first row that "
        "looks like data is an error.",
    )
    skip_rows: Annotated[Whole, Field(ge=0)] = Field(
        default=0, description="Lines at the start of a CSV file that aren't read."
    )
    comment: StrictStr | None = Field(
        default=None, description="Start of lines of a CSV file that aren't read, such as #."
    )
    column_names: Names | None = Field(
        default=None,
        description="Names of all columns of a CSV file, in order, instead of the header's.",
    )
    dtypes: dict[
        str,
        Literal["string", "integer", "float", "boolean", "date", "datetime", "datetime_utc"],
    ] = Field(default_factory=dict, description="Types of columns, by name.")
    date_formats: dict[str, StrictStr] = Field(
        default_factory=dict, description="How columns of text spell dates, such as %d.%m.%Y."
    )
    first_years: dict[str, Whole] = Field(
        default_factory=dict,
        description="First year of the century of two-digit years (%y).",
    )
    number_formats: dict[str, StrictStr] = Field(
        default_factory=dict, description="How columns of text write the number 1234.5."
    )
    coerce: Names = Field(
        default=(), description="Columns whose cells that don't fit become missing."
    )


class ColumnSection(Section):
    """``[columns.NAME]``: what is said of one column; see `halfmask.data.Column`."""

    role: Role = Field(description="What the column is in the eyes of who looks for a person.")
    kind: Kind | None = Field(
        default=None, description="What its values are; identifiers need none."
    )
    hierarchy: HierarchySection | None = Field(
        default=None, description="Levels of generalization."
    )
    missing: Missing = Field(default="value", description="What a missing cell is.")
    normalize: tuple[Literal["trim", "nfc", "casefold"], ...] = Field(
        default=(), description="How spellings of a value are unified when the table is read."
    )
    label: StrictBool = Field(
        default=False, description="Whether a model is to predict this column."
    )

    @field_validator("role", mode="before")
    @classmethod
    def _as_reports_spell_it(cls, role: object) -> object:
        """Take ``quasi-identifier``, as reports and the terminal write it, for the role."""
        return "quasi_identifier" if role == "quasi-identifier" else role

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        if self.kind is None and self.role != "identifier":
            raise PolicyError("lacks the key 'kind'.")
        if self.label and self.role == "identifier":
            raise PolicyError("is an identifier and a label; identifiers are dropped.")
        if self.hierarchy is not None and self.role not in {"quasi_identifier", "sensitive"}:
            raise PolicyError(
                f"has a hierarchy, which goes with role 'quasi_identifier' or 'sensitive'. "
                f"Got {self.role!r}."
            )
        return self


class KAnonymitySection(Section):
    """Every row shares its quasi-identifiers with at least k - 1 others."""

    model: Literal["k-anonymity"]
    k: Annotated[Whole, Field(ge=2)]

    @property
    def column(self) -> None:
        """No sensitive column."""


class DistinctLDiversitySection(Section):
    """Every class has at least l different values of the column."""

    model: Literal["distinct-l-diversity"]
    l: Annotated[Whole, Field(ge=2)]
    column: StrictStr


class EntropyLDiversitySection(Section):
    """The entropy of the column is at least log(l) in every class."""

    model: Literal["entropy-l-diversity"]
    l: Annotated[Number, Field(gt=1)]
    column: StrictStr


class RecursiveCLDiversitySection(Section):
    """In every class the most frequent value is less than c times the l-th and rarer ones."""

    model: Literal["recursive-cl-diversity"]
    c: Annotated[Number, Field(gt=0)]
    l: Annotated[Whole, Field(ge=2)]
    column: StrictStr


class TClosenessSection(Section):
    """In every class the column is distributed as in the whole table, to a distance of t."""

    model: Literal["t-closeness"]
    t: Annotated[Number, Field(ge=0, lt=1)]
    column: StrictStr
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"


GuaranteeSection: TypeAlias = Annotated[
    KAnonymitySection
    | DistinctLDiversitySection
    | EntropyLDiversitySection
    | RecursiveCLDiversitySection
    | TClosenessSection,
    Field(discriminator="model"),
]


class MondrianSection(Section):
    """Classes cut at the median of the widest column."""

    name: Literal["mondrian"] = "mondrian"
    strict: StrictBool = Field(
        default=True, description="Whether rows with the same value stay together."
    )


class GuidedSection(Section):
    """Classes grown by what a model has to predict."""

    name: Literal["guided"]
    towards: Names = Field(
        default=(), description="Columns to predict; empty: those marked as label."
    )
    least_gain: Annotated[Number, Field(ge=0, le=1)] = Field(
        default=0.07, description="Share of the spread that a cut must take away."
    )


class HilbertSection(Section):
    """Classes cut from a Hilbert curve where least is lost."""

    name: Literal["hilbert"]


class RPlusTreeSection(Section):
    """Classes cut where the boxes of both sides are smallest."""

    name: Literal["r-plus-tree"]
    least_share: Annotated[Number, Field(ge=0, le=0.5)] = Field(
        default=0.25, description="Share of a class's rows that each side of a cut should have."
    )


MethodSection: TypeAlias = Annotated[
    MondrianSection | GuidedSection | HilbertSection | RPlusTreeSection,
    Field(discriminator="name"),
]


class RangesSection(Section):
    """Ranges of numbers and sets of categories are written for a class."""

    name: Literal["ranges"] = "ranges"


class LevelSection(Section):
    """The node of the hierarchy above a class is written."""

    name: Literal["level"]


class CentroidSection(Section):
    """The mean or median of numbers and the mode of categories are written."""

    name: Literal["centroid"]
    numeric: Literal["mean", "median"] = "mean"


class RepresentativeSection(Section):
    """One row of a class is written for all."""

    name: Literal["representative"]


RecodingSection: TypeAlias = Annotated[
    RangesSection | LevelSection | CentroidSection | RepresentativeSection,
    Field(discriminator="name"),
]


class SuppressionSection(Section):
    """``[suppression]``: how many rows may be left out."""

    max_fraction: Annotated[Number, Field(ge=0, lt=1)] = Field(
        default=0.0, description="The largest share of rows that may be left out."
    )


class OutputSection(Section):
    """``[output]``: how the release is written."""

    format: Literal["parquet", "csv", "arrow", "jsonl"] = "parquet"


def section_at(loc: Sequence[int | str]) -> type[Section] | None:
    """Return the section that lies at a place, as pydantic names places; None for the whole file.

    Examples
    --------
    >>> section_at(["columns", "age", "hierarchy"]).__name__
    'HierarchySection'
    >>> section_at(["guarantees", 0, "k-anonymity"]).__name__
    'KAnonymitySection'
    """
    match list(loc):
        case ["columns", _, "hierarchy"]:
            return HierarchySection
        case ["columns", _]:
            return ColumnSection
        case ["guarantees", int(), str(tag)] | ["method" | "recoding", str(tag)]:
            return _BY_TAG.get(tag)
        case [str(name)]:
            return _BY_NAME.get(name)
    return None


def kinds_having(key: str) -> list[str]:
    """Return the guarantees, methods and recodings whose section has a key.

    Examples
    --------
    >>> kinds_having("strict")
    ['mondrian']
    """
    return [tag for tag, section in _BY_TAG.items() if key in section.model_fields]


_BY_NAME: dict[str, type[Section]] = {
    "input": InputSection,
    "suppression": SuppressionSection,
    "output": OutputSection,
}
_BY_TAG: dict[str, type[Section]] = {
    "k-anonymity": KAnonymitySection,
    "distinct-l-diversity": DistinctLDiversitySection,
    "entropy-l-diversity": EntropyLDiversitySection,
    "recursive-cl-diversity": RecursiveCLDiversitySection,
    "t-closeness": TClosenessSection,
    "mondrian": MondrianSection,
    "guided": GuidedSection,
    "hilbert": HilbertSection,
    "r-plus-tree": RPlusTreeSection,
    "ranges": RangesSection,
    "level": LevelSection,
    "centroid": CentroidSection,
    "representative": RepresentativeSection,
}
