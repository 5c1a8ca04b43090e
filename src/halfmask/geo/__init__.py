"""Places: points and areas, how a point becomes coarser, and how it is moved.

Start with `PlaceColumns`, which reads the points of a table, and `MapFile`, which opens a map.
"""

from __future__ import annotations

from halfmask.geo._areas import Areas
from halfmask.geo._cells import Cells
from halfmask.geo._hexagons import Hexagons
from halfmask.geo._maps import AreaMap, MapFile, PointMap
from halfmask.geo._maps import Maps as Maps
from halfmask.geo._place_rule import PlaceRule
from halfmask.geo._quadtree import Quadtree
from halfmask.geo._zip3 import Zip3
from halfmask.geo.points import PlaceColumns, Points
from halfmask.geo.points import Unit as Unit

__all__ = [
    "AreaMap",
    "Areas",
    "Cells",
    "Hexagons",
    "MapFile",
    "PlaceColumns",
    "PlaceRule",
    "PointMap",
    "Points",
    "Quadtree",
    "Zip3",
]
