"""From a file to a trained model in one process: the same model as in two steps."""

from __future__ import annotations

import threading

import numpy as np
import polars as pl
import pytest

from halfmask import DataError, ParameterError
from halfmask.hashing import FileHasher, HashedRows, HasherSettings, _csv_rows, _reading
from halfmask.trainer.learner import OnlineLearner, learn_batches, learn_file
from halfmask.vault import Secret

BITS = 10


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "town": rng.choice(["Bree", "Dale", "a long name of a town"], 2000),
            "age": rng.integers(17, 90, 2000),
        }
    )
    rich = (frame["town"] == "Dale") & (frame["age"] > 40)
    return frame.with_columns(pays=pl.Series(np.where(rich, "yes", "no")))


def fitted(people, bits=BITS):
    secret = Secret.from_bytes(bytes(32))
    return FileHasher.fit(people, settings=HasherSettings(bits=bits), secret=secret, label="pays")


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_the_model_is_that_of_hashing_first(form, people, tmp_path, monkeypatch):
    """Bit by bit, however the file is cut into batches, each time."""
    monkeypatch.setattr(_csv_rows, "BLOCK", 5000)
    monkeypatch.setattr(_reading, "BATCH_ROWS", 300)
    table = people
    if form != "frame":
        table = tmp_path / f"people.{form}"
        getattr(people, f"write_{form}")(table)
    hasher = fitted(people)
    apart = OnlineLearner(bits=BITS)
    progress = apart.learn(HashedRows.concat(hasher.rows(people)))
    for _ in range(2):
        learner = OnlineLearner(bits=BITS)
        together = learn_file(learner, hasher, table)

        assert learner.digest() == apart.digest()
        assert together.rows == 2000
        assert together.loss == pytest.approx(progress.loss)


def test_errors_of_either_side_come_through(people, tmp_path):
    """A table without the label, and a learner of other bits."""
    hasher = fitted(people)
    with pytest.raises(ParameterError, match="bits"):
        learn_file(OnlineLearner(bits=BITS + 1), hasher, people)
    path = tmp_path / "people.csv"
    people.drop("pays").write_csv(path)
    with pytest.raises(ValueError, match="pays"):
        learn_file(OnlineLearner(bits=BITS), hasher, path)


def test_no_batch_is_made_long_after_one_that_fails(people):
    """And no thread is left."""
    hasher, made = fitted(people), []
    rows = next(hasher.rows(people))

    def batches():
        for number in range(1000):
            made.append(number)
            yield rows if number else HashedRows(indices=rows.indices, bits=BITS)

    before = threading.active_count()
    with pytest.raises(DataError, match="no labels"):
        learn_batches(OnlineLearner(bits=BITS), batches())

    assert len(made) < 20
    assert threading.active_count() == before


def test_an_error_of_the_batches_ends_the_thread(people):
    """What was made before it is learnt."""
    learner = OnlineLearner(bits=BITS)
    rows = next(fitted(people).rows(people))

    def batches():
        yield rows
        message = "no more"
        raise OSError(message)

    before = threading.active_count()
    with pytest.raises(OSError, match="no more"):
        learn_batches(learner, batches())

    assert learner.progress.rows == len(rows)
    assert threading.active_count() == before
