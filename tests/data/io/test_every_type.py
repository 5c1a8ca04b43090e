"""Every type and its edge values, through every reader: exact, or an error with the column."""

from __future__ import annotations

import csv
import datetime as dt
import json
import math
import re
import sqlite3
from contextlib import closing

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.every_type import (  # type: ignore[import-not-found] # beside, not in a package
    FLOATS,
    PLAIN,
    TEXTS,
    TYPES,
    array,
    check,
    meaning,
    whole,
)
from halfmask._errors import HalfmaskError
from halfmask.data import ReadOptions, open_table

NUMBERS = ["0", "-0", "1.50", ".5", "1e400", "inf", "NaN", "9007199254740993", "+1",
           "18446744073709551616", "1_000", "1.", "0x10", "1e5", "-1e-5",
           "1.7976931348623157e308"]  # fmt: skip
TIMES = ["2020-02-29", "2021-02-29", "0001-01-01", "9999-12-31", "+10000-01-01", "2020-1-1",
         "2020-01-01T24:00:00", "2020-01-01 10:00:00.123456789", "2020-01-01T00:00:00Z",
         "10:00:00.5", "2020-06-30T23:59:60Z", "true", "True"]  # fmt: skip


ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[0-5]\d(\.\d{1,6})?(Z|\+00:00)?"


# Files of databases and workbooks take long to make.
FEWER = settings(max_examples=settings().max_examples // 3)


def parquet(table, folder):
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def arrow_file(table, folder):
    with pa.ipc.new_file(folder / "a.arrow", table.schema) as file:
        file.write_table(table)
    return folder / "a.arrow"


def arrow_stream(table, folder):
    with pa.ipc.new_stream(folder / "a.arrows", table.schema) as file:
        file.write_table(table)
    return folder / "a.arrows"


WRITE = {
    "pyarrow": lambda table, _: table,
    "batch": lambda table, _: table.to_batches()[0],
    "pandas": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True),
    "parquet": parquet,
    "arrow": arrow_file,
    "arrows": arrow_stream,
}


def through(form, kind, cells, folder, *, may_fail=True):
    table = pa.table({"cell": array(kind, cells)})
    try:
        where = WRITE[form](table, folder)
    except (pa.ArrowException, NotImplementedError, OverflowError, ValueError, TypeError):
        return  # the source can't hold it
    check(where, [meaning(kind, cell) for cell in cells], may_fail=may_fail)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("every")


def some(cells):
    return st.lists(st.none() | cells, min_size=1, max_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITE)
@given(data=st.data())
def test_arrow_is_read_as_it_is(folder, form, data):
    kind, cells = TYPES[data.draw(st.sampled_from(list(TYPES)))]
    through(form, kind, data.draw(some(cells)), folder)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("form", WRITE)
def test_plain_types_are_read(folder, form):
    """An ordinary cell of each is no error."""
    for name in PLAIN:
        cell = {"bool": True, "null": None, "text": "x", "dictionary": "x", "date64": 0}
        ordinary = cell.get(name.partition("_")[0], 5)
        # Older versions of polars read seconds of Parquet as others, so that they are refused.
        is_wrong = (form, name) == ("parquet", "time32_s") and pl.__version__ < "2.1"
        through(form, TYPES[name][0], [ordinary, None], folder, may_fail=is_wrong)


@pytest.mark.slow
@FEWER
@given(data=st.data())
def test_duckdb_is_read_as_it_is(folder, data):
    duckdb = pytest.importorskip("duckdb")
    kind, cells = TYPES[data.draw(st.sampled_from(list(TYPES)))]
    table = pa.table({"cell": array(kind, data.draw(some(cells)))})
    path = folder / "a.duckdb"
    path.unlink(missing_ok=True)
    with closing(duckdb.connect(str(path))) as base:
        try:
            base.register("given", table)
            base.execute("CREATE TABLE a AS SELECT * FROM given")
        except duckdb.Error:
            return  # the source can't hold it
        base.execute("SET TimeZone = 'UTC'")
        there = base.sql("SELECT * FROM a").to_arrow_table().column("cell").combine_chunks()
    is_time = pa.types.is_temporal(there.type) and not pa.types.is_interval(there.type)
    width = pa.int32() if is_time and there.type.bit_width == 32 else pa.int64()
    held = (there.view(width) if is_time else there).to_pylist()
    check(path, [meaning(there.type, cell) for cell in held])


def texts_mean(cells, texts):
    """Return whether cells that were read from texts are what these say."""
    for cell, text in zip(cells, texts, strict=True):
        if cell is None:
            fits = text is None or text == "" or text.lower() == "nan"
        elif isinstance(cell, str | bool):
            fits = text == (cell if isinstance(cell, str) else str(cell).lower())
        elif isinstance(cell, float):
            fits = float(text) == cell and (math.isfinite(cell) or "inf" in text.lower())
        elif isinstance(cell, dt.datetime):
            fits = re.fullmatch(ISO, text) and dt.datetime.fromisoformat(text) == cell
        else:
            fits = text == str(cell)
        if not fits:
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("pool", [NUMBERS, TIMES, [*NUMBERS, *TIMES, *TEXTS]])
@given(data=st.data())
def test_csv_is_read_as_it_is(folder, pool, data):
    more = st.floats().map(str) | st.integers().map(str) | st.text("0123456789.eE+-", max_size=20)
    cells = st.sampled_from(pool) | more.filter(bool)
    texts = data.draw(st.lists(cells, min_size=1, max_size=4))
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [["cell", "x"], *([it, "y"] for it in texts)]
        )
    options = ReadOptions(header=True)

    found = open_table(folder / "a.csv", options=options).read()["cell"].to_list()

    assert texts_mean(found, texts)


