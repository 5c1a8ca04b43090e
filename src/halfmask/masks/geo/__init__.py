"""Masks of points on a map: a home moves, and has the same masked place in every release.

:class:`Donut` is the one to begin with. A new technique is a `Geomask`: it says how places move.
"""

from __future__ import annotations

from halfmask.masks.geo._affine import AffinePoints
from halfmask.masks.geo._donut import Donut
from halfmask.masks.geo._gaussian import GaussianPoints
from halfmask.masks.geo._geomask import Geomask
from halfmask.masks.geo._grid import GridCentres
from halfmask.masks.geo._location_swap import LocationSwap
from halfmask.masks.geo._planar_laplace import PlanarLaplace
from halfmask.masks.geo._street_nodes import StreetNodes
from halfmask.masks.geo._trimmed_ends import TrimmedEnds
from halfmask.masks.geo._voronoi import VoronoiEdges

__all__ = [
    "AffinePoints",
    "Donut",
    "GaussianPoints",
    "Geomask",
    "GridCentres",
    "LocationSwap",
    "PlanarLaplace",
    "StreetNodes",
    "TrimmedEnds",
    "VoronoiEdges",
]
