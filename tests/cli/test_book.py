"""``halfmask book``, and the options of protect about it: no release is left out of the book."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

from halfmask.book import ReleaseBook
from halfmask.microdata import Policy
from halfmask.vault import KeyFile, Vault

BOOK = """
[book]
dataset = "people"
receiver = "CANARY-receiver"
person = "name"
min_k = 4
"""


class Owner:
    """A desk with a vault and a book, and the words that name them."""

    def __init__(self, desk, run):
        self.desk, self.run = desk, run
        self.where, self.key = desk.folder / "vault", desk.folder / "key"
        self.vault = Vault.create(self.where, lock=KeyFile.create(self.key))
        self.policy = desk.folder / "booked.toml"
        self.policy.write_text(desk.policy.read_text() + BOOK)

    def protect(self, out, *more, table=None, policy=None):
        lock = ("--vault", self.where, "--vault-key-file", self.key)
        files = table or self.desk.table, policy or self.policy, self.desk.folder / out
        return self.run("protect", *files, *lock, *more)

    def book(self, command, *words):
        lock = ("--vault", self.where, "--key-file", self.key)
        return self.run("book", command, "people", *words, *lock)

    def next_table(self):
        """The people of the next month: some are gone, and some aged over the end of a class."""
        path = self.desk.folder / "next.csv"
        table = pl.read_csv(self.desk.table)
        table.with_columns(age=98 - pl.col("age")).head(70).write_csv(path)
        return path


@pytest.fixture
def owner(desk, run):
    owner = Owner(desk, run)
    assert owner.book("create").status == 0
    return owner


def test_a_release_is_booked_and_shown(owner):
    """It is listed with its receiver and the people in it; no value of the table is shown."""
    said = owner.protect("first")
    assert said.status == 0, said.err
    assert "Checked against earlier releases" in said.out

    (listed,) = owner.book("list", "--json").json["releases"]
    assert (listed["number"], listed["people"], listed["kind"]) == (1, 80, "microdata")
    shown = owner.book("show", "last", "--json").json
    assert {key: shown[key] for key in listed} == listed
    for command in (("list",), ("show", "1")):
        answer = owner.book(*command)
        assert answer.status == 0
        assert "CANARY-receiver" in answer.out
        assert "CANARY-name" not in answer.out + answer.err
        for claim in shown["claims"] if "show" in command else ():
            if column := claim["about"].get("column"):
                assert f"- {column}: {claim['model']}" in answer.out


def test_a_policy_that_is_made_names_the_book(owner):
    """Who protects by that file next month is checked as well."""
    columns = ("--quasi-identifiers", "age", "-k", "4", "--out", owner.desk.folder / "made")
    lock = ("--vault", owner.where, "--vault-key-file", owner.key)
    books = ("--book", "people", "--receiver", 'the "clinic"')
    said = owner.run("protect", owner.desk.table, *columns, *books, *lock)
    assert said.status == 0, said.err

    made = Policy.load(owner.desk.folder / "made.policy.toml")
    assert made.book is not None
    assert (made.book.dataset, made.book.receiver) == ("people", 'the "clinic"')
    (listed,) = owner.book("list", "--json").json["releases"]
    assert listed["receiver"] == 'the "clinic"'


def test_a_second_release_is_refused_and_accepted(owner):
    """Other classes leave single people in between: refused, unless somebody answers for it."""
    assert owner.protect("first").status == 0
    refused = owner.protect("second", "--json", table=owner.next_table())
    assert (refused.status, refused.json["code"]) == (1, "guarantee-not-met")
    assert "--reuse" in refused.json["hint"]
    assert "second" not in owner.desk.names()
    assert len(owner.book("list", "--json").json["releases"]) == 1

    words = ("--accept", "the owner", "--reason", "a test")
    accepted = owner.protect("second", "--json", *words, table=owner.next_table())
    assert accepted.status == 0
    shown = owner.book("show", "2", "--json").json
    assert (shown["accepted_by"], shown["reason"]) == ("the owner", "a test")


def test_classes_are_reused_by_number_and_by_folder(owner):
    """The same people in the same classes: nothing changes."""
    assert owner.protect("first").status == 0
    for out, named in (("second", "1"), ("third", owner.desk.folder / "first"), ("more", "last")):
        answer = owner.protect(out, "--reuse", named, "--json")
        assert answer.status == 0, answer.json
    assert [it["number"] for it in owner.book("list", "--json").json["releases"]] == [1, 2, 3, 4]


def test_a_book_is_named_without_a_section(owner):
    """Options alone: the policy has no [book], so there is no floor."""
    words = ("--book", "people", "--receiver", "somebody")
    answer = owner.protect("first", *words, policy=owner.desk.policy)
    assert answer.status == 0, answer.err
    (listed,) = owner.book("list", "--json").json["releases"]
    assert listed["receiver"] == "somebody"


def test_an_altered_release_is_found(owner):
    """By its number; the exit code says it, too. A deleted one is missing."""
    assert owner.protect("first").status == 0
    assert owner.protect("second", "--reuse", "1").status == 0
    checked = owner.book("check", "--json").json
    assert (checked["folders"], checked["together"][0]) == ({}, "k = 4")
    assert checked["receivers"] == {"CANARY-receiver": checked["together"]}

    manifest = owner.desk.folder / "first" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("0", "1", 1))
    shutil.rmtree(owner.desk.folder / "second")
    answer, people = owner.book("check", "--json"), owner.book("check")
    assert answer.json["folders"] == {"1": "altered", "2": "missing"}
    assert (answer.status, answer.json["code"], people.status) == (1, "integrity", 1)
    assert "CANARY" not in answer.out + people.out


def test_what_is_forgotten_is_asked_for(owner):
    """Nobody is there to be asked: --yes is needed, and it is booked."""
    assert owner.protect("first").status == 0
    assert owner.book("forget", "1").status == 2

    assert owner.book("forget", "1", "--yes", "--json").json["forgotten"] == 1
    with pytest.raises(ValueError, match="forgotten"):
        ReleaseBook.open(owner.vault, dataset="people").people_of(1)


def test_synthetic_rows_and_tables_are_booked(owner):
    """Commands other than protect book, too; tables are found by the next ones."""
    words = "--book", "people", "--receiver", "somebody", "--vault", owner.where
    lock = "--vault-key-file", owner.key
    text = owner.desk.policy.read_text().partition("[[guarantees]]")[0]
    owner.desk.policy.write_text(f'{text}[synthesis]\nkind = "full"\n')
    made = "synthesize", owner.desk.table, owner.desk.policy, owner.desk.folder / "drawn"
    crossed = "crosstab", owner.desk.table, "--rows", "town", "--min-frequency", "3", "--out"
    assert owner.run(*made, *words, *lock).status == 0
    for out in ("first", "second"):
        answer = owner.run(*crossed, owner.desk.folder / out, *words, *lock, "--json")
        assert answer.status == 0, answer.json
        assert answer.json["checked"]
    kinds = [each["kind"] for each in owner.book("list", "--json").json["releases"]]
    assert kinds == ["synthetic", "tables", "tables"]


WRONG = [
    (("--receiver", "a"), "plain", "--book"),
    (("--book", "people"), "plain", "--receiver"),
    (("--accept", "a"), "booked", "--reason"),
    (("--reason", "a"), "booked", "--reason"),
    (("--leave-out", "1"), "booked", "--leave-out"),
    (("--book", "people", "--receiver", "a", "--leave-out", "0.1"), "plain", "min_k"),
    (("--receiver", ""), "booked", "--leave-out"),
]


@pytest.mark.parametrize(("words", "policy", "named"), WRONG)
def test_options_that_say_too_little_are_refused(owner, words, policy, named):
    path = owner.desk.policy if policy == "plain" else owner.policy
    answer = owner.protect("out", *words, policy=path)
    assert answer.status == 2
    assert named in answer.err
    assert not owner.desk.out.exists()


def test_a_book_needs_a_vault_and_its_name(owner):
    desk, words = owner.desk, ("--book", "people", "--receiver", "a")
    assert owner.run("protect", desk.table, desk.policy, desk.out, *words).status == 2
    misspelt = owner.protect("out", "--book", "poeple", "--json")
    assert (misspelt.status, misspelt.json["code"]) == (1, "vault")
    assert not desk.out.exists()
