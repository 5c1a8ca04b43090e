"""A CSV file holds the stated columns and rows, whichever reader opens it."""

from __future__ import annotations

import hashlib

import polars as pl
import pytest

from halfmask.verifier.tables import verify


@pytest.fixture
def csv_release(make, claim, naive):
    """A function that writes a sound CSV release, then other lines in the place of its own."""

    def write(change=lambda lines: lines, name="note"):
        frame = pl.DataFrame({"age": ["3"] * 4, name: ["CANARY"] * 4})
        stated = naive(frame).honest(claim("k-anonymity", by=("age",), k=4))
        roles = {"age": "quasi_identifier", name: "insensitive"}
        folder = make(frame, [stated], roles=roles, fmt="csv")
        path = folder.parts[0]
        raw = b"".join(change(path.read_bytes().splitlines(keepends=True)))
        path.write_bytes(raw)
        (file,) = folder.manifest.files
        digest = hashlib.sha256(raw).hexdigest()
        changed = type(file)(
            name=file.name, format="csv", sha256=digest, n_bytes=len(raw), n_rows=file.n_rows
        )
        return verify(folder.rewrite(files=(changed,)).path)

    return write


def test_a_sound_one_holds(csv_release):
    assert csv_release().holds


@pytest.mark.parametrize("name", ['a "quoted" name', "a,b", "two\nlines", "a;b"])
def test_any_name_of_a_column_is_read_as_it_was_written(csv_release, name):
    assert csv_release(name=name).holds


@pytest.mark.parametrize("cells", [["3", None, None, "3"], ["", None, "", None], ["a\rb", "a\rb"]])
def test_a_single_column_with_empty_and_missing_cells_holds(make, claim, naive, cells):
    frame = pl.DataFrame({"age": pl.Series(cells, dtype=pl.String)})
    stated = naive(frame).honest(claim("k-anonymity", by=("age",), k=2))
    folder = make(frame, [stated], roles={"age": "quasi_identifier"}, fmt="csv")

    assert verify(folder.path).holds


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], *(line.replace(b"\n", b",hidden\n") for line in lines[1:])],
        lambda lines: [*lines[:-1], lines[-1].replace(b"\n", b",hidden\n")],
        lambda lines: [*lines[:-1], b"3\n"],
        lambda lines: [*lines[:-1], lines[-1].replace(b"\n", b"\r9,hidden\n")],
        lambda lines: [*lines[:-1], lines[-1].replace(b"\n", b"\rhidden\n")],
        lambda lines: [*lines[:-1], b'3,"x"y\n'],
        lambda lines: [b"age,note,age\n", *(b"3,x,%d\n" % i for i in range(len(lines) - 1))],
    ],
    ids=["more", "more-at-the-end", "fewer", "return", "return-within", "quotes", "names"],
)
def test_rows_that_readers_read_differently_fail(csv_release, change):
    """polars alone passes over cells that no claim is about."""
    found = csv_release(change)

    assert not found.holds
    assert "can't be read" in found.problems[0]
    assert "hidden" not in str(found)
