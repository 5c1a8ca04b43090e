"""Columns with coordinates are found two by two, and a policy makes one place of both."""

from __future__ import annotations

import tomllib
from collections import Counter

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.description import describe
from halfmask.microdata import Policy
from halfmask.microdata._made_policy import make_policy

N = 200
RNG = np.random.default_rng(5)
LON, LAT = 4.8 + RNG.random(N), 52 + RNG.random(N)
#: The grid of the Netherlands.
X, Y = 149_000 + 90_000 * RNG.random(N), 470_000 + 90_000 * RNG.random(N)


def table(**columns):
    people = {"age": 20 + RNG.integers(0, 60, N), "sex": RNG.choice(["f", "m"], N)}
    return pl.DataFrame(people | columns)


def found(**columns):
    return [(it.place, it.columns, it.unit) for it in describe(table(**columns)).places]


@pytest.mark.parametrize(
    ("names", "place"),
    [
        (("lon", "lat"), "place"),
        (("LNG", "Lat"), "place"),
        (("long", "lat"), "place"),
        (("Longitude", "Latitude"), "place"),
        (("Längengrad", "Breitengrad"), "place"),
        (("laenge", "breite"), "place"),
        (("longitud", "latitud"), "place"),
        (("geo_lon", "geo_lat"), "place"),
        (("POINT_X", "POINT_Y"), "place"),
        (("homeLongitude", "homeLatitude"), "home"),
        (("startlng", "startlat"), "start"),
        (("pickup_longitude_deg", "pickup_latitude_deg"), "pickup"),
        (("lon2", "lat2"), "place_2"),
        (("долгота", "широта"), "place"),
    ],
)
def test_degrees_are_found_under_any_spelling(names, place):
    x, y = names

    assert found(**{y: LAT, x: LON}) == [(place, names, "degrees")]


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        (("x", "y"), "metres"),
        (("home_x", "home_y"), "metres"),
        (("Easting", "Northing"), "metres"),
        (("Rechtswert", "Hochwert"), "metres"),
        (("XCoord", "YCoord"), "metres"),
        (("xcoord", "ycoord"), "metres"),
        (("x_km", "y_km"), "kilometres"),
        (("X_ft", "Y_ft"), "feet"),
    ],
)
def test_points_of_a_plane_are_found(names, unit):
    x, y = names

    assert found(**{x: X, y: Y}) == [(found(**{x: X, y: Y})[0][0], names, unit)]


@pytest.mark.parametrize(
    "columns",
    [
        {"x": RNG.normal(size=N), "y": RNG.normal(size=N)},  # features of a model
        {"x": X, "y": RNG.integers(0, 2, N)},  # features and a label
        {"laenge": RNG.integers(1, 170, N), "breite": RNG.integers(1, 80, N)},  # of things
        {"lon": LON},
        {"lon": LON, "lat": ["north"] * N},
        {"home_lon": LON, "work_lat": LAT},
        {"lon": 1e6 * LON, "lat": LAT},
        {"lon": [None] * N, "lat": LAT},
        {"flat": LAT, "salon": LON},
        {"tax": X, "tay": Y},
    ],
)
def test_other_columns_are_no_points(columns):
    assert found(**columns) == []


def test_several_pairs_are_several_places():
    columns = {"home_lat": LAT, "home_lon": LON, "work_lat": LAT, "work_lon": LON, "x": X, "y": Y}

    assert [(it[0], it[2]) for it in found(**columns)] == [
        ("home", "degrees"),
        ("work", "degrees"),
        ("place", "metres"),
    ]


def test_a_place_gets_a_name_that_no_column_has():
    taken = describe(table(lon=LON, lat=LAT, x=X, y=Y, place=["a"] * N))

    assert [it.place for it in taken.places] == ["place_2", "place_3"]


def test_what_is_odd_about_coordinates_is_said():
    lon, lat = (
        [*LON[:-6], 0.0, 0.0, 4.9, 900.0, None, None],
        [*LAT[:-6], 0.0, 0.0, *[52.1] * 3, None],
    )

    said = describe(table(lon=lon, lat=lat))["lon"].reasons

    assert "1 rows have one coordinate of two, which protect refuses." in said[1]
    assert "2 rows have 0 and 0, which stand for unknown." in said[1]
    assert "1 rows lie beyond the earth, which protect refuses." in said[1]


def test_points_that_several_rows_share_are_counted():
    (place,) = describe(
        table(lon=np.r_[LON[:-50], LON[:50]], lat=np.r_[LAT[:-50], LAT[:50]])
    ).places

    assert (place.distinct, place.share_unique) == (N - 50, (N - 100) / N)


