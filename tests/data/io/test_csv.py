from __future__ import annotations

import codecs
import csv
import gzip
import io

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, ColumnWarning, DataError, SchemaError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io import places
from halfmask.data.io._csv import _Ended

PEOPLE = "name,age,zip\nAnn,41,00501\nBob,,10001\n"
TABLE = pl.DataFrame({"name": ["Ann", "Bob"], "age": [41, None], "zip": ["00501", "10001"]})


def read(tmp_path, content, *, name="people.csv", format=None, **options):  # noqa: A002 - as in open_table
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_table(path, format=format, options=ReadOptions(**options)).read()


def test_types_come_from_all_cells_and_leading_zeros_stay(tmp_path):
    assert read(tmp_path, PEOPLE).equals(TABLE)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends_are_found(tmp_path, delimiter, newline):
    content = PEOPLE.replace(",", delimiter).replace("\n", newline)

    assert read(tmp_path, content).equals(TABLE)


@pytest.mark.parametrize(
    ("encode", "options"),
    [
        (lambda text: codecs.BOM_UTF8 + text.encode(), {}),
        (lambda text: text.encode("utf-16"), {}),
        (lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"), {}),
        (lambda text: text.encode("utf-16-le"), {"encoding": "utf-16-le"}),
        (lambda text: text.encode("latin-1"), {"encoding": "latin-1"}),
        (lambda text: text.encode("cp1252"), {"encoding": "cp1252"}),
        (lambda text: text.encode("utf-8"), {"encoding": "utf8"}),
        (lambda text: text.encode("utf-8-sig"), {"encoding": "utf-8-sig"}),
    ],
)
def test_encodings_are_read(tmp_path, encode, options):
    table = read(tmp_path, encode(PEOPLE.replace("Ann", "Zoë")), **options)

    assert table["name"].to_list() == ["Zoë", "Bob"]
    assert table.columns == ["name", "age", "zip"]


def test_a_character_cut_by_a_block_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "_CHUNK", 3)
    names = ["écd", "ééé", "日本語", "a😀b", "plain"]

    assert read(tmp_path, "x\n" + "\n".join(names))["x"].to_list() == names


@pytest.mark.parametrize(
    "compress", [gzip.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
)
def test_compressed_files_are_known_by_their_bytes(tmp_path, compress):
    assert read(tmp_path, compress(PEOPLE.encode())).equals(TABLE)


@pytest.mark.parametrize("cut", [3, 12, 30])
def test_a_compressed_file_that_is_cut_off_is_an_error(tmp_path, cut):
    whole = gzip.compress((PEOPLE + "Cy,1,2\n" * 1000).encode())

    with pytest.raises(DataError, match="cut off"):
        read(tmp_path, whole[:-cut])


def test_missing_markers_are_whole_cells_quoted_or_not(tmp_path):
    content = 'a,b\n?,"NA"\n"",x?\n1,2\n'

    table = read(tmp_path, content, missing=("?", "NA", ""))

    assert table["a"].to_list() == [None, None, 1]
    assert table["b"].to_list() == [None, "x?", "2"]


def test_without_the_empty_marker_an_empty_text_is_a_value(tmp_path):
    assert read(tmp_path, "a,b\n,1\n", missing=("?",))["a"].to_list() == [""]


def test_quotes_hold_delimiters_line_ends_and_quotes(tmp_path):
    table = read(tmp_path, 'a,b\n"x,""y""\r\nz",1\n')

    assert table["a"].to_list() == ['x,"y"\r\nz']


def test_another_quote_can_be_declared(tmp_path):
    assert read(tmp_path, "a;b\n'x;y';1\n", quote="'")["a"].to_list() == ["x;y"]


def test_a_file_without_a_header_gets_names(tmp_path):
    table = read(tmp_path, "41,Ann\n17,Bob\n", header=False)

    assert table.equals(pl.DataFrame({"column_1": [41, 17], "column_2": ["Ann", "Bob"]}))


def test_declared_types_go_before_found_ones(tmp_path):
    table = read(tmp_path, PEOPLE, dtypes={"zip": "integer", "age": pl.Float32})

    assert table["zip"].to_list() == [501, 10001]
    assert table["age"].dtype == pl.Float32


def test_a_misfit_behind_any_sample_makes_a_column_of_texts(tmp_path):
    rows = [str(n) for n in range(30_000)] + ["x"]

    assert read(tmp_path, "a\n" + "\n".join(rows) + "\n")["a"].to_list() == rows


def test_nan_among_numbers_is_missing_and_infinity_stays(tmp_path):
    assert read(tmp_path, "a\n1.5\nNaN\ninf\n")["a"].to_list() == [1.5, None, float("inf")]


def test_an_empty_line_is_a_missing_cell_in_a_table_of_one_column_only(tmp_path):
    assert read(tmp_path, "\na\n1\n\n2\n")["a"].to_list() == [1, None, 2]
    assert read(tmp_path, "\n\na,b\n1,2\n\n\n3,4\n\n")["a"].to_list() == [1, 3]


def test_blocks_of_a_file_join_into_its_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._csv.BLOCK", 64)
    rows = [f'{n},"line {n}\nof {n}"' for n in range(200)]

    table = read(tmp_path, "a,b\n" + "\n".join(rows))

    assert table["a"].to_list() == list(range(200))
    assert table["b"].to_list() == [f"line {n}\nof {n}" for n in range(200)]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("more", [0, 3])
def test_no_read_returns_more_bytes_than_were_asked_for(end, more):
    """Arrow copies what a read returns into a buffer of the size that it asked for."""
    text = b"\n\na,b\n1,2\n3,4" + end.encode() + b"5" * more
    whole = _Ended(io.BytesIO(text), b"<end>,0").read()  # type: ignore[arg-type] # any stream
    assert whole.endswith(b"\n<end>,0\n")

    for size in range(1, len(whole) + 3):
        stream = _Ended(io.BytesIO(text[2:]), b"<end>,0")  # type: ignore[arg-type] # any stream
        pieces = list(iter(lambda: stream.read(size), b""))  # noqa: B023 # used up at once
        assert b"".join(pieces) == whole
        assert all(len(piece) <= size for piece in pieces)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_is_read_whatever_the_size_of_a_block(tmp_path, monkeypatch, end):
    """Arrow drops the line feed of a cell where a block ends before it, in quotes, too."""
    monkeypatch.setattr("halfmask.data.io._csv._COPIED", 16)
    rows = [f'{n},"line {n}\r\n of {n}"{end}' for n in range(40)]
    content = f"a,b{end}" + "".join(rows)

    for block in [*range(64, 88), *range(len(content) - 40, len(content) + 3)]:
        monkeypatch.setattr("halfmask.data.io._csv.BLOCK", block)
        table = read(tmp_path, content)
        assert table["a"].to_list() == list(range(40))
        assert table["b"].to_list() == [f"line {n}\r\n of {n}" for n in range(40)]


def test_blocks_of_blank_lines_repeat_no_row(tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._csv.BLOCK", 64)
    monkeypatch.setattr("halfmask.data.io._csv._COPIED", 16)

    table = read(tmp_path, "a,b\n" + "1,2\n" * 9 + "\n" * 500 + "3,4\n" + "\n" * 300)

    assert table["a"].to_list() == [1] * 9 + [3]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@pytest.mark.slow
@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_the_csv_module_writes_is_read_cell_by_cell(tmp_path_factory, rows, delimiter, end):
    names = [f"c{n}" for n in range(len(rows[0]))]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *rows])
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(out.getvalue().encode())

    options = ReadOptions(missing=(), dtypes=dict.fromkeys(names, "string"), header=True)

    assert open_table(path, options=options).read().rows() == [tuple(row) for row in rows]


