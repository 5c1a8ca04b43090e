"""Folders of hashed rows: the rows of one file, in parts that an engine writes."""

from __future__ import annotations

import pickle
from datetime import datetime
from typing import ClassVar

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

from halfmask import (
    ColumnNotFoundError,
    DataError,
    EngineError,
    ParameterError,
    ReleaseError,
    SchemaError,
)
from halfmask.engines import LocalEngine
from halfmask.hashing import (
    FileHasher,
    HashedRows,
    HasherSettings,
    TableReading,
    read_rows,
)
from halfmask.vault import Secret

SECRET = Secret.from_bytes(bytes(range(32)))


class Heard(LocalEngine):
    """Threads that stand for a cluster without TLS."""

    @property
    def is_confidential(self):
        return False


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch):
    """Read tables in parts of 60 rows, and hash 25 of them at once."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 60)
    monkeypatch.setattr("halfmask.hashing._streams.BATCH_ROWS", 25)


def rows(n=150):
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "wage": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(8, 1, n)),
            "town": rng.choice(["Bree", "Dale", "Esgaroth upon the Long Lake"], n),
            "note": rng.choice(["one two", "two three four", ""], n),
            "pays": rng.choice(["yes", "no", "later"], n),
        }
    )


@pytest.fixture
def people(tmp_path):
    """150 rows in two files, whose ends aren't those of parts."""
    folder = tmp_path / "people"
    folder.mkdir()
    rows()[:70].write_parquet(folder / "a.parquet", row_group_size=20)
    rows()[70:].write_parquet(folder / "b.parquet")
    return folder


def fit(table, label="pays", reading=None, **more):
    made = HasherSettings(**more)
    return FileHasher.fit(table, settings=made, secret=SECRET, label=label, reading=reading)


def sent(folder):
    return HashedRows.concat(read_rows(folder))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"text": ["note"], "characters": (2, 3)},
        {"numbers": "quantiles", "bins": 7, "interactions": [("age", "town")]},
        {"numbers": "raw", "signed": True},
        {"categorical": ["age", "wage"]},
    ],
    ids=["log", "text", "quantiles", "raw", "categorical"],
)
@pytest.mark.parametrize("label", ["pays", "wage", None])
def test_a_folder_holds_the_rows_of_a_file(people, tmp_path, more, label):
    if label == "wage":
        wage = pl.col("wage").fill_nan(0.0)
        for path in people.iterdir():
            pl.read_parquet(path).with_columns(wage).write_parquet(path)
        more = {key: ["age"] if key == "categorical" else it for key, it in more.items()}
    hasher = fit(people, label, **more)

    n_rows = hasher.write(people, tmp_path / "one.arrows")
    assert hasher.write_folder(people, tmp_path / "many", engine=LocalEngine(2)) == n_rows == 150

    files = names(tmp_path / "many")
    assert files == [f"part-{number:06d}.arrows" for number in range(3)]
    assert [len(sent(tmp_path / "many" / name)) for name in files] == [60, 60, 30]
    assert sent(tmp_path / "many").equals(sent(tmp_path / "one.arrows"))


@pytest.mark.parametrize("labelled", [None, True, False])
def test_labels_go_with_the_rows_as_in_a_file(people, tmp_path, labelled):
    reading = TableReading(leave_out=["note"])
    hasher = fit(people, reading=reading)

    hasher.write(people, tmp_path / "one", labelled=labelled, reading=reading)
    hasher.write_folder(people, tmp_path / "many", labelled=labelled, reading=reading)
    assert sent(tmp_path / "many").equals(sent(tmp_path / "one"))

    for path in people.iterdir():
        pl.read_parquet(path).drop("pays").write_parquet(path)
    if labelled:
        with pytest.raises(ColumnNotFoundError, match="pays"):
            hasher.write_folder(people, tmp_path / "more", labelled=True, reading=reading)
    else:
        hasher.write_folder(people, tmp_path / "more", labelled=labelled, reading=reading)
        assert sent(tmp_path / "more").label_kind == "none"


