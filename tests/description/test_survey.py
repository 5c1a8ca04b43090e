"""Tables of surveys: weights, households and their members, and codes that stay codes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask.data import open_table
from halfmask.description import describe
from halfmask.description.column_names import hint_of

N = 300
RNG = np.random.default_rng(4)
SIZES = RNG.integers(1, 6, 100)
HOUSEHOLDS = np.repeat(np.arange(1, 101), SIZES)
ROWS = len(HOUSEHOLDS)
MEMBERS = np.concatenate([np.arange(1, size + 1) for size in SIZES])


def survey(**columns):
    """Return a table of persons in a hundred households."""
    table = {"hid": HOUSEHOLDS, "age": RNG.integers(0, 90, ROWS), **columns}
    return pl.DataFrame(table)


def of_household(low=40, high=120):
    """Return a decimal for each household, on the rows of its members."""
    return np.repeat(RNG.uniform(low, high, 100).round(4), SIZES)


WEIGHTS = (
    "sampling_weight", "fnlwgt", "AFNLWGT", "hhwt", "hh_wgt", "PWGTP", "survey weight", "DB090",
    "Hochrechnungsfaktor", "Haushaltsgewicht", "ponderation", "poids_menage", "factor_expansion",
    "peso campionario", "peso amostral", "weegfactor", "sampling_weights",
)  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("whole", [True, False])
def test_sampling_weights_by_name(name, whole):
    cells = RNG.uniform(5, 800, N).round() if whole else RNG.uniform(5, 800, N)

    found = describe(pl.DataFrame({name: cells}))[name]

    assert (found.role, found.kind, found.brief) == (
        "quasi_identifier",
        "numeric",
        "a sampling weight",
    )
    # The same name with cells that no weight has.
    for other in (-cells, [f"w{i % 9}" for i in range(N)]):
        assert describe(pl.DataFrame({name: other}))[name].brief != "a sampling weight"


@pytest.mark.parametrize("name", ["weight", "wgt", "poids", "peso", "Gewicht"])
def test_an_unclear_weight_is_one_of_the_sample_if_households_share_it(name):
    table = survey(**{name: of_household()})
    bodies = survey(**{name: RNG.uniform(40, 120, ROWS).round(1)})
    heavy = survey(**{name: RNG.uniform(400, 9_000, ROWS).round(1)})

    assert describe(table)[name].brief == "a sampling weight"
    assert describe(heavy)[name].brief == "a sampling weight"
    assert describe(bodies)[name].brief != "a sampling weight"
    # Without the households nothing tells it from a body's.
    assert describe(table.drop("hid"))[name].brief != "a sampling weight"


def test_a_weight_of_all_rows_says_nothing():
    found = describe(pl.DataFrame({"sampling_weight": [100] * N}))["sampling_weight"]
    gap = describe(pl.DataFrame({"sampling_weight": [100, None] * (N // 2)}))["sampling_weight"]

    assert (found.role, found.kind) == ("insensitive", "numeric")
    assert gap.role == "quasi_identifier"


@pytest.mark.parametrize(
    "name", ["hid", "ori_hid", "household_id", "hh_no", "Haushalt-Nr", "id_menage", "IdHogar"]
)
def test_numbers_of_households_are_dropped_and_no_person(name):
    description = describe(survey().rename({"hid": name}))

    assert description[name].role == "identifier"
    text = description.policy_toml()
    assert f'identifier "{name}" numbers households: 100 in {ROWS} rows' in text
    assert "person =" not in text
    # The same numbers of patients are persons.
    patients = describe(survey().rename({"hid": "patient_id"})).policy_toml()
    assert 'person = "patient_id"' in patients
    assert "numbers households" not in patients


@pytest.mark.parametrize("name", ["no_family", "household_size", "household income", "family"])
def test_other_words_of_households_number_none(name):
    hint = hint_of(name)

    assert hint is None or hint.topic.about != "a household, by its number"


@pytest.mark.parametrize("name", ["pernum", "x"])
def test_numbers_of_the_members_of_a_household(name):
    found = describe(survey(**{name: MEMBERS}))[name]

    assert (found.role, found.brief) == ("identifier", "a member's number")
    # Numbers that occur twice in a household, begin at 2, or need another table's households.
    drawn = RNG.integers(1, 6, ROWS)
    for other in (survey(**{name: drawn}), survey(**{name: MEMBERS + 1})):
        assert describe(other)[name].brief != "a member's number"
    alone = survey(**{name: MEMBERS}).drop("hid")
    assert describe(alone)[name].brief != "a member's number"


def test_a_role_that_was_given_stays():
    table = survey(pernum=MEMBERS, weight=of_household())

    found = describe(table, roles={"pernum": "sensitive", "weight": "insensitive"})

    assert (found["pernum"].role, found["weight"].role) == ("sensitive", "insensitive")


CODES = RNG.choice([1, 2, 3, 4, 9], N)


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("water", CODES, "categorical"),
        ("water", RNG.choice([1, 2, 3, 20], N), "categorical"),
        # From 0 on they may count, and so may many.
        ("water", CODES - 1, "numeric"),
        ("water", RNG.integers(1, 20, N), "numeric"),
        ("water", CODES + 0.5, "numeric"),
        ("water rating", CODES, "numeric"),
        ("number of lamps", CODES, "numeric"),
        ("rooms", CODES, "numeric"),
        ("fuel_type", RNG.integers(0, 60, N), "categorical"),
        ("fuel_code", RNG.integers(0, 60, N), "categorical"),
        ("Brennstoffklasse", CODES, "categorical"),
        ("fuel_amount", RNG.integers(0, 60, N), "numeric"),
        ("age class", CODES, "numeric"),
        ("occupation", RNG.integers(1_000, 1_300, N), "categorical"),
        ("marital status", RNG.integers(0, 7, N), "categorical"),
        ("children", CODES, "numeric"),
        ("hours per week", CODES, "numeric"),
        ("education-num", CODES, "numeric"),
        ("race", CODES - 1, "categorical"),
        ("stratum", RNG.integers(0, 40, N), "categorical"),
    ],
)
def test_codes_stay_codes(name, cells, kind):
    numbers = pl.DataFrame({name: cells})

    assert describe(numbers)[name].kind == kind


def test_codes_with_zeros_in_front_stay_texts():
    texts = pl.DataFrame({"fuel_code": [f"{i % 40:02d}" for i in range(N)]})

    found = describe(texts)["fuel_code"]

    assert found.kind == "categorical"
    assert found.form is None


LABELS = {code: f"source {code}" for code in range(5)}


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_numbers_with_labels_are_codes(tmp_path, ending):
    """One value has no label, so that the column stays numbers."""
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pl.DataFrame({name: RNG.integers(0, 6, N) for name in ("water", "bare", "top")})
    labels = {"water": LABELS, "top": {5: "5 and more"}}
    path = tmp_path / f"survey.{ending}"
    getattr(pyreadstat, f"write_{ending}")(table, str(path), variable_value_labels=labels)

    source = open_table(path)
    found = describe(source)

    assert source.dtypes["water"] == pl.Int64
    assert source.labelled == {"water"}
    assert {it.name: it.kind for it in found.proposals} == {
        "water": "categorical",
        "bare": "numeric",
        "top": "numeric",
    }
    assert describe(path)["water"].kind == "categorical"
    assert describe(source.read())["water"].kind == "numeric"


@pytest.mark.real_data
def test_a_column_is_the_same_in_each_kind_of_file(tmp_path, shared_data):
    """The household survey of sdcMicro, with the labels that an office gives its codes."""
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pl.read_csv(shared_data / "sdc" / "testdata.csv")
    labels = {
        "sex": {1: "male", 2: "female"},
        "urbrur": {1: "urban", 2: "rural"},
        "roof": {2: "tile", 4: "iron", 5: "thatch", 6: "mud", 9: "other"},
        "water": {code: f"source {code}" for code in (1, 2, 3, 5, 6, 7, 8, 9)},
        "relat": {1: "head", 2: "spouse", 3: "child"},
    }
    table.write_csv(tmp_path / "a.csv")
    table.write_excel(tmp_path / "a.xlsx")
    pyreadstat.write_sav(table, str(tmp_path / "a.sav"), variable_value_labels=labels)
    pyreadstat.write_dta(table, str(tmp_path / "a.dta"), variable_value_labels=labels)

    found = [
        {it.name: (it.role, it.kind) for it in describe(path).proposals}
        for path in sorted(tmp_path.iterdir())
    ]

    assert len(found) == 4
    assert all(each == found[0] for each in found)
    assert found[0]["water"] == ("quasi_identifier", "categorical")
    assert found[0]["ori_hid"] == ("identifier", "numeric")
    assert found[0]["household_weights"] == ("quasi_identifier", "numeric")
