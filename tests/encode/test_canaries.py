"""No byte of what leaves holds a name, a category, a text or a number of the table."""

from __future__ import annotations

import base64
import secrets

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask import HalfmaskError
from halfmask.data import write_table
from halfmask.encode import Codec, _files, encode_file, fit_file

LEARNERS = ("trees", "distances", "linear", "networks")


def _canary():
    return "canary" + secrets.token_hex(12)


@pytest.fixture(scope="module")
def planted():
    """Return a table with canaries in names, categories and numbers, and the canaries."""
    name, town, rare, label, unused = (_canary() for _ in range(5))
    rng = np.random.default_rng(0)
    numbers = rng.normal(12_345.678, 1_000, 200)
    rows = pl.DataFrame(
        {
            name: rng.choice([town, rare], 200, p=[0.8, 0.2]),
            f"{name} salary": numbers,
            f"{name} id": rng.integers(10**11, 10**12, 200),
            f"{name} label": rng.choice([label, town], 200),
        }
    ).with_columns(pl.col(name).cast(pl.Enum([town, rare, unused])))
    texts = [name, town, rare, label, unused]
    values = [*numbers.tolist(), *rows[f"{name} id"].to_list()]
    return rows, texts, values


def _forms(text):
    """Return how a text may stand in a file."""
    plain = text.encode()
    return [
        plain, text.encode("utf-16-le"), plain.hex().encode(),
        base64.b64encode(plain)[:-4], base64.b64encode(b"\0" + plain)[2:-4],
    ]  # fmt: skip


def _leaks(data, texts, values):
    """Return how many canaries the bytes hold."""
    found = sum(any(form in data for form in _forms(text)) for text in texts)
    for value in values:
        kind = "<f8" if isinstance(value, float) else "<i8"
        found += np.array(value, kind).tobytes() in data or repr(value).encode() in data
    return found


def _pages(path):
    """Return the file's bytes, and all that its pages, footers and dictionaries hold, unpacked."""
    table = pq.read_table(path)
    unpacked = pa.BufferOutputStream()
    pq.write_table(table, unpacked, compression="none", use_dictionary=False)
    file = pq.ParquetFile(path)
    footer = repr(file.metadata.to_dict()) + repr(file.schema) + repr(table.schema.metadata)
    return path.read_bytes() + unpacked.getvalue().to_pybytes() + footer.encode()


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("split", [False, True])
def test_no_canary_leaves_in_a_file(planted, tmp_path, learner, split):
    rows, texts, values = planted
    label = next(name for name in rows.columns if name.endswith("label"))
    codec = Codec(learner=learner, split=split).fit(rows, target=label)
    sent = codec.encode(rows)

    for number, frame in enumerate((sent, sent.to_arrow(), sent.to_pandas())):
        path = tmp_path / f"{number}.parquet"
        if isinstance(frame, pl.DataFrame):
            frame.write_parquet(path)
        elif isinstance(frame, pa.Table):
            pq.write_table(frame, path)
        else:
            frame.to_parquet(path)
        assert _leaks(_pages(path), texts, values) == 0
    for ending in ("csv", "arrow", "jsonl"):
        write_table(sent, tmp_path / f"sent.{ending}")
        assert _leaks((tmp_path / f"sent.{ending}").read_bytes(), texts, values) == 0


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("missing", ["visible", "hidden"])
def test_no_canary_leaves_in_a_file_of_batches(planted, tmp_path, monkeypatch, learner, missing):
    """Every byte, and every page, footer, statistic, dictionary and key of metadata unpacked."""
    rows, texts, values = planted
    monkeypatch.setattr(_files, "_MAX_ROWS", 30)
    label = next(name for name in rows.columns if name.endswith("label"))
    codec = fit_file(Codec(learner=learner, missing=missing), rows, target=label)

    for form in ("parquet", "csv", "arrow"):
        encode_file(codec, rows, tmp_path / form, format=form)

    file = pq.ParquetFile(tmp_path / "parquet")
    assert file.metadata.metadata is None
    assert file.schema_arrow.metadata is None
    assert all(field.metadata in (None, {}) for field in file.schema_arrow)
    known = {*codec.plan_.tokens, codec.target_name_}
    assert set(file.schema_arrow.names) == known
    assert _leaks(_pages(tmp_path / "parquet"), texts, values) == 0
    assert _leaks((tmp_path / "csv").read_bytes(), texts, values) == 0
    assert (tmp_path / "csv").read_text().count("\n") == rows.height + 1
    opened = pa.ipc.open_file(tmp_path / "arrow")
    assert opened.schema.metadata is None
    unpacked = b"".join(
        buffer.to_pybytes()
        for column in opened.read_all().columns
        for chunk in column.chunks
        for buffer in chunk.buffers()
        if buffer is not None
    )
    assert _leaks((tmp_path / "arrow").read_bytes() + unpacked, texts, values) == 0


def test_the_search_sees_what_a_renaming_leaves(planted, tmp_path):
    rows, texts, values = planted
    renamed = rows.rename({name: f"c{i}" for i, name in enumerate(rows.columns)})
    renamed.write_parquet(tmp_path / "renamed.parquet")

    assert _leaks(_pages(tmp_path / "renamed.parquet"), texts, values) > len(values) / 2


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_no_error_shows_a_value(planted, learner):
    rows, texts, values = planted
    codec = Codec(learner=learner, out_of_range="error").fit(rows[:50])
    name, number = rows.columns[:2]
    texts = [text for text in texts if text != name]  # errors name columns
    sent = codec.encode(rows[:50])
    tries = [
        lambda: codec.encode(rows.with_columns(pl.lit(_canary()).alias(name))),
        lambda: codec.encode(rows),
        lambda: codec.encode(rows.with_columns(pl.col(number) * 1e9)),
        lambda: codec.encode(rows.with_columns(pl.col(number).cast(pl.String))),
        lambda: codec.decode(sent.with_columns(pl.all() * 1000 + 1)),
        lambda: Codec(learner=learner).fit(rows, target=name, task="regression"),
        lambda: Codec.from_bytes(codec.to_bytes()[:-9]),
    ]
    raised = 0
    for attempt in tries:
        try:
            attempt()
        except HalfmaskError as error:
            said = f"{error} {error!r} {error.__cause__} {codec} {codec.plan_}".encode()
            assert _leaks(said, texts, values) == 0
            raised += 1
    assert raised >= 5