def test_swapped_coordinates_are_put_in_order_and_said():
    far = 100 + LON

    (place,) = describe(table(lat=far, lon=LAT)).places

    assert place.columns == ("lat", "lon")
    assert not place.certain
    assert "swapped" in place.notes[0]


def test_metres_under_names_of_degrees_are_said():
    (place,) = describe(table(lon=X, lat=Y)).places

    assert place.unit == "metres"
    assert not place.certain
    assert "don't say" in place.notes[0]


def test_texts_with_decimal_commas_are_read():
    texts = {"lon": [f"{it:.5f}".replace(".", ",") for it in LON]}
    texts["lat"] = [f"{it:.5f}".replace(".", ",") for it in LAT]
    description = describe(table(**texts))

    assert [it.columns for it in description.places] == [("lon", "lat")]
    policy = tomllib.loads(description.policy_toml())
    assert policy["input"]["number_formats"] == {"lon": "1234,5", "lat": "1234,5"}


def test_cells_that_are_no_numbers_are_counted():
    lon = ["NA", *(f"{it:.5f}" for it in LON[1:])]

    description = describe(table(lon=lon, lat=["NA", *(f"{it:.5f}" for it in LAT[1:])]))

    assert f"# 'lon': 1 of {N} cells don't fit (1 are markers" in description.policy_toml()
    assert tomllib.loads(description.policy_toml())["input"]["coerce"] == ["lon", "lat"]


def test_the_policy_has_one_section_for_both_columns():
    text = describe(table(home_lat=LAT, home_lon=LON)).policy_toml()

    policy = tomllib.loads(text)
    assert list(policy["columns"]) == ["age", "sex", "home"]
    assert policy["columns"]["home"] == {
        "role": "quasi_identifier",
        "kind": "geo",
        "points": ["home_lon", "home_lat"],
        "unit": "degrees",
        "hierarchy": {"cells": [1, 2, 4, 8, 16, 32, 64, 128]},
    }
    assert f"{N} different values" in text


def test_each_choice_that_comments_offer_is_a_valid_policy():
    text = describe(table(home_lat=LAT, home_lon=LON)).policy_toml()
    maps = """
    [maps.counties]
    file = "counties.geojson"
    name = "id"
    [maps.population]
    file = "population.csv"
    name = "id"
    people = "people"
    [maps.dwellings]
    file = "dwellings.csv"
    points = ["x", "y"]
    """
    offered = [line[2:] for line in text.splitlines() if line.startswith("# hierarchy = ")]
    chosen = next(line for line in text.splitlines() if line.startswith("hierarchy = "))
    of_places = [line for line in offered if "intervals" not in line and "file" not in line]

    assert len(of_places) == 3
    for line in (chosen, *of_places):
        assert Policy.from_toml(text.replace(chosen, line) + maps).columns["home"].place
    section = text.split("[columns.home]")[1].split("\n\n")[0]
    mask = [line[2:] for line in section.splitlines() if line.startswith("# ")]
    mask = mask[mask.index("[[masks]]") : mask.index("radius = [100, 500]") + 1]
    columns = "".join(
        f'[columns.{name}]\nrole = "insensitive"\nkind = "numeric"\n'
        for name in ("home_lon", "home_lat")
    )
    assert Policy.from_toml("halfmask = 1\n" + columns + "\n".join(mask)).table_masks


def test_cells_double_until_they_hold_all_points():
    (place,) = describe(table(x=1e4 + 5e6 * RNG.random(N), y=Y)).places

    assert place.widths == tuple(2**n for n in range(14))


def test_a_town_gets_finer_cells():
    (place,) = describe(table(lon=4.8 + LON / 1e3, lat=52 + LAT / 1e3)).places

    assert place.widths == (0.1, 0.2, 0.4)


def test_no_coordinate_is_said():
    columns = {"lon": [4.87654, *LON[1:]], "lat": [52.34567, *LAT[1:]]}
    description = describe(table(**columns))

    for text in (description.policy_toml(), repr(description.proposals), repr(description.places)):
        assert "4.87" not in text
        assert "52.34" not in text


def test_roles_that_the_owner_gives_are_kept():
    frame = table(lon=LON, lat=LAT)

    both = describe(frame, roles={"lon": "sensitive", "lat": "sensitive"})
    assert both.places
    assert both["lon"].role == "sensitive"
    assert not describe(frame, roles={"lon": "sensitive"}).places
    assert not describe(frame, roles={"lon": "insensitive", "lat": "insensitive"}).places


