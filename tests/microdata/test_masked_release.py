"""A release of masks alone: what can be counted is claimed, what can't is measured."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.microdata.table_masks import Drawn, Share, Smallest

import halfmask as hm
from halfmask._errors import (
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    PolicyError,
    SchemaError,
    VerificationError,
)
from halfmask.masks import TABLE_MASKS, Rounding
from halfmask.microdata import Policy
from halfmask.microdata import masked as _masked

KEY = bytes(range(32))
TEXT = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 10 } }
town = { role = "quasi_identifier", kind = "categorical" }
pay = { role = "sensitive", kind = "numeric", mask = { name = "tails", high = 900 } }
code = { role = "insensitive", kind = "text", mask = { name = "token" } }
MORE
"""


@pytest.fixture(autouse=True)
def masks(monkeypatch):
    for each in (Smallest, Drawn, Share):
        monkeypatch.setitem(TABLE_MASKS, each.name, each)


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "name": [f"n{i}" for i in range(400)],
            "age": rng.integers(18, 90, 400),
            "town": rng.choice(["CANARY-A", "CANARY-B", "CANARY-C"], 400),
            "pay": rng.integers(0, 1000, 400),
            "code": [f"CANARY-{i}" for i in range(400)],
        }
    )


def policy(more="", text=TEXT):
    return Policy.from_toml(text.replace("MORE", more))


@pytest.mark.slow
def test_a_release_of_masks_alone_is_verified_on_disk(people, tmp_path):
    """Each technique that can be counted has its claim; the identifier is dropped."""
    release = hm.mask(people, policy(), key=KEY).write(tmp_path / "out")

    assert release.kind.name == "masked"
    assert release.data.columns == ["age", "town", "pay", "code"]
    assert set(release.data["age"] % 10) == {0}
    assert [(it.model, dict(it.parameters)) for it in release.claims] == [
        ("released-columns", {"rows": 400, "columns": 4}),
        ("multiples", {"base": 10.0}),
        ("bounded", {"high": 900.0}),
        ("token-format", {"digits": 32}),
    ]
    found = hm.verify(tmp_path / "out")
    assert found.holds
    assert pl.read_parquet(tmp_path / "out" / "data" / "*.parquet").equals(release.data)
    said = (tmp_path / "out" / "manifest.json").read_text()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "CANARY" not in said + page + repr(release) + release._repr_html_()
    assert any(line.startswith("no-privacy-model:") for line in json.loads(said)["weaknesses"])


@pytest.mark.slow
def test_risk_and_utility_are_measured_with_three_arms(people):
    """Coarser numbers are found less often, and cost more."""
    fine, coarse = (
        hm.mask(people, policy(text=TEXT.replace("base = 10", f"base = {base}")), key=KEY)
        for base in (1, 60)
    )

    found = [it.assessment for it in (fine, coarse)]
    linked = [it.worst_linkage.risk.value for it in found if it and it.worst_linkage]
    lost = [it.il1s for it in found if it and it.il1s is not None]
    assert linked[0] > linked[1]
    assert lost[0] < lost[1]
    assert fine.assessment is not None
    assert "code" not in fine.assessment.columns  # a token says nothing of a value


@pytest.mark.slow
def test_the_report_says_on_how_many_rows_it_was_measured(people, tmp_path, monkeypatch):
    """A part of a large table: there groups are smaller."""
    hm.mask(people, policy(), key=KEY).write(tmp_path / "whole")
    monkeypatch.setattr(_masked, "ASSESSED_ROWS", 100)
    part = hm.mask(people, policy(), key=KEY).write(tmp_path / "part")

    assert part.assessment is not None
    assert part.assessment.rows < 200
    pages = [(tmp_path / it / "report.html").read_text() for it in ("whole", "part")]
    assert "drawn at random" not in pages[0]
    assert f"measured on {part.assessment.rows} of 400 rows, drawn at random" in pages[1]


@pytest.mark.slow
def test_masks_of_several_columns_and_of_rows(people, tmp_path):
    """A sample states how many rows were read; columns are compared with their own rows."""
    said = policy(
        '[[masks]]\nname = "share"\nshare = 0.5\n[[masks]]\nname = "drawn"\ncolumns = ["town"]'
    )

    release = hm.mask(people, said, key=KEY).write(tmp_path / "out")

    assert 100 < release.rows["out"] < 300
    assert release.rows["in"] == 400
    details = json.loads((tmp_path / "out" / "manifest.json").read_text())["details"]
    assert details["rows"] == {"in": 400, "out": release.rows["out"]}
    assert [(it["name"], it["columns"]) for it in details["masks"][-2:]] == [
        ("share", []),
        ("drawn", ["town"]),
    ]
    assert hm.verify(tmp_path / "out").holds


