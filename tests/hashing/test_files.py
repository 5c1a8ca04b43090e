"""Tables in files: read alike whatever the format, written whole, and nothing of them leaves."""

from __future__ import annotations

import base64
import secrets

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    HalfmaskError,
    KeyMismatchError,
    ParameterError,
    ReleaseError,
    SchemaError,
)
from halfmask.data import ReadOptions, open_table, write_table
from halfmask.hashing import (
    FileHasher,
    HashedRows,
    HasherSettings,
    RowsWriter,
    TableReading,
    _reading,
    read_rows,
)
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))


def people(n=500, seed=0):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "wage": np.round(rng.lognormal(8, 1, n), 2),
            "town": rng.choice(["Bree", "Dale", "Ost", ""], n),
            "code": rng.choice(["007", "12", "x"], n),
            "pays": rng.choice(["yes", "no", "later"], n),
        }
    )
    gone = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(
        pl.when(~gone).then("wage").alias("wage"),
        pl.when(pl.col("town") != "").then("town").alias("town"),
    )


def fit(table, label="pays", **more):
    return FileHasher.fit(
        table, settings=HasherSettings(bins=8), secret=SECRET, label=label, **more
    )


def all_of(hasher, table, **more):
    return HashedRows.concat(hasher.rows(table, **more))


@pytest.fixture(params=["csv", "tsv", "parquet", "arrow", "arrows", "jsonl", "csv.gz"])
def table(request, tmp_path):
    path = tmp_path / f"people.{request.param}"
    write_table(people(), path)
    return path


@pytest.mark.mostly_slow
def test_any_format_is_hashed_alike(table, monkeypatch):
    """And whatever the batches are."""
    rows = people()
    hasher = fit(rows)
    monkeypatch.setattr(_reading, "BATCH_ROWS", 77)

    from_file = fit(table)

    assert from_file.to_bytes() == hasher.to_bytes()
    assert all_of(from_file, table).equals(all_of(hasher, rows))
    plain = hasher.plan.rows(rows.drop("pays"))
    assert all_of(hasher, table, labelled=False).equals(plain)
    assert all_of(hasher, open_table(table)).equals(all_of(hasher, rows))


def test_texts_of_parquet_are_hashed_alike_whatever_their_type(tmp_path):
    """The schema of Arrow in a file may say views, strings or dictionaries."""
    rows = people()
    arrow = rows.to_arrow()
    town = arrow.column("town").cast(pa.string()).dictionary_encode()
    place = arrow.schema.names.index("town")
    tables = (arrow, pa.Table.from_pandas(rows.to_pandas()), arrow.set_column(place, "town", town))
    for number, table in enumerate(tables):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=123)
        assert all_of(fit(path), path).equals(all_of(fit(rows), rows))


def test_a_folder_of_parquet_is_one_table(tmp_path):
    rows = people()
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        rows[part * 200 : part * 200 + 200].write_parquet(folder / f"{part}.parquet")
    hasher = fit(folder)

    assert all_of(hasher, folder).equals(all_of(fit(rows), rows))
    people(5).rename({"age": "years"}).write_parquet(folder / "3.parquet")
    with pytest.raises(DataError, match="File 4"):
        fit(folder)


def test_lists_of_parquet_are_sets(tmp_path):
    path = tmp_path / "tags.parquet"
    table = pa.table({"tags": [["a", "b"], [], None], "pays": ["x", "y", "x"]})
    pq.write_table(table, path)

    hasher = FileHasher.fit(
        path, settings=HasherSettings(sets=("tags",)), secret=SECRET, label="pays"
    )

    found = all_of(hasher, path)
    assert found.equals(all_of(hasher, path))
    assert np.diff(found.flat()[0]).tolist() == [2, 0, 1]


def test_texts_are_read_as_those_of_the_fit_were(tmp_path):
    """A later CSV file in which a code looks like a number, or a number like an integer."""
    hasher = fit(people())
    later = people(4, seed=3).with_columns(code=pl.lit("12"), wage=pl.lit(3.0), town=pl.lit(None))
    write_table(later, tmp_path / "later.csv")

    assert pl.read_csv(tmp_path / "later.csv")["code"].dtype == pl.Int64
    assert all_of(hasher, tmp_path / "later.csv").equals(all_of(hasher, later))


