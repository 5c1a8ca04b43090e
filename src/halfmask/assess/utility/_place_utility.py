"""Utility of moved places: how far they went, and what is left of the pattern that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halfmask._facts import Facts
from halfmask.assess._places import middle_of, paired
from halfmask.assess._risk import percent

if TYPE_CHECKING:
    from halfmask.assess._arrays import Bools, Floats
    from halfmask.geo import AreaMap, Points

#: Ripley's function is counted for so many points at most; a sample has the same one.
RIPLEY_POINTS = 20_000
#: How many cells the longer side of the map is cut into, to find hot spots.
GRID_CELLS = 50
#: The score from which a cell is a hot spot: 99 % of a normal distribution lie nearer to its mean.
HOT = 2.576
#: Fewer points have no pattern.
FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PointPattern(Facts):
    """The pattern that points make.

    Parameters
    ----------
    nearest
        The mean distance to the nearest other point, in metres.
    clark_evans
        The same over that of as many points at random: below 1 for clusters, above 1 for a lattice.
    ripley
        Ripley's L(r) - r at each radius, in metres: 0 for points at random, more for clusters.
    """

    nearest: float
    clark_evans: float
    ripley: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceUtility(Facts):
    """What moved places keep. Distances are in metres.

    Parameters
    ----------
    points
        How many points were compared.
    mean, median, greatest
        How far points were moved.
    centroid_drift
        How far their mean was moved.
    radii
        The radii of Ripley's function: ten, up to a quarter of the shorter side of the map.
    before, after
        The patterns; ``None`` for fewer than three points, or points in one line.
    hot_spots, hot_spots_kept
        The number of hot spots before, and how many cells are hot spots in both maps, of those that
        are one in either (Jaccard); ``None`` without any.
    areas
        The number of areas, if they were given.
    changed_areas
        The share of points that lie in another area.
    count_change
        The mean absolute change of the number of points in an area.
    """

    points: int
    mean: float
    median: float
    greatest: float
    centroid_drift: float
    radii: tuple[float, ...] = ()
    before: PointPattern | None = None
    after: PointPattern | None = None
    hot_spots: int = 0
    hot_spots_kept: float | None = None
    areas: int | None = None
    changed_areas: float | None = None
    count_change: float | None = None

    @property
    def ripley_change(self) -> float | None:
        """The greatest change of L(r) over the radii, in metres."""
        if self.before is None or self.after is None:
            return None
        pairs = zip(self.before.ripley, self.after.ripley, strict=True)
        return max(abs(after - before) for before, after in pairs)

    @property
    def sentence(self) -> str:
        """How far points were moved, and what that changed."""
        said = (
            f"{self.points:,} points were moved by {self.median:,.0f} m (median), "
            f"{self.greatest:,.0f} m at most."
        )
        if self.hot_spots_kept is not None:
            said += f" {percent(self.hot_spots_kept)} of the hot spots of either map are in both."
        if self.changed_areas is not None:
            said += f" {percent(self.changed_areas)} of the points lie in another area."
        return said


def place_utility(
    original: Points,
    masked: Points,
    *,
    areas: AreaMap | None = None,
) -> PlaceUtility:
    """Measure how far points were moved, and what is left of their pattern.

    Parameters
    ----------
    original, masked
        The points before and after, one of each for each row. Missing ones are left out.
    areas
        Areas in which points are counted.

    Returns
    -------
    PlaceUtility

    Raises
    ------
    DataError
        If there are other numbers of points before and after, or no point in both.

    Notes
    -----
    Clark and Evans, "Distance to nearest neighbor as a measure of spatial relationships in
    populations" (Ecology 1954), without a correction of edges. Ripley, "The second-order analysis
    of stationary point processes" (1976), with the isotropized set covariance of the map's
    rectangle as correction of edges (Ohser and Stoyan 1981). Hot spots are cells of a grid whose
    score is high together with their eight neighbours: Gi* of Ord and Getis, "Local spatial
    autocorrelation statistics" (Geographical Analysis 1995). The
    rectangle is that of the original points; what was moved out of it counts as displacement alone.

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.geo import Points
    >>> homes = Points(x=np.array([0.0, 9, 0, 9]), y=np.array([0.0, 0, 7, 7]), unit="metres")
    >>> found = place_utility(homes, homes.moved(np.full(4, 3.0), np.full(4, 4.0)))
    >>> found.mean, found.centroid_drift
    (5.0, 5.0)
    >>> place_utility(homes, homes).before.nearest
    7.0
    """
    original, masked = paired(original, masked)
    far = original.metres_to(masked)
    middle = middle_of(original)
    before, after = original.seen_from(middle), masked.seen_from(middle)
    drift = after.mean(axis=0) - before.mean(axis=0)
    found = _patterns(before, after)
    if areas is not None:
        found |= _area_counts(areas, original, masked)
    return PlaceUtility(
        points=len(far),
        mean=float(far.mean()),
        median=float(np.median(far)),
        greatest=float(far.max()),
        centroid_drift=float(np.hypot(*drift)),
        **found,  # type: ignore[arg-type] # by name
    )


def _patterns(before: Floats, after: Floats) -> dict[str, object]:
    low, sides = before.min(axis=0), np.ptp(before, axis=0)
    after = after[((after >= low) & (after <= low + sides)).all(axis=1)]
    if len(before) < FEWEST or len(after) < FEWEST or not (sides > 0).all():
        return {}
    reach = float(sides.min()) / 4
    radii = np.linspace(reach / 10, reach, 10)
    patterns = [
        PointPattern(
            nearest=(near := _nearest(each)),
            clark_evans=2 * near * float(np.sqrt(len(each) / sides.prod())),
            ripley=tuple((ripley_l(_drawn(each), radii, sides) - radii).tolist()),
        )
        for each in (before, after)
    ]
    width = float(sides.max()) / GRID_CELLS
    was, now = (_hot_spots((each - low) / width, sides / width) for each in (before, after))
    either = int((was | now).sum())
    return {
        "radii": tuple(radii.tolist()),
        "before": patterns[0],
        "after": patterns[1],
        "hot_spots": int(was.sum()),
        "hot_spots_kept": int((was & now).sum()) / either if either else None,
    }


def _drawn(plane: Floats) -> Floats:
    if len(plane) <= RIPLEY_POINTS:
        return plane
    return np.random.default_rng(0).choice(plane, RIPLEY_POINTS, replace=False)


def _nearest(plane: Floats) -> float:
    from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

    return float(cKDTree(plane).query(plane, k=2)[0][:, 1].mean())


def ripley_l(plane: Floats, radii: Floats, sides: Floats) -> Floats:
    """Return Ripley's L at radii for points in a rectangle of these sides, all in metres.

    It is r at each radius for points at random.
    """
    from scipy.spatial import cKDTree  # noqa: PLC0415 # scipy loads late

    tree, n, (width, height) = cKDTree(plane), len(plane), sides
    pairs = tree.count_neighbors(tree, radii) - n
    inner = np.concatenate(((0.0,), radii[:-1]))
    # How much of the rectangle overlaps itself, moved by a distance in any direction.
    middle = np.sqrt((radii**2 + inner**2) / 2)
    overlap = width * height - 2 * middle * (width + height) / np.pi + middle**2 / np.pi
    k = np.cumsum(np.diff(pairs, prepend=0) / overlap) * (width * height) ** 2 / (n * (n - 1))
    return np.asarray(np.sqrt(k / np.pi))


def _hot_spots(places: Floats, sides: Floats) -> Bools:
    """Return which cells of a grid of unit cells are hot spots by Gi* over three by three cells."""
    from scipy.ndimage import convolve  # noqa: PLC0415 # scipy loads late

    shape = np.maximum(1, np.ceil(sides)).astype(np.int64)
    cell = np.minimum(places.astype(np.int64), shape - 1)
    counts = np.zeros(tuple(shape))
    np.add.at(counts, tuple(cell.T), 1.0)
    near, weight = (
        convolve(each, np.ones((3, 3)), mode="constant") for each in (counts, np.ones_like(counts))
    )
    n, mean, deviation = counts.size, counts.mean(), counts.std()
    spread = deviation * np.sqrt(np.maximum(0.0, n * weight - weight**2) / max(1, n - 1))
    return np.asarray((spread > 0) & (near - mean * weight > HOT * spread))


def _area_counts(areas: AreaMap, original: Points, masked: Points) -> dict[str, object]:
    was, now = areas.locate(original), areas.locate(masked)
    inside = (was >= 0) | (now >= 0)
    if not inside.any():
        return {}
    n = len(areas.names)
    counts = [np.bincount(each[each >= 0], minlength=n) for each in (was, now)]
    return {
        "areas": n,
        "changed_areas": float((was != now)[inside].mean()),
        "count_change": float(np.abs(counts[1] - counts[0]).mean()),
    }