CANARY = "canary-Zx81"


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        ("", DataError, "is empty"),
        ("\n\n", DataError, "is empty"),
        (f"{CANARY},b\n", DataError, "no rows"),
        (f"a,b\n1,{CANARY}\n{CANARY}\n", DataError, r"Row 3 of .* has 1 cells .* has 2"),
        (f"a,b\n1,2\n3,{CANARY},5\n", DataError, r"Row 3 of .* has 3 cells .* has 2"),
        (f"{CANARY},b,7\n1,2,3\n", SchemaError, r"values: 1 of 3 .*number 3\)"),
        (f"x,{CANARY}\n1,{CANARY}\n", SchemaError, r"below: 1 of 2 .*number 2\)"),
        (f"x,{CANARY}\n1,2\nx,{CANARY}\n", SchemaError, r"Row 3 of .* repeats the header"),
        (f'a,b\n1,"{CANARY}\n3,4\n', DataError, "never closed"),
        (f'a,b\n1,"{CANARY}', DataError, "never closed"),
        (f'a\n"{CANARY}\n3\n', DataError, "never closed"),
        (f"a,b\n1,{CANARY}ë\n".encode("latin-1"), DataError, "not utf-8, near byte 18"),
        (f"a,b\n1,{CANARY}\n".encode("utf-16-le"), DataError, "NUL characters"),
        (b"a,b\n1,\x00\n", DataError, "NUL characters"),
        (codecs.BOM_UTF16_LE + b"a\x00\xd8", DataError, "not utf-16"),
        (gzip.compress(b"PAR1" + b"x" * 100, mtime=0), DataError, "first bytes are of parquet"),
    ],
)
def test_bad_files_are_told_without_a_word_of_them(tmp_path, content, error, says):
    with pytest.raises(error, match=says) as caught:
        read(tmp_path, content, name=f"{CANARY}.csv")

    assert CANARY not in repr(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_declared_type_that_does_not_fit_is_an_error_with_a_count(tmp_path):
    with pytest.raises(SchemaError, match="'a' is declared to be Int64, and 2 of 3") as caught:
        read(tmp_path, f"a\n1\n{CANARY}\n2.5\n", dtypes={"a": "integer"})

    assert CANARY not in str(caught.value)


def test_a_declared_column_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ColumnNotFoundError, match="Did you mean 'age'"):
        read(tmp_path, PEOPLE, dtypes={"agee": "integer"})


