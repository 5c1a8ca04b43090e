"""What moved points keep: displacement, distances to neighbours, Ripley's K, hot spots, areas."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError
from halfmask.assess.utility import place_utility, ripley_l
from halfmask.geo import AreaMap, Points


def at(x, y, unit="metres"):
    return Points(x=np.asarray(x, dtype=float), y=np.asarray(y, dtype=float), unit=unit)


def random_points(n, seed=0, sides=(1000, 400)):
    return np.random.default_rng(seed).random((n, 2)) * sides


def patterns(found):
    """Return the patterns before and after, which there are."""
    assert found.before is not None
    assert found.after is not None
    return found.before, found.after


def test_unmoved_points_lose_nothing():
    points = at(*random_points(500).T)
    found = place_utility(points, points)
    assert (found.mean, found.median, found.greatest, found.centroid_drift) == (0, 0, 0, 0)
    assert found.ripley_change == 0
    assert found.before == found.after
    assert found.hot_spots_kept in (None, 1.0)


def test_displacement_and_drift_are_those_of_a_shift():
    for points in (at(*random_points(50).T), at([4.9, 4.91, 4.92], [52.0, 52.01, 52.0], "degrees")):
        n = len(points)
        found = place_utility(points, points.moved(np.full(n, 300.0), np.full(n, 400.0)))
        for metres in (found.mean, found.median, found.greatest, found.centroid_drift):
            assert metres == pytest.approx(500, rel=1e-4)
        assert "500 m (median)" in found.sentence


def test_the_mean_and_the_median_of_displacements():
    points = at([0, 1, 2, 9], [0, 4, 1, 9])
    found = place_utility(points, points.moved(np.array([1.0, 2, 3, 10]), np.zeros(4)))
    assert (found.mean, found.median, found.greatest) == (4, 2.5, 10)


def test_ripley_of_random_points_is_the_radius():
    """K(r) = pi r^2, without a trend that edges would give: within five standard errors."""
    radii = np.linspace(10, 100, 10)
    found = np.array(
        [ripley_l(random_points(400, seed), radii, np.array([1000.0, 400])) for seed in range(40)]
    )
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - radii) < 5 * error).all()


def test_ripley_counts_pairs():
    """Three points far from the edges: the pairs at 3, 4 and 5 m, each in both orders."""
    plane, side = np.array([[0.0, 0], [3, 0], [0, 4]]) + 5e5, 1e6
    found = ripley_l(plane, np.array([2.0, 3.5, 4.5, 6]), np.array([side, side]))
    expected = np.sqrt(np.array([0, 2, 4, 6]) * side**2 / 6 / np.pi)
    assert found == pytest.approx(expected, rel=1e-4)


def test_ripley_corrects_edges_by_the_overlap_of_the_rectangle():
    """Of two points: A^2 over the mean overlap of the rectangle with itself, moved by 150."""
    width, height, far = 400.0, 300.0, 150.0
    turn = np.linspace(0, np.pi / 2, 100_001)
    overlap = np.mean((width - far * np.cos(turn)) * (height - far * np.sin(turn)))
    found = ripley_l(
        np.array([[0.0, 0], [far, 0]]), np.array([far - 1, far + 1]), np.array([width, height])
    )
    assert found == pytest.approx([0, np.sqrt((width * height) ** 2 / overlap / np.pi)], rel=1e-3)


def test_hot_spots_are_those_of_the_formula():
    """Gi* of Ord and Getis, cell by cell, without arrays."""
    rng = np.random.default_rng(7)
    plane = np.concatenate((random_points(300), rng.normal((500, 200), 30, (200, 2))))
    plane = np.concatenate((plane, [[0, 0], [1000, 400]])).clip([0, 0], [1000, 400])
    counts = [[0.0] * 20 for _ in range(50)]
    for x, y in plane.tolist():
        counts[min(49, int(x / 20))][min(19, int(y / 20))] += 1
    cells = [each for row in counts for each in row]
    n, mean = len(cells), sum(cells) / len(cells)
    deviation = (sum(it**2 for it in cells) / n - mean**2) ** 0.5
    hot = 0
    for i in range(50):
        for j in range(20):
            near = [
                counts[a][b]
                for a in range(max(0, i - 1), min(50, i + 2))
                for b in range(max(0, j - 1), min(20, j + 2))
            ]
            w = len(near)
            spread = deviation * ((n * w - w**2) / (n - 1)) ** 0.5
            hot += (sum(near) - mean * w) / spread > 2.576
    assert hot > 10
    assert place_utility(at(*plane.T), at(*plane.T)).hot_spots == hot


def test_clusters_and_lattices_have_their_signs():
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    lattice = at(x.ravel(), y.ravel())
    found = place_utility(lattice, lattice)
    assert patterns(found)[0].nearest == 1
    assert patterns(found)[0].clark_evans == pytest.approx(2 * 20 / 19)
    rng = np.random.default_rng(1)
    clustered = at(*(np.repeat(random_points(20, 2), 25, axis=0) + rng.normal(0, 5, (500, 2))).T)
    noisy = clustered.moved(*rng.normal(0, 80, (2, 500)))
    found = place_utility(clustered, noisy)
    before, after = patterns(found)
    assert before.clark_evans < 0.5 < after.clark_evans
    assert before.ripley[0] > after.ripley[0] > -5
    assert (found.ripley_change or 0) > 10
    assert found.hot_spots > 5
    assert 0 < (found.hot_spots_kept or 0) < 0.9


def test_hot_spots_of_a_crowd_stay_where_the_crowd_stays():
    rng = np.random.default_rng(3)
    plane = np.concatenate(
        (random_points(500), np.array([500.0, 200]) + rng.normal(0, 10, (500, 2)))
    )
    found = place_utility(at(*plane.T), at(*plane.T).moved(*rng.normal(0, 1, (2, 1000))))
    assert found.hot_spots >= 4
    assert (found.hot_spots_kept or 0) > 0.8
    gone = place_utility(at(*plane.T), at(*plane.T).moved(np.full(1000, 200.0), np.zeros(1000)))
    assert gone.hot_spots_kept is not None
    assert gone.hot_spots_kept < 0.05


def test_areas_are_counted():
    """Nearest centres: of four points, one changes from the first area to the second."""
    areas = AreaMap(names=pl.Series(["a", "b", "c"]), centres=at([0, 10, 99], [0, 0, 0]))
    found = place_utility(at([0, 1, 9, 10], [0] * 4), at([0, 9, 9, 10], [0] * 4), areas=areas)
    assert (found.areas, found.changed_areas) == (3, 0.25)
    assert found.count_change == pytest.approx(2 / 3)
    assert "25 % of the points lie in another area" in found.sentence


def test_points_in_no_area_are_in_no_other_one():
    shapely = pytest.importorskip("shapely")
    one = AreaMap(
        names=pl.Series(["a"]), shapes=np.array([shapely.box(0, 0, 10, 10)]), unit="metres"
    )
    beyond = at([99, 98, 97, 99], [0, 1, 2, 9])
    assert place_utility(beyond, beyond, areas=one).areas is None
    some = place_utility(at([1, 2, 98, 99], [1] * 4), at([1, 20, 98, 99], [1] * 4), areas=one)
    assert some.changed_areas == 0.5


@pytest.mark.parametrize("x", [[0, 1], [3, 3, 3], [0, 1, 2, 3]])
def test_few_or_equal_points_and_lines_have_no_pattern(x):
    points = at(x, [7] * len(x))
    found = place_utility(points, points)
    assert (found.before, found.after, found.ripley_change) == (None, None, None)
    assert found.to_dict()["hot_spots"] == 0


def test_points_round_the_pole_and_the_antimeridian():
    rng = np.random.default_rng(4)
    for lon, lat in ((180, 89.9), (180, 0)):
        points = at(
            (lon + rng.normal(0, 0.1, 300) + 180) % 360 - 180,
            lat + rng.normal(0, 0.02, 300),
            "degrees",
        )
        found = place_utility(points, points.moved(np.full(300, 30.0), np.full(300, 40.0)))
        assert found.greatest == pytest.approx(50, rel=1e-3)
        assert patterns(found)[0].nearest < 2000


def test_what_cant_be_compared():
    points = at([0, 1, 2], [0, 2, 1])
    with pytest.raises(DataError, match="3 points before and 2 after"):
        place_utility(points, points.take(np.arange(2)))
    nothing = at([np.nan] * 3, [np.nan] * 3)
    with pytest.raises(DataError, match="No row has a point"):
        place_utility(points, nothing)
    gaps = at([0, np.nan, 2], [0, np.nan, 1])
    assert place_utility(points, gaps).points == 2
