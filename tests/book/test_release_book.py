"""The book: what is written stays, and what is altered, cut off or of another vault is refused."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest

from book.conftest import (  # type: ignore[import-not-found] # beside, not in a package
    CLAIM,
    leaving,
    publish,
    publishing,
    write_release,
)
from halfmask import DataError, IntegrityError, KeyMismatchError, ParameterError, VaultError
from halfmask.book import ReleaseBook
from halfmask.release.booking import Leaving, LeavingRows
from halfmask.vault import KeyFile, Vault
from halfmask.vault._generation import sole_writer

SQL_FILE = "people.book"


def states(book):
    return [each.state for each in book.releases()]


def book_and_fail(book, folder, out, *, named):
    """Book a release, and fail after its folder got its name, or before."""
    manifest = write_release(folder / "aside")
    with book.writing() as pen:
        pen.pending(manifest, folder / "aside", out=out, receiver="all")
        if named:
            (folder / "aside").rename(out)
        raise KeyboardInterrupt


def change(vault, statement):
    """Change the file of the book as only its owner could."""
    with closing(sqlite3.connect(vault.folder / SQL_FILE)) as connection, connection:
        connection.execute(statement)


class TestBooked:
    def test_what_is_booked_is_read_again(self, book, vault, tmp_path):
        kept = leaving(classes=[0, 1, 0], values=["x", "y", None], plan=b"plan", keeps_files=True)
        said = {"verdict": ["It holds."], "accepted_by": "N. N.", "reason": "a study"}
        number = publish(book, tmp_path / "out", leaving=kept, **said)
        again = ReleaseBook.open(vault, dataset="people")
        (found,) = again.releases()
        assert (found.number, found.state, found.receiver) == (number, "left", "university")
        assert (found.kind, found.claims) == ("microdata", (CLAIM,))
        assert (found.people, found.whose, found.matched) == (3, ("person",), False)
        assert found.verdict == ("It holds.",)
        assert (found.accepted_by, found.reason) == ("N. N.", "a study")
        assert found.out == str(tmp_path / "out")
        assert again.plan_of(number) == b"plan"
        manifest = (tmp_path / "out" / "manifest.json").read_bytes()
        assert again.files_of(number) == {"manifest.json": manifest, "data/part.csv": b"age\n40\n"}
        for word in ("N. N.", "a study", "It holds", str(tmp_path)):
            assert word not in repr(found) + repr(again)

    def test_rows_are_read_again_by_class(self, book, tmp_path):
        kept = leaving(["a", "b", "a"], classes=[7, 0, 7], values=["x", None, "x"])
        rows = book.people_of(publish(book, tmp_path / "out", leaving=kept))
        assert rows.classes.tolist() == [0, 7, 7]
        assert rows.persons[1].tolist() == rows.persons[2].tolist() != rows.persons[0].tolist()
        assert rows.sensitive["job"][1] == rows.sensitive["job"][2] != rows.sensitive["job"][0]

    def test_a_release_without_rows(self, book, tmp_path):
        number = publish(book, tmp_path / "out")
        assert book.people_of(number) is book.plan_of(number) is None
        assert book.files_of(number) == {}
        assert book.releases()[0].people is None

    def test_nobody_is_in_a_release(self, book, tmp_path):
        rows = LeavingRows(
            whose=pl.DataFrame({"person": pl.Series([], dtype=pl.Int64)}),
            classes=np.zeros(0, dtype=np.int64),
            sensitive=pl.DataFrame({"job": pl.Series([], dtype=pl.String)}),
        )
        number = publish(book, tmp_path / "out", leaving=Leaving(rows=rows))
        assert book.people_of(number).persons.shape == (0, 2)
        assert book.releases()[0].people == 0

    def test_found_by_number_by_name_and_by_folder(self, book, tmp_path):
        for number in (1, 2):
            assert publish(book, tmp_path / f"{number}", text=f"age\n{number}\n") == number
        assert {book.find(it) for it in (1, "1", tmp_path / "1", str(tmp_path / "1"))} == {1}
        assert {book.find(it) for it in (2, "last", tmp_path / "2")} == {2}
        for unknown in (0, 3, "-1", "first", tmp_path, "", "\0"):
            with pytest.raises(ParameterError, match="doesn't have"):
                book.find(unknown)
        with pytest.raises(ParameterError):
            book.people_of(3)
        publish(book, tmp_path / "3", text="age\n1\n")
        assert book.find(tmp_path / "1") == 3, "the newest of two with one content"
        shutil.rmtree(tmp_path / "2")
        assert book.find(tmp_path / "2") == 2, "a folder that was deleted since"

    def test_folders_that_were_altered_or_deleted(self, book, tmp_path):
        for name in ("same", "data", "manifest", "gone", "moved"):
            publish(book, tmp_path / name)
        (tmp_path / "data" / "data" / "part.csv").write_text("age\n41\n")
        (tmp_path / "manifest" / "manifest.json").write_text("{}")
        shutil.rmtree(tmp_path / "gone")
        (tmp_path / "moved").rename(tmp_path / "elsewhere")
        found = {2: "altered", 3: "altered", 4: "missing", 5: "missing"}
        assert book.check_folders() == found

    def test_the_address_of_a_store_is_kept_and_a_password_is_not(self, book, tmp_path):
        manifest = write_release(tmp_path / "aside")
        for out in ("s3://bucket/release", "postgresql://me:secret@host/people"):
            with book.writing() as pen:
                pen.pending(manifest, tmp_path / "aside", out=out, receiver="all")
        assert [each.out for each in book.releases()] == ["s3://bucket/release", "postgresql://"]
        assert book.check_folders() == {}
        assert b"secret" not in (book._file.vault.folder / SQL_FILE).read_bytes()

    def test_a_clock_that_goes_back_is_named(self, book, tmp_path, monkeypatch):
        monkeypatch.setattr("halfmask.book._release_book._now", lambda: "2026-11-29T00:00:00Z")
        publish(book, tmp_path / "1")
        monkeypatch.setattr("halfmask.book._release_book._now", lambda: "2026-11-28T00:00:00Z")
        with pytest.warns(UserWarning, match="clock was set back"):
            publish(book, tmp_path / "2")
        assert [(each.number, each.time[:10]) for each in book.releases()] == [
            (1, "2026-11-29"),
            (2, "2026-11-28"),
        ]


class TestDigests:
    def test_both_halves_of_a_digest_of_a_person_have_a_key_of_their_own(self, book):
        """Under one key they would be equal, and a digest would be worth eight bytes."""
        frame = pl.DataFrame({"c": range(50)})
        rows = LeavingRows(whose=frame, classes=np.zeros(50, dtype=np.int64), sensitive=frame)
        high, low = book.digest_rows(rows).persons.T

        assert len({*high.tolist(), *low.tolist()}) == 100

    @pytest.mark.parametrize(
        "alike",
        [
            [pl.Series([7]), pl.Series(["7"]), pl.Series([7.0]), pl.Series([7], dtype=pl.UInt8)],
            [pl.Series(["7.00"]).cast(pl.Decimal(9, 2)), pl.Series([7])],
            [pl.Series(["7.50"]).cast(pl.Decimal(9, 2)), pl.Series([7.5])],
            [pl.Series(["a"]), pl.Series(["a"], dtype=pl.Categorical)],
            [
                pl.Series(["2026-01-02"]),
                pl.Series(["2026-01-02"]).str.to_date(),
                pl.Series(["2026-01-02"]).str.to_datetime(time_unit="ms"),
                pl.Series(["2026-01-02"]).str.to_datetime(time_unit="ns"),
            ],
        ],
    )
    def test_a_value_is_the_same_however_a_column_is_typed(self, book, alike):
        found = set()
        for column in alike:
            frame = pl.DataFrame({"c": column})
            rows = LeavingRows(whose=frame, classes=np.array([0]), sensitive=frame)
            made = book.digest_rows(rows)
            found.add((*made.persons[0].tolist(), made.sensitive["c"][0]))
        assert len(found) == 1

    def test_different_values_differ(self, book):
        values = ["7", "07", "70", "7.0", "", " ", "-", "None", "ä", "a\u0308", None]
        frame = pl.DataFrame({"c": values})
        digests = book.digest_rows(
            LeavingRows(whose=frame[:-1], classes=np.zeros(10, dtype=np.int64), sensitive=frame)
        )
        assert len(np.unique(digests.persons, axis=0)) == len(values) - 1
        assert len(np.unique(digests.sensitive["c"])) == len(values)

    def test_the_name_of_the_person_column_is_free_and_of_others_is_not(self, book):
        def rows(name):
            frame = pl.DataFrame({name: ["x"]})
            return book.digest_rows(
                LeavingRows(whose=frame, classes=np.array([0]), sensitive=frame)
            )

        one, two = rows("one"), rows("two")
        assert one.persons.tolist() == two.persons.tolist()
        assert one.sensitive["one"] != two.sensitive["two"]

    def test_matched_columns_are_compared_in_any_order_but_not_with_others(self, book):
        def persons(*, matched=True, **columns):
            frame = pl.DataFrame({name: [value] for name, value in columns.items()})
            none = pl.DataFrame()
            rows = LeavingRows(whose=frame, classes=np.array([0]), sensitive=none, matched=matched)
            return book.digest_rows(rows).persons.tolist()

        known = persons(age=40, town="x")
        assert known == persons(town="x", age="40")
        others = [persons(age="4", town="0x"), persons(age=40, place="x"), persons(age=40)]
        others += [persons(matched=False, age=40, town="x"), persons(age=40, town=None)]
        assert known not in others
        assert persons(age=None, town="x") != persons(age="x", town=None)

    def test_digests_are_of_one_book(self, book, vault):
        other = ReleaseBook.create(vault, dataset="others")
        rows = leaving(["a"]).rows
        assert book.digest_rows(rows).persons.tolist() != other.digest_rows(rows).persons.tolist()

    def test_people_take_little_room(self, book):
        """A million may take 100 MB."""
        n = 20_000
        frame = pl.DataFrame({"one": range(n), "two": [number % 50 for number in range(n)]})
        rows = LeavingRows(whose=frame[["one"]], classes=np.arange(n) // 7, sensitive=frame)
        digests = book.digest_rows(rows)
        assert digests.n_people == n
        assert len(digests.to_bytes()) < 30 * n

    @pytest.mark.parametrize(
        ("number", "dtype"),
        [(2.0**53, pl.Float64), (2.0**24, pl.Float32), (float("nan"), pl.Float64)],
    )
    def test_floats_that_can_be_two_people_are_refused(self, book, number, dtype):
        """As whole numbers, the same people have other texts: they would pass as new ones."""
        whose = pl.DataFrame({"person": pl.Series([1.0, number], dtype=dtype)})
        rows = LeavingRows(whose=whose, classes=np.zeros(2, dtype=np.int64), sensitive=whose)
        with pytest.raises(DataError, match="1 floats that name nobody for certain"):
            book.digest_rows(rows)
        assert book.digest_rows(replace(rows, matched=True)).n_people == 2

    def test_a_row_of_nobody_is_refused(self, book, tmp_path):
        with pytest.raises(DataError, match="nobody in 1 rows"):
            publish(book, tmp_path / "out", leaving=leaving(["a", None]))
        assert states(book) == []

    def test_no_value_is_in_the_file(self, book, vault, tmp_path):
        kept = leaving(["Mallory"], values=["leprosy"], plan=b"cut at Mallory")
        publish(book, tmp_path / "out", leaving=kept)
        raw = (vault.folder / SQL_FILE).read_bytes()
        assert b"Mallory" not in raw
        assert b"leprosy" not in raw
        assert b"PAR1" not in raw


class TestForgotten:
    def test_one(self, book, vault, tmp_path):
        for name in ("1", "2"):
            publish(book, tmp_path / name, leaving=Leaving(plan=b"plan"))
        with closing(sqlite3.connect(vault.folder / SQL_FILE)) as connection:
            sealed = dict(connection.execute("SELECT number, sealed FROM parts"))
        raw = (vault.folder / SQL_FILE).read_bytes()
        assert sealed[1][:99] in raw
        assert sealed[2][:99] in raw
        book.forget(1)
        assert [each.forgotten for each in book.releases()] == [True, False]
        with pytest.raises(VaultError, match="Release 1 was forgotten"):
            book.plan_of(1)
        assert book.plan_of(2) == b"plan"
        assert "book/people/1" not in vault.names()
        assert "book/people/2" in vault.names()
        raw = (vault.folder / SQL_FILE).read_bytes()
        assert sealed[1][:99] not in raw
        assert sealed[2][:99] in raw

    def test_all_once(self, book, tmp_path):
        for name in ("1", "2"):
            publish(book, tmp_path / name, leaving=leaving())
        book.forget()
        book.forget()
        assert all(each.forgotten for each in book.releases())
        assert len(book._file.entries()) == 6  # made, two each, and one for all
        assert publish(book, tmp_path / "3", leaving=leaving()) == 3
        assert [each.forgotten for each in book.releases()] == [True, True, False]

    def test_none_of_that_number(self, book):
        with pytest.raises(ParameterError):
            book.forget(1)


class TestMaking:
    def test_it_must_be_made_first(self, vault):
        with pytest.raises(VaultError, match="no book of that data set"):
            ReleaseBook.open(vault, dataset="people")

    def test_it_is_made_once(self, vault):
        ReleaseBook.create(vault, dataset="people")
        with pytest.raises(VaultError, match="already"):
            ReleaseBook.create(vault, dataset="people")

    def test_one_whose_file_is_gone_is_not_made_again(self, book, vault):
        """Else a deleted book would be a new, empty one."""
        (vault.folder / SQL_FILE).unlink()
        with pytest.raises(VaultError, match="already"):
            ReleaseBook.create(vault, dataset="people")
        with pytest.raises(VaultError, match="no book"):
            book.releases()

    @pytest.mark.parametrize("name", ["", "a/b", "..", "a" * 65, ".hidden", "ä", None, 7])
    def test_a_name_that_no_file_can_have(self, vault, name):
        with pytest.raises(ParameterError, match="'dataset' parameter of ReleaseBook"):
            ReleaseBook.create(vault, dataset=name)

    def test_a_path_is_no_vault(self, vault):
        with pytest.raises(ParameterError, match="must be a Vault"):
            ReleaseBook.open(str(vault.folder), dataset="people")  # type: ignore[arg-type]

    def test_a_rotated_vault_still_opens_it(self, book, vault, tmp_path):
        number = publish(book, tmp_path / "out", leaving=leaving(plan=b"plan"))
        vault.rotate()
        assert ReleaseBook.open(vault, dataset="people").plan_of(number) == b"plan"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A vault whose book has two releases, which each test copies: making it takes longer."""
    here = tmp_path_factory.mktemp("kept")
    vault = Vault.create(here / "vault", lock=KeyFile.create(here / "key"))
    book = ReleaseBook.create(vault, dataset="people")
    for name in ("1", "2"):
        publish(book, here / name, leaving=leaving(plan=b"plan"))
    return here


