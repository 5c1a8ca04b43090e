"""A real trainer is killed while rows come, starts again, and has each row once."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from halfmask.trainer.client import RetryPolicy, TrainerClient
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    rows_of,
)
from trainer.client.trainer import Trainer  # type: ignore[import-not-found] # as above

ROWS, BATCH = 2_000, 50


@pytest.mark.slow
def test_a_push_outlives_its_trainer(tmp_path, unused_port):
    retry_policy = RetryPolicy(answer_seconds=30, first_seconds=0.02, max_seconds=0.2)
    rows = rows_of(ROWS)
    acknowledged, enough = [0], threading.Event()
    done = []

    def report(_, share):
        acknowledged[0] += 1
        if share > 0.2:
            enough.set()

    def push(client):
        done.append(
            client.push("m", [rows], batch_rows=BATCH, in_flight=2, rows=ROWS, progress=report)
        )

    with Trainer.started(tmp_path, port=unused_port) as first:
        token = first.token()
        with TrainerClient(first.url, token=token, retry_policy=retry_policy) as client:
            client.create("m", loss="logistic", bits=18)
            pushing = threading.Thread(target=push, args=(client,))
            pushing.start()
            assert enough.wait(60)
            first.kill()
            with Trainer.started(tmp_path, port=unused_port):
                pushing.join(timeout=120)
                assert not pushing.is_alive()
                told_of = client.metrics("m")
                while told_of["learned"] < told_of["logged"]:
                    told_of = client.metrics("m")
                answers = np.concatenate(list(client.predict("m", [rows])))

    assert done[0].rows == done[0].sent == ROWS
    assert client.sent_again > 0
    assert told_of["rows"] == ROWS
    assert told_of["logged"] == ROWS / BATCH
    assert answers.shape == (ROWS,)
