"""Places: points and areas, how a point becomes coarser, and how it is moved."""

from __future__ import annotations

from halfmask.geo._areas import Areas as Areas
from halfmask.geo._cells import Cells as Cells
from halfmask.geo._hexagons import Hexagons as Hexagons
from halfmask.geo._quadtree import Quadtree as Quadtree
from halfmask.geo._zip3 import Zip3 as Zip3
from halfmask.geo.maps import AreaMap as AreaMap
from halfmask.geo.maps import MapFile as MapFile
from halfmask.geo.maps import Maps as Maps
from halfmask.geo.maps import PointMap as PointMap
from halfmask.geo.place_rule import PlaceRule as PlaceRule
from halfmask.geo.points import PointColumns as PointColumns
from halfmask.geo.points import Points as Points
from halfmask.geo.points import Unit as Unit
