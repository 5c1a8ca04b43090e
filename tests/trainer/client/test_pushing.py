"""Rows that are pushed are learned from once, in order, whatever happens on the way."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halfmask import DataError, ParameterError, TrainerError
from halfmask.hashing import HashedRows
from halfmask.trainer.client import RetryPolicy, TrainerClient
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    QUICK,
    TOKEN,
    answers,
    hangs_up,
    in_order,
    learns_and_hangs_up,
    rows_of,
    says,
)

MISHAPS = (hangs_up, learns_and_hangs_up, *map(says, (408, 429, 502, 503, 504)))


def test_rows_arrive_as_they_are_and_in_order(service, client):
    rows = rows_of(1_000)

    done = client.push("m", [rows.slice(0, 333), rows.slice(333, 1_000)], batch_rows=128)

    assert (done.rows, done.sent, done.resumed, done.known) == (1_000, 1_000, 0, 0)
    assert in_order(service).equals(rows)
    assert [len(each.rows) for each in service.seen] == [128] * 7 + [104]
    assert {each.path for each in service.seen} == {"/v1/models/m/examples"}
    assert {each.headers["authorization"] for each in service.seen} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_every_layout_arrives(service, compression):
    rng = np.random.default_rng(0)
    bounds = np.concatenate([[0], np.cumsum(rng.integers(0, 4, 100))]).astype(np.int64)
    rows = HashedRows(
        bits=20,
        indptr=bounds,
        indices=rng.integers(0, 1 << 20, bounds[-1], dtype=np.uint32),
        values=rng.normal(size=bounds[-1]).astype(np.float32),
        labels=rng.integers(0, 5, 100).astype(np.int32),
        weights=rng.random(100).astype(np.float32),
        classes=5,
    )

    with TrainerClient(service.url, token=TOKEN, compression=compression) as client:
        client.push("m", [rows], batch_rows=30)

    assert in_order(service).equals(rows)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mishaps=st.lists(st.sampled_from(MISHAPS), max_size=12),
    in_flight=st.integers(1, 4),
    data=st.data(),
)
def test_nothing_is_lost_or_doubled_whatever_goes_wrong(service, mishaps, in_flight, data):
    service.learned.clear()
    service.order.clear()
    service.mishaps[:] = mishaps
    rows = rows_of(data.draw(st.integers(0, 300)))
    cut = data.draw(st.integers(0, len(rows)))

    with TrainerClient(service.url, token=TOKEN, retry_policy=QUICK) as client:
        done = client.push(
            "m",
            [rows.slice(0, cut), rows.slice(cut, len(rows))],
            batch_rows=32,
            in_flight=in_flight,
        )

    assert done.rows == done.sent == service.rows_learned() == len(rows)
    if len(rows):
        learned = in_order(service)
        order = np.argsort(learned.indices[:, 0], kind="stable")
        np.testing.assert_array_equal(learned.indices[order], rows.indices)
        assert in_flight > 1 or learned.equals(rows)
    service.mishaps.clear()


def test_a_batch_that_the_service_knew_is_counted(service, client):
    service.mishaps[:] = [learns_and_hangs_up]

    done = client.push("m", [rows_of(100)], batch_rows=50)

    assert (done.rows, done.sent, done.known) == (100, 100, 50)
    assert client.sent_again == 1


def test_a_batch_that_came_in_other_bytes_before_is_known(service, client):
    """Its key is of its content; its bytes are of a version of Arrow, and of a compression."""
    service.mishaps[:] = [says(422, "Another batch came.", code="key-reused")]

    done = client.push("m", [rows_of(100)], batch_rows=50)

    assert (done.known, service.rows_learned()) == (50, 50)


def test_the_same_rows_are_learned_again_under_another_word_only(service, client):
    for stream in ("", "", "second pass"):
        client.push("m", [rows_of(100)], stream=stream)

    assert service.rows_learned() == 200


def test_equal_batches_at_different_places_are_both_learned(service, client):
    same = rows_of(50)

    client.push("m", [same, same], batch_rows=50)

    assert service.rows_learned() == 100


def test_no_batch_is_sent_after_one_that_was_refused(service, client):
    service.before = lambda _: service.mishaps.append(says(422, "a label is no label"))
    service.mishaps[:] = [says(422, "a label is no label")]

    with pytest.raises(TrainerError, match="a label is no label") as caught:
        client.push("m", [rows_of(1_000)], batch_rows=10)

    assert caught.value.status == 422
    assert len(service.seen) == 1


def test_what_was_refused_after_a_while_leaves_what_was_acknowledged(service, client):
    found: list[object] = []
    service.mishaps[:] = [answers(b'{"ok": true}', "application/json")] * 3 + [says(400)]

    with pytest.raises(TrainerError):
        client.push(
            "m", [rows_of(100)], batch_rows=10, progress=lambda *result: found.append(result)
        )

    assert found == [("pushing", None)] * 3


def test_requests_are_under_way_at_once_where_order_is_not_asked_for(service, client):
    """Four wait for each other: with fewer at once, none would go on."""
    meeting = threading.Barrier(4, timeout=20)
    service.before = lambda _: meeting.wait()

    client.push("m", [rows_of(80)], batch_rows=10, in_flight=4)

    assert service.rows_learned() == 80


def test_the_next_batch_is_made_while_one_is_on_its_way(service, client):
    """The service answers only once the source was asked for more."""
    asked = threading.Event()
    service.before = lambda _: asked.wait(20) or pytest.fail("nothing was made ahead")

    def source():
        yield rows_of(10)
        asked.set()
        yield rows_of(10)

    client.push("m", source(), batch_rows=10)

    assert service.rows_learned() == 20


def test_few_batches_are_made_ahead(service, client):
    made, ahead = [0], []
    service.before = lambda _: ahead.append(made[0] - service.rows_learned() // 10)

    def source():
        for _ in range(30):
            made[0] += 1
            yield rows_of(10)

    client.push("m", source(), batch_rows=10, in_flight=2)

    assert max(ahead) <= 5


class TestAServiceThatIsBusy:
    def test_is_given_the_time_that_it_asks_for(self, service):
        noted: list[tuple[int, float | None]] = []

        class Noted(RetryPolicy):
            def wait(self, tries, *, asked=None):
                noted.append((tries, asked))
                return 0.0

        service.mishaps[:] = [says(429, Retry_After="2"), says(503, Retry_After="0.5"), says(502)]

        with TrainerClient(service.url, retry_policy=Noted()) as client:
            client.push("m", [rows_of(5)])

        assert noted == [(0, 2.0), (1, 0.5), (2, None)]

    def test_is_given_up_where_it_asks_for_too_much(self, service, client):
        service.mishaps[:] = [says(429, "slow down", Retry_After="3600")]

        with pytest.raises(TrainerError, match=r"slow down") as caught:
            client.push("m", [rows_of(5)])

        assert caught.value.status == 429
        assert len(service.seen) == 1

    def test_is_given_up_after_a_while(self, service):
        service.mishaps[:] = [says(503)] * 10_000
        retry_policy = RetryPolicy(first_seconds=0.001, max_seconds=0.01, give_up_seconds=0.1)

        with (
            TrainerClient(service.url, retry_policy=retry_policy) as client,
            pytest.raises(TrainerError, match="503"),
        ):
            client.push("m", [rows_of(5)])

        assert len(service.seen) < 10_000

    def test_that_never_answers_is_given_up(self, service):
        gone = threading.Event()
        service.before = lambda _: gone.wait(20)
        retry_policy = RetryPolicy(answer_seconds=0.05, give_up_seconds=0)

        with (
            TrainerClient(service.url, retry_policy=retry_policy) as client,
            pytest.raises(TrainerError, match="took too long"),
        ):
            client.push("m", [rows_of(5)])
        gone.set()

    def test_is_not_waited_for_after_an_error_of_another_batch(self, service):
        """Else this would take an hour."""
        service.mishaps[:] = [says(503, Retry_After="3600"), says(400)]
        retry_policy = RetryPolicy(give_up_seconds=7_200)

        with (
            TrainerClient(service.url, retry_policy=retry_policy) as client,
            pytest.raises(TrainerError),
        ):
            client.push("m", [rows_of(20)], batch_rows=10, in_flight=2)


class TestAJournal:
    def test_lets_the_same_call_go_on(self, service, client, tmp_path):
        journal, rows = tmp_path / "journal", rows_of(100)
        service.mishaps[:] = [answers(b"{}", "application/json")] * 4 + [says(400)]
        with pytest.raises(TrainerError):
            client.push("m", [rows], batch_rows=10, journal=journal)
        service.seen.clear()

        done = client.push("m", [rows], batch_rows=10, journal=journal)

        assert (done.rows, done.sent, done.resumed) == (100, 60, 40)
        posted = [each for each in service.seen if each.method == "POST"]
        assert HashedRows.concat(each.rows for each in posted).equals(rows.slice(40, 100))

    def test_sends_nothing_where_all_was_acknowledged(self, service, client, tmp_path):
        client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")

        done = client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")

        assert (done.sent, done.resumed) == (0, 50)
        assert service.rows_learned() == 50

    def test_that_is_lost_doubles_nothing(self, service, client, tmp_path):
        client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")
        (tmp_path / "journal").unlink()

        done = client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")

        assert done.known == 50
        assert service.rows_learned() == 50

    def test_refuses_rows_that_have_changed(self, client, tmp_path):
        client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")

        with pytest.raises(DataError, match="aren't those"):
            client.push("m", [rows_of(50, seed=1)], batch_rows=10, journal=tmp_path / "journal")

    def test_refuses_another_model_of_the_same_name(self, service, client, tmp_path):
        client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")
        service.made += 1

        with pytest.raises(DataError, match="was deleted"):
            client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")

    def test_needs_no_scope_but_that_of_learning(self, service, client, tmp_path):
        service.may_read = False

        done = client.push("m", [rows_of(50)], batch_rows=10, journal=tmp_path / "journal")

        assert done.sent == 50

    def test_refuses_other_work(self, client, tmp_path):
        where = tmp_path / "journal"
        client.push("m", [rows_of(50)], batch_rows=10, journal=where)

        with pytest.raises(DataError, match="another service, model or stream"):
            client.push("other", [rows_of(50)], batch_rows=10, journal=where)
        with pytest.raises(DataError, match="another service, model or stream"):
            client.push("m", [rows_of(50)], batch_rows=10, stream="2", journal=where)
        with pytest.raises(DataError, match="another number of rows"):
            client.push("m", [rows_of(50)], batch_rows=20, journal=where)


@pytest.mark.parametrize("wrong", [{"batch_rows": 0}, {"in_flight": 0}, {"in_flight": 33}])
def test_numbers_out_of_range_are_refused(client, wrong):
    with pytest.raises(ParameterError):
        client.push("m", [rows_of(5)], **wrong)
