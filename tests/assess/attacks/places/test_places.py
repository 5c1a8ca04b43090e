"""Attacks on places: what is known by hand or from papers, and masks that withstand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.attacks import PlacesTarget, attack
from halfmask.assess.attacks.events._traces import seconds
from halfmask.assess.attacks.places import AddressSnapping, HomeAndWork, PlaceAveraging, TripUnicity
from halfmask.assess.attacks.places._guesses import _by_metres, _by_rank
from halfmask.assess.attacks.places._trips import _at_night, _at_work
from halfmask.geo import PointMap, Points
from halfmask.masks import AffinePoints

N = 1000


def spread(n=N, seed=0):
    """Return points over a town of 20 km."""
    rng = np.random.default_rng(seed)
    return Points(x=4.8 + 0.3 * rng.random(n), y=52 + 0.2 * rng.random(n))


def donut(points, seed=1, low=100, high=500):
    """Return points moved by 100 to 500 m, the same chance for each square metre."""
    rng = np.random.default_rng(seed)
    far = np.sqrt(rng.uniform(low**2, high**2, len(points)))
    turn = rng.uniform(0, 2 * np.pi, len(points))
    return points.moved(far * np.cos(turn), far * np.sin(turn))


def table(points, **columns):
    """Return points as a table, each of a person."""
    return pl.DataFrame({"p": np.arange(len(points)), "lon": points.x, "lat": points.y, **columns})


def target_of(released, original, **others):
    """Return a target whose points are in degrees."""
    return PlacesTarget(released=released, original=original, points=("lon", "lat"), **others)


def found(target, *attacks, **others):
    """Return the findings of attacks by their measure."""
    report = attack(target, unprotected=target.unprotected(), attacks=attacks or None, **others)
    return {
        (it.outcome.attack, it.outcome.measure.split(" by ")[-1].split(" as ")[-1]): it
        for it in report.findings
    }


@pytest.mark.parametrize(("copies", "error"), [(1, None), (10, 95), (50, 43)])
def test_averaging_of_independent_copies(copies, error):
    """Measured for MaskMyPy: a donut of 100 to 500 m, 1, 10 and 50 copies: 355, 95 and 43 m."""
    homes = spread()
    released = pl.concat([table(donut(homes, seed)) for seed in range(copies)])
    owners = np.tile(np.arange(N), copies)
    target = target_of(released, table(homes), person="p", owners=owners)
    if error is None:
        assert attack(target, unprotected=target.unprotected()).skipped[0] == (
            "places/averaging", "places with 2 released copies"
        )  # fmt: skip
        return
    finding = found(target, "places/averaging")["places/averaging", "averaging"]
    assert finding.verdict == "broken"
    details = finding.outcome.details
    assert details["error of one copy, median"] == pytest.approx(361, rel=0.05)
    assert details["error of the mean, median"] == pytest.approx(error, rel=0.1)
    assert details["copies, median"] == copies


def test_averaging_of_one_draw_for_each_person_takes_nothing_off():
    homes = spread()
    released = pl.concat([table(donut(homes))] * 10)
    target = target_of(released, table(homes), person="p", owners=np.tile(np.arange(N), 10))
    findings = found(target, "places/averaging")
    finding = findings["places/averaging", "averaging"]
    assert {it.verdict for it in findings.values()} == {"resisted"}
    assert finding.outcome.success.value == pytest.approx(0, abs=1e-6)
    details = finding.outcome.details
    assert details["error of the mean, median"] == pytest.approx(
        details["error of one copy, median"]
    )


def test_copies_are_those_of_one_person_at_one_place():
    """Two people in one house, and one person in two: no copies without the same of both."""
    points = Points(x=np.array([1.0, 1, 5]), y=np.array([1.0, 1, 5]))
    rows = table(points).with_columns(p=pl.Series(["a", "b", "a"]))
    target = target_of(rows, rows, person="p")
    assert PlaceAveraging().missing_inputs(target) == "places with 2 released copies"
    twice = pl.concat([rows, rows[:1]])
    assert PlaceAveraging().missing_inputs(target_of(twice, twice, person="p")) == ""


@pytest.mark.parametrize("on_earth", [True, False])
def test_an_affine_map_is_broken_by_three_places(on_earth):
    homes = spread()
    rng = np.random.default_rng(3)
    if on_earth:
        east, north = (homes.x - 4.95) * 68_000, (homes.y - 52.1) * 111_000
        turned = 1.1 * (0.9 * east - 0.4 * north), 0.4 * east + 0.9 * north
        masked = homes.moved(turned[0] - east + 3000, turned[1] - north - 1000)
        target = target_of(table(masked), table(homes))
    else:
        plane = rng.uniform(0, 1e5, (N, 2))
        moved = plane @ [[0.9, 0.4], [-0.4, 1.1]] + [1e6, 50]
        original, released = (pl.DataFrame(it, schema=["x", "y"]) for it in (plane, moved))
        target = PlacesTarget(
            released=released, original=original, points=("x", "y"), unit="metres"
        )
    [finding] = found(target, "places/affine-break").values()
    assert finding.verdict == "broken"
    assert finding.outcome.success.value > (0.9 if on_earth else 0.999)
    [finding] = found(target_of(table(donut(homes)), table(homes)), "places/affine-break").values()
    assert finding.verdict == "resisted"


def addresses(homes, n=10 * N):
    """Return the homes and other addresses of the town."""
    others = spread(n, seed=9)
    points = Points(x=np.append(homes.x, others.x), y=np.append(homes.y, others.y))
    return PointMap(points=points, people=np.ones(len(points)))


def test_snapping_finds_homes_that_were_hardly_moved():
    homes = spread()
    for low, high, verdict in ((0, 20, "broken"), (500, 3000, "resisted")):
        target = target_of(
            table(donut(homes, low=low, high=high)), table(homes), addresses=addresses(homes)
        )
        findings = found(target, "places/snapping", tolerance=0.05)
        assert {it.verdict for it in findings.values()} == {verdict}


def test_a_ring_is_broken_by_its_density_and_not_by_the_nearest_address():
    """All homes lie 300 m away: few other addresses do."""
    homes = spread()
    target = target_of(
        table(donut(homes, low=299, high=300)), table(homes), addresses=addresses(homes, 5 * N)
    )
    findings = found(target, "places/snapping")
    nearest, density = (
        findings["places/snapping", name].outcome.success.value
        for name in ("the nearest address", "the density of the mask")
    )
    assert nearest < 0.1
    assert density > 0.5


def test_snapping_attacks_homes_at_addresses():
    homes = spread(300)
    one = PointMap(points=homes.take(np.arange(1)), people=np.ones(1))
    target = target_of(table(homes), table(homes), addresses=one)
    outcomes = AddressSnapping().run(target, random_state=0)
    assert [it.trials for it in outcomes] == [1, 1]
    target = target_of(table(homes), table(homes), addresses=addresses(homes, 0))
    outcomes = AddressSnapping(candidates=5).run(target, random_state=0)
    assert [it.success.value for it in outcomes] == [1.0, 1.0]


def trips(n=150, days=10, seed=4):
    """Return rows of people with a home, a workplace and three other places."""
    rng = np.random.default_rng(seed)
    home, work, *others = (spread(n, seed=seed + i) for i in range(5))
    rows = []
    for day in range(days):
        for hour in (2, 10, 14, 20, 23):
            usual = home if hour in (2, 23) else work if hour < 20 else others[day % 3]
            other, away = others[hour % 3], rng.random(n) < 0.2
            points = Points(x=np.where(away, other.x, usual.x), y=np.where(away, other.y, usual.y))
            rows.append(table(points, t=np.full(n, day * 86_400.0 + hour * 3600)))
    return pl.concat(rows), home, work


def test_homes_and_workplaces_are_found_and_hidden_by_trimming():
    rows, home, _ = trips()
    target = target_of(rows, rows, person="p", time="t")
    findings = found(target, "places/home-and-work")
    assert {it.outcome.success.value for it in findings.values()} == {1.0}
    homes = Points(x=home.x[rows["p"]], y=home.y[rows["p"]])
    away = Points(x=rows["lon"].to_numpy(), y=rows["lat"].to_numpy()).metres_to(homes) > 500
    trimmed = np.flatnonzero(away)
    target = target_of(rows[trimmed], rows, person="p", time="t", owners=trimmed)
    outcomes = HomeAndWork().run(target, random_state=0)
    assert outcomes[0].success.value == 0
    assert outcomes[1].success.value > 0.95
    # The truth is that of all rows, and a person without a row at night isn't found.
    assert outcomes[0].trials == 150


def test_new_pseudonyms_for_each_day_are_attacked_one_by_one():
    rows, *_ = trips(n=20, days=3)
    daily = rows.with_columns(p=pl.col("p") * 100 + (pl.col("t") // 86_400))
    target = target_of(daily, rows, person="p", time="t")
    homes, _ = HomeAndWork().run(target, random_state=0)
    assert homes.trials == 60
    assert homes.success.value < 1


def test_unicity_counts_people_who_are_alone_with_their_points():
    """Two people share all points but one; a third is elsewhere."""
    shared = [(1.0, 1.0, 0.0), (2.0, 2.0, 1e5)]
    rows = pl.DataFrame(
        [("a", *it) for it in [*shared, (3.0, 3.0, 2e5)]]
        + [("b", *it) for it in [*shared, (3.0, 3.0, 9e5)]]
        + [("c", 50.0, 3.0, 0.0)],
        schema=["p", "lon", "lat", "t"],
        orient="row",
    )
    target = target_of(rows, rows, person="p", time="t")
    [outcome] = TripUnicity(points=(3,)).run(target, random_state=0)
    assert outcome.success.value == 1.0
    same_day = rows.with_columns(t=0.0)
    target = target_of(same_day, same_day, person="p", time="t")
    [outcome] = TripUnicity(points=(3,)).run(target, random_state=0)
    assert outcome.success.value == pytest.approx(1 / 3)


def test_four_points_single_out_nearly_everyone():
    """De Montjoye et al. 2013: 95 % of 1.5 million people; generalized places and times fewer."""
    rows, *_ = trips()
    target = target_of(rows, rows, person="p", time="t")
    by_four = TripUnicity(points=(4,)).run(target, random_state=0)[0]
    assert by_four.success.value > 0.95
    assert by_four.details["at 10000 m and 86400 s"] < 0.9


def test_missing_places_are_left_out():
    homes = spread()
    gaps = Points(x=np.where(np.arange(N) < 100, np.nan, homes.x), y=homes.y)
    gaps = Points(x=gaps.x, y=np.where(np.isnan(gaps.x), np.nan, homes.y))
    rows, released = table(homes), table(gaps).with_columns(pl.col("lon", "lat").fill_nan(None))
    target = target_of(released, rows, addresses=addresses(homes))
    findings = found(target)
    assert {it.outcome.trials for key, it in findings.items() if "known" in key[1]} == {900}
    assert {it.verdict for it in findings.values()} == {"broken"}


def test_a_table_without_places_is_attacked_by_nothing():
    empty = table(spread(3)).with_columns(
        lon=pl.lit(None, pl.Float64), lat=pl.lit(None, pl.Float64), t=0.0
    )
    target = target_of(empty, empty, person="p", time="t", addresses=addresses(spread(3)))
    report = attack(target, unprotected=target)
    assert not report.resisted


def test_targets_that_cant_be():
    homes = table(spread(3))
    with pytest.raises(ParameterError, match="two columns"):
        PlacesTarget(released=homes, original=homes, points=("lon", "lon"))
    with pytest.raises(ColumnNotFoundError):
        target_of(homes, homes, person="who")
    with pytest.raises(ParameterError, match="owner"):
        target_of(homes[:2], homes)
    nobodys = homes.with_columns(p=pl.Series([1, None, 3]))
    with pytest.raises(DataError, match="missing in 1 rows with a place"):
        target_of(homes, nobodys, person="p")
    assert "4." not in repr(target_of(homes, homes))


def test_places_that_hardly_move_are_found_without_copies_and_without_known_ones():
    """What finds no more than the released place itself isn't broken: the gain is judged."""
    homes = spread()
    near = table(donut(homes, low=5, high=40))
    twice = target_of(
        pl.concat([near, near]), table(homes), person="p", owners=np.tile(np.arange(N), 2)
    )
    findings = found(twice, "places/averaging", "places/affine-break")
    assert {it.verdict for it in findings.values()} == {"resisted"}
    assert findings["places/averaging", "their mean"].outcome.success.value == 1


