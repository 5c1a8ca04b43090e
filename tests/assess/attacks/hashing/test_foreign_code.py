"""Trainers and hashers of others that fail quote cells; a finding says only what failed and how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfmask._errors import GuaranteeNotMetError
from halfmask.assess.attacks import attack
from halfmask.assess.attacks.hashing import (
    Dictionary,
    ModelStealing,
    WeightReading,
)
from halfmask.assess.attacks.poisoning import ClientWorstCase

CANARY = "xqcanary"


def loud(*_, **__):
    raise KeyError(CANARY)


class Failing:
    """A trainer that fails at one thing."""

    def __init__(self, at):
        self.at = at

    def learn(self, _rows, *, client):
        if self.at == "learn" or (self.at == "public" and client == "public"):
            raise KeyError(CANARY)

    def predict(self, rows):
        return loud() if self.at == "predict" else np.full(len(rows), 0.25)


def why(target, each):
    report = attack(target, attacks=[each])
    assert CANARY not in repr(report.to_dict())
    assert {finding.verdict for finding in report.findings} == {"INVALID"}
    return {finding.why_invalid for finding in report.findings}


@pytest.mark.slow
def test_a_way_to_hash_anew_that_fails(target):
    found = why(replace(target, rehash=loud), Dictionary())
    assert found == {"failed: The way to hash again failed on candidates (KeyError)"}


def test_training_that_fails_for_the_owner_or_the_attacker(target):
    found = why(replace(target, train=loud), WeightReading())
    assert found == {"failed: The owner's model couldn't be trained (KeyError)"}

    def train(buckets, _labels):
        return np.ones(1 << target.bits) if buckets is target.buckets else loud()

    found = why(replace(target, train=train), WeightReading())
    assert found == {"failed: The attacker's model couldn't be trained (KeyError)"}


@pytest.mark.parametrize(
    ("each", "at", "given"),
    [
        (ModelStealing(), "learn", "The trainer failed to learn"),
        (ModelStealing(), "predict", "The trainer failed to predict"),
        (ClientWorstCase(), "learn", "The trainer failed to learn"),
        (ClientWorstCase(), "predict", "The trainer failed to predict"),
        (ClientWorstCase(), "public", "The trainer failed to learn"),
    ],
)
def test_a_trainer_that_fails_is_no_refusal(trainer, each, at, given):
    found = why(replace(trainer(), make=lambda: Failing(at)), each)
    assert found == {f"failed: {given} (KeyError)"}


def test_a_way_to_answer_that_fails(trainer):
    found = why(trainer(answer=loud), ModelStealing())
    assert found == {"failed: The way to answer failed (KeyError)"}


def test_a_refusal_is_still_a_refusal(trainer):
    class Refusing(Failing):
        def learn(self, _rows, *, client):
            if client == "poison" or not client.startswith(("client", "public")):
                raise GuaranteeNotMetError("enough")

    outcome = ClientWorstCase().run(replace(trainer(), make=lambda: Refusing("")), random_state=0)[
        0
    ]
    assert outcome.details["batches refused"] > 0
