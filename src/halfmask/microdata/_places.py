"""Places in a policy: maps of the owner, rules that are about them, columns of coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import polars as pl
from pydantic import Field, StrictStr, model_validator

from halfmask import geo
from halfmask._errors import PolicyError
from halfmask._sections import Names, Number, Section
from halfmask.microdata._hierarchy_section import CENSUS_2000, CODE_RULES, check_relative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.geo import AreaMap, MapFile, Maps, PlaceColumns, PlaceRule, PointMap
    from halfmask.microdata._hierarchy_section import ColumnHierarchySection

_POINTS = 'Name the columns of the coordinates: points = ["longitude", "latitude"].'


class MapSection(Section):
    """``[maps.NAME]``: a file of points or areas; see `halfmask.geo.MapFile`."""

    file: StrictStr = Field(
        description="Table of points or areas, or GeoJSON, relative to the policy."
    )
    points: tuple[StrictStr, StrictStr] | None = Field(
        default=None, description="Columns of points, or of the centres of areas: x, then y."
    )
    unit: geo.Unit = Field(default="degrees", description="What its coordinates are in.")
    crs: StrictStr | None = Field(
        default=None, description="Its reference system, such as EPSG:28992."
    )
    name: StrictStr | None = Field(
        default=None, description="What names an area; without it, a table is of points."
    )
    parents: Names = Field(
        default=(), description="What names that which an area is part of, the smallest first."
    )
    people: StrictStr | None = Field(
        default=None, description="The number of people or households; by default one a point."
    )
    reach: Annotated[Number, Field(ge=0)] = Field(
        default=0.0, description="Metres beyond polygons that still belong to the nearest."
    )

    @model_validator(mode="after")
    def _is_a_map(self) -> Self:
        check_relative(self.file)
        self.map_file  # noqa: B018 # raises where it can't be
        return self

    @property
    def map_file(self) -> MapFile:
        """The file as a value."""
        return geo.MapFile(**dict(self))


@lru_cache(maxsize=16)  # opened maps are large, and every step of an exploration asks for them
def _opened(file: MapFile, folder: Path, _stamp: tuple[int, int]) -> PointMap | AreaMap:
    return file.opened(folder)


def open_maps(maps: Mapping[str, MapSection], folder: str | Path | None) -> Maps:
    """Return what the files of maps hold; one that didn't change is read once."""
    if maps and folder is None:
        raise PolicyError(
            "The policy has [maps], and no folder to look for their files in is known.",
            hint="Load the policy from its file, or give the folder.",
        )
    return {name: _open(each.map_file, Path(folder or "").resolve()) for name, each in maps.items()}


def _open(file: MapFile, folder: Path) -> PointMap | AreaMap:
    try:
        found = (folder / file.file).stat()
        stamp = (found.st_mtime_ns, found.st_size)
    except OSError:
        stamp = (0, 0)  # `opened` says what is wrong
    return _opened(file, folder, stamp)


def place_rule(
    section: ColumnHierarchySection, unit: geo.Unit, crs: str | None, maps: Maps
) -> PlaceRule:
    """Return the rule of places that a section asks for, with the opened maps that it names."""
    people = None if section.people is None else maps[section.people]
    least = section.least or ()
    if section.cells is not None:
        return _made("Cells", widths=section.cells, unit=unit, crs=crs)
    if section.hexagons is not None:
        return _made("Hexagons", resolutions=section.hexagons)
    if section.areas is not None:
        return _made("Areas", areas=maps[section.areas], people=people, least=least)
    if section.quadtree is not None:
        return _made("Quadtree", smallest=section.quadtree, people=people, least=least)
    named = None if section.zip3 == CENSUS_2000 else maps[str(section.zip3)]
    return _made("Zip3", people=named, least=least)


@lru_cache(maxsize=32)  # what a rule found out about its maps is kept
def _made(name: str, **given: Any) -> PlaceRule:  # noqa: ANN401 # what each rule takes
    made: PlaceRule = getattr(geo, name)(**given)
    return made


@dataclass(frozen=True, slots=True)
class PlaceColumn:
    """A place of two columns of a table, or of codes; a `halfmask.data.DerivedColumn`."""

    name: str
    rule: PlaceRule
    points: PlaceColumns | None
    kept: frozenset[str] = frozenset()

    @property
    def replaces(self) -> tuple[str, ...]:
        """The columns that it is made of, without those that masks of rows read."""
        return tuple(name for name in self.reads if name == self.name or name not in self.kept)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of its coordinates, or that of the codes."""
        return (self.name,) if self.points is None else self.points.columns

    @property
    def dtype(self) -> pl.DataType:
        """The type of labels."""
        return pl.String()

    def derive(self, frame: pl.DataFrame) -> pl.Series:
        """Return the label of the finest area of each row's point or code."""
        if self.points is None:
            return self.rule.of_codes(frame[self.name], column=self.name)
        return self.rule.locate(self.points.read(frame))


def check_place(
    section: ColumnHierarchySection | None,
    points: tuple[str, str] | None,
    unit: geo.Unit,
    crs: str | None,
) -> None:
    """Raise unless the hierarchy of a column goes with its points, their unit and their system."""
    rule = None if section is None else section.place
    if points is None and (unit != "degrees" or crs is not None):
        key = "unit" if crs is None else "crs"
        raise PolicyError(f"has the key {key!r}, which goes with 'points'.", hint=_POINTS)
    if points is not None and rule is None:
        raise PolicyError(
            "has points, and no hierarchy of areas.",
            hint="Write hierarchy = { cells = [1, 10, 100] }, with widths in km. To move points, "
            "name their columns in a mask of [[masks]].",
        )
    if section is None or rule is None:
        return
    if points is None and rule not in CODE_RULES:
        raise PolicyError(f"has a hierarchy by {rule!r} and no points.", hint=_POINTS)
    if points is not None and points[0] == points[1]:
        raise PolicyError("has one column twice in its points.")
    if points is not None and rule == "zip3":
        raise PolicyError("has points and a hierarchy by 'zip3', which is about ZIP codes.")
    if rule == "hexagons" and unit != "degrees":
        raise PolicyError(
            f"has a hierarchy by 'hexagons', which goes with degrees. Got {unit!r}.",
            hint="Choose cells, or convert x and y to longitude and latitude before, as with "
            'to_crs("EPSG:4326") of geopandas.',
        )
    if crs is not None and unit == "degrees":
        raise PolicyError("has a crs, which goes with x and y of a plane. Got degrees.")
    if not section.maps:
        place_rule(section, unit, crs, {})  # raises where the rule can't be
