"""Tables in an object store, through a server of its protocol in this process."""

from __future__ import annotations

import datetime as dt
import pickle
from functools import partial

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.s3_server import environment, s3_server  # type: ignore[import-not-found] # beside
from halfmask import DataError, ParameterError, ReleaseError, SchemaError
from halfmask.data import atomic_file, open_table, write_table

CANARY = "canary"


@pytest.fixture(scope="module")
def server():
    with s3_server() as (bucket, address):
        yield bucket, address


@pytest.fixture
def bucket(server, monkeypatch):
    found, address = server
    found.objects.clear()
    found.requests.clear()
    found.refused = lambda _method, _name: False
    for name, value in environment(address).items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def table():
    """Rows with a name that is the beginning of another, a list, and missing cells."""
    n = 1000
    return pl.DataFrame(
        {
            "a": range(n),
            "a.b": [f"text {i % 7}" for i in range(n)],
            "category": pl.Series([f"c{i % 3}" for i in range(n)], dtype=pl.Categorical),
            "missing": [None if i % 2 else i * 0.5 for i in range(n)],
            "wide": [f"{i:0100d}" for i in range(n)],
        }
    )


def put_files(bucket, table, folder, name="bucket/people"):
    """Put a table into the bucket and a folder, as three files of row groups of 100 rows."""
    for number, first in enumerate((0, 100, 450)):
        path = folder / f"{number}.parquet"
        stop = (100, 450, 1000)[number]
        table[first:stop].write_parquet(path, row_group_size=100)
        bucket.put(f"{name}/{path.name}", path.read_bytes())


@pytest.mark.slow
def test_a_folder_of_parquet_is_read_as_one_on_disk(bucket, table, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 130)
    put_files(bucket, table, tmp_path)
    bucket.put("bucket/people/_SUCCESS", b"")

    there, here = open_table("s3://bucket/people/"), open_table(tmp_path)

    assert there.parts() == here.parts()
    assert there.dtypes == here.dtypes
    assert there.read().equals(here.read())
    sent = pickle.loads(pickle.dumps(there))  # noqa: S301 # as an engine does
    for rows in there.parts() or ():
        columns = ["missing", "a.b"]
        assert sent.part(rows).read(columns=columns).equals(here.part(rows).read(columns=columns))
    assert [f.height for f in there.batches(300)] == [300, 300, 300, 100]


def test_a_part_fetches_its_row_groups_and_columns_alone(bucket, table, tmp_path, monkeypatch):
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 100)
    monkeypatch.setattr("halfmask.data.io.object_store._TAIL", 8)
    put_files(bucket, table, tmp_path)
    source = open_table("s3://bucket/people")
    size = len(bucket.objects["bucket/people/2.parquet"][0])
    before = bucket.sent

    found = source.part(range(600, 700)).read(columns=["a"])

    assert found["a"].to_list() == list(range(600, 700))
    footer = int.from_bytes(bucket.objects["bucket/people/2.parquet"][0][-8:-4], "little")
    assert bucket.sent - before < 2 * footer + 3000 < size


def test_one_object_and_objects_of_text(bucket, table, tmp_path):
    put_files(bucket, table, tmp_path)
    bucket.put("bucket/csv/1.csv", b"a,b\n1,x\n")
    bucket.put("bucket/csv/2.csv", b"a,b\n2,y\n")

    assert (
        open_table("s3://bucket/people/1.parquet")
        .read()
        .equals(open_table(tmp_path / "1.parquet").read())
    )
    assert open_table("s3://bucket/csv").read().rows() == [(1, "x"), (2, "y")]
    assert open_table("s3://bucket/csv/2.csv").n_rows == 1


def test_ordered_categories_of_pandas_are_fetched(bucket, tmp_path):
    codes = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, 1]), pa.array(["low", "high"]), ordered=True
    )
    pq.write_table(pa.table({"level": codes, "n": [1, 2, 3]}), tmp_path / "x.parquet")
    bucket.put("bucket/x.parquet", (tmp_path / "x.parquet").read_bytes())

    found = open_table("s3://bucket/x.parquet")

    assert found.orders == open_table(tmp_path / "x.parquet").orders == {"level": ("low", "high")}


