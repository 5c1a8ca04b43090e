"""The first row of a CSV file: names, data, or names that somebody else made."""

from __future__ import annotations

import pytest

from halfmask._errors import ColumnWarning, DataError, ParameterError, SchemaError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io.dialect import values_among

CANARY = "canary-Zx81"
HEADLESS = f"{CANARY},39,Bree\nSam,38,Dale\nPippin,28,Bree\n"


def opened(tmp_path, content, **options):
    path = tmp_path / "people.csv"
    path.write_text(content, newline="")
    return open_table(path, options=ReadOptions(**options))


@pytest.mark.parametrize(
    "value",
    [
        "39", "-3.5", "1,5", "1e5", ".5", "1.234.567", "10%", "5 EUR", "$12", "(7)", "100+", "5-9",
        "1948-12-31", "31.12.48", "1/22/20", "12:30", "2020-01-02T03:04:05Z", "2020-01-02 03:04+02",
        "12 Mar 1948", "Mar 12, 1948", "12-MAR-48", "10:30 pm", "+49 30 1234567", "a@b.org",
        "https://b.org/x", "192.168.0.1", "123e4567-e89b-12d3-a456-426614174000", "52.51,13.40",
        "GB82 WEST 1234 5698 7654 32", " 41 ",
    ],
)  # fmt: skip
def test_a_cell_with_the_form_of_a_value_is_no_name(tmp_path, value):
    assert values_among(["a", value]) == [2]
    with pytest.raises(SchemaError, match=r"looks like data .* 1 of 3 \(column number 2\)"):
        opened(tmp_path, f'{CANARY},"{value}",c\nx,"{value}",y\n')


@pytest.mark.parametrize(
    "name",
    [
        "age", "x1", "2020Q1", "Q1 2020", "_1", "1st visit", "1x1", "A1", "%", "May", "V1", "PM2.5",
        "income (EUR)", "age 18-24", "wk1", "24h", "Größe", "日本", "pre-2000", "US$", "1e",
        "T1 10am", "unnamed: 0", "m²", "name@home", "PM25 mean value",
    ],
)  # fmt: skip
def test_a_word_is_a_name(tmp_path, name):
    assert opened(tmp_path, f'"{name}",b\n1,2\n').columns == (name, "b")


def test_a_first_row_that_occurs_as_values_below_is_refused_by_its_number(tmp_path):
    with pytest.raises(SchemaError, match=r"values below: 1 of 3 \(column number 2\)") as caught:
        opened(tmp_path, f"{CANARY},m,Bree\nSam,f,Dale\nPippin,m,Tuck\n")

    assert CANARY not in repr(caught.value)
    assert "header=False" in str(caught.value.hint)
    assert "--no-header" in str(caught.value.at_terminal[1])


def test_a_title_above_the_names_is_not_the_header(tmp_path):
    content = f"{CANARY} 2024,,\n,,\nage,sex,town\n41,m,Bree\n38,f,Dale\n"
    with pytest.raises(SchemaError, match=r"looks like a title .* 1 of its 3 cells") as caught:
        opened(tmp_path, content)

    assert CANARY not in repr(caught.value)
    assert opened(tmp_path, content, skip_rows=2).read().rows() == [
        (41, "m", "Bree"),
        (38, "f", "Dale"),
    ]
    with pytest.warns(ColumnWarning, match="number 2, 3"):
        assert opened(tmp_path, content, header=True).n_rows == 4
    with pytest.warns(ColumnWarning, match="number 1"):  # as pandas writes one column
        assert opened(tmp_path, ",age\n0,41\n1,38\n").columns == ("column_1", "age")


def test_a_value_is_found_below_however_late(tmp_path, monkeypatch):
    """All rows are looked at, not a sample."""
    monkeypatch.setattr("halfmask.data.io._csv.BLOCK", 256)
    rows = "".join(f"name{n},town{n}\n" for n in range(2_000))
    with pytest.raises(SchemaError, match=r"values below: 1 of 2 \(column number 2\)"):
        opened(tmp_path, f"Frodo,Bree\n{rows}Sam,Bree\n")


def test_a_first_row_with_a_missing_mark_is_data(tmp_path):
    assert opened(tmp_path, "name,?\na,?\nb,?\n", header=True).columns == ("name", "?")
    with pytest.raises(SchemaError, match=r"column number 2\)"):
        opened(tmp_path, "name,?\na,1\nb,2\n", missing=("", "?"))


def test_without_a_header_every_row_is_one(tmp_path):
    source = opened(tmp_path, HEADLESS, header=False)

    assert source.read().rows() == [
        (CANARY, 39, "Bree"),
        ("Sam", 38, "Dale"),
        ("Pippin", 28, "Bree"),
    ]
    assert source.columns == ("column_1", "column_2", "column_3")


def test_what_is_said_to_be_a_header_is_one(tmp_path):
    assert opened(tmp_path, "year,1960,1961\na,1,2\n", header=True).columns == (
        "year",
        "1960",
        "1961",
    )
    source = opened(tmp_path, "kind,who\nkind,Ann\nother,Bob\n", header=True)
    assert source.read().rows() == [("kind", "Ann"), ("other", "Bob")]
    assert opened(tmp_path, "x\nx\ny\n", header=True).n_rows == 2


