"""Sheets of Excel: what their cells become, and the sheets that are no table."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask._errors import DataError, SchemaError
from halfmask.data import ReadOptions, open_table

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")

CANARY = "canary-Zx81"
HEADER = ("id", "share", "name", "born", "at", "member", "zip")


def write(path, fill, sheets=("people",)):
    book = xlsxwriter.Workbook(path)
    for name in sheets:
        fill(book, book.add_worksheet(name))
    book.close()
    return path


def people(book, sheet):
    day, time = (book.add_format({"num_format": it}) for it in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm"))
    sheet.write_row(0, 0, HEADER)
    for row in range(1, 4):
        sheet.write_row(row, 0, [row, row / 2, f"name {row}"])
        sheet.write_datetime(row, 3, dt.datetime(1990, 1, row), day)  # noqa: DTZ001 - as Excel has it
        sheet.write_datetime(row, 4, dt.datetime(2020, 1, row, 10, 30), time)  # noqa: DTZ001 - as above
        sheet.write_boolean(row, 5, row == 1)
        sheet.write_string(row, 6, "0070" if row < 3 else "")


def rows(*rows):
    def fill(_, sheet):
        for number, cells in enumerate(rows):
            sheet.write_row(number, 0, cells)

    return fill


TITLE = rows(["Staff of 2026"], [], ["id", "pay"], [1, 2.5], [2, "?"])


def test_lines_above_the_names_are_skipped(tmp_path):
    """Office sheets begin with a title, often in merged cells."""

    def merged(book, sheet):
        TITLE(book, sheet)
        sheet.merge_range("A1:B1", "Staff of 2026")

    where = tmp_path / "a.xlsx"
    for fill in (TITLE, merged):
        where = write(tmp_path / "a.xlsx", fill)
        found = open_table(where, options=ReadOptions(skip_rows=2, missing=("?",))).read()
        assert found.rows(named=True) == [{"id": 1, "pay": 2.5}, {"id": 2, "pay": None}]
    with pytest.raises(DataError, match="merged cells"):
        open_table(where)
    with pytest.raises(SchemaError, match="without a name") as refused:
        open_table(write(tmp_path / "b.xlsx", TITLE))
    assert "skip the lines above the names" in str(refused.value.hint)


def test_times_without_a_day_are_times_of_day(tmp_path):
    """They were times of the last day of 1899, which no cell says."""
    times = [dt.time(0), dt.time(5, 30), dt.time(23, 59, 59)]

    def clocks(book, sheet):
        sheet.write_row(0, 0, ["id", "came"])
        for row, time in enumerate(times, start=1):
            sheet.write(row, 0, row)
            sheet.write_datetime(row, 1, time, book.add_format({"num_format": "hh:mm:ss"}))

    assert open_table(write(tmp_path / "a.xlsx", clocks)).read()["came"].to_list() == times


def test_cells_have_the_types_that_people_see(tmp_path):
    source = open_table(write(tmp_path / "a.xlsx", people))

    assert source.format == "excel"
    assert source.read().equals(
        pl.DataFrame(
            {
                "id": [1, 2, 3],
                "share": [0.5, 1.0, 1.5],
                "name": ["name 1", "name 2", "name 3"],
                "born": [dt.date(1990, 1, n) for n in (1, 2, 3)],
                "at": [dt.datetime(2020, 1, n, 10, 30) for n in (1, 2, 3)],  # noqa: DTZ001 - as Excel has it
                "member": [True, False, False],
                "zip": ["0070", "0070", None],
            }
        )
    )


def test_options_apply_to_a_sheet(tmp_path):
    path = write(tmp_path / "a.xlsx", rows(["id", "born"], ["07", "1.2.1990"], ["?", "?"]))
    options = ReadOptions(missing=("?",), date_formats={"born": "%d.%m.%Y"})

    found = open_table(path, options=options).read()

    assert found["id"].to_list() == ["07", None]
    assert found["born"].to_list() == [dt.date(1990, 2, 1), None]


def test_a_sheet_is_named_where_there_are_several(tmp_path):
    path = write(tmp_path / "a.xlsx", people, sheets=("people", "others"))

    with pytest.raises(DataError, match="has 2 sheets") as caught:
        open_table(path)
    assert "'people', 'others'" in str(caught.value.hint)
    with pytest.raises(DataError, match="no sheet of the given name"):
        open_table(path, options=ReadOptions(sheet="Others"))
    assert open_table(path, options=ReadOptions(sheet="others")).n_rows == 3


def merged_header(_, sheet):
    sheet.merge_range("A1:B1", CANARY)
    sheet.write_row(1, 0, [1, 2])


def merged_cells(_, sheet):
    sheet.write_row(0, 0, ["region", "name"])
    sheet.merge_range("A2:A3", CANARY)
    sheet.write_column(1, 1, ["Ann", "Bob"])


def formula_of_a_program_that_does_not_calculate(_, sheet):
    sheet.write_row(0, 0, ["a"])
    sheet.write_formula(1, 0, "=1+1", None, "")


def error(_, sheet):
    sheet.write_row(0, 0, ["a"])
    sheet.write_row(1, 0, [1])
    sheet.write_formula(2, 0, "=1/0", None, "#DIV/0!")


@pytest.mark.parametrize(
    ("fill", "says"),
    [
        (merged_header, "merged cells"),
        (merged_cells, "merged cells"),
        (rows(["a", None, "c"], [1, 2, 3]), "Columns without a name: number 2 of 3"),
        (rows(["a"], [1, 2]), "Columns without a name: number 2 of 2"),
        (rows(["a", "a"], [1, 2]), "share a name: number 1, 2"),
        (
            rows(["a", "b"], [1, 2], [3, CANARY]),
            "Column 'b' holds values of more than one type: Float, String",
        ),
        (rows(), "an empty sheet"),
        (rows(["a", "b"]), "has no rows"),
        (error, "Column '.' has 1 cells with errors"),
        (formula_of_a_program_that_does_not_calculate, "formulas without results"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, fill, says):
    path = write(tmp_path / "a.xlsx", fill)

    with pytest.raises((DataError, SchemaError), match=says) as caught:
        open_table(path)

    assert CANARY not in f"{caught.value!r}{caught.value.__context__!r}"


def test_empty_rows_at_the_end_are_no_people(tmp_path):
    def fill(book, sheet):
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_row(1, 0, [1, None])
        sheet.write_blank(5, 1, None, book.add_format({"bold": True}))

    assert open_table(write(tmp_path / "a.xlsx", fill)).read().rows() == [(1, None)]


def test_a_damaged_workbook_says_nothing_of_itself(tmp_path):
    path = write(tmp_path / "a.xlsx", people)
    path.write_bytes(path.read_bytes()[:-200])

    with pytest.raises(DataError, match="can't be read as excel"):
        open_table(path)


@pytest.mark.parametrize(
    ("cells", "marks", "wanted"),
    [
        ([1, 2.5, "n/a"], ("n/a",), [1.0, 2.5, None]),
        (["?", 3, "n/a", 4], ("n/a", "?"), [None, 3, None, 4]),
        ([True, "x"], ("x",), [True, None]),
        (["a", "x"], ("x",), ["a", None]),
        (["x", "x"], ("x",), [None, None]),
    ],
)
def test_texts_that_mean_missing_may_stand_among_numbers(tmp_path, cells, marks, wanted):
    path = write(tmp_path / "a.xlsx", rows(["a", "b"], *([cell, 1] for cell in cells)))

    assert open_table(path, options=ReadOptions(missing=marks)).read()["a"].to_list() == wanted


def test_other_texts_among_numbers_are_counted_and_no_error_of_a_formula(tmp_path):
    path = write(tmp_path / "a.xlsx", rows(["a", "b"], [1, 1], ["n/a", 1], ["5", 1]))

    for marks, n in ((None, 2), (("n/a",), 1)):
        with pytest.raises(SchemaError, match=f"'a' holds .* {n} of 3 cells are texts") as refused:
            open_table(path, options=ReadOptions(missing=marks))
        assert "--missing" in str(refused.value.at_terminal[1])
