"""The sections of a policy file, as pydantic models."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import Field, StrictBool, StrictStr, field_validator, model_validator

from halfmask._errors import PolicyError
from halfmask._policy_files import WrittenPolicy
from halfmask._sections import Character, Choice, Names, Number, OneOf, Section, Whole
from halfmask.anonymize import METHODS, RECODINGS, Level
from halfmask.anonymize.lattice import OBJECTIVES, Objective
from halfmask.book.section import BookSection
from halfmask.claims.manifest import MASKED, MICRODATA, PRIVATE_MICRODATA, SYNTHETIC
from halfmask.data import Kind, Missing, Normalization, Role
from halfmask.geo import Unit
from halfmask.guarantees import GUARANTEES
from halfmask.masks import TableMask
from halfmask.microdata._differential_privacy import DifferentialPrivacy
from halfmask.microdata._hierarchy_section import ColumnHierarchySection
from halfmask.microdata._places import MapSection, check_place
from halfmask.microdata._synthesis_section import SYNTHESIS, SynthesisSection
from halfmask.microdata.mask_section import MaskSection, TableMaskSection

if TYPE_CHECKING:
    from halfmask.anonymize import Recoding
    from halfmask.masks import Mask

#: What `halfmask.data.ReadOptions` takes: behind the last one stands a time zone.
_DTYPES: Final = "^(string|integer|float|boolean|date|datetime|datetime_.+)$"
#: Guarantees that no class is judged by.
_OF_ROWS: dict[str, type[Any]] = {DifferentialPrivacy.model: DifferentialPrivacy}


def _targets(method: type[Any]) -> Mapping[str, Any]:
    """Return the key of methods that predict columns."""
    about = "Columns to predict; empty: those marked as label."
    key = (Names, Field(default=(), description=about))
    return {"split_targets": key} if getattr(method, "needs_guide", False) else {}


GUARANTEE: Final = OneOf(
    kinds=ChainMap(_OF_ROWS, GUARANTEES),  # type: ignore[arg-type] # nobody writes to it
    key="model",
    without=frozenset({"hierarchy"}),  # it belongs to the column
    beyond="It would guarantee nothing.",
)
METHOD: Final = OneOf(
    kinds=METHODS,
    key="name",
    nested={Objective: OneOf(kinds=OBJECTIVES, key="name")},
    more=_targets,
)
RECODING: Final = OneOf(kinds=RECODINGS, key="name")


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
    points: tuple[StrictStr, StrictStr] | None = Field(
        default=None,
        description="The columns of the table that a place is made of: longitude and latitude, or "
        "x and y.",
    )
    unit: Unit = Field(default="degrees", description="What the points are in.")
    crs: StrictStr | None = Field(
        default=None, description="Their reference system, where maps are in another one."
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
    recoding: Annotated[Choice, RECODING] | None = Field(
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
        self._check_place()
        return self

    @property
    def of_classes(self) -> list[str]:
        """The keys stated that only classes, and so only guarantees, use."""
        stated = [key for key in _OF_CLASSES if getattr(self, key) != _default_of(key)]
        # The areas of points are its values.
        return [key for key in stated if key != "hierarchy" or self.points is None]

    @property
    def place(self) -> str | None:
        """The rule of its hierarchy, if that is about places."""
        return None if self.hierarchy is None else self.hierarchy.place

    def _check_place(self) -> None:
        check_place(self.hierarchy, self.points, self.unit, self.crs)
        if self.place and self.kind != "geo":
            raise PolicyError(
                f"has a hierarchy of places, which goes with kind 'geo'. Got {self.kind!r}."
            )
        if self.points and self.normalize:
            raise PolicyError("has points and normalize, which is about texts.")

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


class PolicySections(WrittenPolicy):
    """All sections of a policy; `Policy` checks that they go together."""

    file_kind = "halfmask"

    halfmask: Literal[1] = Field(description="The version of the format.")
    person: StrictStr | None = Field(
        default=None,
        description="The identifier that says whose row it is. Guarantees then count each person "
        "once in a class; the column is dropped.",
    )
    sampling_weights: StrictStr | None = Field(
        default=None,
        description="The column of sampling weights, with which the report of masks weighs means, "
        "shares and the regression.",
    )
    input: InputSection = Field(default_factory=InputSection)
    columns: dict[str, ColumnSection]
    guarantee_sections: tuple[Annotated[Choice, GUARANTEE], ...] = Field(
        default=(), alias="guarantees"
    )
    table_masks: tuple[TableMaskSection, ...] = Field(
        default=(),
        alias="masks",
        description="Masks of several columns, and masks of rows, in order.",
    )
    method: Annotated[Choice, METHOD] = Field(default_factory=METHOD.first)
    recoding: Annotated[Choice, RECODING] = Field(default_factory=RECODING.first)
    suppression: SuppressionSection = Field(default_factory=SuppressionSection)
    synthesis: Annotated[SynthesisSection, SYNTHESIS] | None = Field(
        default=None, description="How synthetic rows are drawn, in the place of guarantees."
    )
    output: OutputSection = Field(default_factory=OutputSection)
    book: BookSection | None = Field(
        default=None, description="The book of releases that it is checked against."
    )
    maps: dict[str, MapSection] = Field(
        default_factory=dict, description="Files of points and areas, by name."
    )

    @model_validator(mode="before")
    @classmethod
    def _with_recoding_of_method(cls, sections: Any) -> Any:  # noqa: ANN401 # whatever the file has
        """Write nodes of hierarchies by default where the method chooses a level for all rows."""
        if not isinstance(sections, Mapping) or "recoding" in sections:
            return sections
        method = sections.get("method")
        name = method.get("name") if isinstance(method, Mapping) else None
        if not isinstance(name, str) or name not in METHODS or not METHODS[name].judges_release:
            return sections
        return {**sections, "recoding": {"name": Level.name}}

    @property
    def dropped(self) -> tuple[str, ...]:
        """The identifiers, which aren't released."""
        return tuple(name for name, it in self.columns.items() if it.role == "identifier")

    @property
    def ordinal_columns(self) -> frozenset[str]:
        """The columns whose order counts, where their type in the table has one."""
        return frozenset(name for name, it in self.columns.items() if it.kind == "ordinal")

    @property
    def normalize(self) -> dict[str, tuple[Normalization, ...]]:
        """How spellings are unified, by column; of identifiers only those that are read."""
        return {
            name: section.normalize
            for name, section in self.columns.items()
            if section.normalize and (section.role != "identifier" or name in self.read_identifiers)
        }

    @property
    def read_identifiers(self) -> set[str | None]:
        """The identifiers whose cells are read: they say whose row it is."""
        of_book = () if self.book is None else (self.book.person, *self.book.match)
        return {self.person, *of_book}

    @property
    def column_recodings(self) -> dict[str, Recoding]:
        """The recoding of each quasi-identifier that has its own; places are levels."""
        known = {name: it for name, it in self.columns.items() if it.role == "quasi_identifier"}
        places: dict[str, Recoding] = {name: Level() for name, it in known.items() if it.place}
        own = {name: it.recoding.made() for name, it in known.items() if it.recoding is not None}
        return places | own

    @property
    def masks(self) -> dict[str, Mask]:
        """The mask of each column that has one."""
        return {
            name: section.mask for name, section in self.columns.items() if section.mask is not None
        }

    def masks_of(self, column: str) -> tuple[Mask | TableMask, ...]:
        """Return all masks that change a column, in order.

        Parameters
        ----------
        column
            Its name.
        """
        own = self.columns[column].mask if column in self.columns else None
        more = [it for it in self.table_masks if isinstance(it, TableMask) and column in it.columns]
        return (*([] if own is None else [own]), *more)

    @property
    def kind(self) -> str:
        """The kind of release that it asks for."""
        if self.synthesis is not None:
            return SYNTHETIC
        if self.is_private:
            return PRIVATE_MICRODATA
        return MICRODATA if self.guarantee_sections else MASKED

    @property
    def is_masks_alone(self) -> bool:
        """Whether it has masks and no guarantee: `halfmask.mask` then makes the release."""
        return not self.guarantee_sections and self.synthesis is None

    @property
    def is_private(self) -> bool:
        """Whether rows are drawn under differential privacy, in the place of classes."""
        return any(each.made_type is DifferentialPrivacy for each in self.guarantee_sections)

    @property
    def split_targets(self) -> tuple[str, ...]:
        """The columns that the method predicts: those named, else the labels; else none."""
        named = getattr(self.method, "split_targets", None)
        if named is None or not self.method.made().needs_guide:
            return ()
        return named or tuple(name for name, each in self.columns.items() if each.label)
