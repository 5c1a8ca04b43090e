"""Record swapping moves areas, keeps counts of similar records, and finds each partner there is."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ColumnWarning, DataError, ParameterError, SchemaError
from halfmask.masks import TargetedRecordSwapping
from masks.table_masking import changed  # type: ignore[import-not-found] # beside, not in a package

AREAS = ("region", "district")
#: That records stay at risk is what these tests look for themselves.
pytestmark = pytest.mark.filterwarnings("ignore::halfmask._errors.ColumnWarning")


def people(n=400, seed=0, *, households=False):
    """Return made-up people of three regions with three districts each."""
    rng = np.random.default_rng(seed)
    house = np.sort(rng.integers(0, n // 2, n)) if households else np.arange(n)
    district = rng.integers(0, 9, n)[house]
    return pl.DataFrame(
        {
            "region": [f"r{it // 3}" for it in district],
            "district": [f"d{it % 3}" for it in district],  # the same names in each region
            "house": house,
            "job": rng.choice(["cook", "nurse", "judge"], n, p=[0.6, 0.35, 0.05]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(0, 5, n),
        }
    )


def swapped(table, key=bytes(range(32)), **parameters):
    """Return the table with swapped areas."""
    given: dict[str, Any] = {
        "columns": AREAS,
        "risk": ("job", "age"),
        "k": 3,
        "swap_rate": 0.0,
    } | parameters
    return changed(TargetedRecordSwapping(**given), table, key)


def profiles(table, similar, household):
    """Return for each household its rows and the records that it agrees in."""
    found: dict[Any, list[Any]] = {}
    for i, row in enumerate(table.iter_rows(named=True)):
        found.setdefault(row[household] if household else i, []).append(
            (i, tuple(row[name] for name in similar))
        )
    return {
        house: ([i for i, _ in rows], tuple(sorted(record for _, record in rows)))
        for house, rows in found.items()
    }


def at_risk(table, risk, k, level):
    """Return the rows that fewer than k rows of their area agree with, counted one by one."""
    keys = table.select(*AREAS[: level + 1], *risk).rows()
    counts = Counter(keys)
    return {i for i, it in enumerate(keys) if counts[it] < k}


def areas(table, level):
    """Return the area of each row."""
    return table.select(AREAS[: level + 1]).rows()


@pytest.mark.parametrize("households", [False, True])
@pytest.mark.parametrize("similar", [(), ("sex",)])
@pytest.mark.parametrize("swap_rate", [0.0, 0.3])
def test_counts_of_similar_records_stay_at_each_level(households, similar, swap_rate):
    """Only areas change; who is swapped stays with the household."""
    table = people(households=households)
    household = "house" if households else None

    found = swapped(table, similar=similar, household=household, swap_rate=swap_rate)

    assert found.drop(AREAS).equals(table.drop(AREAS))
    for level in range(2):
        by = [*AREAS[: level + 1], *similar]
        assert found.group_by(by).len().sort(by).equals(table.group_by(by).len().sort(by))
    assert areas(found, 1) != areas(table, 1)
    for rows, _ in profiles(table, similar, household).values():
        assert len({areas(found, 1)[i] for i in rows}) == 1


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 60), rate=st.sampled_from([0.0, 0.2]))
def test_who_is_at_risk_is_swapped_where_a_partner_is_free(seed, n, rate):
    """A search of all pairs finds no two free similar households, one at risk, elsewhere."""
    table = people(n, seed, households=True)

    found = swapped(table, similar=("sex",), household="house", swap_rate=rate)

    for level in range(2):
        here, now = areas(table, level), areas(found, 1)
        risky = at_risk(table, ("job", "age"), 3, level)
        free = [
            (rows, records)
            for rows, records in profiles(table, ("sex",), "house").values()
            if all(now[i] == areas(table, 1)[i] for i in rows)
        ]
        # Swapped households can't be told from free ones by an equal area: there is none.
        for (rows, records), (others, same) in combinations(free, 2):
            if risky.intersection(rows) or risky.intersection(others):
                assert records != same or here[rows[0]] == here[others[0]]


def test_only_those_at_risk_and_their_partners_move():
    """Cells of k records stay, those of fewer move; nobody else without a rate."""
    table = people(600)
    risky = at_risk(table, ("job", "age"), 3, 1)

    found = swapped(table)
    moved = sum(a != b for a, b in zip(areas(found, 1), areas(table, 1), strict=True))

    assert len(risky) <= moved <= 2 * len(risky)
    triples = pl.DataFrame(
        {"region": ["r0"] * 6 + ["r1"] * 6, "district": ["d"] * 12, "job": ["a", "b"] * 6}
    )
    assert swapped(triples, risk=("job",), k=3).equals(triples)
    assert not swapped(triples, risk=("job",), k=4).equals(triples)


def test_risk_in_a_region_moves_a_record_to_another_region():
    """The only judge of a region, of which there is a second one in another region."""
    table = pl.DataFrame(
        {
            "region": ["r0"] * 9 + ["r1"] * 9,
            "district": ["d0", "d1", "d2"] * 6,
            "job": (["judge"] + ["cook"] * 8) + ["cook"] * 9,
        }
    )

    for seed in range(20):
        key = seed.to_bytes(32, "little")
        found = swapped(table, risk=("job",), k=2, key=key)
        assert found["region"][0] == "r1"
        assert (found["region"] != table["region"]).sum() == 2


def test_risk_in_a_district_moves_a_record_within_its_region_where_that_can_be():
    """Four judges in each region, one of them alone in a district."""
    job = ["judge", "judge", "judge", "cook"] * 2 + ["judge"] + ["cook"] * 3
    table = pl.DataFrame(
        {
            "region": ["r0"] * 12 + ["r1"] * 12,
            "district": (["d0"] * 8 + ["d1"] * 4) * 2,
            "job": job * 2,
        }
    )

    for seed in range(20):
        found = swapped(table, risk=("job",), k=2, key=seed.to_bytes(32, "little"))
        assert found["region"].equals(table["region"])
        assert found["district"][8] == found["district"][20] == "d0"


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 1.0])
def test_the_rate_is_reached_and_not_passed_by_more_than_one(rate):
    """Nobody is at risk; the areas of swapped records always differ."""
    table = people(1000)

    found = swapped(table, risk=("sex",), k=2, swap_rate=rate)

    moved = sum(a != b for a, b in zip(areas(found, 1), areas(table, 1), strict=True))
    assert np.ceil(rate * 1000) <= moved + (rate == 1.0) * 4
    assert moved <= np.ceil(rate * 1000) + 1


def test_partners_are_random():
    """Another key takes other ones; each area gets its share."""
    table = people(3000)

    first, again, other = (
        swapped(table, risk=("sex",), k=2, swap_rate=1.0, key=key)
        for key in (bytes(32), bytes(32), b"k" * 32)
    )

    assert first.equals(again)
    same = np.mean([a == b for a, b in zip(areas(first, 1), areas(other, 1), strict=True)])
    # Within a region first: of each district half goes to each of the two others.
    assert 0.4 < same < 0.6
    rows = (table["region"] == "r0") & (table["district"] == "d0")
    counts = first.filter(rows)["district"].value_counts()
    assert counts.filter(pl.col("district") != "d0")["count"].min() > 0.3 * rows.sum()


def test_records_left_at_risk_are_warned_of():
    """A judge of seventeen whose records agree with nobody's; the warning has no cell."""
    table = pl.DataFrame(
        {"region": ["r0"] * 4 + ["r1"] * 4, "district": ["d"] * 8, "job": ["canary", *"aaabbbb"]}
    )

    with pytest.warns(ColumnWarning, match="leaves 1 of 1 records at risk") as warned:
        found = swapped(table, risk=("job",), similar=("job",), k=2)

    assert found.equals(table)
    assert "canary" not in str(warned[0].message)


