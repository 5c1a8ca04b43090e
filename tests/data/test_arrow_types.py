"""Extension types: no entry takes their storage for their cells."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask._errors import SchemaError
from halfmask.cli import main
from halfmask.data import open_table, to_polars
from halfmask.description import describe
from halfmask.encode import Codec, SeriesCodec
from halfmask.hashing import FileHasher, HasherSettings, KeyedHasher
from halfmask.vault import KeyFile, Secret, Vault

N = 40


class Marks(pa.ExtensionType):  # type: ignore[misc]
    """A type of somebody's own: what is stored are numbers."""

    def __init__(self):
        super().__init__(pa.int64(), "test.marks")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


class PolarsMarks(pl.BaseExtension):
    """The same of polars."""

    def __init__(self):
        super().__init__("test.marks", pl.Int64())


def of_arrow(storage, kind):
    return pa.table({"a": range(N), "x": pa.ExtensionArray.from_storage(kind, storage)})


def unknown():
    """A column of a type that pyarrow has no class for: the name is in the field."""
    named = {"ARROW:extension:name": "test.nobody", "ARROW:extension:metadata": ""}
    fields = [pa.field("a", pa.int64()), pa.field("x", pa.int64(), metadata=named)]
    return pa.table([list(range(N))] * 2, schema=pa.schema(fields))


def uuids():
    return pa.array([uuid.UUID(int=i % 4).bytes for i in range(N)], pa.binary(16))