@pytest.mark.parametrize(
    ("asked", "sections"),
    [
        ({"quasi_identifiers": ["lon", "lat", "age"]}, {"age", "sex", "place"}),
        ({"quasi_identifiers": ["age"]}, {"age", "sex", "place"}),
        ({"quasi_identifiers": ["age"], "label": "lat"}, {"age", "sex", "lon", "lat"}),
        ({"quasi_identifiers": ["age"], "person": "lat"}, {"age", "sex", "lon", "lat"}),
        ({"quasi_identifiers": ["age"], "sensitive": ["lon", "lat"]}, {"age", "sex", "place"}),
    ],
)
def test_protect_without_a_policy_makes_one_place(asked, sections):
    text = make_policy(table(lon=LON, lat=LAT), k=5, **asked).text

    policy = tomllib.loads(text)
    assert set(policy["columns"]) == sections
    assert all(it.get("column", "place") == "place" for it in policy["guarantees"])


def test_a_place_that_is_a_guess_is_dropped_unless_it_is_named():
    frame = table(x=X, y=Y)

    assert make_policy(frame, k=5, quasi_identifiers=["age"]).unsure == ("x", "y")
    dropped = tomllib.loads(make_policy(frame, k=5, quasi_identifiers=["age"]).text)["columns"]
    assert {dropped[name]["role"] for name in ("x", "y")} == {"identifier"}
    named = tomllib.loads(make_policy(frame, k=5, quasi_identifiers=["age", "x"]).text)["columns"]
    assert set(named) == {"age", "sex", "place"}


def test_the_l_of_sensitive_coordinates_is_that_of_the_place():
    made = make_policy(
        table(lon=LON, lat=LAT), k=10, l=7, quasi_identifiers=["age"], sensitive=["lon", "lat"]
    )

    (k, diversity) = tomllib.loads(made.text)["guarantees"]
    assert k["k"] == 10
    assert (diversity["l"], diversity["column"]) == (7, "place")


@pytest.mark.parametrize(
    ("value", "about"),
    [
        ("52.1234, 4.9876", "Split them"),
        ("POINT(4.9876 52.1234)", "Split them"),
        ("SRID=4326;POINT (-4.9 52.1)", "Split them"),
        ("52° 18.5' N", "decimal degrees"),
        ("N 52°18'54\"", "decimal degrees"),
        ("891969a4a07ffff", "cells of H3"),
    ],
)
def test_places_in_one_text_are_found_by_their_form(value, about):
    proposal = describe(table(where_it_was=[value] * N))["where_it_was"]

    assert (proposal.role, proposal.kind) == ("quasi_identifier", "geo")
    assert any(about in reason for reason in proposal.reasons)


@pytest.mark.parametrize(
    "values",
    [
        ["12 Main Street", "7 Old Mill Rd, Springfield", "221b Baker St"],
        ["Hauptstraße 5", "Am Weg 12 a", "Lindenallee 3"],
        ["12 rue de la Paix", "4 bis avenue Foch", "8 boulevard Voltaire"],
        ["Calle Mayor 4", "Via Roma, 12", "ul. Polna 7"],
        ["Keizersgracht 104", "Dorpsstraat 9", "Storgatan 12"],
    ],
)
def test_addresses_are_found_by_their_form(values):
    proposal = describe(table(c7=values * (N // len(values)) + values[: N % len(values)]))["c7"]

    assert proposal.role == "identifier"
    assert "a street with a number" in proposal.reasons[0]


@pytest.mark.parametrize(
    "value",
    ["90210", "90210-1234", "SW1A 1AA", "K1A 0B1", "1012 AB", "00-950", "114 55", "D02 X285",
     "01310-100", "DE-10115"],
)  # fmt: skip
def test_postal_codes_of_several_countries_are_found(value):
    proposal = describe(table(c7=[value] * N))["c7"]

    assert (proposal.role, proposal.kind) == ("quasi_identifier", "geo")
    assert "postal code" in proposal.reasons[0]


def test_numbers_that_lost_their_zeros_are_said():
    cut = describe(table(zip=[501, 90210] * (N // 2)))["zip"]
    whole = describe(table(zip=[10501, 90210] * (N // 2)))["zip"]

    assert "leading zeros" in " ".join(cut.reasons)
    assert "leading zeros" not in " ".join(whole.reasons)


def test_protect_without_a_policy_counts_the_place_with_the_others():
    near = {"lon": 4.8 + LON / 100, "lat": 52 + LAT / 100}

    release = hm.protect(table(**near), quasi_identifiers=["lon", "lat", "age", "sex"], k=5)

    assert set(release.data.columns) == {"age", "sex", "place"}
    assert min(Counter(release.data.select("age", "sex", "place").rows()).values()) >= 5
    assert release.data["place"].null_count() == 0