def test_labels_of_each_kind():
    rows = people().with_columns(grade=pl.col("age") % 3)
    classes = all_of(hasher := fit(rows, "grade", task="classification"), rows)
    numbers = all_of(fit(rows, "grade", task="regression"), rows)
    wages = rows.drop_nulls("wage")

    assert classes.label_kind == "classes:3"
    assert hasher.codes is not None
    assert hasher.codes.decode(classes.labels).tolist() == rows["grade"].to_list()
    assert numbers.labels is not None
    assert numbers.labels.tolist() == rows["grade"].to_list()
    assert all_of(fit(wages, "wage"), wages).label_kind == "number"
    with pytest.raises(SchemaError, match="classes, or numbers"):
        fit(rows, "grade")
    with pytest.raises(SchemaError, match="as a number"):
        fit(rows, "town", task="regression")
    with pytest.raises(DataError, match="missing"):
        fit(rows, "wage")
    with pytest.raises(DataError, match="missing"):
        fit(rows, "town")
    with pytest.raises(ParameterError):
        fit(rows, "grade", task="clustering")


def test_rows_without_labels():
    rows = people()
    hasher = fit(rows)
    unlabelled = rows.drop("pays")

    assert all_of(hasher, unlabelled).label_kind == "none"
    assert fit(unlabelled, None).label is None
    with pytest.raises(ColumnNotFoundError, match="pays"):
        all_of(hasher, unlabelled, labelled=True)


def test_columns_are_left_out():
    rows = people()
    reading = TableReading(leave_out=("code", "wage"))

    hasher = fit(rows, reading=reading)

    assert {it.name for it in hasher.plan.columns} == {"age", "town"}
    assert all_of(hasher, rows, reading=reading).width == 2
    with pytest.raises(SchemaError, match="'code'"):
        all_of(hasher, rows)
    with pytest.raises(ColumnNotFoundError, match="coda"):
        fit(rows, reading=TableReading(leave_out=("coda",)))
    with pytest.raises(SchemaError, match="No column"):
        fit(rows.select("age", "pays"), reading=TableReading(leave_out=("age",)))


def test_marks_of_missing_cells_hold_for_parquet_too(tmp_path):
    rows = people().with_columns(pl.col("town").fill_null("?"))
    rows.write_parquet(tmp_path / "marked.parquet")
    reading = TableReading(options=ReadOptions(missing=("?",)))
    hasher = fit(people())

    found = all_of(hasher, tmp_path / "marked.parquet", reading=reading)

    assert found.equals(all_of(hasher, people()))


def test_a_hasher_as_bytes():
    hasher = fit(people())

    again = FileHasher.from_bytes(hasher.to_bytes(), secret=SECRET)

    assert again.to_bytes() == hasher.to_bytes()
    assert all_of(again, people()).equals(all_of(hasher, people()))
    with pytest.raises(KeyMismatchError):
        FileHasher.from_bytes(hasher.to_bytes(), secret=Secret.fresh())
    for data in (b"", b"{}", b"[1]", hasher.to_bytes()[:-9], hasher.plan.to_bytes()):
        with pytest.raises(DataError):
            FileHasher.from_bytes(data, secret=SECRET)


def test_progress_is_reported():
    said = []

    hasher = fit(people(), progress=lambda *it: said.append(it))
    all_of(hasher, people(), progress=lambda *it: said.append(it))

    assert said == [("fitting", 1.0), ("hashing", 1.0)]


# --- what leaves ---


def canary():
    return "canary" + secrets.token_hex(12)


def forms(text):
    plain = text.encode()
    return [
        plain, text.encode("utf-16-le"), plain.hex().encode(),
        base64.b64encode(plain)[:-4], base64.b64encode(b"\0" + plain)[2:-4],
    ]  # fmt: skip