def test_missing_areas_stay_and_missing_households_are_alone():
    """A record without an area has none to give."""
    table = people(200, households=True).with_columns(
        district=pl.when(pl.col("house") % 5 > 0).then("district"),
        house=pl.when(pl.col("house") % 7 > 0).then("house"),
        job=pl.when(pl.col("age") > 0).then("job"),
        sex=pl.when(pl.col("age") > 1).then("sex"),
    )

    found = swapped(table, similar=("sex",), household="house", swap_rate=1.0)

    there = table["district"].is_not_null()
    assert found.filter(~there).equals(table.filter(~there))
    moved = [a != b for a, b in zip(areas(found, 1), areas(table, 1), strict=True)]
    assert np.mean(moved) > 0.5


@pytest.mark.real_data
def test_households_of_a_survey_stay_together(shared_data):
    """sdcMicro's household survey: urban and rural as areas, size and sex agree."""
    table = pl.read_csv(shared_data / "sdc/testdata.csv").select(
        "urbrur", "ori_hid", "sex", "age", "relat", "roof"
    )
    mask = TargetedRecordSwapping(
        columns=("urbrur",),
        risk=("age", "relat"),
        k=3,
        swap_rate=0.05,
        similar=("sex",),
        household="ori_hid",
    )

    found = changed(mask, table)

    by = ["urbrur", "sex"]
    assert found.group_by(by).len().sort(by).equals(table.group_by(by).len().sort(by))
    assert found.group_by("ori_hid").agg(pl.col("urbrur").n_unique())["urbrur"].max() == 1
    houses = (
        table.with_columns(moved=found["urbrur"] != table["urbrur"])
        .group_by("ori_hid")
        .agg(pl.col("moved").any())
    )
    assert houses["moved"].sum() >= 0.05 * houses.height
    rows = Counter(table.select("urbrur", "age", "relat").rows())
    assert any(count < 3 for count in rows.values())


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no areas": ({"columns": ()}, "no columns"),
    "no risk": ({"risk": ()}, "no columns of 'risk'"),
    "area and risk": ({"risk": ("region",)}, "both in 'columns' and in 'risk'"),
    "area and similar": ({"similar": ("region",)}, "both in 'columns' and in 'similar'"),
    "area and household": ({"household": "region"}, "also one of its other columns"),
    "k": ({"k": 1}, "'k'"),
    "rate": ({"swap_rate": 1.5}, "swap_rate"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parameters_that_can_not_be_are_refused(fault):
    """By name."""
    given, said = FAULTS[fault]
    parameters: dict[str, Any] = {
        "columns": ("region",),
        "risk": ("job",),
        "k": 3,
        "swap_rate": 0.0,
    } | given
    with pytest.raises(ParameterError, match=said):
        TargetedRecordSwapping(**parameters)


def test_households_in_several_areas_and_lists_are_refused():
    """How many, and no household by its name."""
    table = people(50, households=True).with_columns(
        house=pl.lit("canary"), district=pl.int_range(pl.len()).cast(pl.String)
    )
    with pytest.raises(DataError, match="has 1 households with records in several") as refused:
        swapped(table, household="house")
    assert "canary" not in str(refused.value)
    with pytest.raises(SchemaError, match="'job'"):
        TargetedRecordSwapping(columns=("region",), risk=("job",), k=3, swap_rate=0.0).written(
            {"region": pl.String(), "job": pl.List(pl.String())}
        )
