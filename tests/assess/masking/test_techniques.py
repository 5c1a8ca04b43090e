"""Several techniques on one table, side by side."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import polars as pl
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.masking import TechniqueComparison, compare_techniques
from halfmask.masks import Pram, RandomNoise, RankSwapping, Rounding
from halfmask.release import html_page

KEY = bytes(range(32))
CITY = "canary-Žofia"


def people(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n)
    return pl.DataFrame(
        {
            "pay": 100 * age + rng.normal(0, 1500, n).round(),
            "age": age,
            "city": rng.choice([CITY, "bonn", "kiel"], n),
        }
    )


def noise(table: pl.DataFrame, size: float) -> dict[str, RandomNoise]:
    deviations = {name: float(np.std(table[name].to_numpy())) for name in ("pay", "age")}
    return {
        name: RandomNoise(law="gaussian", scale=size * each, decimals=2)
        for name, each in deviations.items()
    }


@pytest.fixture(scope="module")
def found() -> TechniqueComparison:
    table = people(400)
    return compare_techniques(
        table,
        {
            "noise": noise(table, 0.05),
            "twice the noise": noise(table, 0.1),
            "rounded & <b>": {"pay": Rounding(base=500), "city": Pram(keep=0.7)},
            "swapped": [RankSwapping(columns=("pay", "age"), max_rank_distance=0.1)],
        },
        key=KEY,
        columns=["pay", "age"],
    )


@pytest.mark.slow
def test_the_table_begins_with_the_unmasked_rows(found):
    first = found.to_frame().row(0, named=True)

    assert first["technique"] == "unmasked"
    assert (first["linked"], first["interval"], first["il1s"], first["overlap"]) == (1, 1, 0, 1)
    assert first["pmse_ratio_logistic"] < 1e-6
    assert 0.0 <= first["linked_control"] < 0.02
    assert first["linked_guess"] == 1 / 400


def test_twice_the_noise_links_less_and_costs_more(found):
    rows = {row["technique"]: row for row in found.to_frame().to_dicts()}
    one, two = rows["noise"], rows["twice the noise"]

    assert one["linked"] > two["linked"] + 0.05
    assert one["linked_high"] > one["linked"] > one["linked_low"]
    assert one["interval"] > two["interval"] + 0.05
    assert two["il1s"] == pytest.approx(2 * one["il1s"], rel=0.2)
    assert {row["linked_unmasked"] for row in rows.values()} == {1.0}
    assert [row["linkage_verdict"] for row in rows.values()] == [*["broken"] * 4, "not shown"]
    assert all(row["unique"] is None for row in rows.values())


@pytest.mark.slow
def test_ranks_link_best_what_was_swapped_by_rank():
    rng = np.random.default_rng(3)
    incomes = pl.DataFrame(rng.lognormal(sigma=2, size=(400, 3)), schema=["a", "b", "c"])

    swapped = compare_techniques(
        incomes,
        {"swapped": [RankSwapping(columns=("a", "b", "c"), max_rank_distance=0.1)]},
        key=KEY,
    )

    row = swapped.to_frame().row(1, named=True)
    distance = swapped.assessments["swapped"].linkage.findings[0]
    assert row["method"] == "rank"
    assert row["linked"] > distance.outcome.success.value + 0.1


@pytest.mark.slow
def test_the_linkage_is_by_key_columns_where_they_are_given():
    table = people(300)

    by_key = compare_techniques(
        table, {"none": {"age": Rounding(base=1)}}, key=KEY, key_columns=["city"]
    )

    row = by_key.to_frame().row(1, named=True)
    assert row["linked"] == pytest.approx(3 / 300, abs=0.005)
    assert row["linkage_verdict"] == "INVALID"
    assert row["unique"] == 0.0


@pytest.mark.slow
def test_the_picture_is_xml_and_shows_no_cell(found):
    drawn = found.to_svg()

    ET.fromstring(drawn)  # noqa: S314 # our own
    assert "rounded &amp; &lt;b&gt;" in drawn
    for shown in (drawn, found._repr_html_(), html_page("a", [found.block()])):
        assert CITY not in shown
        assert "<b>" not in shown.replace("<p><b>", "")
    assert len(found.block().rows) == 5
    assert list(found.to_dict()) == list(found.assessments)
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_was_not_measured_is_shown_so():
    words = pl.DataFrame({"city": ["ulm", "bonn"] * 60})

    none = compare_techniques(words, {"pram": {"city": Pram(keep=0.5)}}, key=KEY)

    row = none.to_frame().row(1, named=True)
    assert (row["interval"], row["il1s"], row["overlap"]) == (None, None, None)
    assert "not measured" in none.to_svg()
    assert "—" in none._repr_html_()


def test_no_technique_is_refused():
    table = people(50)
    with pytest.raises(ParameterError, match="at least one technique"):
        compare_techniques(table, {}, key=KEY)
    with pytest.raises(ParameterError, match="none called 'unmasked'"):
        compare_techniques(table, {"unmasked": {}}, key=KEY)
    with pytest.raises(ParameterError, match="no technique"):
        TechniqueComparison(assessments={})
