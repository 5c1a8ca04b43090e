from __future__ import annotations

import gzip
import json
from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import DataError, SchemaError
from halfmask.data import ReadOptions, open_table
from halfmask.data.io import _jsonl

CANARY = "canary-Zx81"


def read(tmp_path, content, *, name="people.jsonl", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_table(path, options=ReadOptions(**options)).read()


def test_objects_are_rows_and_absent_keys_are_missing(tmp_path):
    table = read(tmp_path, '{"a":1,"b":"x"}\n\n{"b":null,"c":true}\r\n{"a":2.5}')

    assert table.to_dict(as_series=False) == {
        "a": [1.0, None, 2.5],
        "b": ["x", None, None],
        "c": [None, True, None],
    }


def test_texts_stay_texts_unless_all_are_dates(tmp_path):
    table = read(
        tmp_path,
        '{"a":"2024-01-01","b":"2024-01-01","c":"7"}\n{"a":"2024-02-29","b":"soon","c":"8"}\n',
    )

    assert table["a"].to_list() == [date(2024, 1, 1), date(2024, 2, 29)]
    assert table["b"].to_list() == ["2024-01-01", "soon"]
    assert table["c"].to_list() == ["7", "8"]


def test_types_are_decided_by_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._jsonl.BLOCK", 32)
    lines = [{"n": 1, "t": "2024-01-01", "late": None}] * 20 + [{"n": 0.5, "t": "x", "late": 3}]

    table = read(tmp_path, "\n".join(map(json.dumps, lines)))

    assert table.columns == ["n", "t", "late"]
    assert table.schema == {"n": pl.Float64, "t": pl.String, "late": pl.Int64}
    assert table.rows()[-1] == (0.5, "x", 3)
    assert table["t"][0] == "2024-01-01"


def test_a_column_of_nothing_is_one_of_text(tmp_path):
    assert read(tmp_path, '{"a":null,"b":1}\n').schema == {"a": pl.String, "b": pl.Int64}


def test_markers_and_declared_types_hold(tmp_path):
    content = '{"a":"?","b":"12"}\n{"a":"x","b":"?"}\n'

    table = read(tmp_path, content, missing=("?",), dtypes={"b": "integer"})

    assert table.rows() == [(None, 12), ("x", None)]


def test_nan_is_missing_and_infinity_stays(tmp_path):
    table = read(tmp_path, '{"a":NaN}\n{"a":Infinity}\n{"a":1.5}\n')

    assert table["a"].to_list() == [None, float("inf"), 1.5]


def test_a_byte_order_mark_and_compression_are_read(tmp_path):
    content = gzip.compress(b'\xef\xbb\xbf{"a":"\xc3\xa9"}\n')

    assert read(tmp_path, content, name="people.jsonl.gz")["a"].to_list() == ["é"]


def test_jsonl_is_known_without_a_name(tmp_path):
    assert read(tmp_path, '{"a":1}\n', name="people")["a"].to_list() == [1]


VALUES = {
    "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(lambda s: "t" + s),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
}


@pytest.mark.slow
@given(st.lists(st.fixed_dictionaries({}, optional=VALUES), min_size=1, max_size=8))
def test_what_the_json_module_writes_is_read_value_by_value(tmp_path_factory, rows):
    rows.append({"text": "t", "integer": 1, "float": 0.5, "boolean": True})
    path = tmp_path_factory.mktemp("jsonl") / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))

    table = open_table(path).read().select("text", "integer", "float", "boolean")

    assert table.rows(named=True) == [{name: row.get(name) for name in VALUES} for row in rows]


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        ("", DataError, "is empty"),
        ("{}\n", DataError, "no column"),
        (f'{{"a":1}}\n{{"a":"{CANARY}"}}', SchemaError, "'a' holds values of more than one type"),
        (f'{{"a":true}}\n{{"a":2}}\n{{"b":"{CANARY}"}}', SchemaError, "'a' holds values of more"),
        (f'{{"a":["{CANARY}"]}}', SchemaError, "'a' holds values of type List"),
        (f'{{"a":{{"b":"{CANARY}"}}}}', SchemaError, "'a' holds values of type Struct"),
        (f'{{"a":"{CANARY}","a":2}}', DataError, "a key twice"),
        (f'{{"a":"{CANARY}', DataError, "no JSON object"),
        (f'{{"a":1}}\n{CANARY}', DataError, "no JSON object"),
        (f'{{"a":1}}\n["{CANARY}"]', DataError, "no JSON object"),
        (f'{{"a":"{CANARY}\xff"}}'.encode("latin-1"), DataError, "not utf-8"),
        (f'{{"{CANARY}":1,"":2}}', SchemaError, "number 2 of 2"),
    ],
)
def test_bad_files_are_told_without_a_word_of_them(tmp_path, content, error, says):
    with pytest.raises(error, match=says) as caught:
        read(tmp_path, content, name=f"{CANARY}.jsonl")

    assert CANARY not in repr(caught.value)


