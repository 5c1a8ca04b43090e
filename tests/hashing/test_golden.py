"""Vectors that no version may change, made by other code than ours."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from halfmask.hashing import HashedRows, HasherSettings, LabelCodes
from halfmask.hashing._plan import fit_plan
from halfmask.hashing._slots import HasherKeys, hash_of, hashes_of
from hashing.plain_hasher import (  # type: ignore[import-not-found] # beside, not in a package
    Oracle,
    rows_of,
)

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))
ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "float": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us", "UTC"),
}


@pytest.mark.parametrize("vector", GOLDEN["siphash"], ids=lambda it: len(it["message"]) // 2)
def test_siphash(vector):
    key = np.frombuffer(bytes.fromhex(vector["key"]), "<u8")

    found = hash_of((key[0], key[1]), bytes.fromhex(vector["message"]))

    assert f"{found:016x}" == vector["hash"]


@pytest.mark.parametrize("vector", GOLDEN["keys"], ids=lambda it: it["purpose"])
def test_keys(vector, secret):
    keys = HasherKeys(secret=secret, name=GOLDEN["name"])
    columns = json.loads(vector["column"]) if vector["column"][:1] == "[" else [vector["column"]]

    first, last = keys.of(vector["purpose"], *columns)

    assert first.tobytes().hex() + last.tobytes().hex() == vector["key"]
    assert Oracle().key(vector["purpose"], vector["column"]).hex() == vector["key"]


@pytest.mark.parametrize(
    "vector", GOLDEN["cells"], ids=lambda it: f"{it['what']}-{it['cell']}".replace(" ", "-")
)
def test_cells(vector, secret):
    keys = HasherKeys(secret=secret, name=GOLDEN["name"])
    column = vector["column"]
    columns = json.loads(column) if column[:1] == "[" else [column]
    key = keys.of(vector["purpose"], *columns)

    hashed = int(hash_of(key, bytes.fromhex(vector["message"])))

    assert f"{hashed:016x}" == vector["hash"]
    assert hashed % 2 ** GOLDEN["bits"] == vector["index"]
    assert (-1 if hashed >> 63 else 1) == vector["sign"]
    if vector["what"] in ARROW:
        cell = vector["cell"]
        if vector["what"] == "date":
            cell = dt.date.fromisoformat(cell)
        elif vector["what"] == "datetime":
            cell = dt.datetime.fromisoformat(cell)
        array = pa.array([cell], ARROW[vector["what"]])
        assert hashes_of(array, key).tolist() == [hashed]


def table_and_plan(secret):
    said = GOLDEN["table"]
    table = pa.table(said["columns"])
    return table, fit_plan([table], settings=HasherSettings(**said["settings"]), secret=secret)


def test_a_table(secret):
    table, plan = table_and_plan(secret)

    edges = {it.name: it.edges.tolist() for it in plan.columns if it.edges is not None}
    assert edges == GOLDEN["table"]["edges"]
    assert rows_of(plan.rows(table)) == GOLDEN["table"]["rows"]


def test_labels(secret):
    said = GOLDEN["labels"]
    codes = LabelCodes.fit(said["classes"], secret=secret)

    assert codes.decode(np.arange(3)).tolist() == said["by_code"]


@pytest.mark.parametrize("vector", GOLDEN["wire"], ids=range(len(GOLDEN["wire"])))
def test_the_wire(vector):
    with pa.ipc.open_stream(bytes.fromhex(vector["stream"])) as stream:
        (rows,) = [HashedRows.from_batch(it) for it in stream]

    assert rows.bits == vector["bits"]
    assert rows.label_kind == vector["labels_kind"]
    for name in ("indices", "indptr", "values", "labels", "weights"):
        array = getattr(rows, name)
        assert (None if array is None else array.tolist()) == vector.get(name)
