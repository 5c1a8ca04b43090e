"""Columns of sets from a policy to a verified release: k^m-anonymity by TOML, CLI and Python."""

from __future__ import annotations

import json
from itertools import combinations

import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import DataError, HierarchyError, PolicyError, SchemaError, VerificationError
from halfmask.cli import main
from halfmask.masks import _item_recoding as recoding
from halfmask.microdata import Policy

KEY = bytes(range(32))
TEXT = """
halfmask = 1
[columns]
customer = { role = "identifier" }
bought = { role = "sensitive", kind = "text" HIERARCHY }
[[masks]]
name = "km-anonymity"
column = "bought"
k = 2
m = 2
separator = "|"
"""
ITEMS = "beer;drinks\nwine;drinks\nmilk;food\nbread;food\n"


@pytest.fixture
def baskets():
    cells = ["beer|milk", "wine|milk", "bread|milk", "milk|bread", "", None] * 4
    return pl.DataFrame({"customer": [f"c{i}" for i in range(24)], "bought": cells}).with_columns(
        bought=pl.col("customer").replace_strict(
            {"c0": "wine|bread", "c6": "beer|bread"}, default=pl.col("bought")
        )
    )


def policy(hierarchy="", folder=None):
    more = f", hierarchy = {hierarchy}" if hierarchy else ""
    return Policy.from_toml(TEXT.replace("HIERARCHY", more), folder=folder)


def items(cells):
    return [sorted(set((each or "").split("|")) - {""}) for each in cells]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_a_release_states_the_claim_and_is_counted_again(baskets, tmp_path, form):
    made = policy().changed(output={"format": form})

    release = hm.mask(baskets, made, key=KEY).write(tmp_path / "out")

    assert release.data.columns == ["bought"]
    pairs = [it for row in items(release.data["bought"]) for it in combinations(row, 2)]
    assert min(pairs.count(it) for it in pairs) >= 2
    claim = release.claims[1]
    assert (claim.model, claim.parameters["k"], claim.parameters["m"]) == ("km-anonymity", 2, 2)
    assert hm.verify(tmp_path / "out").holds
    assert "few-known-items" in (tmp_path / "out" / "manifest.json").read_text()


@pytest.mark.parametrize("hierarchy", ['{ file = "items.csv" }', "groups"])
def test_the_hierarchy_of_the_column_is_that_of_its_items(baskets, tmp_path, hierarchy):
    """A file next to the policy, or groups in it; its labels stay out of the manifest."""
    (tmp_path / "items.csv").write_text(ITEMS, encoding="utf-8")
    groups = '{ groups = { drinks = ["beer", "wine"], food = ["milk", "bread"] } }'

    made = policy(groups if hierarchy == "groups" else hierarchy, folder=tmp_path)
    release = hm.mask(baskets, made, key=KEY).write(tmp_path / "out")

    written = {it for row in items(release.data["bought"]) for it in row}
    assert written <= {"beer", "wine", "milk", "bread", "drinks", "food"}
    assert written & {"drinks", "food"}
    assert "drinks" not in (tmp_path / "out" / "manifest.json").read_text()
    assert "generalized" in (tmp_path / "out" / "report.html").read_text()


def test_on_the_command_line(baskets, tmp_path, capsys):
    baskets.write_csv(tmp_path / "baskets.csv")
    (tmp_path / "items.csv").write_text(ITEMS, encoding="utf-8")
    text = TEXT.replace("HIERARCHY", ', hierarchy = { file = "items.csv" }')
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    out = str(tmp_path / "out")

    assert main(["protect", str(tmp_path / "baskets.csv"), str(tmp_path / "policy.toml"), out]) == 0
    assert main(["verify", out, "--json"]) == 0
    assert "km-anonymity" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["claims"][1]["evidence"]["largest_set"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("form", ["frame", "parquet", "jsonl"])
def test_lists_are_read_as_sets(baskets, tmp_path, form):
    """With the separator under [input]: the release is that of the texts."""
    lists = baskets.with_columns(
        bought=pl.when(pl.col("bought") == "")
        .then(pl.lit([], dtype=pl.List(pl.String)))
        .otherwise(pl.col("bought").str.split("|"))
    )
    where = lists if form == "frame" else tmp_path / f"baskets.{form}"
    if form == "parquet":
        lists.write_parquet(where)
    elif form == "jsonl":
        lists.write_ndjson(where)
    made = policy().changed(input={"lists": {"bought": "|"}})

    release = hm.mask(where, made, key=KEY).write(tmp_path / "out")

    assert hm.verify(tmp_path / "out").holds
    assert (
        release.data["bought"].to_list()
        == hm.mask(baskets, policy(), key=KEY).data["bought"].to_list()
    )


def test_a_weakened_search_leaves_no_release(baskets, tmp_path, monkeypatch):
    """It looks at single items alone: the verifier finds pairs that one basket has."""
    run = recoding._Search.run
    monkeypatch.setattr(recoding._Search, "run", lambda it, k, m, column: run(it, k, m - 1, column))

    weak = hm.mask(baskets, policy(), key=KEY)

    with pytest.raises(VerificationError):
        weak.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_input_is_refused_by_name(baskets):
    with pytest.raises(SchemaError, match="texts of items"):
        hm.mask(baskets.with_columns(bought=pl.lit(3)), policy())
    wide = {"name": "km-anonymity", "column": "bought", "k": 99, "m": 2, "separator": "|"}
    with pytest.raises(DataError, match="16 rows with an item"):
        hm.mask(baskets, policy().changed(masks=[wide]))
    with pytest.raises(HierarchyError, match="lacks 2 values"):
        hm.mask(baskets, policy('{ groups = { drinks = ["beer", "wine"] } }'))
    tree = '{ groups = { "a|b" = ["beer", "wine", "milk", "bread"] } }'
    with pytest.raises(HierarchyError, match="hold the separator"):
        hm.mask(baskets, policy(tree))
    with pytest.raises(PolicyError, match="made from the values"):
        hm.mask(baskets, policy("{ prefix = [1] }"))


def test_guarantees_need_a_release_of_their_own():
    with pytest.raises(PolicyError, match="km-anonymity"):
        Policy.from_toml(
            TEXT.replace("HIERARCHY", "").replace('"identifier"', '"quasi_identifier", kind="text"')
            + '[[guarantees]]\nmodel = "k-anonymity"\nk = 2\n'
        )


def test_two_hierarchies_are_one_too_many(baskets):
    made = policy('{ groups = { all = ["beer", "wine", "milk", "bread"] } }')
    mask = {"name": "km-anonymity", "column": "bought", "k": 2, "m": 2, "separator": "|"}

    with pytest.raises(PolicyError, match="have a hierarchy"):
        hm.mask(baskets, made.changed(masks=[{**mask, "hierarchy": [["beer", "drinks"]]}]))
