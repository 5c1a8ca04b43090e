"""A learner as bytes: the same learner comes back, or an error does."""

from __future__ import annotations

import hashlib
import itertools
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import DataError
from halfmask.hashing import HashedRows
from halfmask.trainer.learner import OnlineLearner

KINDS = list(
    itertools.product(
        ["logistic", "hinge", "squared", "quantile", "softmax"], ["sgd", "adagrad", "ftrl"]
    )
)
# Products and sums alone, which every machine rounds alike.
GOLDEN = "dafad3a606251321bc533528a67667b0d6a8fe52f4f872db94d49adedef2e86a"


def rows_of(n=50, *, values=True, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return HashedRows(
        indices=rng.integers(0, 4, (n, 2)).astype(np.uint32),
        values=rng.normal(size=(n, 2)).astype(np.float32) if values else None,
        labels=rng.integers(0, classes, n).astype(np.int32),
        classes=classes,
        bits=2,
    )


def taught(loss="logistic", optimizer="adagrad", *, values=True, **more):
    classes = 3 if loss == "softmax" else 2
    learner = OnlineLearner(loss=loss, optimizer=optimizer, bits=2, classes=classes, **more)
    learner.learn(rows_of(values=values, classes=classes))
    return learner


def sealed(body):
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
@pytest.mark.parametrize("values", [False, True])
def test_what_comes_back_goes_on_alike(loss, optimizer, values):
    """Predictions, further learning, settings, progress and bytes: all the same."""
    learner = taught(loss, optimizer, values=values)
    back = OnlineLearner.from_bytes(learner.to_bytes())
    classes = 3 if loss == "softmax" else 2
    more = rows_of(classes=classes, seed=1)

    assert back.to_bytes() == learner.to_bytes()
    assert back.settings == learner.settings
    assert back.progress == learner.progress
    assert (back.predict(more) == learner.predict(more)).all()
    back.learn(more)
    learner.learn(more)
    assert back.digest() == learner.digest()


def test_any_flipped_byte_is_an_error():
    """Each byte of the head, the weights and the checksum."""
    data = taught().to_bytes()
    for place in range(len(data)):
        for bit in (1, 128):
            changed = bytearray(data)
            changed[place] ^= bit
            with pytest.raises(DataError):
                OnlineLearner.from_bytes(bytes(changed))


def test_any_missing_end_is_an_error():
    """Also nothing at all, and something more."""
    data = taught().to_bytes()
    for length in range(len(data)):
        with pytest.raises(DataError):
            OnlineLearner.from_bytes(data[:length])
    with pytest.raises(DataError):
        OnlineLearner.from_bytes(data + b"\0")


def test_another_version_is_said_to_be_one():
    """With the one action that helps."""
    data = taught().to_bytes()
    with pytest.raises(DataError, match="version"):
        OnlineLearner.from_bytes(data[:7] + b"2" + data[8:])


def rewritten(data, change):
    """The same bytes with another head, and a checksum that fits."""
    (length,) = struct.unpack_from("<I", data, 8)
    head = json.loads(data[12 : 12 + length])
    change(head)
    text = json.dumps(head).encode()
    return sealed(data[:8] + struct.pack("<I", len(text)) + text + data[12 + length : -32])


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.clear(),
        lambda head: head["settings"].update(bits=3),
        lambda head: head["settings"].update(bits=40),
        lambda head: head["settings"].update(bits=30),
        lambda head: head["settings"].update(more=1),
        lambda head: head["settings"].update(rate=-1),
        lambda head: head["settings"].update(loss="squared"),
        lambda head: head["settings"].pop("random_state"),
        lambda head: head.update(counts=[1.0]),
        lambda head: head.update(counts=[1.0, float("nan")]),
        lambda head: head.update(counts="ab"),
        lambda head: head.update(scales=False),
        lambda head: head.update(progress=None),
        lambda head: head.update(settings=[]),
    ],
)
def test_a_head_of_a_stranger_is_refused(change):
    """A checksum is no proof: whoever changes bytes can compute it."""
    with pytest.raises(DataError, match="no learner"):
        OnlineLearner.from_bytes(rewritten(taught().to_bytes(), change))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0])
def test_numbers_that_no_learner_has_are_refused(number):
    """Not finite, or a sum of squares below zero."""
    data = bytearray(taught().to_bytes()[:-32])
    scale = data[-16:]
    assert len(scale) == 16
    # The last sum of squares, before four scales.
    data[-20:-16] = struct.pack("<f", number)
    with pytest.raises(DataError, match="no learner"):
        OnlineLearner.from_bytes(sealed(bytes(data)))


@given(noise=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_noise_is_refused(noise):
    """Whether or not it begins as a learner does, or has a checksum."""
    for data in (noise, b"hmlearn1" + noise, sealed(b"hmlearn1" + noise)):
        with pytest.raises(DataError):
            OnlineLearner.from_bytes(data)


def test_digests_follow_from_what_was_learnt():
    """Not from settings that decide nothing any more, nor from how it was measured."""
    one, same, other = taught(), taught(random_state=7), taught(rate=0.4)

    assert one.digest() == same.digest() != other.digest()


def test_the_digest_is_the_same_on_every_machine():
    """Of a learner that needs no function but the four operations and roots."""
    learner = taught("squared", "adagrad", invariant=False)

    assert learner.digest() == GOLDEN
