"""Files damaged at random: an error of ours or a table, and never a word of the file."""

from __future__ import annotations

import random

import polars as pl
import pytest

from halfmask._errors import DataError, HalfmaskError
from halfmask.data import open_table, write_table
from halfmask.data.io.places import reading

CANARY = "canary-Zx81"
TABLE = pl.DataFrame(
    {
        "a": [f"{CANARY}{n}" for n in range(20)],
        "b": list(range(20)),
        "c": [1.5, None] * 10,
        "d": [True, None] * 10,
    }
)
PIECES = [b'"', b",", b"\n", b"\r", b"\0", b"{", b"}", b"\xff", b":", b'"",', b"\\"]


def damaged(content, source):
    data = bytearray(content)
    for _ in range(source.choice([1, 1, 2, 5])):
        place = source.randrange(len(data) + 1)
        kind = source.random()
        if kind < 0.4:
            data[place : place + 1] = bytes([source.randrange(256)])
        elif kind < 0.6:
            del data[place : place + source.randrange(1, 20)]
        elif kind < 0.8:
            data[place:place] = source.choice(PIECES)
        else:
            del data[place:]
    return bytes(data)


@pytest.mark.filterwarnings("ignore::halfmask._errors.ColumnWarning")
@pytest.mark.parametrize(
    "form", ["csv", "csv.gz", "jsonl", "jsonl.zst", "parquet", "arrow", "arrows"]
)
def test_damage_is_told_without_a_word_of_the_file(tmp_path, form):
    write_table(TABLE, tmp_path / f"whole.{form}")
    content = (tmp_path / f"whole.{form}").read_bytes()
    path = tmp_path / f"{CANARY}.{form}"
    source = random.Random(form)
    refused = 0
    for _ in range(60):
        path.write_bytes(damaged(content, source))
        try:
            table = open_table(path)
            table.read()
            list(table.batches(7, columns=table.columns[:1]))
        except HalfmaskError as error:
            refused += 1
            assert CANARY not in repr(error)  # noqa: PT017 - some damage leaves a readable file

    assert refused > 30


@pytest.mark.parametrize(
    "error",
    [
        OSError(13, CANARY, CANARY),
        OSError(CANARY),
        UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, CANARY),
        MemoryError(CANARY),
        ValueError(CANARY),
        pl.exceptions.ComputeError(CANARY),
        pl.exceptions.PanicException(CANARY),
        RuntimeError(CANARY),
    ],
)
def test_no_foreign_error_gets_through(error):
    with pytest.raises(DataError) as caught, reading("The table to read", "CSV"):
        raise error

    assert CANARY not in repr(caught.value)
    assert caught.value.__suppress_context__
