"""Predictions come back in the order of the rows, and nothing of a service's answer is believed."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest

from halfmask import TrainerError
from halfmask.trainer.client import _sending
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    answers,
    hangs_up,
    predictions,
    rows_of,
    says,
)


def _asked(service):
    return [each for each in service.seen if each.path.endswith("/predict")]


@pytest.mark.parametrize("in_flight", [1, 4])
def test_answers_are_in_the_order_of_the_rows(service, client, in_flight):
    service.mishaps[:] = [hangs_up, says(429), hangs_up]

    found = list(client.predict("m", [rows_of(1_000)], batch_rows=64, in_flight=in_flight))

    assert [len(each) for each in found] == [64] * 15 + [40]
    np.testing.assert_array_equal(np.concatenate(found), np.arange(1_000))


def test_a_softmax_answers_a_number_for_each_class(service, client):
    service.classes = 5

    (found,) = client.predict("m", [rows_of(20)])

    np.testing.assert_array_equal(found, np.repeat(np.arange(20), 5).reshape(20, 5))
    assert found.dtype == np.float32


def test_labels_and_weights_stay_at_home(service, client):
    assert rows_of(20).labels is not None

    list(client.predict("m", [rows_of(20)]))

    (asked,) = _asked(service)
    assert asked.rows.labels is None
    assert asked.rows.weights is None
    assert "idempotency-key" not in asked.headers


def test_memory_does_not_grow_with_the_rows(client):
    """Rows are asked for as answers are taken."""
    made = [0]

    def source():
        for _ in range(50):
            made[0] += 1
            yield rows_of(10)

    found = client.predict("m", source(), batch_rows=10, in_flight=2)
    for _ in range(3):
        next(found)

    assert made[0] <= 8
    found.close()


class TestAJournalOfPredictions:
    def test_lets_the_same_call_go_on(self, service, client, tmp_path):
        where, rows = tmp_path / "journal", rows_of(100)
        found = client.predict("m", [rows], batch_rows=10, journal=where)
        first = [next(found) for _ in range(4)]
        found.close()
        service.seen.clear()

        again = list(client.predict("m", [rows], batch_rows=10, journal=where))

        np.testing.assert_array_equal(np.concatenate(again), np.arange(100))
        np.testing.assert_array_equal(np.concatenate(first), np.arange(40))
        assert len(_asked(service)) == 6
        assert where.stat().st_mode & 0o777 == 0o600


class TestAnAnswer:
    """A service is another company's: whatever it answers is an error of ours, or numbers."""

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"no arrow",
            predictions(np.arange(3, dtype=np.float32)),
            predictions(np.arange(11, dtype=np.float32)),
            predictions(np.arange(10, dtype=np.float64)),
            predictions(np.full(10, np.nan, np.float32)),
            predictions(np.full(10, np.inf, np.float32)),
            predictions(np.arange(10, dtype=np.float32))[:-40],
            bytes(1 << 20),
        ],
    )
    def test_in_another_form_is_refused(self, service, client, body):
        service.mishaps[:] = [answers(body)]

        with pytest.raises(TrainerError):
            list(client.predict("m", [rows_of(10)]))

    def test_of_other_classes_than_the_one_before_is_refused(self, service, client):
        three = predictions(np.arange(10, dtype=np.float32), classes=3)
        service.mishaps[:] = [answers(three), answers(three)]

        with pytest.raises(TrainerError, match="numbers of classes"):
            list(client.predict("m", [rows_of(30)], batch_rows=10))

    def test_that_is_damaged_anywhere_never_crashes(self, service, client):
        whole = predictions(np.arange(10, dtype=np.float32))
        rng = np.random.default_rng(0)
        for place in range(0, len(whole), 23):
            damaged = bytearray(whole)
            damaged[place] ^= int(rng.integers(1, 256))
            service.mishaps[:] = [answers(bytes(damaged))]
            try:
                (found,) = client.predict("m", [rows_of(10)])
            except TrainerError:
                continue
            assert found.shape == (10,)

    def test_that_is_compressed_takes_no_memory(self, service, client, monkeypatch):
        """Some kilobytes could become gigabytes here."""
        numbers = pa.array(np.zeros(1 << 22, np.float32))
        schema = pa.schema([pa.field("p", pa.float32(), nullable=False)])
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, schema, options=options) as stream:
            stream.write_batch(pa.RecordBatch.from_arrays([numbers], schema=schema))
        service.mishaps[:] = [answers(bytes(sink.getvalue()))]
        unpacked: list[pa.RecordBatch] = []
        monkeypatch.setattr(_sending, "_flat", unpacked.append)

        with pytest.raises(TrainerError, match="form"):
            list(client.predict("m", [rows_of(10)]))
        assert not unpacked

    def test_in_a_coding_is_refused(self, service, client):
        body = gzip.compress(predictions(np.arange(10, dtype=np.float32)))
        service.mishaps[:] = [answers(body, Content_Encoding="gzip")]

        with pytest.raises(TrainerError, match="coding"):
            list(client.predict("m", [rows_of(10)]))
