"""Folders of encoded files: the rows of one file, in parts that an engine writes."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from halfmask import (
    ColumnWarning,
    EngineError,
    ParameterError,
    ReleaseError,
    SchemaError,
    Secret,
)
from halfmask.encode import (
    Codec,
    _files,
    decode_file,
    decode_predictions_file,
    encode_file,
    encode_folder,
    fit_file,
)
from halfmask.engines import LocalEngine

SECRET = Secret.from_bytes(b"\x09" * 32)


class Heard(LocalEngine):
    """Threads that stand for a cluster without TLS."""

    @property
    def is_confidential(self):
        return False


@pytest.fixture(autouse=True)
def _short_batches(monkeypatch):
    """Cut tables into batches of 64 rows."""
    monkeypatch.setattr(_files, "_MAX_ROWS", 64)


@pytest.fixture
def rows():
    """150 rows: two batches of 64, and one of 22."""
    numbers = range(150)
    return pl.DataFrame(
        {
            "age": [17 + n * 7 % 60 for n in numbers],
            "pay": [None if n % 11 == 0 else n * 1.25 for n in numbers],
            "town": [("Bree", "Dale", "Esgaroth")[n % 3] for n in numbers],
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=37 * n) for n in numbers],
        }
    )


@pytest.fixture
def people(rows, tmp_path):
    """The rows in two files, whose ends aren't those of batches."""
    folder = tmp_path / "people"
    folder.mkdir()
    rows[:70].write_parquet(folder / "a.parquet", row_group_size=20)
    rows[70:].write_parquet(folder / "b.parquet")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("learner", ["trees", "linear"])
@pytest.mark.parametrize("ids", [False, True], ids=["", "ids"])
def test_a_folder_holds_the_rows_of_a_file(rows, people, tmp_path, learner, ids):
    codec = Codec(learner=learner, secret=SECRET).fit(rows, target="town")

    one = encode_file(codec, people, tmp_path / "one.parquet", number=3, ids=ids)
    many = encode_folder(codec, people, tmp_path / "many", number=3, ids=ids)

    files = [pl.read_parquet(tmp_path / "many" / name) for name in names(tmp_path / "many")]
    assert [file.height for file in files] == [64, 64, 22]
    assert pl.concat(files).equals(pl.read_parquet(tmp_path / "one.parquet"))
    assert many == one
    assert many.receipt == one.receipt
    decode_file(codec, tmp_path / "many", tmp_path / "back.parquet")
    back = pl.read_parquet(tmp_path / "back.parquet")
    assert back.drop("pay").equals(rows.drop("pay"))
    assert ((back["pay"] - rows["pay"]).abs().fill_null(0.0) < 1e-9).all()


def test_predictions_for_a_folder_come_back_in_order(rows, people, tmp_path):
    codec = Codec(learner="trees", secret=SECRET).fit(rows, target="town")
    encode_folder(codec, people, tmp_path / "sent")

    sent = pl.read_parquet(tmp_path / "sent")
    sent.select(pl.col(codec.target_name_).alias("answer")).write_csv(tmp_path / "answers.csv")
    decode_predictions_file(codec, tmp_path / "answers.csv", tmp_path / "back.parquet")

    assert pl.read_parquet(tmp_path / "back.parquet").to_series().equals(rows["town"])


def test_files_of_other_formats_are_refused(rows, tmp_path):
    codec = Codec(learner="trees").fit(rows)
    rows.write_csv(tmp_path / "people.csv")

    for table in (rows, tmp_path / "people.csv"):
        with pytest.raises(ParameterError, match="files of Parquet alone"):
            encode_folder(codec, table, tmp_path / "sent")
    assert names(tmp_path) == ["people.csv"]


def test_an_error_in_a_late_part_leaves_nothing(rows, people, tmp_path):
    codec = Codec(learner="trees").fit(rows)
    late = rows.with_columns(town=pl.lit("Minas Tirith"))[:3]
    late.write_parquet(people / "c.parquet")

    with pytest.raises(SchemaError, match="town"):
        encode_folder(codec, people, tmp_path / "sent")
    assert names(tmp_path) == ["people"]
    assert not codec.receipts_


def test_files_of_other_columns_are_refused(rows, people, tmp_path):
    codec = Codec(learner="trees").fit(rows)
    rows.rename({"age": "years"}).write_parquet(people / "c.parquet")

    with pytest.raises(SchemaError, match="File 3"):
        encode_folder(codec, people, tmp_path / "sent")
    assert names(tmp_path) == ["people"]


def test_a_folder_of_ours_is_overwritten_and_no_other(rows, people, tmp_path):
    codec = Codec(learner="trees").fit(rows)
    encode_folder(codec, people, tmp_path / "sent")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "diary.txt").write_text("mine")

    with pytest.raises(ReleaseError, match="exists"):
        encode_folder(codec, people, tmp_path / "sent")
    with pytest.raises(ReleaseError, match="halfmask didn't make it"):
        encode_folder(codec, people, tmp_path / "home", overwrite=True)
    (people / "b.parquet").unlink()
    encode_folder(codec, people, tmp_path / "sent", overwrite=True)

    assert names(tmp_path / "sent") == ["part-000000.parquet", "part-000001.parquet"]
    assert (tmp_path / "home" / "diary.txt").read_text() == "mine"


@pytest.mark.parametrize("write", [encode_file, encode_folder])
def test_no_plan_is_sent_where_others_can_listen(people, tmp_path, write):
    codec = fit_file(Codec(learner="trees"), people, engine=Heard())  # sends no key

    with pytest.raises(EngineError, match=r"the codec's plan .* doesn't encrypt"):
        write(codec, people, tmp_path / "sent", engine=Heard())
    assert names(tmp_path) == ["people"]


@pytest.mark.parametrize("learner", ["trees", "networks"])
def test_a_fit_is_the_same_however_many_workers(people, learner):
    codecs = [
        fit_file(Codec(learner=learner, secret=SECRET, split=True), people, engine=engine)
        for engine in (None, LocalEngine(3))
    ]

    assert codecs[0].to_bytes() == codecs[1].to_bytes()


def test_a_fit_counts_the_forms_of_texts_in_all_batches(tmp_path):
    """69 and 80 cells are numbers in two of three batches, and one isn't."""
    texts = [str(n) for n in range(149)] + ["unknown"]
    pl.DataFrame({"pay": texts}).write_parquet(tmp_path / "pay.parquet")

    with pytest.warns(ColumnWarning, match="149 of 150 cells"):
        fit_file(Codec(learner="trees"), tmp_path / "pay.parquet", engine=LocalEngine(2))