#: Types of Parquet files that hold something other than numbers and texts.
COLUMNS = {
    pl.Int8: st.integers(-128, 127),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Float32: st.floats(allow_infinity=False, width=32),
    pl.Boolean: st.booleans(),
    pl.Categorical: st.sampled_from(["a", "bb", "c" * 20]),
    pl.Date: st.dates(),
    # The first and last days are refused where there is a zone: elsewhere they are other years.
    pl.Datetime("ms", "UTC"): st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),  # noqa: DTZ001 # Polars adds it
    pl.Time: st.times(),
    pl.Decimal(12, 2): st.decimals(-(10**6), 10**6, places=2),
}
COLUMNS[pl.Datetime("ns")] = st.datetimes(
    min_value=pl.Series(["1980-01-01"]).str.to_datetime()[0],
    max_value=pl.Series(["2100-01-01"]).str.to_datetime()[0],
)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), dtype=st.sampled_from(list(COLUMNS)))
def test_cells_of_any_type_are_hashed_as_in_a_file(tmp_path_factory, data, dtype):
    home = tmp_path_factory.mktemp("table")
    cells = data.draw(st.lists(st.none() | COLUMNS[dtype], min_size=70, max_size=70))
    column = pl.Series("it", cells, dtype=dtype, strict=False)
    column.to_frame().write_parquet(home / "table.parquet")
    hasher = fit(home / "table.parquet", label=None)

    hasher.write(home / "table.parquet", home / "one")
    hasher.write_folder(home / "table.parquet", home / "many")

    assert sent(home / "many").equals(sent(home / "one"))


def test_sets_are_refused_by_name(tmp_path):
    table = pl.DataFrame({"buys": [["tea", "salt"], ["tea"]], "age": [3, 4]})
    table.write_parquet(tmp_path / "table.parquet")
    hasher = fit(tmp_path / "table.parquet", label=None, sets=["buys"])

    with pytest.raises(ParameterError, match=r"sets aren't hashed into a folder: 'buys'"):
        hasher.write_folder(tmp_path / "table.parquet", tmp_path / "many")


def test_files_of_other_formats_are_refused(tmp_path):
    rows().write_csv(tmp_path / "people.csv")
    hasher = fit(rows())

    for table in (rows(), tmp_path / "people.csv"):
        with pytest.raises(ParameterError, match="files of Parquet alone"):
            hasher.write_folder(table, tmp_path / "many")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (pl.lit("never").alias("pays"), DataError),
        (pl.lit("old").alias("age"), SchemaError),
        (pl.lit(1).alias("more"), SchemaError),
    ],
    ids=["class", "type", "column"],
)
def test_an_error_in_a_late_file_leaves_nothing(people, tmp_path, change, error):
    hasher = fit(people)
    rows().with_columns(change)[:3].write_parquet(people / "c.parquet")

    with pytest.raises(error):
        hasher.write_folder(people, tmp_path / "many")
    assert names(tmp_path) == ["people"]


def test_a_folder_of_ours_is_overwritten_when_that_is_said(people, tmp_path):
    hasher = fit(people)
    hasher.write_folder(people, tmp_path / "many")
    (people / "b.parquet").unlink()

    with pytest.raises(ReleaseError, match="exists"):
        hasher.write_folder(people, tmp_path / "many")
    hasher.write_folder(people, tmp_path / "many", overwrite=True)
    assert len(sent(tmp_path / "many")) == 70


def test_no_keys_are_sent_where_others_can_listen(people, tmp_path):
    hasher = fit(people)

    with pytest.raises(EngineError, match=r"the hasher's keys .* doesn't encrypt"):
        hasher.write_folder(people, tmp_path / "many", engine=Heard())
    assert names(tmp_path) == ["people"]


class Sending(LocalEngine):
    """Keeps what would be sent to workers."""

    sent: ClassVar[list[bytes]] = []

    def map(self, batches, apply, /):
        self.sent.append(pickle.dumps(apply))
        return super(Sending, self).map(batches, apply)


def test_the_secret_stays_at_home(people, tmp_path):
    fit(people).write_folder(people, tmp_path / "many", engine=Sending())

    (message,) = Sending.sent
    assert bytes(range(32)) not in message
    assert SECRET.id.encode() not in message
