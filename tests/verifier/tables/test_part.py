"""One data file, opened as it is: no value turned into another, no message that quotes one."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask.verifier.tables.part import UnreadableError, open_part

FRAME = pl.DataFrame({"a": ["007", None], "n": [1, 2]})


@pytest.mark.parametrize("fmt", ["parquet", "arrow", "jsonl"])
def test_types_are_those_of_the_file(tmp_path, fmt):
    path = tmp_path / "part"
    write = {"parquet": "write_parquet", "arrow": "write_ipc", "jsonl": "write_ndjson"}[fmt]
    getattr(FRAME, write)(path)

    assert open_part(path, fmt).collect().equals(FRAME)


def test_a_stream_of_arrow_is_read_too(tmp_path):
    FRAME.write_ipc_stream(tmp_path / "part")

    assert open_part(tmp_path / "part", "arrow").collect().equals(FRAME)


def test_cells_of_csv_are_texts(tmp_path):
    path = tmp_path / "part"
    path.write_text('a,n\n007,1\n7,\n"",1.0\n', encoding="utf-8")

    found = open_part(path, "csv").collect()

    assert found.rows() == [("007", "1"), ("7", None), ("", "1.0")]


@pytest.mark.parametrize("start", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x9c"])
def test_a_compressed_csv_is_not_unpacked(tmp_path, start):
    path = tmp_path / "part"
    path.write_bytes(start + b"rest")

    with pytest.raises(UnreadableError, match="compressed"):
        open_part(path, "csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\n{"a": "1"}\n', "mixes types"),
        ('{"a": 1}\n{"a": 1.0}\n', "mixes types"),
        ('{"a": 1}\n{"b": 1}\n', "same columns"),
        ('{"a": 1, "a": 2}\n', "column twice"),
        ("[1]\n", "isn't an object"),
        ('{"a": NaN}\n', "JSON doesn't have"),
        ('{"a": ["CANARY"]}\n', "isn't text, a number or a truth value"),
        ('{"a": {"CANARY": 1}}\n', "isn't text, a number or a truth value"),
        ('{"a": 99999999999999999999}\n', "isn't text, a number or a truth value"),
        ('{"a": CANARY}\n', "isn't strict JSON"),
        ('{"a": "\udcff"}\n', "isn't strict JSON"),
    ],
)
def test_json_lines_are_a_table_of_plain_values(tmp_path, text, said):
    path = tmp_path / "part"
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))

    with pytest.raises(UnreadableError, match=said) as error:
        open_part(path, "jsonl")
    assert "CANARY" not in str(error.value)
