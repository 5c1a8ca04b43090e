"""Hexagons of H3, a grid of the earth that many maps have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask._foreign import need
from halfmask._validation import list_of
from halfmask.data import Hierarchy, leaf_text
from halfmask.geo._place_rule import PlaceRule, check_known, each_label, rooted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.geo.points import Points

_RESOLUTIONS: Final = set(range(16))
_CELL: Final = re.compile(r"0?[0-9a-fA-F]{15}")


@dataclass(frozen=True)
class Hexagons(PlaceRule):
    """Hexagons of H3, and the root ``"*"`` above.

    Parameters
    ----------
    resolutions
        The resolution of each level, 0 to 15, the finest first. Hexagons of 9 are about 350 m
        wide, of 7 about 2.4 km, and of 5 about 17 km.

    Notes
    -----
    The number of a hexagon names it. Levels nest by their numbers; the borders of a hexagon lie
    only about within those of its parent. Source: Uber, H3 4.

    Examples
    --------
    >>> tree = Hexagons((9, 5)).build(pl.Series(["8919695019bffff"]), column="home")
    >>> tree.labels(1)
    ('85196953fffffff',)
    """

    resolutions: tuple[int, ...]

    def __post_init__(self) -> None:
        list_of("integers", _is_integer, owner="Hexagons", resolutions=self.resolutions)
        object.__setattr__(self, "resolutions", tuple(self.resolutions))
        falling = sorted(set(self.resolutions), reverse=True)
        if list(self.resolutions) != falling or not set(falling or [-1]) <= _RESOLUTIONS:
            raise ParameterError(
                "The 'resolutions' of Hexagons must fall from level to level, within 15 and 0."
            )

    def locate(self, points: Points) -> pl.Series:
        """Return the smallest hexagon of each point; see `PlaceRule`."""
        there = points.present
        at = points.take(there).in_system("degrees", None)
        return each_label(self._cells, there, at.x, at.y)

    def of_codes(self, codes: pl.Series, *, column: str) -> pl.Series:
        """Return the hexagon of the finest resolution that each cell of H3 lies in."""
        texts = leaf_text(codes)
        if codes.dtype.is_integer():  # as databases store them
            texts = codes.map_elements("{:x}".format, return_dtype=pl.String)
        parents = {text: _parent(text, self.resolutions[0]) for text in texts.unique().drop_nulls()}
        strange = int(texts.is_in([it for it, up in parents.items() if up is None]).sum())
        if strange:
            raise DataError(
                f"Column {column!r} has {strange} values that are no cells of H3 of resolution "
                f"{self.resolutions[0]} or finer.",
                hint="Write cells as texts, such as those of h3.latlng_to_cell.",
            )
        return texts.replace_strict(parents, default=None, return_dtype=pl.String)

    def build(self, values: pl.Series, *, column: str) -> Hierarchy:
        """Build the hierarchy of hexagons; see `PlaceRule`."""
        texts = leaf_text(values).to_list()
        known = [_parent(text, self.resolutions[0]) == text for text in texts]
        check_known(known, column, "hexagons")
        return rooted(
            ([_parent(text, it) or "" for text in texts] for it in self.resolutions), column
        )

    def outline(self, label: str) -> dict[str, Any] | None:
        """Return the borders of a hexagon; see `PlaceRule`."""
        if not any(_parent(label, it) == label for it in self.resolutions):
            return None
        need("shapely")
        import shapely  # noqa: PLC0415 # of an extra

        from halfmask.geo._shapes import outline_of, whole_areas  # noqa: PLC0415 # of an extra

        ring = [(lon, lat) for lat, lon in _h3().cell_to_boundary(label)]
        shapes = whole_areas(np.array([shapely.Polygon(ring)]), on_earth=True)
        return outline_of(shapes, "degrees", None)

    def _cells(self, lon: NDArray[np.float64], lat: NDArray[np.float64]) -> list[str]:
        pairs = zip(lat.tolist(), lon.tolist(), strict=True)
        return [_h3().latlng_to_cell(*each, self.resolutions[0]) for each in pairs]


def _parent(text: str, resolution: int) -> str | None:
    """Return the hexagon of a resolution that a cell lies in, if it is one as fine."""
    h3 = _h3()
    is_cell = _CELL.fullmatch(text) is not None and h3.is_valid_cell(text)
    fine = is_cell and h3.get_resolution(text) >= resolution
    return str(h3.cell_to_parent(text, resolution)) if fine else None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _h3() -> Any:  # noqa: ANN401 # a module without types
    need("h3")
    import h3  # noqa: PLC0415 # of an extra

    return h3
