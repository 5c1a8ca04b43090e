"""Rows that lie aside between the parts of a table and the files of a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask import ReleaseError
from halfmask._random import keyed_integers, keyed_order
from halfmask.microdata import _writing, protect, protect_to
from halfmask.microdata._writing import put_aside, taken_back
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    people,
    policy,
)


def table(n, first=0):
    """Return rows with a column of each kind that IPC writes in its own way."""
    numbers = np.arange(first, first + n)
    texts = pl.Series([f"more than twelve bytes {i % 5}" for i in numbers], dtype=pl.String)
    return pl.DataFrame(
        {
            "number": numbers,
            "text": texts,
            "category": texts.cast(pl.Categorical),
            "few": pl.Series([["x", "y", None][i % 3] for i in numbers], dtype=pl.Enum(["x", "y"])),
            "day": pl.Series(numbers, dtype=pl.Int32).cast(pl.Date),
        }
    )


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=4))
def test_each_piece_comes_back_in_the_order_of_the_parts(tmp_path_factory, sizes):
    folder, first = tmp_path_factory.mktemp("aside"), 0
    written: list[list[pl.DataFrame]] = []
    for number, part in enumerate(sizes):
        written.append([table(n, first + 10 * at) for at, n in enumerate(part)])
        put_aside(folder, number, written[-1])
        first += 30

    for piece in range(3):
        found = taken_back(folder, len(sizes), piece, 3)
        assert found.equals(pl.concat([part[piece] for part in written]))
    assert len(list(folder.iterdir())) == len(sizes)


def test_a_part_that_is_written_twice_is_there_once(tmp_path):
    for _ in range(2):
        put_aside(tmp_path, 0, [table(3), table(4, 3)])

    assert [path.name for path in tmp_path.iterdir()] == ["0.rows"]
    assert taken_back(tmp_path, 1, 1, 2).equals(table(4, 3))


def test_a_worker_that_does_not_see_the_folder(tmp_path):
    with pytest.raises(ReleaseError, match="A worker can't write to the folder"):
        put_aside(tmp_path / "elsewhere", 0, [table(1)])
    put_aside(tmp_path, 0, [table(1)])
    with pytest.raises(ReleaseError, match="or read what another worker wrote"):
        taken_back(tmp_path, 2, 0, 1)


@pytest.fixture
def many(monkeypatch):
    """Read 240 people in 16 parts, and write 12 files."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 15)
    monkeypatch.setattr(_writing, "PART_ROWS", 20)
    monkeypatch.setattr("halfmask.microdata._classes.render_report", lambda _facts: "")


@pytest.mark.slow
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("divided", [False, True], ids=["frame", "parquet"])
def test_a_part_of_the_table_is_one_file_aside(tmp_path, monkeypatch, divided):
    """16 parts and 12 files are 16 files aside, not 192."""
    seen: set[str] = set()

    def watched(folder, *numbers):
        seen.update(path.name for path in folder.iterdir())
        return taken_back(folder, *numbers)

    monkeypatch.setattr(_writing, "taken_back", watched)
    rows = people()
    if divided:
        rows.write_parquet(tmp_path / "people.parquet")
    protect_to(tmp_path / "people.parquet" if divided else rows, policy(), tmp_path / "out")

    assert seen == {f"{n}.rows" for n in range(16)}
    assert len(list((tmp_path / "out" / "data").iterdir())) == 12
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "data",
        "manifest.json",
        "report.html",
    }


@pytest.mark.usefixtures("many")
def test_a_file_has_the_rows_that_the_key_draws_for_it(tmp_path):
    """Counted apart: a row's file and its place there come from the key and the row's place."""
    release = protect(people(), policy(), key=KEY)
    release.write(tmp_path / "out")
    files: list[list[int]] = [[] for _ in range(12)]
    for number, batch in enumerate(release.source.placed()):
        drawn = keyed_integers(batch.height, key=KEY, stream=(1 << 32) + number)
        for row, integer in zip(batch["row"].to_list(), drawn.tolist(), strict=True):
            files[integer % 12].append(row)

    for number, rows in enumerate(files):
        found = pl.read_parquet(tmp_path / "out" / "data" / f"part-{number:05d}.parquet")
        order = keyed_order(len(rows), key=KEY, stream=number).tolist()
        assert found["row"].to_list() == [rows[place] for place in order]


@pytest.mark.usefixtures("many")
def test_a_full_disk_while_rows_are_put_aside(tmp_path, monkeypatch):
    """A disk that fills up with the rows on their way is told as one; nothing is left."""
    release = protect(people(), policy())
    real = Path.open

    def full(path, mode="r", *more, **named):
        # The system itself refuses what is written there.
        where = Path("/dev/full") if ".order" in path.parts else path
        return real(where, mode, *more, **named)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ReleaseError, match="disk is full"):
        release.write(tmp_path / "out")

    assert not list(tmp_path.iterdir())
