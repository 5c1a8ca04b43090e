"""A description proposes on the careful side, says why, and shows no cell."""

from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from halfmask._errors import ColumnNotFoundError, DataError, HalfmaskError, ParameterError
from halfmask.data import Role, open_table
from halfmask.data._schema import KINDS, ROLES
from halfmask.description.tables import describe, propose_columns

CANARY = "CANARY"
N = 200


def roles(description):
    return {it.name: it.role for it in description.proposals}


@pytest.mark.real_data
def test_adult(shared_data):
    description = describe(pl.read_csv(shared_data / "adult.csv"))
    got = roles(description)

    for name in (
        "age", "sex", "race", "marital-status", "education", "native-country", "workclass",
        "occupation", "relationship",
    ):  # fmt: skip
        assert got[name] == "quasi_identifier", name
    assert got["income"] == "sensitive"
    assert "identifier" not in got.values()
    assert description["fnlwgt"].evidence["gain"] > 0.3
    # Few columns suffice; the share is recounted here by other means.
    smallest = [it for it in description.singling_out if len(it.columns) == 3]
    assert smallest
    adult = pl.read_csv(shared_data / "adult.csv")
    for it in smallest:
        n = adult.group_by(it.columns).len().filter(pl.col("len") == 1).height
        assert it.share_unique == n / adult.height


