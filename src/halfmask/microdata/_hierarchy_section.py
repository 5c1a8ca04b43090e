"""The section of a column's hierarchy in a policy file."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Final, Literal, Self

import polars as pl
from pydantic import ConfigDict, Field, JsonValue, StrictStr, model_validator

from halfmask._errors import PolicyError
from halfmask._sections import Character, Number, Section, Whole
from halfmask.data import (
    Column,
    Dates,
    Groups,
    Hierarchy,
    HierarchyRule,
    Intervals,
    Order,
    Prefix,
    read_hierarchy,
)

#: Rules of places, and those of them that are about codes in place of points.
PLACE_RULES: Final = ("cells", "hexagons", "areas", "quadtree", "zip3")
CODE_RULES: Final = ("hexagons", "areas", "zip3")
#: The value of zip3 that needs no map.
CENSUS_2000: Final = "census-2000"
_RULES = ("file", "intervals", "prefix", "dates", "order", "groups", *PLACE_RULES)
# Which further key goes with which rules.
_OPTIONS = {
    "delimiter": ("file",),
    "origin": ("intervals",),
    "length": ("prefix",),
    "mask": ("prefix",),
    "format": ("dates",),
    "sizes": ("order",),
    "people": ("areas", "quadtree"),
    "least": ("areas", "quadtree", "zip3"),
}


class ColumnHierarchySection(Section):
    """``hierarchy`` of a column: exactly one of a file and ten rules, with its options."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [rule]} for rule in _RULES]}
    )
    has_categories = True

    file: StrictStr | None = Field(
        default=None, description="CSV file of ARX, relative to the policy."
    )
    delimiter: Character | None = Field(default=None, description="Between the file's cells; ';'.")
    intervals: tuple[Number, ...] | None = Field(
        default=None, description="Widths, the narrowest first."
    )
    origin: Number | None = Field(default=None, description="Where an interval starts; 0.")
    prefix: tuple[Whole, ...] | None = Field(
        default=None, description="Characters kept, the most first."
    )
    length: Whole | None = Field(default=None, description="Length of all labels of a prefix.")
    mask: Character | None = Field(
        default=None, description="Stands for what a prefix doesn't keep; '*'."
    )
    dates: tuple[Literal["day", "week", "month", "quarter", "year", "decade"], ...] | None = Field(
        default=None, description="Units, the finest first."
    )
    format: StrictStr | None = Field(default=None, description="How text spells dates; ISO 8601.")
    order: tuple[JsonValue, ...] | None = Field(
        default=None, description="Values in order, in groups."
    )
    sizes: tuple[Whole, ...] | None = Field(
        default=None, description="Neighbours that form a group."
    )
    groups: dict[str, JsonValue] | None = Field(default=None, description="Named groups of values.")
    cells: tuple[Number, ...] | None = Field(
        default=None, description="Widths of cells of a place in km, the narrowest first."
    )
    hexagons: tuple[Whole, ...] | None = Field(
        default=None, description="Resolutions of H3 of a place, the finest first."
    )
    areas: StrictStr | None = Field(default=None, description="Map of the areas of a place.")
    quadtree: Number | None = Field(
        default=None, description="Width in km of the smallest cells, split by people."
    )
    zip3: StrictStr | None = Field(
        default=None,
        description=f"Map with the people of ZIP codes, cut to 3 digits; or {CENSUS_2000}.",
    )
    people: StrictStr | None = Field(
        default=None, description="Map of people or households that areas are merged by."
    )
    least: tuple[Annotated[Whole, Field(ge=1)], ...] | None = Field(
        default=None, description="Least people of an area, the fewest first."
    )

    @model_validator(mode="after")
    def _is_one_rule(self) -> Self:
        given = [rule for rule in _RULES if getattr(self, rule) is not None]
        if len(given) != 1:
            raise PolicyError(
                f"must have exactly one of {', '.join(_RULES)}. Got {len(given)} of them."
            )
        stray = [
            option
            for option, rule in _OPTIONS.items()
            if getattr(self, option) is not None and given[0] not in rule
        ]
        if stray:
            raise PolicyError(
                f"has the key {stray[0]!r}, which goes with "
                f"{' or '.join(map(repr, _OPTIONS[stray[0]]))} and not with {given[0]!r}."
            )
        if self.file is not None:
            check_relative(self.file)
        elif self.place is None:
            self.rule()  # raises where the rule can't be
        return self

    @property
    def place(self) -> str | None:
        """The name of its rule, if that is about places."""
        return next((rule for rule in PLACE_RULES if getattr(self, rule) is not None), None)

    @property
    def maps(self) -> tuple[str, ...]:
        """The names of the maps that its rule is about."""
        named = (self.areas, None if self.zip3 == CENSUS_2000 else self.zip3, self.people)
        return tuple(name for name in named if name is not None)

    def rule(self) -> HierarchyRule:
        """Return the rule that builds the hierarchy; not for a file."""
        if self.intervals is not None:
            return Intervals(self.intervals, origin=self.origin or 0)
        if self.prefix is not None:
            return Prefix(self.prefix, length=self.length, mask=self.mask or "*")
        if self.dates is not None:
            return Dates(self.dates, format=self.format)
        if self.order is not None:
            return Order(self.order, sizes=self.sizes or ())
        return Groups(self.groups or {})


def check_relative(file: str) -> None:
    """Raise unless a file is given relative to the policy."""
    # A policy may be shared: the owner's folders are nobody's business, and it must work
    # on another machine.
    absolute = PurePosixPath(file).is_absolute() or PureWindowsPath(file).anchor
    if not file or absolute or "://" in file or "\0" in file:
        raise PolicyError("has a file that isn't given relative to the policy file.")


def hierarchy_of(
    section: ColumnHierarchySection, column: str, folder: Path | None
) -> Hierarchy | HierarchyRule:
    """Return a column's hierarchy, read from its file, or the rule that makes it."""
    if section.file is None:
        return section.rule()
    if folder is None:
        raise PolicyError(
            f"[columns.{column}] has a hierarchy file, and no folder to look for it in is known.",
            hint="Load the policy from its file, or give schema() the folder.",
        )
    return read_hierarchy(folder / section.file, column=column, delimiter=section.delimiter or ";")


def build_listed(column: Column) -> Hierarchy:
    """Return a column's hierarchy, built where its rule needs no values to."""
    made = column.hierarchy
    if isinstance(made, Hierarchy):
        return made
    if isinstance(made, Order | Groups):
        return made.build(pl.Series(column.name, [], dtype=pl.String), column=column.name)
    raise PolicyError(
        f"The hierarchy of column {column.name!r} is made from the values of the table, which "
        "aren't known yet.",
        hint="Give guarantees() the schema with hierarchies built, or list the hierarchy.",
    )