def leaks(data, texts, values):
    found = sum(any(form in data for form in forms(text)) for text in texts)
    for value in values:
        kinds = ("<f8", "<f4") if isinstance(value, float) else ("<i8",)
        found += any(np.array(value, kind).tobytes() in data for kind in kinds)
        found += repr(value).encode() in data
    return found


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["quantiles", "log"])
def test_no_byte_of_the_table_leaves(tmp_path, numbers):
    name, town, rare, label, word, other = (canary() for _ in range(6))
    rng = np.random.default_rng(0)
    rows = pa.table(
        {
            name: rng.choice([town, rare], 300, p=[0.9, 0.1]),
            f"{name} wage": rng.normal(12_345.678, 1_000, 300),
            f"{name} id": rng.integers(10**11, 10**12, 300),
            f"{name} note": rng.choice([f"{word} {other}", other], 300),
            f"{name} tags": [[word], [other, word], []] * 100,
            f"{name} pays": rng.choice([label, town], 300),
        }
    )
    values = [*rows[f"{name} wage"].to_pylist(), *rows[f"{name} id"].to_pylist()]
    texts = [name, town, rare, label, word, other]
    pq.write_table(rows, tmp_path / "in.parquet")
    settings = HasherSettings(
        numbers=numbers,
        categorical=(f"{name} id",),
        text=(f"{name} note",),
        characters=(3, 4),
        sets=(f"{name} tags",),
        interactions=((name, f"{name} id"),),
        signed=True,
    )
    secret = Secret.fresh()
    hasher = FileHasher.fit(
        tmp_path / "in.parquet", settings=settings, secret=secret, label=f"{name} pays"
    )

    hasher.write(tmp_path / "in.parquet", tmp_path / "out.arrows")

    sent = (tmp_path / "out.arrows").read_bytes()
    assert leaks((tmp_path / "in.parquet").read_bytes(), texts, values) > 0  # the scan sees them
    sealed = hasher.to_bytes()
    assert leaks(sealed, texts, []) > 0
    assert leaks(sent, texts, values) == 0
    for purpose in ("value", "missing", "bin", "word", "character", "member", "label", "order"):
        for column in ("", *rows.column_names):
            key = secret.key(f"hash/hasher/{purpose}", column=column, length=16)
            for data in (sent, sealed):
                assert key not in data
                assert key.hex().encode() not in data


def test_the_file_has_the_fields_of_the_wire_and_no_other(tmp_path):
    hasher = fit(people())

    hasher.write(people(), tmp_path / "out.arrows")

    with pa.ipc.open_stream(tmp_path / "out.arrows") as stream:
        assert stream.schema.names == ["i", "y"]
        assert stream.schema.metadata == {
            b"halfmask.format": b"hashed-rows/1",
            b"halfmask.bits": b"22",
            b"halfmask.labels": b"classes:3",
        }


# --- streams ---


ROWS = HashedRows(indices=np.arange(6, dtype=np.uint32).reshape(3, 2), bits=3)


def test_what_is_read_is_what_was_written(tmp_path):
    hasher = fit(people())
    path = tmp_path / "out.arrows"

    written = hasher.write(people(), path)

    assert written == 500
    assert HashedRows.concat(read_rows(path)).equals(all_of(hasher, people()))
    with pytest.raises(ReleaseError):
        hasher.write(people(), path)
    assert hasher.write(people(3), path, overwrite=True) == 3


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.arrows"

    def written(*parts):
        with RowsWriter(path) as writer:
            for part in parts:
                writer.write(part)
        return writer

    with pytest.raises(ParameterError, match="different"):
        written(ROWS, HashedRows(indices=ROWS.indices, bits=4))
    with pytest.raises(AttributeError):
        written(ROWS, None)
    with pytest.raises(ReleaseError, match="No rows"):
        written()
    with pytest.raises(ParameterError, match="with block"):
        RowsWriter(path).write(ROWS)
    assert list(tmp_path.iterdir()) == []
    assert written(ROWS).rows == 3


def test_damaged_files_are_reported(tmp_path):
    path, bad = tmp_path / "out.arrows", tmp_path / "bad.arrows"
    with RowsWriter(path) as writer:
        writer.write(ROWS)
    whole = path.read_bytes()

    for data in (
        b"", b"no stream", whole[:-30], whole[: len(whole) // 2], whole + b"more",
        whole.replace(b"hashed-rows/1", b"hashed-rows/2"),
    ):  # fmt: skip
        bad.write_bytes(data)
        with pytest.raises(DataError):
            list(read_rows(bad))
    with pytest.raises(DataError):
        list(read_rows(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="hashed-rows/1"):
        list(read_rows(tmp_path))


def test_errors_hold_no_cell_and_no_path(tmp_path):
    folder = tmp_path / "CANARY"
    folder.mkdir()
    rows = people().with_columns(town=pl.lit("CANARY"))
    hasher = fit(rows)
    write_table(rows.with_columns(age=pl.lit("CANARY")), folder / "texts.csv")
    write_table(rows.with_columns(pays=pl.lit("CANARY")), folder / "new.csv")
    (folder / "bad.parquet").write_bytes(b"PAR1CANARY")

    for table in ("texts.csv", "new.csv", "bad.parquet", "nowhere.csv"):
        with pytest.raises(HalfmaskError) as caught:
            all_of(hasher, folder / table)
        assert "CANARY" not in str(caught.value)
    with pytest.raises(ReleaseError) as caught:
        hasher.write(rows, folder / "no" / "out.arrows")
    assert "CANARY" not in str(caught.value)
