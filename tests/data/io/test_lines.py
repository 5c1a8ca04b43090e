"""Lines of a CSV file that hold no row."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError, ParameterError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io import dialect


def read(tmp_path, content, **options):
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, options=ReadOptions(**options)).read()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_at_the_start_are_skipped_whatever_they_hold(tmp_path, end):
    content = end.join(['A "title, of', "", "1;2;3", "age,town", "41,Bree", "17,Dale", ""])

    table = read(tmp_path, content, skip_rows=3)

    assert table.to_dict(as_series=False) == {"age": [41, 17], "town": ["Bree", "Dale"]}


def test_lines_are_skipped_in_any_encoding(tmp_path):
    content = "Ünï\nage,town\n41,Ühl\n".encode("utf-16")

    assert read(tmp_path, content, skip_rows=1).rows() == [(41, "Ühl")]


def test_nothing_is_left_behind_what_is_skipped(tmp_path):
    with pytest.raises(DataError, match="is empty"):
        read(tmp_path, "a,b\n1,2\n", skip_rows=2)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_are_left_out_and_cells_that_look_like_them_stay(tmp_path, end):
    content = end.join(
        [
            '# made by "hand, 2020', "age,town", "#", "41,#Bree", '17,"Da', '#le"', "# x,y",
            '3,5" pipe', '#"', '4,"a ""b""', '#c"', '5,"x"y"z', "#,,,,", '6,""', "#last",
        ]
    )  # fmt: skip

    table = read(tmp_path, content, comment="#", missing=())

    assert table["age"].to_list() == [41, 17, 3, 4, 5, 6]
    assert [text.replace(end, "|") for text in table["town"]] == [
        "#Bree", "Da|#le", '5" pipe', 'a "b"|#c', 'xy"z', "",
    ]  # fmt: skip


CELLS = st.text(st.sampled_from('#a",\n '), max_size=6)


@pytest.mark.slow
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8),
    comments=st.lists(st.text(st.sampled_from('#a", '), max_size=6), min_size=9, max_size=9),
    chunk=st.integers(1, 40),
)
@settings(max_examples=100, deadline=None)
def test_rows_are_the_same_with_comments_between_them(tmp_path_factory, rows, comments, chunk):
    """However cells are quoted, and wherever a block of bytes ends."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for comment, row in zip(comments, [("c1", "c2"), *rows], strict=False):
        out.write(f"%{comment}\n")
        writer.writerow(row)
    path = tmp_path_factory.mktemp("lines") / "x.csv"
    path.write_text(out.getvalue(), newline="")
    options = ReadOptions(
        comment="%", header=True, missing=(), dtypes={"c1": "string", "c2": "string"}, delimiter=","
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "_CHUNK", chunk)
        found = open_table(path, options=options).read().rows()

    assert found == rows


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;", "sep=;;;"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_delimiter_that_excel_declares_is_taken(tmp_path, line, end):
    """Without the line, the comma would cut these rows into two cells each, too."""
    content = end.join([line, "a,x;b", "1,5;2", "2,5;3"])

    table = read(tmp_path, content)

    assert table.columns == ["a,x", "b"]
    assert table.rows() == [("1,5", 2), ("2,5", 3)]


def test_the_line_of_excel_goes_even_where_the_delimiter_is_declared(tmp_path):
    assert read(tmp_path, "sep=;\na;b\n1;2\n", delimiter=";").rows() == [(1, 2)]
    assert read(tmp_path, "\ufeffsep=\t\na\tb\n1\t2\n").rows() == [(1, 2)]
    assert read(tmp_path, "# x\nsep=|\na|b\n1|2\n", comment="#").rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"skip_rows": -1}, "skip_rows"),
        ({"skip_rows": 1.5}, "skip_rows"),
        ({"comment": ""}, "comment"),
        ({"comment": "a\n"}, "comment"),
        ({"comment": '"'}, "comment"),
        ({"comment": 3}, "comment"),
    ],
)
def test_options_that_cannot_be_are_refused(options, says):
    with pytest.raises(ParameterError, match=says):
        ReadOptions(**options)