@pytest.mark.slow
def test_a_technique_that_changes_between_passes_gets_no_release(people, tmp_path, monkeypatch):
    """Power: the claims are of what is written, and the verifier counts it."""
    plan = type(Rounding(base=1).fit("age", pl.Int64(), None, KEY))
    monkeypatch.setattr(plan, "apply", lambda _self, column, _first: column + 1)
    release = hm.mask(people, policy(), key=KEY)

    with pytest.raises(VerificationError):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_same_key_gives_the_same_rows_in_the_same_order(people):
    """Another key gives other tokens."""
    first, again, other = (hm.mask(people, policy(), key=it).data for it in (KEY, KEY, bytes(32)))

    assert first.equals(again)
    assert not set(first["code"]) & set(other["code"])


@pytest.mark.slow
def test_frames_of_other_libraries_come_back(people):
    """As the table came in."""
    found = hm.mask(people.to_pandas(), policy(), key=KEY).data

    assert type(found).__module__.startswith("pandas")


def test_few_rows_and_tokens_alone_are_not_measured(people):
    """An attack on nineteen rows tells nothing."""
    assert hm.mask(people.head(19), policy(), key=KEY).assessment is None
    tokens = Policy.from_toml(
        'halfmask = 1\n[columns]\ncode = { role = "insensitive", kind = "text", '
        'mask = { name = "token" } }'
    )
    assert hm.mask(people.select("code"), tokens, key=KEY).assessment is None


def test_bad_input_is_refused(people, tmp_path):
    """By the parameter, the column or the section."""
    with pytest.raises(ParameterError, match="Got a str"):
        hm.mask(people, "policy.toml")  # type: ignore[arg-type]
    guaranteed = policy('[[guarantees]]\nmodel = "k-anonymity"\nk = 2')
    with pytest.raises(PolicyError, match=r"halfmask\.protect"):
        hm.mask(people, guaranteed)
    with pytest.raises(SchemaError, match="'town'"):
        hm.mask(people.drop("town"), policy())
    with pytest.raises(DataError, match="keeps no row"):
        hm.mask(people, policy('[[masks]]\nname = "share"\nshare = 0.0'))
    with pytest.raises(ParameterError, match="32 bytes"):
        hm.mask(people, policy(), key=b"short")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("replace", ["type", "token"])
def test_details_in_texts_are_replaced_and_counted_on_the_page(people, tmp_path, replace):
    """The names of the identifier column are found in the texts of other rows."""
    notes = [f"asked n{i + 1} in room {i % 7}, canary{i}@x.example" for i in range(399)]
    table = people.with_columns(note=pl.Series([*notes, None]))
    text = TEXT.replace("MORE", 'note = { role = "insensitive", kind = "text" }\nMORE')
    more = (
        '[[masks]]\nname = "free-text"\ncolumns = ["note"]\ntypes = ["email"]\n'
        f'names_from = ["name"]\nreplace = "{replace}"'
    )

    release = hm.mask(table, policy(more, text), key=KEY).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
    written = release.data["note"].drop_nulls()
    assert written.len() == 399
    assert written.str.contains(r"^asked <NAME\w*> in room \d, <EMAIL\w*>$").all()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "free-text; found: 399 email, 399 name" in page
    said = (tmp_path / "out" / "manifest.json").read_text()
    assert "canary" not in (said + page).casefold()
    assert "free-text:" in said


@pytest.mark.slow
def test_codes_that_are_called_categorical_are_not_measured_as_numbers():
    """A difference of sexes is none, and neither is a mean of towns."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "sex": rng.integers(1, 3, 300),
            "town": rng.integers(1, 9, 300).astype(float),
            "age": rng.integers(18, 90, 300),
        }
    )
    text = """
halfmask = 1
[columns]
sex = { role = "quasi_identifier", kind = "categorical", mask = { name = "pram", keep = 0.8 } }
town = { role = "insensitive", kind = "categorical" }
age = { role = "quasi_identifier", kind = "numeric", mask = { name = "round", base = 5 } }
"""
    found = hm.mask(table, policy(text=text), key=KEY).assessment

    assert found is not None
    assert {it.outcome.column for it in found.intervals} == {"age"}
    assert [name for name, it in found.columns.items() if it.il1s is not None] == ["age"]
    assert found.columns["sex"].total_variation is not None
    assert found.columns["sex"].changed > 0.02


def test_strict_needs_rows_enough_to_measure(people):
    """Of ten rows an attack tells nothing, so that none can be called resisted."""
    with pytest.raises(GuaranteeNotMetError, match="10 rows"):
        hm.mask(people.head(10), policy(), key=KEY, strict=True)
    tokens = policy(
        text="""
halfmask = 1
[columns]
code = { role = "insensitive", kind = "text", mask = { name = "token" } }
"""
    )
    assert hm.mask(people.select("code"), tokens, key=KEY, strict=True).assessment is None
