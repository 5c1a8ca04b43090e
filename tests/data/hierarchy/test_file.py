"""ARX's hierarchy files are read as they are."""

from __future__ import annotations

import csv
import gzip
import io

import polars as pl
import pytest

from halfmask._errors import HierarchyError, ParameterError
from halfmask.data.hierarchy._file import read_hierarchy

CANARY = "CANARY"


@pytest.mark.slow
@pytest.mark.real_data
def test_every_file_of_arx_is_read_and_agrees_with_its_rows(shared_data):
    files = [*shared_data.glob("adult_hierarchies/*"), *shared_data.glob("arx/hierarchies/*")]
    assert len(files) == 17
    for file in files:
        tree = read_hierarchy(file, column=file.stem)

        raw = file.read_bytes()
        text = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode()
        rows = {row[0]: row for row in csv.reader(text.splitlines(), delimiter=";")}
        assert not tree.root_added
        assert len(tree) == len(rows)
        for level in range(tree.height):
            assert list(tree.labels(level)) == [rows[leaf][level] for leaf in tree.leaves]


@pytest.mark.real_data
def test_adult_is_covered_but_for_its_marker_of_missing_values(shared_data):
    names = {"income": "salary-class"}
    adult = pl.read_csv(shared_data / "adult.csv", null_values=["?"])
    for column in ("age", "education", "marital-status", "native-country", "occupation", "income"):
        file = f"adult_hierarchy_{names.get(column, column)}.csv"
        tree = read_hierarchy(shared_data / "adult_hierarchies" / file, column=column)
        tree.cover(adult[column])
        assert tree.generalize(adult[column], tree.height - 1).drop_nulls().unique().len() == 1

    with_marker = pl.read_csv(shared_data / "adult.csv")["occupation"]
    tree = read_hierarchy(
        shared_data / "adult_hierarchies" / "adult_hierarchy_occupation.csv", column="occupation"
    )
    with pytest.raises(HierarchyError, match="lacks 1 value of the column, in 2809 rows"):
        tree.cover(with_marker)


@pytest.mark.parametrize(
    "raw",
    [
        b"a;x;*\nb;x;*\n",
        b"\xef\xbb\xbfa;x;*\r\nb;x;*",
        b'"a";"x";*\n\nb;x;"*"\n\n',
        gzip.compress(b"a;x;*\nb;x;*\n", mtime=0),
    ],
    ids=["plain", "bom-crlf", "quotes-empty-lines", "gzip"],
)
def test_dialects_of_the_same_file(raw, tmp_path):
    (tmp_path / "h").write_bytes(raw)

    for where in (tmp_path / "h", str(tmp_path / "h"), io.BytesIO(raw)):
        tree = read_hierarchy(where, column="c")
        assert (tree.leaves, tree.labels(1), tree.height) == (("a", "b"), ("x", "x"), 3)


def test_quoted_fields_hold_delimiters_quotes_and_lines():
    tree = read_hierarchy(io.StringIO('"a;b";"say ""x"""\n"c\nd";*\n'), column="c")

    assert set(tree.leaves) == {"a;b", "c\nd"}
    assert tree.generalize(pl.Series(["a;b"]), 1).to_list() == ['say "x"']


def test_another_delimiter():
    text = "a,x\nb,x\n"

    assert read_hierarchy(io.StringIO(text), column="c", delimiter=",").height == 2
    with pytest.raises(HierarchyError, match="Give delimiter=','"):
        read_hierarchy(io.StringIO(text), column="c")
    with pytest.raises(ParameterError, match="Got 2 characters"):
        read_hierarchy(io.StringIO(text), column="c", delimiter=";;")


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "has no rows"),
        (f"{CANARY};x\n{CANARY}2\n".encode(), "uneven levels"),
        (f"{CANARY};x;\n".encode(), "1 missing labels at level 2"),
        (f"{CANARY};\xe9".encode("latin-1"), "not UTF-8"),
        (f'"{CANARY};x\n'.encode(), "not well-formed CSV"),
        (gzip.compress(CANARY.encode(), mtime=0)[:-9], "can't be read"),
        (b"\x1f\x8b" + CANARY.encode(), "can't be read"),
    ],
)
def test_files_that_are_no_hierarchy_are_refused_without_a_label(raw, says):
    with pytest.raises(HierarchyError, match=says) as caught:
        read_hierarchy(io.BytesIO(raw), column="zip")

    assert CANARY not in str(caught.value)
    assert "'zip'" in str(caught.value)


def test_a_file_that_is_not_there_is_not_named(tmp_path):
    with pytest.raises(HierarchyError, match=r"can't be read .FileNotFoundError") as caught:
        read_hierarchy(tmp_path / CANARY, column="zip")

    assert CANARY not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