def test_a_longer_last_line_than_a_block_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._csv.BLOCK", 64)

    with pytest.raises(DataError) as caught:
        read(tmp_path, "a,b\n1," + CANARY * 100 + "\n")

    assert CANARY not in str(caught.value)


def test_a_file_that_changes_between_two_readings_is_an_error(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    source = open_table(path)
    for content in ("a,b\n1,2\n", "a,b\n1,2\n3,4\n5,6\n", f"a,b\n1,2\n3,{CANARY}\n"):
        path.write_text(content)

        with pytest.raises(DataError, match="has changed"):
            source.read()


def test_the_files_of_a_folder_are_one_table(tmp_path):
    (tmp_path / "b.csv").write_text("b,a\nx,3\n")
    (tmp_path / "a.csv").write_text("a,b\n1,007\n2,\n")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("nothing")

    table = open_table(tmp_path).read()

    assert table.equals(pl.DataFrame({"a": [1, 2, 3], "b": ["007", None, "x"]}))


@pytest.mark.parametrize(
    ("second", "error", "says"),
    [
        (f"a,{CANARY}\n1,2\n", SchemaError, "File 2 .* lacks 1 columns of file 1 and has 1"),
        ("", DataError, "File 2 .* is empty"),
        (f"a,b\n1,{CANARY},3\n", DataError, "Row 2 of file 2"),
        (b"a,b\n\xff\xfb,2\n", DataError, "File 2"),
    ],
)
def test_errors_in_a_folder_say_which_file(tmp_path, second, error, says):
    folder = tmp_path / CANARY
    folder.mkdir()
    (folder / f"1{CANARY}.csv").write_text("a,b\n1,2\n")
    (folder / f"2{CANARY}.csv").write_bytes(
        second if isinstance(second, bytes) else second.encode()
    )

    with pytest.raises(error, match=says) as caught:
        open_table(folder)

    assert CANARY not in repr(caught.value)


@pytest.mark.slow
def test_two_thousand_columns_are_read(tmp_path):
    names = [f"column number {n}" for n in range(2_000)]
    content = ",".join(names) + "\n" + (",".join(["1"] * 2_000) + "\n") * 3

    table = read(tmp_path, content)

    assert table.shape == (3, 2_000)
    assert set(table.dtypes) == {pl.Int64}


@pytest.mark.slow
def test_real_tables_are_read_as_they_are(adult_csv):
    source = open_table(adult_csv)

    assert source.n_rows == 48_842
    assert source.read().equals(pl.read_csv(adult_csv, infer_schema_length=None))


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("diabetes_130_hospitals.csv.gz", (101_766, 50)),
        ("pii/FakeNameGenerator.com_3000.csv.gz", (3_000, 30)),
        ("geo/us_zipcodes.csv.gz", (42_049, 6)),
        ("ctr/criteo_8k.csv.gz", (8_000, 41)),
    ],
)
def test_real_files_have_the_rows_and_columns_that_their_list_says(shared_data, name, shape):
    table = open_table(shared_data / name).read()

    assert table.shape == shape
    if "zipcodes" in name:
        assert table["zip_code"].dtype == pl.String


@pytest.mark.parametrize(
    ("cells", "ambiguous"),
    [
        (["1.234", "500", "12.500"], True),
        (["1.234", "5000"], False),
        (["1.234", "0.500"], False),
        (["1.234", "1.23"], False),
        (["1", "2"], False),
    ],
)
def test_decimals_that_could_be_thousands_are_reported(cells, ambiguous, tmp_path):
    """1.234 is 1234 in many countries; a declared type or format says which."""
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["pay,town", *(f"{cell},Bree" for cell in cells)]))

    if ambiguous:
        with pytest.warns(ColumnWarning, match="'pay' is read as decimals"):
            open_table(file)
    else:
        open_table(file)

    said = ReadOptions(dtypes={"pay": "float"})
    assert open_table(file, options=said).read()["pay"].to_list() == [float(it) for it in cells]


def test_german_thousands_are_read_as_they_are_declared(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("pay;town\n1.234;Bree\n1.234,5;Dale\n")

    read = open_table(file, options=ReadOptions(number_formats={"pay": "1.234,5"})).read()

    assert read["pay"].to_list() == [1234.0, 1234.5]


@pytest.mark.parametrize(
    ("cell", "dtype"),
    [("007", pl.Int64), ("+7", pl.Int64), ("x", pl.Int64), ("12345678901234567", pl.Float64)],
)
def test_cells_of_a_later_table_are_compared_with_the_fit(cell, dtype, tmp_path):
    """Nobody declared the type, so that the error speaks of the fit; 007 isn't the integer 7."""
    file = tmp_path / "t.csv"
    file.write_text(f"n,town\n1,Bree\n{cell},Dale\n")

    says = r"'n' held (Int|Float)64 at the fit, and 1 of 2 cells"
    with pytest.raises(SchemaError, match=says) as caught:
        open_table(file, options=ReadOptions(fitted={"n": dtype()}))
    assert "date_formats, number_formats" in str(caught.value.hint)
