"""``halfmask hash``: a hasher in a vault, integers out."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask.hashing import FileHasher, HashedRows, read_rows
from halfmask.vault import KeyFile, Vault


def people(n=300, seed=0):
    """Return rows in which every text is a canary."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "town": rng.choice(["CANARY-Bree", "CANARY-Dale"], n),
            "note": rng.choice(["CANARY one", "CANARY two"], n),
            "pays": rng.choice(["CANARY-yes", "CANARY-no"], n),
        }
    )


class Home:
    """A folder with a vault and a table, and the words that name them."""

    def __init__(self, folder: Path):
        self.folder = folder / "CANARY-folder"
        self.folder.mkdir()
        self.where, self.key = self.folder / "vault", self.folder / "key"
        self.vault = Vault.create(self.where, lock=KeyFile.create(self.key))
        self.rows = people()
        self.rows.write_parquet(self / "people.parquet")

    def __truediv__(self, name):
        return self.folder / name

    def hash(self, out, *more, hasher="clicks", table="people.parquet"):
        vault = ["--vault", self.where, "--hasher", hasher, "--key-file", self.key]
        where = out if out == "-" else self / out
        return ["hash", table if table == "-" else self / table, where, *vault, *more]

    def hasher(self, name="clicks"):
        secret = self.vault.secret(f"hasher/{name}/key", create=False)
        data = self.vault.unseal(f"hasher/{name}", context=f"hasher/{name}")
        return FileHasher.from_bytes(data, secret=secret)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def read(path):
    return HashedRows.concat(read_rows(path))


def test_fit_and_hash(run, home):
    """The first time fits, seals and hashes; later only hashes, alike; nothing holds a cell."""
    made = run(*home.hash("sent.arrows", "--fit", "--label", "pays", "--text", "note"))
    again = run(*home.hash("again.arrows"))

    assert [made.status, again.status] == [0, 0], made.err + again.err
    sent = (home / "sent.arrows").read_bytes()
    assert sent == (home / "again.arrows").read_bytes()
    assert b"CANARY" not in sent
    rows = read(home / "sent.arrows")
    assert rows.equals(HashedRows.concat(home.hasher().rows(home.rows)))
    assert rows.label_kind == "binary"
    for answer in (made, again):
        assert answer.out == ""
        assert "CANARY" not in answer.err
        assert "300 rows" in answer.err
    files = [it for it in home.where.rglob("*") if it.is_file()]
    assert b"CANARY" not in b"".join(it.read_bytes() for it in files)
    assert {stat.S_IMODE(it.stat().st_mode) for it in files} == {0o600}


def test_every_setting_is_the_hasher_s(run, home):
    done = run(
        *home.hash("sent.arrows", "--fit", "--bits", 12, "--signed", "--numbers", "quantiles"),
        *("--bins", 5, "--bins-per-octave", 8, "--interaction", "age,town", "--text", "note"),
        *("--words", "1,2", "--characters", "3", "--leave-out", "pays", "--json"),
    )

    settings = home.hasher().plan.settings
    assert done.json == {
        "ok": True, "rows": 300, "bits": 12, "columns": 3, "width": None, "label": None,
        "classes": None,
    }  # fmt: skip
    assert (settings.bits, settings.signed, settings.bins, settings.bins_per_octave) == (
        12,
        True,
        5,
        8,
    )
    assert (settings.ngrams, settings.characters) == ((1, 2), (3, 3))
    assert settings.interactions == (("age", "town"),)
    assert read(home / "sent.arrows").bits == 12


def test_only_characters(run, home):
    run(*home.hash("sent.arrows", "--fit", "--text", "note", "--words", "0", "--characters", "2,3"))

    settings = home.hasher().plan.settings
    assert (settings.ngrams, settings.characters) == (None, (2, 3))


def test_programs_get_one_object(run, home):
    words = ("--fit", "--label", "age", "--task", "regression", "--numbers", "log", "--json")
    made = run(*home.hash("sent.arrows", *words, "--categorical", "age"))
    assert made.json["code"] == "column-not-found"  # the label isn't hashed

    made = run(*home.hash("sent.arrows", *words))
    assert made.json == {
        "ok": True, "rows": 300, "bits": 22, "columns": 3, "width": 3, "label": "number",
        "classes": None,
    }  # fmt: skip


def test_rows_to_be_predicted(run, home):
    """Rows without the label, or with it left away, are hashed as those with it."""
    assert run(*home.hash("sent.arrows", "--fit", "--label", "pays")).status == 0
    home.rows.drop("pays").write_csv(home / "asked.csv")

    done = [
        run(*home.hash("one.arrows", table="asked.csv")).status,
        run(*home.hash("two.arrows", "--without-labels")).status,
    ]

    assert done == [0, 0]
    one, two = read(home / "one.arrows"), read(home / "two.arrows")
    assert one.equals(two)
    assert one.labels is None
    assert (one.indices == read(home / "sent.arrows").indices).all()


@pytest.mark.slow
def test_a_name_that_ends_in_a_slash_is_a_folder(run, home):
    words = home.hash("sent.arrows", "--fit", "--label", "pays")
    into = [*words[:2], f"{home / 'sent'}/", *words[3:]]
    made, one = run(*into, "--engine", "local"), run(*home.hash("sent.arrows"))
    file = run(*home.hash("more.arrows", "--engine", "dask://127.0.0.1:1"))

    assert [made.status, one.status, file.status] == [0, 0, 2], made.err + one.err
    assert read(home / "sent").equals(read(home / "sent.arrows"))
    assert "Let OUT end in /" in file.err