@pytest.mark.parametrize(("header", "rows"), [(False, 3), (True, 2)])
def test_names_are_given_to_a_file_without_a_header_or_instead_of_it(tmp_path, header, rows):
    source = opened(tmp_path, HEADLESS, header=header, column_names=("who", "age", "town"))

    assert (source.columns, source.n_rows) == (("who", "age", "town"), rows)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("who", "age"), "3 columns, and column_names has 2"),
        (("who", "age", "age"), "share a name: number 2, 3"),
        (("who", "", "age"), "without a name: number 2"),
        (("who", "*", "age"), "patterns"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path, names, says):
    with pytest.raises(SchemaError, match=says) as caught:
        opened(tmp_path, HEADLESS, header=False, column_names=names)

    assert CANARY not in repr(caught.value)


def test_names_need_to_know_whether_there_is_a_header():
    with pytest.raises(ParameterError, match="needs header=True or header=False"):
        ReadOptions(column_names=("a", "b"))
    with pytest.raises(ParameterError, match="Got one text"):
        ReadOptions(column_names="ab", header=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (",age,town", ("column_1", "age", "town")),  # pandas: the index
        ('"","age","town"', ("column_1", "age", "town")),  # R's write.csv
        ("age,town,age", ("age", "town", "age_2")),
        ("age,age,age", ("age", "age_2", "age_3")),
        ("age,age_2,age", ("age", "age_2", "age_3")),
        ("age,age,age_2", ("age", "age_3", "age_2")),
        (" ,column_1,x", ("column_1_2", "column_1", "x")),
        ("x,,y", ("x", "column_2", "y")),
    ],
)
def test_columns_without_a_name_of_their_own_get_one_with_a_warning(tmp_path, header, names):
    with pytest.warns(ColumnWarning, match="with a blank or repeated name.* column_names"):
        source = opened(tmp_path, f"{header}\n0,39,1\n1,38,2\n")

    assert source.columns == names
    assert source.read().rows() == [(0, 39, 1), (1, 38, 2)]
    assert source.read(columns=[names[2]]).to_series().to_list() == [1, 2]


def test_what_is_said_of_names_that_were_made_quotes_no_cell(tmp_path):
    with pytest.warns(ColumnWarning, match="number 1, 3 of 3") as told:
        opened(tmp_path, f",{CANARY},{CANARY}\nx,1,2\n")

    assert CANARY not in str(told[0].message)


def test_a_header_in_the_middle_is_told_by_the_numbers_of_its_rows(tmp_path, monkeypatch):
    part = "age,town\n" + "".join(f"{n},t{n}\n" for n in range(50))

    with pytest.raises(SchemaError, match="Rows 52, 103 of the table to read repeat the header"):
        opened(tmp_path, part * 3)
    with pytest.raises(SchemaError, match="Row 52 of the table to read repeats"):
        opened(tmp_path, part * 2, header=True, dtypes={"age": "integer"})
    # One row is in the next block.
    monkeypatch.setattr("halfmask.data.io._csv.BLOCK", 64)
    with pytest.raises(SchemaError, match="Row 52 of"):
        opened(tmp_path, part * 2)


def test_a_header_in_the_middle_is_found_with_names_that_were_made_or_given(tmp_path):
    with (
        pytest.warns(ColumnWarning),
        pytest.raises(SchemaError, match=r"Row 3 of .* repeats the header"),
    ):
        opened(tmp_path, ",age,age\n0,1,2\n,age,age\n1,2,3\n")
    with pytest.raises(SchemaError, match=r"Row 3 of .* repeats the header"):
        opened(tmp_path, "a,b\n1,2\na,b\n", header=True, column_names=("x", "y"))


def test_rows_of_a_file_without_a_header_may_be_alike(tmp_path):
    assert opened(tmp_path, "a,b\na,b\na,c\n", header=False).n_rows == 3


def test_each_file_of_a_folder_has_its_header(tmp_path):
    for n in (1, 2):
        (tmp_path / f"{n}.csv").write_text(f"# part {n}\nage,town\n{n},t{n}\n")

    source = open_table(tmp_path, options=ReadOptions(skip_rows=1))

    assert source.read().rows() == [(1, "t1"), (2, "t2")]


def test_a_file_of_a_folder_whose_header_lacks_is_refused(tmp_path):
    (tmp_path / "1.csv").write_text("age,town\n1,Bree\n")
    (tmp_path / "2.csv").write_text(f"2,{CANARY}\n3,Dale\n")

    with pytest.raises(SchemaError, match="file 2 of the table to read looks like data") as caught:
        open_table(tmp_path)

    assert CANARY not in repr(caught.value)


def test_declared_columns_are_missed_only_after_the_header_was_looked_at(tmp_path):
    """Else the error would list the first person's cells as names of columns."""
    with pytest.raises(SchemaError, match="values below") as caught:
        opened(tmp_path, f"{CANARY},m\nSam,m\n", dtypes={CANARY[:-1]: "string"})

    assert CANARY not in repr(caught.value)


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_a_header_that_lacks_a_name_is_refused_with_a_way_out(tmp_path, delimiter):
    """R's write.table leaves out the first name; a hand that added a column, the last one."""
    text = 'age,town\n"1",41,Bree\n"2",17,Dale\n'.replace(",", delimiter)

    with pytest.raises(DataError, match=r"Row 2 of .* has 3 cells .* has 2") as caught:
        opened(tmp_path, text)
    assert "skip_rows=1, header=False, column_names=" in str(caught.value.hint)
    assert "--skip-rows 1 --no-header --column-names" in str(caught.value.at_terminal[1])
    names = ("row", "age", "town")
    source = opened(tmp_path, text, skip_rows=1, header=False, column_names=names)
    assert source.read().rows() == [(1, 41, "Bree"), (2, 17, "Dale")]