def test_types_that_change_between_blocks_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._jsonl.BLOCK", 16)
    lines = ['{"a": 12345}'] * 5 + [f'{{"a":"{CANARY}"}}']

    with pytest.raises(SchemaError, match="'a' holds values of more than one type") as caught:
        read(tmp_path, "\n".join(lines))

    assert CANARY not in repr(caught.value)


def test_files_of_a_folder_have_the_same_keys(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"a":1,"t":"x"}\n')
    (tmp_path / "2.jsonl").write_text('{"a":1}\n')

    with pytest.raises(SchemaError, match=r"File 2 .* lacks 1 columns"):
        open_table(tmp_path)


def test_a_file_that_changes_between_two_readings_is_an_error(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a":1,"d":"2024-01-01"}\n')
    source = open_table(path)
    for content in (
        '{"a":1,"d":"2024-01-01"}\n' * 2,
        f'{{"a":1,"d":"{CANARY}"}}\n',
        f'{{"a":"{CANARY}","d":"2024-01-01"}}\n',
    ):
        path.write_text(content)

        with pytest.raises((DataError, SchemaError)) as caught:
            source.read()
        assert CANARY not in repr(caught.value)


@pytest.mark.real_data
def test_real_events_are_read(shared_data):
    columns = ["time", "channel", "added", "isRobot"]
    source = open_table(shared_data / "wikiticker-2015-09-12-sampled.json.gz")

    table = source.read(columns=columns)

    assert table.height == source.n_rows == 39_244
    assert table.dtypes == [pl.Datetime("us", "UTC"), pl.String, pl.Int64, pl.Boolean]


def lines(tmp_path, *values):
    path = tmp_path / "whole.jsonl"
    path.write_text("".join(f'{{"id": {value}, "x": 1}}\n' for value in values))
    return path


@pytest.mark.parametrize(
    "values",
    [
        ["9223372036854775807", "9223372036854775808"],
        ["-9223372036854775809", "1"],
        ["18446744073709551616", "18446744073709551617", "null"],
        ["1" + "0" * 75, "-" + "9" * 76],
    ],
)
def test_whole_numbers_beyond_64_bits_stay_texts(tmp_path, values):
    found = open_table(lines(tmp_path, *values)).read()["id"]

    assert found.dtype == pl.String
    assert found.to_list() == [None if value == "null" else value for value in values]


def test_whole_numbers_of_64_bits_stay_numbers(tmp_path):
    values = [2**63 - 1, -(2**63), 2**53 + 1]

    assert open_table(lines(tmp_path, *map(str, values))).read()["id"].to_list() == values


@pytest.mark.parametrize("block", [30, 1 << 20])
@pytest.mark.parametrize(
    "values",
    [
        ["9007199254740993", "0.5"],
        ["0.5", "-9007199254740993"],
        ["0.5", "1e3", "36893488147419103233"],
    ],
)
def test_a_fraction_beside_a_whole_number_that_a_float_changes_is_refused(
    tmp_path, monkeypatch, block, values
):
    monkeypatch.setattr(_jsonl, "BLOCK", block)

    with pytest.raises(SchemaError, match=r"Column 'id' holds fractions and whole numbers"):
        open_table(lines(tmp_path, *values))


def test_floats_of_any_size_stay_floats(tmp_path):
    values = [1e300, 0.5, 2.0**53, -1e16]

    assert open_table(lines(tmp_path, *map(repr, values))).read()["id"].to_list() == values


def test_digits_that_no_decimal_holds_are_refused(tmp_path):
    with pytest.raises(SchemaError, match="more than 76 digits"):
        open_table(lines(tmp_path, "1" + "0" * 76))


@pytest.mark.parametrize("block", [30, 1 << 20])
def test_texts_of_whole_numbers_are_the_same_wherever_blocks_end(tmp_path, monkeypatch, block):
    monkeypatch.setattr(_jsonl, "BLOCK", block)
    values = ["1", "2", "18446744073709551616", "3"]

    assert open_table(lines(tmp_path, *values)).read()["id"].to_list() == values


def test_numbers_that_are_declared_texts_keep_their_digits(tmp_path):
    """Floats would make one text of two numbers, or add .0 where another cell has a fraction."""
    ids = [2**70, 2**70 + 1, 5]
    lines = "\n".join(
        json.dumps({"id": it, "n": n}) for it, n in zip(ids, (1, 2.5, None), strict=True)
    )

    table = read(tmp_path, lines, dtypes={"id": "string", "n": "string"})

    assert table["id"].to_list() == [str(it) for it in ids]
    assert table["n"].to_list() == ["1", "2.5", None]


def test_a_number_beyond_floats_is_said(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1e400}\n')

    with pytest.raises(DataError, match="a number that no float holds"):
        open_table(path)
