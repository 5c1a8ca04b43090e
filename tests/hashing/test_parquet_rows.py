"""Parquet of any layout: its hashed rows are those of the same table in memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask import DataError, HalfmaskError
from halfmask.hashing import FileHasher, HashedRows, HasherSettings, TableReading
from halfmask.hashing._slots import hashes_of
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))
KINDS = {
    "town": pa.string(),
    "road": pa.large_string(),
    "zip": pa.int32(),
    "small": pa.int8(),
    "age": pa.int64(),
    "fee": pa.float64(),
    "share": pa.float32(),
    "pays": pa.string(),
}


def table(rows, *, seed=0, distinct=20, gone=0.2):
    """Columns of all types that have dictionaries; some cells are missing."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, kind in KINDS.items():
        codes = rng.integers(0, distinct, rows)
        values = codes - 3 if pa.types.is_integer(kind) else codes / 4 - 1
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = ["", "Ühl", *(f"{'a long name of ' * (k % 3)}{k}" for k in range(distinct))]
            values = [texts[code] for code in codes]
        lacks = rng.random(rows) < (0 if name in {"pays", "zip"} else gone)
        if name == "small":
            lacks[: rows // 2] = True
        found[name] = pa.array(values, kind, mask=lacks)
    return pa.table(found)


ROWS = table(3000)
FIXTURES = [HealthCheck.function_scoped_fixture]


def hasher(*, label="pays", frame=ROWS, task=None, **more):
    told = replace(HasherSettings(bits=18, numbers="log", categorical=("zip",)), **more)
    return FileHasher.fit(frame, settings=told, secret=SECRET, label=label, task=task)


def same(hasher, path, *, frame=ROWS, **more):
    """Whether the rows of a file are those of a table in memory, which no reader of files reads."""
    read = HashedRows.concat(hasher.rows(path, **more))
    return read.equals(HashedRows.concat(hasher.rows(frame, **more)))


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["snappy", "zstd", "gzip", "none", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("numbers", ["log", "quantiles", "raw"])
def test_pages_of_any_kind_give_the_same_rows(tmp_path, packing, version, numbers):
    pq.write_table(
        ROWS, tmp_path / "a.parquet", compression=packing, data_page_version=version,
        row_group_size=1100, data_page_size=300, write_batch_size=64,
    )  # fmt: skip
    assert same(hasher(numbers=numbers), tmp_path / "a.parquet")


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=FIXTURES)
@given(
    rows=st.integers(1, 700),
    seed=st.integers(0, 99),
    distinct=st.sampled_from([2, 3, 17, 100]),
    gone=st.sampled_from([0.0, 0.05, 0.9, 1.0]),
    group=st.integers(1, 700),
    page=st.sampled_from([1, 64, 4096]),
    coded=st.sets(st.sampled_from(sorted(KINDS)), min_size=4),
    piece=st.sampled_from([1, 7, 64, 1 << 14]),
    by_polars=st.booleans(),
)
def test_any_table_gives_the_same_rows(
    tmp_path_factory, monkeypatch, rows, seed, distinct, gone, group, page, coded, piece, by_polars
):
    made = table(rows, seed=seed, distinct=distinct, gone=gone)
    path = tmp_path_factory.mktemp("any") / "a.parquet"
    if by_polars:
        pl.DataFrame(made).write_parquet(path, row_group_size=group, data_page_size=page)
    else:
        pq.write_table(
            made, path, use_dictionary=sorted(coded), row_group_size=group, data_page_size=page,
            write_batch_size=32,
        )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("halfmask.hashing._reading.BATCH_ROWS", piece)
        read = HashedRows.concat(hasher(frame=made).rows(path))
    assert read.equals(HashedRows.concat(hasher(frame=made).rows(made)))


def test_a_dictionary_that_grew_too_large(tmp_path):
    pq.write_table(
        ROWS, tmp_path / "a.parquet", dictionary_pagesize_limit=64, data_page_size=64,
        write_batch_size=16,
    )  # fmt: skip
    assert same(hasher(), tmp_path / "a.parquet")


def test_each_distinct_text_of_a_small_dictionary_is_hashed_once(tmp_path, monkeypatch):
    pq.write_table(ROWS.select(["town", "road", "pays"]), tmp_path / "a.parquet")
    fitted = hasher(frame=ROWS.select(["town", "road", "pays"]), categorical=())
    lengths = []

    def counted(array, key):
        lengths.append(len(array))
        return hashes_of(array, key)

    monkeypatch.setattr("halfmask.hashing._slots.hashes_of", counted)
    assert sum(len(rows) for rows in fitted.rows(tmp_path / "a.parquet")) == 3000
    assert lengths == [len(ROWS[name].drop_null().unique()) for name in ("town", "road")]


@pytest.mark.slow
def test_required_columns(tmp_path):
    present = ROWS.select(["town", "zip", "age", "pays"]).drop_null()
    fields = [pa.field(f.name, f.type, nullable=False) for f in present.schema]
    required = present.cast(pa.schema(fields))
    for version in ("1.0", "2.0"):
        pq.write_table(required, tmp_path / "a.parquet", data_page_version=version)
        assert same(hasher(frame=required), tmp_path / "a.parquet", frame=required)


def test_names_that_begin_as_others_do(tmp_path):
    """Readers of Parquet take `a` for the first part of `a.b`."""
    names = {"town": "a", "road": "a.b", "zip": "a.b.c", "age": "b"}
    made = ROWS.select([*names, "pays"]).rename_columns([*names.values(), "pays"])
    pq.write_table(made, tmp_path / "a.parquet")
    fitted = hasher(frame=made.drop_columns(["a.b", "b"]), categorical=())
    left = TableReading(leave_out=("a.b", "b"))
    assert same(fitted, tmp_path / "a.parquet", frame=made, reading=left)


def test_labels(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(ROWS, path, row_group_size=999)
    assert same(hasher(), path, labelled=False)
    assert same(hasher(label=None), path)
    assert same(hasher(label="zip", task="classification", categorical=()), path)
    assert same(hasher(label="zip", task="regression", categorical=()), path)
    left = TableReading(leave_out=("road",))
    smaller = hasher(frame=ROWS.drop_columns(["road"]))
    assert same(smaller, path, reading=left)
    without = tmp_path / "b.parquet"
    pq.write_table(ROWS.drop_columns(["pays"]), without)
    assert same(hasher(), without, frame=ROWS.drop_columns(["pays"]))


@pytest.mark.slow
def test_wrong_labels_are_told_of(tmp_path):
    path = tmp_path / "a.parquet"
    missing = ROWS.set_column(7, "pays", pa.array([None, *ROWS["pays"].to_pylist()[1:]]))
    pq.write_table(missing, path)
    with pytest.raises(DataError, match="label is missing"):
        list(hasher().rows(path))
    pq.write_table(table(50, seed=2, distinct=100), path)
    with pytest.raises(DataError, match="class that wasn't there"):
        list(hasher().rows(path))


def test_folders_and_several_groups_keep_their_order(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        part = ROWS.slice(1000 * number, 1000)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=100 + number)
    assert same(hasher(), folder)


def test_progress_ends_at_all(tmp_path):
    pq.write_table(ROWS, tmp_path / "a.parquet", row_group_size=700)
    told = []
    list(hasher().rows(tmp_path / "a.parquet", progress=lambda _, share: told.append(share)))
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.slow
def test_a_file_that_changes_meanwhile(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(ROWS, path, row_group_size=500)
    rows = hasher().rows(path)
    next(rows)
    pq.write_table(ROWS.slice(0, 2000), tmp_path / "b", row_group_size=500)
    (tmp_path / "b").rename(path)
    with pytest.raises(DataError, match="changed"):
        list(rows)


@pytest.mark.parametrize("coded", [True, False])
def test_bytes_that_are_no_characters_are_an_error(tmp_path, coded):
    cells = pa.array([b"Dale", b"\xff\xfe", b"Bree"] * 50).view(pa.string())
    made = pa.table({"town": cells})
    pq.write_table(made, tmp_path / "a.parquet", use_dictionary=coded)
    fitted = hasher(frame=pl.DataFrame({"town": ["Dale"]}), label=None, categorical=())
    with pytest.raises(DataError, match="parquet"):
        list(fitted.rows(tmp_path / "a.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("packing", ["none", "snappy"])
@settings(max_examples=25, deadline=None, suppress_health_check=FIXTURES)
@given(data=st.data())
def test_damage_is_seen_or_the_rows_are_those_of_pyarrow(tmp_path_factory, version, packing, data):
    path = tmp_path_factory.mktemp("damaged") / "a.parquet"
    made = table(200, seed=1).drop_columns(["pays"])
    pq.write_table(made, path, data_page_version=version, compression=packing, data_page_size=100)
    whole = bytearray(path.read_bytes())
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(4, footer - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    fitted = hasher(label=None, frame=made)
    try:
        found = list(fitted.rows(path))
    except HalfmaskError:
        return
    if sum(map(len, found)) == 200:
        with suppress(OSError, pa.ArrowException):
            assert HashedRows.concat(found).equals(fitted.plan.rows(pq.read_table(path)))