@pytest.mark.parametrize("cell", [36_000 * 10**6, 90_000 * 10**6])
def test_columns_of_times_are_fetched_to_be_checked(bucket, tmp_path, cell):
    """What lies between the footer and the columns that are asked for is a hole."""
    times = pa.array([cell] * 3, pa.int64()).view(pa.time64("us"))
    pq.write_table(pa.table({"pad": ["x" * 99] * 3, "seen": times}), tmp_path / "x.parquet")
    bucket.put("bucket/x.parquet", (tmp_path / "x.parquet").read_bytes())
    address = "s3://bucket/x.parquet"

    if cell < 86_400 * 10**6:
        assert open_table(address).read()["seen"].to_list() == [dt.time(10)] * 3
    else:
        with pytest.raises(DataError, match="'seen' has times of day"):
            open_table(address)


def test_an_object_that_changes_is_an_error(bucket, table, tmp_path):
    put_files(bucket, table, tmp_path)
    source = open_table("s3://bucket/people")
    table[:7].write_parquet(tmp_path / "1.parquet")
    bucket.put("bucket/people/1.parquet", (tmp_path / "1.parquet").read_bytes())

    with pytest.raises(DataError, match="has changed"):
        source.read()


def test_an_object_that_vanishes_is_an_error(bucket, table, tmp_path):
    put_files(bucket, table, tmp_path)
    source = open_table("s3://bucket/people")
    del bucket.objects["bucket/people/1.parquet"]

    with pytest.raises(DataError, match=r"^File 2 of the table to read is not there\."):
        source.read()


def test_objects_that_differ(bucket, table, tmp_path):
    put_files(bucket, table, tmp_path)
    table.drop("wide").write_parquet(tmp_path / "1.parquet")
    bucket.put("bucket/people/1.parquet", (tmp_path / "1.parquet").read_bytes())

    with pytest.raises(SchemaError, match="File 2 of the table to read lacks 1 columns"):
        open_table("s3://bucket/people")


@pytest.mark.parametrize(
    "data",
    [b"PAR1", b"PAR1" + bytes(100), b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1" + bytes(40) + b"PAR1"],
)
def test_damaged_objects_are_errors(bucket, data):
    bucket.put(f"bucket/{CANARY}.parquet", data)

    with pytest.raises(DataError) as caught:
        open_table(f"s3://bucket/{CANARY}.parquet")
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "error", "says"),
    [
        (f"s3://bucket/{CANARY}", DataError, "is not there, or is a folder without files"),
        (f"s3://bucket/{CANARY}/sub", DataError, "a folder that holds folders"),
        (f"s3://me:{CANARY}@bucket/x", ParameterError, "a user name, a password or another @"),
        (f"s3://bucket/x?key={CANARY}", ParameterError, "an address that can't be read"),
        (f"s3:///{CANARY}", ParameterError, "an address that can't be read"),
        (f"az://bucket/{CANARY}", ParameterError, "name of the storage account"),
        (f"s3a://bucket/{CANARY}", DataError, "an address that this job doesn't read"),
        (f"https://bucket/{CANARY}", DataError, "an address that this job doesn't read"),
    ],
)
def test_addresses_of_no_table(bucket, monkeypatch, address, error, says):
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    bucket.put(f"bucket/{CANARY}/sub/deep/x.csv", b"a\n1\n")
    if says.startswith("is not"):
        bucket.objects.clear()

    with pytest.raises(error, match=says) as caught:
        open_table(address)
    assert CANARY not in repr(caught.value)


def test_a_store_that_refuses(bucket, table, tmp_path, monkeypatch):
    """Whether the list or an object is refused, the error has no name of it."""
    put_files(bucket, table, tmp_path, f"bucket/{CANARY}")
    source = open_table(f"s3://bucket/{CANARY}")
    bucket.refused = lambda method, name: method == "GET" and name.endswith("1.parquet")
    for read in (source.read, partial(open_table, f"s3://bucket/{CANARY}")):
        with pytest.raises(
            DataError, match=r"^File 2 of .* can't be read from the object store"
        ) as caught:
            read()
        assert CANARY not in repr(caught.value)

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(
        DataError, match="The table to read can't be read from the object store"
    ) as caught:
        open_table(f"s3://bucket/{CANARY}")
    assert CANARY not in repr(caught.value)


def test_other_outputs_are_refused(table):
    with pytest.raises(ReleaseError, match="This output can't be written to an object"):
        write_table(table, "s3://bucket/x.parquet")
    with pytest.raises(ReleaseError, match="This output"), atomic_file("gs://bucket/x"):
        pass