def test_an_affine_map_of_a_country_is_fitted_round_its_centre():
    rng = np.random.default_rng(5)
    lon, lat = 5 + 12 * (rng.random(N) - 0.5), 50 + 12 * (rng.random(N) - 0.5)
    homes = pl.DataFrame({"lon": lon, "lat": lat})
    mask = AffinePoints(
        columns=("lon", "lat"), centre=(8, 50), rotation=90, scale=(0.8, 1.2), shift=5000
    )
    moved = mask.fit(homes, bytes(32)).apply(homes, 0)
    [known] = found(target_of(moved, homes, centre=(8, 50)), "places/affine-break").values()
    [other] = found(target_of(moved, homes), "places/affine-break").values()
    assert known.outcome.success.value > 0.8
    assert other.outcome.success.value < known.outcome.success.value - 0.2


def test_a_plane_keeps_distances_and_bearings_from_its_centre():
    turn = np.linspace(0, 2 * np.pi, 16)
    east, north = 3e5 * np.sin(turn), 3e5 * np.cos(turn)
    centre = Points(x=np.full(16, 8.0), y=np.full(16, 50.0))
    plane = centre.moved(east, north).seen_from(centre)
    assert np.abs(plane - np.column_stack((east, north))).max() < 3


def test_the_density_of_homes_is_that_of_square_metres():
    """20 homes up to 10 m away and 300 up to 100 m: more in an outer metre, less in its area."""
    inner, outer = np.linspace(0, 10, 20), np.linspace(10, 100, 300)
    far = np.column_stack((np.append(inner, np.full(300, 5)), np.append(np.full(20, 50), outer)))
    right = np.arange(320)[:, None] < 20
    assert _by_metres(far, np.hstack((right, ~right)), 320).max() == 0
    assert _by_rank(np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0]], bool), 3).tolist() == [1, 1, 1]