class TestDamaged:
    @pytest.fixture
    def vault(self, kept, tmp_path):
        shutil.copytree(kept / "vault", tmp_path / "vault")
        return Vault.open(tmp_path / "vault", lock=KeyFile(kept / "key"))

    @pytest.fixture
    def two(self, vault):
        return ReleaseBook.open(vault, dataset="people")

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE entries SET entry = replace(entry, 'university', 'nobody') WHERE position = 2",
            "UPDATE entries SET entry = 'no JSON' WHERE position = 3",
            "UPDATE entries SET entry = NULL, mac = NULL WHERE position = 3",
            "UPDATE entries SET mac = x'00' WHERE position = 4",
            "UPDATE entries SET position = 9 WHERE position = 5",
            "DELETE FROM entries WHERE position = 3",
            "DELETE FROM entries WHERE position = 5",
            "DELETE FROM entries WHERE position > 3",
            "DELETE FROM entries",
            "DROP TABLE entries",
            "PRAGMA user_version = 2",
        ],
    )
    def test_an_altered_or_deleted_entry_is_found(self, two, vault, statement, tmp_path):
        statement = statement.replace("entry = NULL, mac = NULL", "entry = '', mac = ''")
        change(vault, statement)
        for look in (
            two.releases,
            lambda: ReleaseBook.open(vault, dataset="people"),
            lambda: publish(two, tmp_path / "3"),
        ):
            with pytest.raises(IntegrityError):
                look()

    def test_an_entry_that_was_moved_is_found(self, two, vault):
        change(vault, "UPDATE entries SET position = -position WHERE position IN (2, 4)")
        change(vault, "UPDATE entries SET position = 6 + position WHERE position < 0")
        with pytest.raises(IntegrityError):
            two.releases()

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE parts SET sealed = x'00' WHERE number = 1",
            "UPDATE parts SET sealed = 'text' WHERE number = 1",
            "DELETE FROM parts WHERE number = 1",
            "UPDATE parts SET sealed = (SELECT sealed FROM parts WHERE number = 2)",
            "UPDATE parts SET name = CASE name WHEN 'plan' THEN 'people' ELSE 'plan' || name END",
        ],
    )
    def test_an_altered_part_is_found(self, two, vault, statement):
        change(vault, statement)
        assert states(two) == ["left", "left"]
        with pytest.raises(VaultError):
            two.people_of(1)

    def test_a_file_that_is_none(self, two, vault):
        (vault.folder / SQL_FILE).write_bytes(b"no book" * 1000)
        with pytest.raises(IntegrityError):
            two.releases()

    def test_a_cut_off_file(self, two, vault):
        raw = (vault.folder / SQL_FILE).read_bytes()
        for length in (0, 100, 4096, len(raw) // 2):
            (vault.folder / SQL_FILE).write_bytes(raw[:length])
            with pytest.raises(IntegrityError):
                two.releases()

    def test_a_file_that_others_may_read(self, two, vault):
        (vault.folder / SQL_FILE).chmod(0o644)
        with pytest.raises(VaultError, match="0644"):
            two.releases()

    def test_an_earlier_copy_of_the_file(self, two, vault, tmp_path):
        copy = (vault.folder / SQL_FILE).read_bytes()
        publish(two, tmp_path / "3")
        (vault.folder / SQL_FILE).write_bytes(copy)
        with pytest.raises(IntegrityError, match="newest entries"):
            two.releases()

    def test_a_book_of_another_data_set(self, vault):
        other = ReleaseBook.create(vault, dataset="others")
        (vault.folder / SQL_FILE).replace(vault.folder / "others.book")
        with pytest.raises(KeyMismatchError, match="another vault or data set"):
            other.releases()

    def test_a_renamed_book(self, vault):
        (vault.folder / SQL_FILE).rename(vault.folder / "renamed.book")
        with pytest.raises(KeyMismatchError):
            ReleaseBook.open(vault, dataset="renamed")

    def test_digests_under_another_key(self, vault, tmp_path):
        """A book that was copied into another vault isn't written: nobody would be the same."""
        other = Vault.create(tmp_path / "other", lock=KeyFile.create(tmp_path / "key2"))
        shutil.copy(vault.folder / SQL_FILE, other.folder / SQL_FILE)
        with pytest.raises(KeyMismatchError):
            ReleaseBook.open(other, dataset="people")
        (other.folder / SQL_FILE).unlink()
        ReleaseBook.create(other, dataset="people")
        shutil.copy(vault.folder / SQL_FILE, other.folder / SQL_FILE)
        with pytest.raises(KeyMismatchError):
            ReleaseBook.open(other, dataset="people")

    def test_a_key_that_was_destroyed(self, two, vault):
        vault.destroy("book/people/1")
        with pytest.raises(VaultError, match="no secret"):
            two.people_of(1)
        vault.destroy("book/people")
        with pytest.raises(KeyMismatchError):
            two.releases()


class TestDepartures:
    def test_one_that_fails_before_its_name_is_void(self, book, vault, tmp_path):
        with pytest.raises(RuntimeError), publishing(book, tmp_path / "out", leaving=leaving()):
            raise RuntimeError
        assert states(book) == ["void"]
        assert book.people_of(1) is None
        assert book.check_folders() == {}
        assert "book/people/1" not in vault.names()
        shutil.rmtree(tmp_path / ".out")
        assert publish(book, tmp_path / "out") == 2
        assert states(book) == ["void", "left"]
        assert book.find("last") == 2

    def test_one_that_fails_after_its_name_has_left(self, book, tmp_path):
        with pytest.raises(KeyboardInterrupt):
            book_and_fail(book, tmp_path, tmp_path / "out", named=True)
        assert states(book) == ["left"]

    def test_one_that_ended_well_has_left_wherever_it_is(self, book, tmp_path):
        manifest = write_release(tmp_path / "moved")
        with book.writing() as pen:
            pen.pending(manifest, tmp_path / "moved", out=tmp_path / "out", receiver="all")
        assert states(book) == ["left"]

    def test_an_earlier_release_of_that_name_is_not_it(self, book, tmp_path):
        publish(book, tmp_path / "out")
        with pytest.raises(RuntimeError), publishing(book, tmp_path / "out", text="age\n41\n"):
            raise RuntimeError
        assert states(book) == ["left", "void"]

    def test_where_nobody_can_look_it_has_left(self, book, tmp_path):
        for out in ("s3://bucket/release", tmp_path / "unmounted" / "out"):
            with pytest.raises(KeyboardInterrupt):
                book_and_fail(book, tmp_path, out, named=False)
            shutil.rmtree(tmp_path / "aside")
        assert states(book) == ["left", "left"]

    def test_others_wait_and_say_so(self, book, vault, tmp_path, monkeypatch):
        monkeypatch.setattr("halfmask.book._book_file.PATIENCE", 0.05)
        other = ReleaseBook.open(vault, dataset="people")
        with publishing(book, tmp_path / "out"):
            assert states(other) == ["pending"]
            with pytest.raises(VaultError, match="in use"):
                publish(other, tmp_path / "other")
        assert states(other) == ["left"]

    def test_a_book_waits_for_who_writes_the_vault(self, book, vault, tmp_path, monkeypatch):
        with ExitStack() as stack:
            stack.enter_context(sole_writer(vault.folder))
            monkeypatch.setattr("time.sleep", lambda _: stack.close())
            publish(book, tmp_path / "out", leaving=leaving())
        assert states(book) == ["left"]


CLIENT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from book.conftest import leaving, publish
from halfmask.book import ReleaseBook
from halfmask.vault import KeyFile, Vault
here, name = Path(sys.argv[1]), sys.argv[2]
book = ReleaseBook.open(Vault.open(here / "vault", lock=KeyFile(here / "key")), dataset="people")
for number in range(5):
    publish(book, here / f"{name}-{number}", receiver=name, leaving=leaving())
"""


@pytest.mark.slow
def test_processes_that_book_at_the_same_time_take_turns(book, tmp_path):
    tests = __file__.rpartition("/book/")[0]
    started = [
        subprocess.Popen([sys.executable, "-c", CLIENT, str(tmp_path), name, tests])
        for name in ("a", "b")
    ]
    assert [each.wait(100) for each in started] == [0, 0]
    found = book.releases()
    assert [each.number for each in found] == list(range(1, 11))
    assert states(book) == ["left"] * 10
    for name in ("a", "b"):
        assert [each.out[-3:] for each in found if each.receiver == name] == [
            f"{name}-{number}" for number in range(5)
        ]
    assert book.check_folders() == {}


class Unsynced(sqlite3.Connection):
    """A connection that leaves the disk alone, since it takes a minute."""

    def execute(self, statement, *values):
        return super().execute(statement.replace("EXTRA", "OFF"), *values)


@pytest.mark.slow
def test_a_thousand_releases(book, vault, tmp_path, monkeypatch):
    """Each is found, and the book is read in an instant."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    connect = partial(sqlite3.connect, factory=Unsynced)
    monkeypatch.setattr("halfmask.vault.private_database.sqlite3.connect", connect)
    aside = tmp_path / "aside"
    manifest = write_release(aside)
    with book.writing() as pen:
        for number in range(1, 1000):
            assert number == pen.pending(
                manifest, aside, out=f"s3://bucket/{number}", receiver=f"{number % 7}"
            )
            pen.settle(ended_well=True)
    assert publish(book, tmp_path / "out", leaving=leaving(plan=b"plan")) == 1000
    again = ReleaseBook.open(vault, dataset="people")
    assert [each.number for each in again.releases()] == list(range(1, 1001))
    assert states(again) == ["left"] * 1000
    assert (again.find("last"), again.find(tmp_path / "out"), again.find(999)) == (1000, 1000, 999)
    assert again.plan_of(1000) == b"plan"
    again.forget()
    assert all(each.forgotten for each in again.releases())