@pytest.mark.slow
@given(data=st.data())
def test_json_lines_are_read_as_they_are(folder, data):
    kinds = [st.integers(), whole(64), FLOATS.filter(math.isfinite), st.booleans()]
    kinds += [st.sampled_from([*TEXTS, *TIMES, *NUMBERS])]
    chosen = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))
    cells = data.draw(some(st.one_of(chosen)))
    lines = [json.dumps({"cell": cell, "x": 1}) for cell in cells]
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    try:
        found = open_table(folder / "a.jsonl").read()["cell"].to_list()
    except HalfmaskError as error:
        refused = str(error)
    else:
        assert all(one_means(*pair) for pair in zip(found, cells, strict=True))
        return
    assert "'cell'" in refused, refused


def one_means(found, cell):
    """Return whether a cell of JSON or SQLite was read as it is."""
    if isinstance(cell, str) and not isinstance(found, str):
        return texts_mean([found], [cell])
    if isinstance(cell, bool) or isinstance(found, bool):
        return found is cell
    if isinstance(cell, int) and isinstance(found, str):
        return found == str(cell)
    return found == cell


@pytest.mark.slow
@FEWER
@given(data=st.data())
def test_sqlite_is_read_as_it_is(folder, data):
    kinds = [
        whole(64),
        FLOATS.filter(lambda it: not math.isnan(it)),
        st.sampled_from(TEXTS),
        st.binary(),
    ]
    chosen = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))
    cells = data.draw(some(st.one_of(chosen)))
    path = folder / "a.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE a (cell, x)")
        base.executemany("INSERT INTO a VALUES (?, 1)", [(cell,) for cell in cells])
        base.commit()
    try:
        found = open_table(path).read()["cell"].to_list()
    except HalfmaskError as error:
        refused = str(error)
    else:
        assert all(one_means(*pair) for pair in zip(found, cells, strict=True))
        return
    assert "'cell'" in refused, refused


@pytest.mark.slow
@FEWER
@given(data=st.data())
def test_excel_is_read_as_it_is(folder, data):
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    days = st.dates(dt.date(1900, 3, 1)).map(lambda it: dt.datetime(it.year, it.month, it.day))  # noqa: DTZ001
    seconds = st.integers(0, 86_399).map(lambda it: dt.timedelta(seconds=it))
    moments = st.tuples(days, seconds).map(sum_of)
    # The writer keeps 16 digits.
    numbers = st.integers(-(10**15), 10**15) | st.floats(-1e300, 1e300).map(twelve_digits)
    kinds = [
        numbers,
        st.booleans(),
        st.sampled_from([*TEXTS, "n/a"]).filter(str.strip),
        days,
        moments,
    ]
    cells = data.draw(some(data.draw(st.sampled_from(kinds))).filter(lambda it: it[-1] is not None))
    with xlsxwriter.Workbook(folder / "a.xlsx") as book:
        sheet = book.add_worksheet()
        date = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        sheet.write_row(0, 0, ["cell", "x"])
        for row, cell in enumerate(cells, 1):
            sheet.write_number(row, 1, 1)
            if isinstance(cell, str):
                sheet.write_string(row, 0, cell)
            elif isinstance(cell, dt.datetime):
                sheet.write_datetime(row, 0, cell, date)
            elif cell is not None:
                sheet.write(row, 0, cell)
    found = open_table(folder / "a.xlsx").read()["cell"].to_list()

    for got, cell in zip(found, cells, strict=True):
        wanted = (
            cell.date()
            if isinstance(cell, dt.datetime) and not isinstance(got, dt.datetime)
            else cell
        )
        assert got == wanted
        assert isinstance(got, bool) == isinstance(cell, bool)


def twelve_digits(number):
    return float(f"{number:.12g}")


def sum_of(pair):
    return pair[0] + pair[1]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["sav", "dta"])
@given(data=st.data())
def test_statistical_files_are_read_as_they_are(folder, end, data):
    pyreadstat = pytest.importorskip("pyreadstat")
    numbers = st.sampled_from([0.0, -1.5, 2.0**53, 2.0**53 + 2, 1e300]) | st.floats(-1e300, 1e300)
    texts = st.sampled_from([it for it in TEXTS if it == it.rstrip()])
    drawn = data.draw(st.sampled_from([numbers, texts]))
    cells = data.draw(some(drawn).filter(lambda it: any(cell is not None for cell in it)))
    path = str(folder / f"a.{end}")
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[end]
    write(pl.DataFrame({"cell": cells}, strict=False), path)

    check(path, [None if cell == "" else cell for cell in cells])