def test_the_density_is_measured_on_the_other_half():
    homes = spread(300)
    target = target_of(table(homes), table(homes), addresses=addresses(homes, 0))
    assert [it.trials for it in AddressSnapping().run(target, random_state=0)] == [300, 150]


def test_nights_and_hours_of_work():
    hours = [
        ("2024-01-05 21:59", False, False), ("2024-01-05 22:00", True, False),
        ("2024-01-06 05:59", True, False), ("2024-01-06 06:00", False, False),
        ("2024-01-05 08:59", False, False), ("2024-01-05 09:00", False, True),
        ("2024-01-05 16:59", False, True), ("2024-01-05 17:00", False, False),
        ("2024-01-06 12:00", False, False), ("2024-01-07 12:00", False, False),
        ("2024-01-08 12:00", False, True),
    ]  # fmt: skip
    when = seconds(pl.Series([it[0] for it in hours]))
    assert _at_night(when).tolist() == [it[1] for it in hours]
    assert _at_work(when).tolist() == [it[2] for it in hours]


def test_noise_that_is_drawn_for_each_row_averages_out_at_home():
    rows, home, _ = trips(days=20)
    rows = rows.filter(pl.col("t") % 86_400 == 7200).with_columns(
        lon=home.x[rows["p"].to_numpy()[:3000]], lat=home.y[rows["p"].to_numpy()[:3000]]
    )
    points = Points(x=rows["lon"].to_numpy(), y=rows["lat"].to_numpy())
    noise = np.random.default_rng(6).normal(0, 150, (2, len(points)))
    moved = points.moved(*noise)
    released = rows.with_columns(lon=moved.x, lat=moved.y)
    homes, _ = HomeAndWork().run(target_of(released, rows, person="p", time="t"), random_state=0)
    assert homes.success.value > 0.35
