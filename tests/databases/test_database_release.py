"""A copied database is a release like the others: `protect` makes it, `write` copies it."""

from __future__ import annotations

import os

import polars as pl
import pytest
from tests.databases.copying import CANARY, KEY, POLICY, SHOP, copied, make, rows

import halfmask as hm
from halfmask import ParameterError, ReleaseError
from halfmask.data.io import atomic
from halfmask.databases import DatabasePolicy, MaskedDatabase

WANTED = DatabasePolicy.from_toml(POLICY)


@pytest.fixture
def shop(tmp_path):
    make(tmp_path / "shop.db", SHOP)
    return f"sqlite:///{tmp_path}/shop.db"


def urls(folder, name="new.db"):
    return {"out": f"sqlite:///{folder / name}", "report": folder / f"{name}.report"}


def test_protect_makes_the_same_copy_as_the_short_form(shop, tmp_path):
    release = hm.protect(shop, WANTED, key=KEY)
    written = release.write(**urls(tmp_path))

    found, path = copied(tmp_path)
    query = "select p.id, email, boss, o.id, price from people p, orders o on p.id = o.buyer"
    assert rows(tmp_path / "new.db", query) == rows(path, query)
    assert written.facts == found
    assert isinstance(found, MaskedDatabase)
    manifest, verification = written.written
    assert written.claims == manifest.claims
    assert written.rows == {"out": found.n_rows}
    assert not verification.is_broken
    given = {"copy": tmp_path / "new.db", "originals": shop}
    assert hm.verify(tmp_path / "new.db.report", **given).holds


def test_nothing_is_there_before_it_is_written(shop, tmp_path):
    release = hm.protect(shop, WANTED, key=KEY)

    assert not release.claims
    assert repr(release) == "Release(no rows)"
    assert "Not written yet" in release._repr_html_()
    with pytest.raises(ReleaseError, match="no rows in memory"):
        _ = release.data
    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]
    written = release.write(**urls(tmp_path))
    assert "counted before it was committed" in written._repr_html_()
    assert CANARY not in repr(written) + written._repr_html_()
    release.write(**urls(tmp_path, "again.db"))  # what was made once can be copied twice


def test_the_report_has_a_name_by_default(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hm.protect_to(shop, WANTED, "sqlite:///new.db", key=KEY)

    assert (tmp_path / "new.report" / "manifest.json").exists()
    with pytest.raises(ReleaseError, match="report folder exists"):
        hm.protect_to(shop, WANTED, "sqlite:///other.db", report="new.report")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"strict": True}, "'strict' parameter of protect doesn't go with a policy of a database"),
        ({"population": pl.DataFrame()}, "'population' parameter"),
        ({"quasi_identifiers": ["name"], "k": 2}, "not both"),
    ],
)
def test_what_means_nothing_here_is_refused(shop, given, told):
    with pytest.raises(ParameterError, match=told):
        hm.protect(shop, WANTED, **given)


def test_a_table_and_a_database_are_not_mistaken(shop, tmp_path):
    with pytest.raises(ParameterError, match="Got a DataFrame"):
        hm.protect(pl.DataFrame({"a": [1]}), WANTED)
    with pytest.raises(ParameterError, match="URL"):
        hm.protect("people.csv", WANTED)
    release = hm.protect(shop, WANTED)
    with pytest.raises(ParameterError, match="'persons' parameter"):
        release.write(**urls(tmp_path), persons=tmp_path / "persons")
    table = hm.protect(pl.DataFrame({"a": [1, 1]}), quasi_identifiers=["a"], k=2)
    with pytest.raises(ParameterError, match="'report' parameter of write"):
        table.write(tmp_path / "out", report=tmp_path / "report")


def test_a_copy_without_its_report_is_not_committed(shop, tmp_path, monkeypatch):
    """The report is complete before; only its name comes after."""
    target = urls(tmp_path)

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(atomic, "_new_folder", full)
    with pytest.raises(ReleaseError):
        hm.protect(shop, WANTED).write(**target)
    assert [it.name for it in tmp_path.iterdir()] == ["shop.db"]


@pytest.mark.parametrize("report", ["new.db", "./new.db", ""])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_report_in_the_place_of_the_copy_or_without_a_name_leaves_nothing(
    shop, tmp_path, monkeypatch, report, overwrite
):
    """Else the copy would stay without its report, or an unset variable choose the place."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())

    with pytest.raises((ParameterError, ReleaseError), match="report folder"):
        hm.protect(shop, WANTED).write("sqlite:///new.db", report=report, overwrite=overwrite)
    assert sorted(tmp_path.iterdir()) == before