# What each column of the invented people is. A card's kind points at nobody and may be either.
TRUTH = {
    "identifier": (
        "Number", "GivenName", "Surname", "StreetAddress", "EmailAddress", "Username", "Password",
        "TelephoneNumber", "MothersMaiden", "CCNumber", "CVV2", "NationalID", "Domain",
    ),
    "quasi_identifier": (
        "Gender", "NameSet", "Title", "MiddleInitial", "City", "State", "StateFull", "ZipCode",
        "Country", "CountryFull", "TelephoneCountryCode", "Birthday", "Age", "CCExpires",
        "Occupation", "Company",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.real_data
def test_invented_people_by_name_and_value(shared_data):
    people = pl.read_csv(shared_data / "pii" / "FakeNameGenerator.com_3000.csv.gz")

    got = roles(describe(people))

    for role, names in TRUTH.items():
        assert {name: got[name] for name in names} == dict.fromkeys(names, role)


@pytest.mark.slow
@pytest.mark.real_data
def test_invented_people_by_value_alone(shared_data):
    """Without its name a column of names is still never proposed as insensitive."""
    people = pl.read_csv(shared_data / "pii" / "FakeNameGenerator.com_3000.csv.gz")
    names = {name: f"v{i:02d}" for i, name in enumerate(people.columns)}

    got = roles(describe(people.rename(names)))

    for name in ("EmailAddress", "TelephoneNumber", "Username", "Password", "StreetAddress"):
        assert got[names[name]] == "identifier", name
    for name in (*TRUTH["identifier"], *TRUTH["quasi_identifier"]):
        assert got[names[name]] != "insensitive", name


def kinds_table():
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "measure": rng.random(N),
            "count": rng.integers(0, 9, N),
            "as text": [str(i % 9) for i in range(N)],
            "flag": rng.integers(0, 2, N).astype(bool),
            "when": [dt.date(2020, 1, 1) + dt.timedelta(days=i % 50) for i in range(N)],
            "when as text": [f"{i % 12 + 1}/{i % 20 + 8}/2020" for i in range(N)],
            "band": [f"[{i % 5}0-{i % 5 + 1}0)" for i in range(N)],
            "interval": [f"[{i % 5}0, {i % 5 + 1}0)" for i in range(N)],
            "decimal comma": [f"{i % 5},{i % 7}" for i in range(N)],
            "colour": ["red", "green"] * (N // 2),
            "lat": rng.random(N),
            "spot": [f"52.{i:04d}, 13.{i:04d}" for i in range(N)],
            "said": [f"the {i} quick brown foxes jump over the lazy dog again" for i in range(N)],
            "mixed": [str(i % 9) if i else "V27" for i in range(N)],
        }
    )


@pytest.mark.slow
def test_kinds_follow_types_and_values():
    assert {it.name: it.kind for it in describe(kinds_table()).proposals} == {
        "measure": "numeric",
        "count": "numeric",
        "as text": "numeric",
        "flag": "categorical",
        "when": "datetime",
        "when as text": "datetime",
        "band": "ordinal",
        "interval": "ordinal",
        "decimal comma": "numeric",
        "colour": "categorical",
        "lat": "geo",
        "spot": "geo",
        "said": "text",
        "mixed": "categorical",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("x", [f"u{i}@example.org" for i in range(N)], "identifier"),
        ("x", [f"10.0.{i}.1" for i in range(N)], "identifier"),
        ("x", [f"536-90-{4000 + i}" for i in range(N)], "identifier"),
        ("x", list(range(N)), "identifier"),
        ("x", [f"token{i}" for i in range(N)], "identifier"),
        ("x", [f"{10000 + i % 80}" for i in range(N)], "quasi_identifier"),
        ("x", [i * 0.37 for i in range(N)], "quasi_identifier"),
        ("x", [dt.date(2020, 1, 1)] * N, "quasi_identifier"),
        ("x", [1, 2] * (N // 2), "insensitive"),
        ("x", [None] * N, "identifier"),
        ("age", [None] * N, "quasi_identifier"),
        ("status_id", [1, 2, 3, 4] * (N // 4), "insensitive"),
        ("Name", [f"Ann Lee {i % 60}" for i in range(N)], "identifier"),
        ("Bemerkung", ["Frau Roth rief an", "keine Beschwerden seit Mai"] * (N // 2), "identifier"),
        ("Bemerkung", ["ja", "nein"] * (N // 2), "insensitive"),
        ("id", [f"{i % 150}" for i in range(N)], "identifier"),
        ("has_phone", ["yes", "no"] * (N // 2), "quasi_identifier"),
        ("diagnosis", ["a", "b"] * (N // 2), "sensitive"),
        ("health note", [f"{i} the patient was seen by a doctor and has a cold" for i in range(N)],
         "identifier"),
    ],
)  # fmt: skip
def test_roles_follow_values(name, cells, role):
    proposal = describe(pl.DataFrame({name: cells}))[name]

    assert proposal.role == role
    assert len(proposal.reasons) >= 2
    assert all(reason.endswith(".") for reason in proposal.reasons)


DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=i % 150) for i in range(N)]


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("isex", [1, 2] * (N // 2), "quasi_identifier"),
        ("isex", list(range(50)) * (N // 50), "insensitive"),
        ("injury", ["yes", "no", "no", "no"] * (N // 4), "sensitive"),
        ("subject_injury", ["yes", "no", "no", "no"] * (N // 4), "sensitive"),
        # What happened may be delicate; when it did, others have seen.
        ("c_offense_date", DAYS, "quasi_identifier"),
        ("c_arrest_date", [str(day) for day in DAYS], "quasi_identifier"),
        ("diagnosis_date", DAYS, "quasi_identifier"),
        ("outcome", [f"{day}" for day in DAYS], "quasi_identifier"),
        ("target", [i * 0.37 for i in range(N)], "sensitive"),
        ("label", [0, 1] * (N // 2), "sensitive"),
        ("churn", ["yes", "no"] * (N // 2), "sensitive"),
        ("year", [1990 + i % 9 for i in range(N)], "quasi_identifier"),
        ("month", [1 + i % 12 for i in range(N)], "quasi_identifier"),
        ("time", [i % 3 for i in range(N)], "insensitive"),
        ("black", ["yes", "no"] * (N // 2), "quasi_identifier"),
        ("subject", [i // 4 for i in range(N)], "identifier"),
        ("patient", ["yes", "no"] * (N // 2), "insensitive"),
        ("rider", [f"r{i // 4}" for i in range(N)], "identifier"),
        ("ride", [f"ride {i % 30}" for i in range(N)], "insensitive"),
        ("idno", [7 * i for i in range(N)], "identifier"),
        ("bib_num", [7 * i for i in range(N)], "identifier"),
    ],
)  # fmt: skip
def test_roles_of_what_public_tables_have(name, cells, role):
    assert describe(pl.DataFrame({name: cells}))[name].role == role


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "mo_sin_old_il_acct",
        "months_since_card",
        "patient number of days",
        "account age",
        "case days",
    ],
)
def test_months_and_amounts_identify_nobody(name):
    """They have "account" or "card" in their names, and many values."""
    months = [i * 7 % 190 for i in range(1_000)]

    assert describe(pl.DataFrame({name: months}))[name].role != "identifier"
    # A number of an account is one, whatever else its name says.
    codes = [4_000_000 + i * 7 for i in range(1_000)]
    since = "months_since_account"
    assert describe(pl.DataFrame({since: codes}))[since].role == "identifier"


def test_columns_that_single_out_only_together():
    """Thirty answers of yes or no: three of them single nobody out, all of them everybody."""
    rng = np.random.default_rng(8)
    table = pl.DataFrame({f"q{i:02d}": rng.integers(0, 2, 2_000) for i in range(30)})

    description = describe(table)

    kept = [it.name for it in description.proposals if it.role == "insensitive"]
    # Counted by other means: the rest singles out fewer than 5 %, and with one more it would.
    assert kept
    unique = table.group_by(kept).len().filter(pl.col("len") == 1).height / table.height
    assert unique < 0.05
    assert description.share_unique_unchanged == unique
    together = [it for it in description.proposals if "together" in it.reasons[0]]
    assert len(together) + len(kept) == 30
    assert not any(it.certain for it in together)


def test_the_share_that_is_unique_on_what_leaves_unchanged():
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 60, N),
            "income": rng.integers(0, 150, N),
            "disease": ["a", "b"] * 100,
        }
    )

    description = describe(table)

    counted = table.group_by("income", "disease").len().filter(pl.col("len") == 1).height
    assert counted > 0
    assert description.share_unique_unchanged == counted / N
    assert f"{counted / N:.1%} of the rows are unique" in " ".join(
        line.removeprefix("# ") for line in description.policy_toml().splitlines()
    )


@pytest.mark.slow
def test_what_is_uncertain_says_so_and_what_is_clear_does_not():
    description = describe(kinds_table().with_columns(age=pl.col("count")))

    assert description["age"].certain
    assert not any("uncertain" in reason for reason in description["age"].reasons)
    assert not description["colour"].certain
    assert any("uncertain" in reason for reason in description["colour"].reasons)


def canaries():
    """Every cell holds the canary, in all kinds of columns."""
    return pl.DataFrame(
        {
            "name": [f"{CANARY}{i}" for i in range(N)],
            "mail": [f"{CANARY}{i}@example.org" for i in range(N)],
            "city": [f"{CANARY} {i % 5}" for i in range(N)],
            "disease": [f"{CANARY}{i % 3}" for i in range(N)],
            "x": [f"{CANARY} said so much that it is a text number {i}" for i in range(N)],
            "y": pl.Series([f"{CANARY}{i % 4}" for i in range(N)], dtype=pl.Categorical),
            "number": [981273000 + i * 7 for i in range(N)],
            "measure": [98127.5 + i for i in range(N)],
        }
    )


@pytest.mark.slow
def test_no_cell_in_any_text():
    description = describe(canaries())

    texts = [
        repr(description), str(description), description.policy_toml(), repr(description.schema),
        repr(description.singling_out), *map(repr, description.proposals),
        *(repr(dict(it.evidence)) for it in description.proposals),
    ]  # fmt: skip
    for text in texts:
        assert CANARY not in text
        assert "981273" not in text
        assert "98127" not in text


@pytest.mark.slow
def test_no_cell_in_errors():
    description = describe(canaries())
    for wrong in (
        lambda: describe(canaries().head(0)),
        lambda: describe(canaries().select([])),
        lambda: describe(canaries(), sample=0),
        lambda: describe({"a": CANARY}),
        lambda: description["citty"],
    ):
        with pytest.raises(HalfmaskError) as caught:
            wrong()
        assert CANARY not in str(caught.value)


@pytest.mark.slow
def test_nothing_to_describe():
    with pytest.raises(DataError, match="8 columns and 0 rows"):
        describe(canaries().head(0))
    with pytest.raises(ParameterError, match="sample"):
        describe(canaries(), sample=-3)
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'city'"):
        describe(canaries())["citty"]


@pytest.mark.slow
def test_one_row_and_rows_all_alike():
    for frame in (kinds_table().head(1), pl.concat([kinds_table().head(1)] * 50)):
        description = describe(frame)
        assert set(roles(description)) == set(frame.columns)
        tomllib.loads(description.policy_toml())


def test_frames_of_other_libraries_and_sources_are_described_alike(tmp_path):
    frame = pl.DataFrame({"age": [i % 30 for i in range(N)], "city": ["x", "y"] * (N // 2)})
    frame.write_parquet(tmp_path / "t.parquet")
    expected = describe(frame)

    for table in (
        pd.DataFrame(frame.to_dict(as_series=False)),
        pa.table(frame.to_dict(as_series=False)),
        open_table(tmp_path / "t.parquet"),
        tmp_path / "t.parquet",
    ):
        got = describe(table)
        assert roles(got) == roles(expected)
        assert got.singling_out == expected.singling_out


class Batches:
    """A table in batches that counts how many rows are held at once."""

    columns = ("age", "n")

    def batches(self):
        for start in range(0, 5000, 500):
            yield pl.DataFrame(
                {"age": [i % 30 for i in range(500)], "n": range(start, start + 500)}
            )


def test_a_sample_is_drawn_from_all_batches_and_stated():
    description = describe(Batches(), sample=1000)

    assert (description.rows, description.rows_looked_at) == (5000, 1000)
    assert "5,000 rows, of which 1,000 were looked at" in description.policy_toml()
    assert describe(Batches(), sample=1000) == description


def test_a_sample_gives_every_row_the_same_chance():
    from halfmask.description.tables import _draw_rows  # noqa: PLC0415 - private, and only here

    kept, rows = _draw_rows(Batches().batches(), 2000)

    assert rows == 5000
    assert kept["n"].is_sorted()
    # Of each batch of 500 about 200: seven standard deviations are 65.
    per_batch = np.bincount(kept["n"].to_numpy() // 500, minlength=10)
    assert per_batch.sum() == 2000
    assert abs(per_batch - 200).max() < 70


@pytest.mark.slow
def test_wide_tables_are_bounded():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 3 + i % 7, 100) for i in range(300)})

    description = describe(frame)

    assert len(description.proposals) == 300
    assert description.columns_paired == 40
    assert all(it.role in ROLES and it.kind in KINDS for it in description.proposals)


@pytest.mark.parametrize("named", [["age", "ill"], ["age"], []])
def test_proposals_alone_are_those_of_the_description(named):
    """A policy that `protect` makes is of what `describe` says, also where it counts less."""
    rows = pl.DataFrame(
        {"age": [i % 70 for i in range(300)], "ill": [f"d{i % 5}" for i in range(300)]}
    )
    roles: dict[str, Role] = dict.fromkeys(named, "sensitive")

    alone = propose_columns(rows, roles)

    for whole in describe(rows, roles=roles).proposals:
        found = {key: it for key, it in whole.evidence.items() if key != "gain"}
        assert dict(alone[whole.name].evidence) == found
        assert replace(alone[whole.name], evidence={}) == replace(whole, evidence={})
