"""Hashed rows in a file are all there, or an error."""

from __future__ import annotations

import pytest

from halfmask import DataError
from halfmask.hashing import HashedRows, RowsWriter, read_rows
from halfmask.trainer.client import HashedSource
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    rows_of,
)


@pytest.fixture
def file(tmp_path):
    with RowsWriter(tmp_path / "sent.arrows") as writer:
        for start in range(0, 90, 30):
            writer.write(rows_of(90).slice(start, start + 30))
    return tmp_path / "sent.arrows"


def test_rows_are_those_that_were_written_as_often_as_they_are_read(file):
    source = HashedSource(file)

    assert source.rows == 90
    for _ in range(2):
        assert HashedRows.concat(source).equals(rows_of(90))


def test_a_file_that_was_cut_anywhere_is_an_error(file):
    """Between two batches, too, where what is left looks whole."""
    whole = file.read_bytes()

    for end in range(0, len(whole), 4):
        file.write_bytes(whole[:end])
        with pytest.raises(DataError):
            HashedSource(file)


@pytest.mark.parametrize("name", ["nothing", "."])
def test_what_isn_t_a_file_is_an_error_without_its_name(tmp_path, name):
    where = tmp_path / "CANARY"
    where.mkdir()

    with pytest.raises(DataError) as caught:
        HashedSource(where / name)

    assert "CANARY" not in str(caught.value)


def test_the_reader_of_files_sees_a_cut_as_well(file):
    whole = file.read_bytes()
    assert HashedRows.concat(read_rows(file)).equals(rows_of(90))

    for end in (len(whole) - 8, len(whole) - 4):
        file.write_bytes(whole[:end])
        with pytest.raises(DataError):
            list(read_rows(file))
