"""A plan as bytes: whole and without pickle, and nothing else is read as one."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import polars as pl
import pytest

from halfmask import DataError
from halfmask.encode import PLAN_VERSION, Codec, plan_from_bytes, plan_to_bytes

SETTINGS = [
    {"learner": "trees", "missing": "hidden", "unseen": "reserve", "split": True},
    {"learner": "distances", "by": "town"},
    {"learner": "linear", "missing": "hidden", "out_of_range": "error"},
    {"learner": "networks", "strength": 1.0, "rows": "kept"},
]


def _changed(data, **head):
    """Return the archive with other words in its head."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["plan.json"] = json.dumps({**json.loads(files["plan.json"]), **head}).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("target", ["town", "income", None])
def test_a_codec_comes_back_from_bytes(table, secret, settings, target):
    if settings.get("by") == target:
        return
    codec = Codec(secret=secret, **settings).fit(table, target=target)
    data = codec.to_bytes()

    again = Codec.from_bytes(data)

    sent = codec.encode(table)
    assert again.encode(table).equals(sent)
    assert again.decode(sent).equals(codec.decode(sent))
    assert plan_to_bytes(again.plan_) == data
    assert again.to_bytes() == codec.to_bytes()
    assert (again.claims, again.weaknesses) == (codec.claims, codec.weaknesses)
    assert (again.learner, again.by, again.secret) == (codec.learner, codec.by, None)


def test_every_type_of_column_comes_back(secret):
    rows = pl.DataFrame(
        {
            "small": pl.Series([1, None, 3], dtype=pl.Int8),
            "large": pl.Series([2**64 - 1, 0, None], dtype=pl.UInt64),
            "zoned": pl.Series([0, 1, None]).cast(pl.Datetime("ms", "Asia/Tokyo")),
            "long": pl.Series([5, 6, None]).cast(pl.Duration("ns")),
            "clock": pl.Series([5, 6, None]).cast(pl.Time),
            "half": pl.Series([0.5, None, 1.5], dtype=pl.Float32),
            "fee": pl.Series(["1.10", "-2.25", None]).cast(pl.Decimal(12, 2)),
            "text": ["\ud7ff", "", None],
        }
    )
    codec = Codec.from_bytes(Codec(learner="trees", secret=secret).fit(rows).to_bytes())

    back = codec.decode(codec.encode(rows))

    assert back.schema == rows.schema
    assert back.equals(rows)


@pytest.mark.parametrize("version", [0, PLAN_VERSION + 1, "1", None])
def test_another_version_is_refused(table, secret, version):
    data = Codec(learner="trees", secret=secret).fit(table).to_bytes()

    with pytest.raises(DataError, match="of version"):
        plan_from_bytes(_changed(data, version=version))


def test_what_is_no_plan_is_refused(table, secret):
    data = Codec(learner="linear", secret=secret).fit(table).to_bytes()
    for wrong in (
        b"", b"PK", b"{}", data[: len(data) // 2], _changed(data, format="other"),
        _changed(data, plan=[]), _changed(data, plan={"kind": "Popen", "fields": {}}),
        _changed(data, plan={"kind": "Bend", "fields": {"tail": 1, "shift": 2}}),
        _changed(data, plan={"kind": "Plan", "fields": {}}),
    ):  # fmt: skip
        with pytest.raises(DataError):
            plan_from_bytes(wrong)


def test_a_damaged_plan_is_never_read_as_another(table, secret):
    """The archive's checksums find what a vault's seal would find first."""
    codec = Codec(learner="linear", secret=secret).fit(table)
    data = codec.to_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(data), 60):
        harmed = bytearray(data)
        harmed[at] ^= 1 << int(rng.integers(8))
        try:
            read = plan_from_bytes(bytes(harmed))
        except DataError:
            continue
        assert plan_to_bytes(read) == data


def test_arrays_of_objects_are_refused(table, secret):
    """An array of Python objects would be a pickle."""
    data = Codec(learner="linear", secret=secret).fit(table).to_bytes()
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in files if name.endswith(".npy"))
    files[name] = buffer.getvalue()
    spoilt = io.BytesIO()
    with zipfile.ZipFile(spoilt, "w") as archive:
        for each, content in files.items():
            archive.writestr(each, content)

    with pytest.raises(DataError):
        plan_from_bytes(spoilt.getvalue())


def _of_version_0_1(data):
    """Return a plan's bytes without what plans of 0.1 didn't say."""

    def older(value):
        if isinstance(value, list):
            return [older(each) for each in value]
        if not isinstance(value, dict):
            return value
        new = {"home", "precision"}
        return {name: older(each) for name, each in value.items() if name not in new}

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    plan = json.dumps(older(json.loads(files["plan.json"]))).encode()
    assert plan != files["plan.json"]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {**files, "plan.json": plan}.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("learner", ["trees", "distances", "linear", "networks"])
def test_plans_of_0_1_decode_what_they_encoded(table, secret, learner):
    codec = Codec(learner=learner, secret=secret).fit(table, target="age", task="regression")
    sent = codec.encode(table)

    old = Codec.from_bytes(_of_version_0_1(codec.to_bytes()))

    back = old.decode(sent)
    assert back.columns[-1] == "age"
    assert back.select(table.columns).equals(codec.decode(sent))
    assert old.encode(table).equals(sent)
