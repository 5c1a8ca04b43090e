"""Formats of tables, by the first bytes and by the end of a name."""

from __future__ import annotations

import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.data.io.formats import (
    FORMATS,
    FileForm,
    compression_of_bytes,
    form_of_name,
    format_of_bytes,
)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("people.csv", FileForm("csv")),
        ("PEOPLE.CSV", FileForm("csv")),
        ("a.b.tsv.zst", FileForm("tsv", "zstd")),
        ("people.jsonl.gz", FileForm("jsonl", "gzip")),
        ("people.parquet", FileForm("parquet")),
        ("people.feather", FileForm("arrow")),
        ("people.gz", None),
        ("people", None),
        (".csv", None),
    ],
)
def test_the_end_of_a_name_says_the_form(name, form):
    assert form_of_name(name) == form


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
def test_what_is_compressed_inside_is_not_compressed_as_a_whole(form):
    with pytest.raises(ParameterError, match="compressed inside"):
        FileForm(form, "gzip")


def test_a_format_that_is_not_known_is_refused():
    with pytest.raises(ParameterError, match="one of 'arrow'"):
        FileForm("xlsx")  # type: ignore[arg-type] # that is what is tested


@pytest.mark.parametrize(
    ("start", "compression"),
    [(b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"age,sex", None), (b"", None)],
)
def test_the_first_bytes_say_the_compression(start, compression):
    assert compression_of_bytes(start) == compression


@pytest.mark.parametrize(
    ("start", "declared", "found"),
    [
        (b"PAR1....", None, "parquet"),
        (b"ARROW1..", "arrow", "arrow"),
        (b"\xff\xff\xff\xff", "arrow", "arrows"),
        (b'\xef\xbb\xbf {"a": 1}', None, "jsonl"),
        (b"age,sex\n", None, "csv"),
        (b"age\tsex\n", "tsv", "tsv"),
        (b'{"a": 1}', "csv", "csv"),
    ],
)
def test_the_first_bytes_say_the_format(start, declared, found):
    assert format_of_bytes(start, declared=declared, sure=True, what="It") == found
    assert found in FORMATS


@pytest.mark.parametrize(
    ("start", "declared", "seen"),
    [(b"PAR1", "csv", "of parquet"), (b"age,sex", "parquet", "not of that format")],
)
@pytest.mark.parametrize(("sure", "word"), [(True, "declared"), (False, "named")])
def test_bytes_that_are_of_another_format_are_refused(start, declared, seen, sure, word):
    with pytest.raises(DataError, match=f"It is {word} to be {declared}, but .* {seen}") as refused:
        format_of_bytes(start, declared=declared, sure=sure, what="It")
    assert "format=" in str(refused.value)
    assert "--format" in str(refused.value.at_terminal[1])
