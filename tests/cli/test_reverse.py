"""halfmask protect --vault and halfmask reverse: pseudonyms of next month's release, and back."""

from __future__ import annotations

import stat

import polars as pl
import pytest

from halfmask.vault import KeyFile, Vault

POLICY = """\
halfmask = 1
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.card]
role = "insensitive"
kind = "text"
[columns.card.mask]
name = "format-preserving"
domain = "card"
scope = "vault"
[columns.name]
role = "insensitive"
kind = "text"
[columns.name.mask]
name = "reversible-token"
domain = "person"
scope = "vault"
[columns.town]
role = "insensitive"
kind = "text"
[columns.town.mask]
name = "token"
[[guarantees]]
model = "k-anonymity"
k = 2
[output]
format = "FORMAT"
"""
PEOPLE = pl.DataFrame(
    {
        "age": [20, 20, 40, 40],
        "card": ["0000000001", "CANARY-000002", "+12 345 678", "0000000001"],
        "name": ["CANARY-Ann", "CANARY-Bo", "=CANARY", "CANARY-Ann"],
        "town": ["CANARY-a", "CANARY-b", "CANARY-a", "CANARY-b"],
    }
)


@pytest.fixture(params=["csv", "parquet"])
def place(request, tmp_path):
    """A table, a policy and a vault."""
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "policy.toml").write_text(POLICY.replace("FORMAT", request.param))
    lock = KeyFile.create(tmp_path / "lock.key")
    Vault.create(tmp_path / "vault", lock=lock)
    return tmp_path


def protected(run, place, out):
    done = run(
        "protect",
        place / "people.parquet",
        place / "policy.toml",
        place / out,
        "--vault",
        place / "vault",
        "--vault-key-file",
        place / "lock.key",
    )
    assert done.status == 0, done.err
    return place / out


def reversed_by(run, place, released, vault="vault", lock="lock.key"):
    words = ("--vault", place / vault, "--key-file", place / lock, "--json")
    return run("reverse", place / "policy.toml", released, place / "back.parquet", *words)


def test_releases_of_a_vault_have_the_same_pseudonyms_and_it_reverses_them(run, place):
    """CSV files, too: leading zeros, and apostrophes before formulas' signs."""
    first, second = (protected(run, place, it) for it in ("one", "two"))

    done = reversed_by(run, place, first)

    assert done.status == 0, done.err
    assert done.json == {"ok": True, "rows": 4, "columns": ["card", "name"]}
    back = pl.read_parquet(place / "back.parquet")
    assert sorted(back.select("card", "name").rows()) == sorted(
        PEOPLE.select("card", "name").rows()
    )
    assert stat.S_IMODE((place / "back.parquet").stat().st_mode) == 0o600
    assert not set(back["town"]) & set(PEOPLE["town"])  # a token stays

    def names(folder):
        files = [it for it in folder.rglob("*") if it.suffix in {".csv", ".parquet"}]
        read = pl.read_csv if files[0].suffix == ".csv" else pl.read_parquet
        return sorted(read(files[0])["name"])

    assert names(first) == names(second)
    assert not set(names(first)) & set(PEOPLE["name"])


def test_a_release_of_masks_alone_has_a_vault_too(run, place):
    """Without guarantees, the key of pseudonyms comes from the vault as well."""
    text = (place / "policy.toml").read_text()
    alone = text[: text.index("[[guarantees]]")] + text[text.index("[output]") :]
    (place / "policy.toml").write_text(alone)

    done = reversed_by(run, place, protected(run, place, "one"))

    assert done.status == 0, done.err
    back = pl.read_parquet(place / "back.parquet")
    assert sorted(back["card"]) == sorted(PEOPLE["card"])


def test_what_fails_says_so_without_a_value(run, place):
    """No vault, another vault, a lock without a vault, a column that isn't there."""
    out = protected(run, place, "one")
    Vault.create(place / "other", lock=KeyFile.create(place / "other.key"))
    without = run("protect", place / "people.parquet", place / "policy.toml", place / "no")
    lock = run(
        *("protect", place / "people.parquet", place / "policy.toml", place / "no"),
        *("--vault-key-file", place / "lock.key"),
    )
    other = reversed_by(run, place, out, "other", "other.key")
    pl.DataFrame({"x": ["CANARY"]}).write_parquet(place / "else.parquet")
    elsewhere = reversed_by(run, place, place / "else.parquet")

    assert (without.status, lock.status, other.status, elsewhere.status) == (1, 2, 1, 1)
    assert "scope 'vault'" in without.err
    assert not (place / "no").exists()
    assert not (place / "back.parquet").exists()
    for done in (without, lock, other, elsewhere):
        assert "CANARY" not in done.out + done.err
