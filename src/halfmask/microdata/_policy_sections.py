"""The sections of a policy file, as pydantic models; `Policy` puts them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StrictBool, StrictStr, field_validator, model_validator

from halfmask._errors import PolicyError
from halfmask._policy_files import Character, Names, Number, Section, Whole
from halfmask.data import Kind, Missing, Role
from halfmask.microdata._choices import CHOICES, Choice
from halfmask.microdata._hierarchy_section import ColumnHierarchySection
from halfmask.microdata.mask_section import MaskSection

#: What `halfmask.data.ReadOptions` takes: behind the last one stands a time zone.
_DTYPES: Final = "^(string|integer|float|boolean|date|datetime|datetime_.+)$"


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
    sheet: StrictStr | None = Field(
        default=None, description="Sheet of an Excel workbook that has several."
    )
    table: StrictStr | None = Field(
        default=None, description="Table of a database file that has several."
    )
    dtypes: dict[str, Annotated[StrictStr, Field(json_schema_extra={"pattern": _DTYPES})]] = Field(
        default_factory=dict, description="Types of columns, by name."
    )
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
    lists: dict[str, StrictStr] = Field(
        default_factory=dict,
        description="The separator of columns of lists, by column: they are read as texts.",
    )
    coerce: Names = Field(
        default=(), description="Columns whose cells that don't fit become missing."
    )


class ColumnSection(Section):
    """``[columns.NAME]``: one column; see `halfmask.data.Column`."""

    role: Role = Field(description="What the column is in the eyes of who looks for a person.")
    kind: Kind | None = Field(
        default=None, description="What its values are; identifiers need none."
    )
    hierarchy: ColumnHierarchySection | None = Field(
        default=None, description="Levels of generalization."
    )
    missing: Missing = Field(default="value", description="What a missing cell is.")
    normalize: tuple[Literal["trim", "nfc", "casefold"], ...] = Field(
        default=(), description="How spellings of a value are unified when the table is read."
    )
    label: StrictBool = Field(
        default=False, description="Whether a model is to predict this column."
    )
    weight: Annotated[Number, Field(gt=0)] = Field(
        default=1.0, description="How much the detail of a quasi-identifier matters."
    )
    least_level: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="Least level of its hierarchy that full-domain may choose."
    )
    greatest_level: Annotated[Whole, Field(ge=0)] | None = Field(
        default=None, description="Greatest level of its hierarchy that full-domain may choose."
    )
    recoding: Annotated[Choice, CHOICES["recoding"]] | None = Field(
        default=None, description="What is written for its classes, in the place of [recoding]."
    )
    mask: MaskSection | None = Field(
        default=None, description="What is done to each cell before anything else."
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
        if self.role == "identifier":
            self._check_identifier()
        if self.mask is not None:
            self._check_mask()
        if self.recoding is not None and self.role != "quasi_identifier":
            raise PolicyError(
                f"has a recoding, which goes with role 'quasi_identifier'. Got {self.role!r}.",
                hint="Other columns take a mask.",
            )
        if self.weight != 1 and self.role != "quasi_identifier":
            raise PolicyError(
                f"has a weight, which goes with role 'quasi_identifier'. Got {self.role!r}.",
                hint="Only quasi-identifiers lose detail to classes.",
            )
        for key in ("least_level", "greatest_level"):
            if getattr(self, key) is not None and self.role != "quasi_identifier":
                raise PolicyError(
                    f"has a {key}, which goes with role 'quasi_identifier'. Got {self.role!r}."
                )
        least, greatest = self.least_level, self.greatest_level
        if least is not None and greatest is not None and least > greatest:
            raise PolicyError(
                f"has a least_level above its greatest_level. Got {least} and {greatest}.",
                hint="Level 0 is the raw value; a higher level says less.",
            )
        if self.hierarchy is not None and self.role not in {"quasi_identifier", "sensitive"}:
            raise PolicyError(
                f"has a hierarchy, which goes with role 'quasi_identifier' or 'sensitive'. "
                f"Got {self.role!r}."
            )
        return self

    @property
    def of_classes(self) -> list[str]:
        """The keys stated that only classes, and so only guarantees, use."""
        return [key for key in _OF_CLASSES if getattr(self, key) != _default_of(key)]

    def _check_identifier(self) -> None:
        if self.label:
            raise PolicyError("is an identifier and a label; identifiers are dropped.")
        if self.missing != "value":
            raise PolicyError(
                f"is an identifier and has missing = {self.missing!r}; identifiers aren't read.",
                hint="Leave it out. Cells of the person that are missing are an error anyway.",
            )

    def _check_mask(self) -> None:
        if self.role == "identifier":
            raise PolicyError(
                "is an identifier and has a mask; identifiers are dropped.",
                hint="A released column of pseudonyms has the role 'insensitive'.",
            )
        if self.hierarchy is not None:
            raise PolicyError("has a hierarchy, which is about raw values, and a mask.")


_OF_CLASSES: Final = (
    "hierarchy",
    "recoding",
    "weight",
    "missing",
    "least_level",
    "greatest_level",
)


def _default_of(key: str) -> object:
    return ColumnSection.model_fields[key].default


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
    'ColumnHierarchySection'
    >>> section_at(["guarantees", 0, "k-anonymity"]).__name__
    'KAnonymitySection'
    """
    match list(loc):
        case ["columns", _, "hierarchy"]:
            return ColumnHierarchySection
        case ["columns" | "method", _, "recoding" | "objective" as key, str(tag)]:
            return CHOICES[key].section(tag)
        case ["columns", _]:
            return ColumnSection
        case ["guarantees", int(), str(tag)] | ["method" | "recoding", str(tag)]:
            return CHOICES[str(loc[0])].section(tag)
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
    return [
        name
        for choice in CHOICES.values()
        for name, section in zip(choice.kinds, choice.sections(), strict=True)
        if key in section.model_fields
    ]


_BY_NAME: dict[str, type[Section]] = {
    "input": InputSection,
    "suppression": SuppressionSection,
    "output": OutputSection,
}