@pytest.mark.slow
def test_a_pipe_in_and_a_pipe_out(home):
    table = home.rows.write_csv().encode()
    words = home.hash("-", "--fit", "--label", "pays", table="-")

    code = "import sys; from halfmask.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        input=table, capture_output=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    (home / "out.arrows").write_bytes(done.stdout)
    assert read(home / "out.arrows").equals(HashedRows.concat(home.hasher().rows(home.rows)))


WRONG: dict[str, tuple[list[Any], int]] = {
    "settings without a fit": (["--bits", 3], 2),
    "a label without a fit": (["--label", "pays"], 2),
    "bits out of range": (["--fit", "--bits", 40], 2),
    "bins of no number": (["--fit", "--bins-per-octave", 3], 2),
    "lengths of no number": (["--fit", "--text", "note", "--words", "one"], 2),
    "lengths the wrong way": (["--fit", "--text", "note", "--words", "3,1"], 2),
    "a column that isn't there": (["--fit", "--label", "nowhere"], 1),
    "an interaction of one": (["--fit", "--interaction", "age"], 2),
    "a hasher that isn't there": ([], 1),
    "json to standard output": (["--fit", "--json"], 2),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", WRONG)
def test_what_can_t_be_is_told(run, home, name):
    """And nothing is sealed or written."""
    more, status = WRONG[name]
    before = sorted(home.folder.iterdir())

    done = run(*home.hash("-" if "--json" in more else "out.arrows", *more))

    assert done.status == status, done.err
    assert "CANARY" not in done.out + done.err
    assert sorted(home.folder.iterdir()) == before
    assert [it for it in home.vault.names() if not it.endswith("/key")] == []


def test_a_name_is_taken_once(run, home):
    assert run(*home.hash("sent.arrows", "--fit")).status == 0

    again = run(*home.hash("again.arrows", "--fit"))

    assert again.status == 1
    assert "already" in again.err
    assert run(*home.hash("again.arrows", "--fit", hasher="other")).status == 0
    one, other = read(home / "sent.arrows"), read(home / "again.arrows")
    assert not set(one.indices.ravel()) & set(other.indices.ravel())


def test_a_file_is_overwritten_when_that_is_said(run, home):
    assert run(*home.hash("sent.arrows", "--fit")).status == 0

    assert run(*home.hash("sent.arrows")).status == 1
    assert run(*home.hash("sent.arrows", "--overwrite")).status == 0


def mixed(home, cells, name="mixed.csv"):
    """Write a table with a column whose cells are these, and the rest of them numbers."""
    rows = [*cells, *map(str, range(60 - len(cells)))]
    text = "\n".join(["pay;town", *(f"{cell};CANARY-{i % 2}" for i, cell in enumerate(rows))])
    (home / name).write_text(text)
    return name


@pytest.mark.slow
def test_numbers_beside_a_marker_are_said_and_read_by_options(run, home):
    """One NA would make names of all numbers without a word."""
    table = mixed(home, ["NA", "?"])
    words = ["--fit", "--delimiter", ";"]

    silent = run(*home.hash("a.arrows", *words, hasher="a", table=table))
    said = ["--dtype", "pay=integer", "--coerce", "pay"]
    read = run(*home.hash("b.arrows", *words, *said, hasher="b", table=table))
    text = run(*home.hash("c.arrows", *words, "--dtype", "pay=string", hasher="c", table=table))

    assert [each.status for each in (silent, read, text)] == [0, 0, 0]
    assert "Warning: Column 'pay' looks like numbers" in silent.err
    assert "58 of 60 cells" in silent.err
    assert "2 of 60 cells don't fit its declaration (2 are markers such as NA)" in read.err
    assert "Warning" not in text.err
    assert "CANARY" not in silent.err + read.err
    kinds = [{it.name: it.kind for it in home.hasher(n).plan.columns} for n in ("a", "b", "c")]
    assert [each["pay"] for each in kinds] == ["text", "integer", "text"]


def test_formats_of_numbers_and_dates_are_options(run, home):
    rows = [f"{i}.000,5 EUR;31-12-{40 + i}" for i in range(1, 60)]
    (home / "odd.csv").write_text("\n".join(["pay;born", *rows]))
    said = ["--number-format", "pay=1.234,5 EUR", "--date-format", "born=%d-%m-%y",
            "--first-year", "born=1930", "--delimiter", ";"]  # fmt: skip

    made = run(*home.hash("sent.arrows", "--fit", *said, table="odd.csv"))

    assert made.status == 0
    assert made.err.count("Warning") == 0
    kinds = {it.name: it.kind for it in home.hasher().plan.columns}
    assert kinds == {"pay": "float", "born": "date"}


@pytest.mark.parametrize(
    "words",
    [["--dtype", "pay"], ["--dtype", "pay=whole"], ["--first-year", "pay=x"], ["--coerce", "pay"],
     ["--number-format", "pay=1.234"], ["--date-format", "=%d.%m.%Y"]],
)  # fmt: skip
def test_what_can_t_be_said_of_a_column_is_misuse(run, home, words):
    answer = run(*home.hash("sent.arrows", "--fit", *words))

    assert answer.status == 2


def test_a_later_table_is_told_of_the_fit(run, home):
    """Nobody declared Int64: it is what was seen at the fit."""
    early, late = mixed(home, []), mixed(home, ["x"], "late.csv")
    run(*home.hash("a.arrows", "--fit", "--delimiter", ";", table=early))

    answer = run(*home.hash("b.arrows", "--delimiter", ";", table=late))

    assert answer.status == 1
    assert "Column 'pay' held Int64 at the fit, and 1 of 60 cells" in answer.err
    assert "declared" not in answer.err
