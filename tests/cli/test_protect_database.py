"""`halfmask protect` from URL to URL."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3

import pytest
from tests.databases.copying import CANARY, POLICY, SHOP, make, rows

from halfmask.cli import main


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "shop.db", SHOP)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def test_one_command_copies_a_database(shop, capsys):
    assert main(["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db"]) == 0

    said = capsys.readouterr().out
    assert "All 3 foreign keys lead to rows of the copy." in said
    assert "check 'CHECK' of the table 'orders'" in said
    assert CANARY not in said
    assert rows(shop / "masked.db", "select count(*) from orders") == [(4,)]
    assert (shop / "masked.report" / "manifest.json").is_file()


def test_programs_get_json(shop, capsys):
    (shop / "key").write_bytes(bytes(32))
    (shop / "key").chmod(0o600)
    words = ["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db", "--json"]

    assert main([*words, "--report", "counted", "--key-file", "key"]) == 0

    said = json.loads(capsys.readouterr().out)
    assert said["tables"]["people"] == {"rows": 4, "masked": 3}
    assert said["report"] == "counted"


def test_each_run_keeps_its_report(shop, capsys):
    (shop / "reports").mkdir()
    words = ["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db", "--json"]
    told = []
    for _ in range(2):
        assert main([*words, "--overwrite", "--report", "reports/of-{run}"]) == 0
        told.append(json.loads(capsys.readouterr().out)["report"])

    assert sorted(told) == sorted(str(it.relative_to(shop)) for it in shop.glob("reports/*[!l]"))
    assert all(re.fullmatch(r"reports/of-\d{8}T\d{6}Z-[0-9a-f]{8}", it) for it in told)
    assert len(set(told)) == 2


@pytest.mark.usefixtures("shop")
def test_a_copy_is_booked_by_its_manifest(capsys):
    lock = ["--vault", "vault", "--key-file", "lock"]
    for words in (
        ["vault", "create", "vault", "--key-file", "lock"],
        ["book", "create", "shop", *lock],
    ):
        assert main(words) == 0
    words = ["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db", "--report", "r"]
    words += ["--vault", "vault", "--vault-key-file", "lock"]
    assert main([*words, "--book", "shop", "--receiver", "testers"]) == 0
    assert "Checked against earlier releases" in capsys.readouterr().out

    assert main(["book", "list", "shop", *lock, "--json"]) == 0
    (booked,) = json.loads(capsys.readouterr().out)["releases"]
    assert (booked["kind"], booked["receiver"], booked["people"]) == ("database", "testers", None)
    assert main(["book", "check", "shop", *lock]) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sqlite:///shop.db"], "POLICY and OUT are missing"),
        (["sqlite:///shop.db", "policy.toml", "sqlite:///m.db", "--strict"], "its options are"),
        (["shop.csv", "policy.toml", "out", "--report", "r"], "--report is for databases"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_words_that_do_not_fit_are_wrong_usage(capsys, words, says):
    assert main(["protect", *words]) == 2

    assert says in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_the_second_night_replaces_the_first(capsys):
    words = ["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db"]

    assert [main(it) for it in (words, words, [*words, "--overwrite"])] == [0, 1, 0]
    assert "exists" in capsys.readouterr().err


def test_a_failure_leaves_no_file(shop, capsys):
    with contextlib.closing(sqlite3.connect(shop / "shop.db")) as base, base:
        base.execute("insert into orders values (77, 77, 1)")

    assert main(["protect", "sqlite:///shop.db", "policy.toml", "sqlite:///masked.db"]) == 1

    assert "leads nowhere in 1 rows" in capsys.readouterr().err
    assert {it.name for it in shop.iterdir()} == {"shop.db", "policy.toml"}


def test_describe_proposes_a_policy_that_protect_takes(shop, capsys):
    assert main(["describe", "sqlite:///shop.db", "--out", "proposed.toml"]) == 0
    assert main(["protect", "sqlite:///shop.db", "proposed.toml", "sqlite:///masked.db"]) == 0
    assert main(["describe", "sqlite:///shop.db"]) == 0

    said = capsys.readouterr().out
    assert 'boss = "reference"  # INTEGER' in said
    assert CANARY not in said
    assert rows(shop / "masked.db", "select count(*) from orders") == [(4,)]