NUMBERS = pa.array([i % 4 for i in range(N)])
TABLES = {
    "Period": pd.DataFrame({"a": range(N), "x": pd.period_range("2020-01", periods=N, freq="M")}),
    "Interval": pd.DataFrame({"a": range(N), "x": pd.interval_range(0, N)}),
    "cut": pd.DataFrame({"a": range(N), "x": pd.cut(pd.Series(range(N)), 3)}),
    "uuid": of_arrow(uuids(), pa.uuid()),
    "json": of_arrow(pa.array(["{}"] * N), pa.json_()),
    "bool8": of_arrow(NUMBERS.cast(pa.int8()), pa.bool8()),
    "opaque": of_arrow(NUMBERS, pa.opaque(pa.int64(), "t", "v")),
    "custom": of_arrow(NUMBERS, Marks()),
    "unknown": unknown(),
    "dictionary": pa.table(
        {"a": range(N), "x": pa.array([0] * N).dictionary_encode()}
    ).set_column(
        1, "x",
        pa.DictionaryArray.from_arrays(
            NUMBERS, pa.ExtensionArray.from_storage(pa.uuid(), uuids()[:4])
        ),
    ),
    "polars": pl.DataFrame({"a": range(N), "x": range(N)}).with_columns(
        pl.col("x").ext.to(PolarsMarks())
    ),
}  # fmt: skip
FILES = [name for name in TABLES if name not in {"dictionary", "cut"}]
POLICY = hm.Policy.from_toml(
    """
halfmask = 1
[columns.a]
role = "quasi_identifier"
kind = "numeric"
[columns.x]
role = "insensitive"
kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 2
"""
)
K = [hm.KAnonymity(k=2)]
SECRET = Secret.from_bytes(bytes(32))
PLAIN = pl.DataFrame({"a": range(N), "x": range(N)})
Y = np.arange(N) % 2
ENTRIES: dict[str, Callable[[Any], object]] = {
    "to_polars": to_polars,
    "describe": describe,
    "protect": lambda table: hm.protect(table, POLICY),
    "Anonymizer": lambda table: hm.Anonymizer(guarantees=K).fit(table),
    "transform": lambda table: hm.Anonymizer(guarantees=K).fit(PLAIN).transform(table),
    "AnonymizedEstimator": lambda table: hm.AnonymizedEstimator(
        DecisionTreeClassifier(), guarantees=K, quasi_identifiers=["a"]
    ).fit(table, Y),
    "Codec": lambda table: Codec(learner="trees").fit(table),
    "encode": lambda table: Codec(learner="trees").fit(PLAIN).encode(table),
    "SeriesCodec": lambda table: SeriesCodec(time="a", columns=["x"]).fit(table),
    "KeyedHasher": lambda table: KeyedHasher(secret=SECRET).fit(table),
    "hash": lambda table: KeyedHasher(secret=SECRET).fit(PLAIN).transform(table),
    "FileHasher": lambda table: FileHasher.fit(table, settings=HasherSettings(), secret=SECRET),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", TABLES)
def test_no_entry_takes_a_frame_with_an_extension_type(entry, kind):
    with pytest.raises(
        SchemaError, match=r"Column 'x' is of the extension type '[\w.]+'"
    ) as caught:
        ENTRIES[entry](TABLES[kind])

    assert "text" in str(caught.value.hint)


def written(kind, tmp_path, form):
    table = TABLES[kind]
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table)
    if isinstance(table, pl.DataFrame):
        table = table.to_arrow()
    path = tmp_path / f"table.{form}"
    if form == "parquet":
        pq.write_table(table, path)
        return path
    make = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
    with make(path, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("kind", FILES)
def test_no_entry_takes_a_file_with_an_extension_type(kind, form, tmp_path):
    path = written(kind, tmp_path, form)
    says = r"Column 'x' is of the extension type '[\w.]+'"

    with pytest.raises(SchemaError, match=says):
        open_table(path)
    with pytest.raises(SchemaError, match=says):
        FileHasher.fit(path, settings=HasherSettings(), secret=SECRET)
    made = FileHasher.fit(PLAIN, settings=HasherSettings(), secret=SECRET)
    with pytest.raises(SchemaError, match=says):
        list(made.rows(path))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("kind", ["uuid", "json", "custom", "Period", "unknown", "nested"])
def test_events_with_an_extension_type_are_refused_in_one_line(kind, form, tmp_path, capfd):
    """A uuid ended in a panic with a stack trace."""
    TABLES["nested"] = pa.table({"a": range(N), "x": pa.StructArray.from_arrays(
        [pa.ExtensionArray.from_storage(pa.uuid(), uuids())], ["id"]
    )})  # fmt: skip
    try:
        path = written(kind, tmp_path, form)
    finally:
        del TABLES["nested"]
    policy = tmp_path / "policy.toml"
    policy.write_text('halfmask-events = 1\nrelease = "r"\n[[rule]]\npath = "x"\ndo = "keep"\n')
    Vault.create(tmp_path / "vault", lock=KeyFile.create(tmp_path / "key"))
    vault = ["--vault", tmp_path / "vault", "--key-file", tmp_path / "key"]
    words = ["events", "run", policy, path, tmp_path / "out.jsonl", *vault, "--json"]

    status = main([str(word) for word in words])

    said = json.loads(capfd.readouterr().out)
    assert (status, said["ok"]) == (1, False)
    assert "Column 'x' is of the extension type" in said["error"], said


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1.5"], pl.Decimal(10, 2)),
        ([1], pl.Duration("us")),
        ([1], pl.Time()),
        (["a"], pl.Categorical()),
        (["a"], pl.Enum(["a", "b"])),
        ([1], pl.Int128()),
        ([None], pl.Null()),
    ],
)
def test_plain_types_of_polars_stay_readable(values, dtype):
    frame = to_polars(pl.DataFrame({"x": pl.Series(values).cast(dtype)}))

    assert frame.height == 1
    coded = isinstance(dtype, pl.Categorical | pl.Enum | pl.Null)
    assert frame.dtypes == ([pl.String()] if coded else [dtype])


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([object()], dtype=pl.Object),
        pl.Series([[1]]),
        pl.Series([[1]], dtype=pl.Array(pl.Int64, 1)),
        pl.Series([{"a": 1}]),
        pl.Series([b"a"]),
    ],
    ids=lambda series: str(series.dtype),
)
def test_types_without_a_plain_value_are_refused_by_name(series):
    with pytest.raises(SchemaError, match="Column 'x' holds values of type"):
        to_polars(pl.DataFrame({"x": series}))


@pytest.mark.parametrize("dtype", [pl.Object, pl.Int128, pl.UInt128])
def test_a_hasher_refuses_what_arrow_has_no_word_for(dtype):
    """Of Python objects, Arrow got the addresses: other hashes in each process."""
    frame = pl.DataFrame({"x": pl.Series([1, 2], dtype=dtype)})
    with pytest.raises(SchemaError, match="Column 'x' holds values of type"):
        KeyedHasher(secret=SECRET).fit(frame)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1], pa.decimal256(50, 0)),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.RunEndEncodedArray.from_arrays([1], [1]),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    ],
    ids=["decimal256", "interval", "run ends", "union"],
)
def test_types_of_arrow_that_cannot_be_read_are_named(array, capfd):
    """Polars panics on some of them."""
    with pytest.raises(SchemaError, match="Column 'x' is of Arrow's type"):
        to_polars(pa.table({"x": array}))
    assert capfd.readouterr().err == ""
