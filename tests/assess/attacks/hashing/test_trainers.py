"""Attacks on a trainer: a copy of its model, and rows that spoil it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halfmask._errors import DataError, ParameterError
from halfmask.assess.attacks import TrainerTarget, attack
from halfmask.assess.attacks._trainer_target import labels_of, matrix_of, pick_rows
from halfmask.assess.attacks.hashing import ModelStealing
from halfmask.assess.attacks.poisoning import ClientBackdoor, ClientLabelFlips, ClientWorstCase
from halfmask.assess.attacks.poisoning._clients import _rare_pair, _with_pair, poisoned
from halfmask.hashing import HashedRows

WORST = ClientWorstCase(share=0.1)


def test_all_digits_give_the_model_away(trainer):
    target = trainer()
    outcome = ModelStealing(n_queries=300).run(target, random_state=0)[0]
    assert outcome.success.value > 0.99
    assert outcome.baseline is not None
    assert outcome.control is not None
    assert outcome.success.value > outcome.baseline.value
    assert outcome.baseline.value > outcome.control.value - 0.05


def test_labels_and_a_quota_leave_no_more_than_public_rows_do(trainer):
    found = trainer(answer=np.round, quota=60)
    outcome = ModelStealing(n_queries=300).run(found, random_state=0)[0]
    assert outcome.details["queries"] == 60
    assert outcome.success.value < ModelStealing().run(trainer(), random_state=0)[0].success.value
    assert outcome.excess.value < 0.1


def test_a_model_that_always_says_the_same_is_its_own_control(trainer):
    class Constant:
        def learn(self, rows, *, client):
            pass

        def predict(self, rows):
            return np.full(len(rows), 0.25)

    outcome = ModelStealing().run(replace(trainer(), make=Constant), random_state=0)[0]
    assert outcome.success.value == outcome.control.value == 1.0
    assert outcome.excess.value == 0.0


@pytest.mark.slow
def test_one_client_spoils_what_is_bare_and_not_what_is_capped(trainer):
    report = attack(
        trainer(cap=20),
        unprotected=trainer(),
        attacks=[WORST],
        tolerance=0.2,
        min_control_effect=0.2,
    )
    (finding,) = report.findings
    assert finding.positive_control is not None
    assert finding.positive_control.success.value > 0.2
    assert finding.outcome.success.value < finding.positive_control.success.value / 2
    assert finding.outcome.details["accuracy without attack"] > 0.65


@pytest.mark.slow
def test_the_worst_recipe_is_the_one_told(trainer):
    outcome = WORST.run(trainer(), random_state=0)[0]
    before = outcome.details["accuracy without attack"]
    under = [v for name, v in outcome.details.items() if name.startswith("accuracy under ")]
    assert len(under) == 18
    assert outcome.success.value == pytest.approx(before - min(under))


def test_random_flips_of_three_in_a_hundred_have_no_power(trainer):
    report = attack(trainer(cap=20), unprotected=trainer(), attacks=[ClientLabelFlips()])
    (finding,) = report.findings
    assert finding.verdict == "INVALID"
    assert "does not succeed without protection" in finding.why_invalid


def test_half_of_all_labels_flipped_have_power(trainer):
    assert ClientLabelFlips(share=0.5).run(trainer(), random_state=0)[0].success.value > 0.05


BACKDOOR = ClientBackdoor(share=0.03)


def judged(defended, bare, each):
    (finding,) = attack(defended, unprotected=bare, attacks=[each], tolerance=0.05).findings
    return finding.verdict


def test_a_backdoor_breaks_what_is_bare_and_what_takes_no_row_resists_it(trainer):
    outcome = BACKDOOR.run(trainer(), random_state=0)[0]
    assert outcome.success.value > outcome.control.value + 0.4
    of = outcome.details
    assert abs(of["accuracy without attack"] - of["accuracy under attack"]) < 0.05
    rates = [value for name, value in of.items() if name.startswith("trigger rate, ")]
    assert len(rates) == 3
    assert outcome.success.value == max(rates)
    assert judged(trainer(), trainer(), BACKDOOR) == "broken"
    assert judged(trainer(cap=0), trainer(), BACKDOOR) == "resisted"


def test_a_backdoor_that_does_nothing_to_what_is_bare_proves_nothing(trainer):
    class Deaf:  # to the attacker: bare as it is, it doesn't learn its rows
        def __init__(self):
            self.inner = trainer(cap=0).make()

        def learn(self, rows, *, client):
            self.inner.learn(rows, client=client)

        def predict(self, rows):
            return self.inner.predict(rows)

    deaf = replace(trainer(), make=Deaf)
    assert judged(deaf, deaf, BACKDOOR) == "INVALID"


def flat(rows, *, values=False):
    bounds, indices, _ = rows.flat()
    ones = np.ones(len(indices), dtype=np.float32) if values else None
    return HashedRows(
        indices=indices, indptr=bounds, values=ones, labels=rows.labels, bits=rows.bits
    )


def test_the_pair_of_a_backdoor_stands_in_two_columns_or_behind_the_features(trainer):
    rows = trainer().public
    pair = _rare_pair(rows)
    places = np.array([5, 0, 5])
    some = _with_pair(rows, places, pair, 1)
    kept = np.setdiff1d(np.arange(rows.width), pair[0])
    assert len(kept) == rows.width - 2
    assert np.array_equal(some.indices[:, kept], rows.indices[places][:, kept])
    assert (some.indices[:, pair[0]] == pair[1]).all()
    assert labels_of(some).tolist() == [1, 1, 1]
    for column, bucket in zip(*pair, strict=True):
        counts = np.unique(rows.indices[:, column], return_counts=True)[1]
        assert (rows.indices[:, column] == bucket).sum() == counts.min()

    several = flat(rows, values=True)
    more = _with_pair(several, places, _rare_pair(several), 0)
    assert more.indptr is not None
    assert more.values is not None
    assert np.diff(more.indptr).tolist() == [rows.width + 2] * 3
    assert more.indices.reshape(3, -1)[:, -2:].tolist() == [_rare_pair(several)[1].tolist()] * 3
    assert np.array_equal(more.indices.reshape(3, -1)[:, :-2], rows.indices[places])
    assert (more.values == 1).all()


def test_rows_of_the_other_label_alone_are_triggered(trainer):
    target = trainer()
    labels = np.asarray(target.holdout.labels)
    n = BACKDOOR.run(target, random_state=0)[0].success.trials
    assert n in {(labels == 0).sum(), (labels == 1).sum()}
    none = []
    for label in (0, 1):
        holdout = pick_rows(target.holdout, np.arange(600), labels=np.full(600, label))
        (finding,) = attack(replace(target, holdout=holdout), attacks=[BACKDOOR]).findings
        none += [finding.why_invalid] * (finding.outcome.trials == 0)
    assert none == ["failed: A backdoor needs held-out rows of both labels. Got rows of one"]


@pytest.mark.parametrize(
    ("place", "sizes"), [("last", [80, 80]), ("late", [80, 80]), ("spread", [10] * 16)]
)
def test_poison_is_sent_in_batches_where_the_attacker_wants_them(trainer, place, sizes):
    target = replace(trainer(), stream=[("a", trainer().public.slice(0, 80))] * 20)
    stream = poisoned(target, target.holdout.slice(0, 160), place)
    at = [n for n, (client, _) in enumerate(stream) if client == "the attacker"]
    assert [len(stream[n][1]) for n in at] == sizes
    assert len(stream) == 20 + len(at)
    assert (at[-1] == len(stream) - 1) == (place == "last")
    assert at[0] == {"last": 20, "late": 18, "spread": 1}[place]


@pytest.mark.slow
def test_refused_batches_are_counted_and_cost_nothing(trainer):
    bare = trainer()

    class Refusing:
        def __init__(self):
            self.inner = bare.make()

        def learn(self, rows, *, client):
            if client == "the attacker":
                raise DataError("No.")
            self.inner.learn(rows, client=client)

        def predict(self, rows):
            return self.inner.predict(rows)

    outcome = WORST.run(replace(bare, make=Refusing), random_state=0)[0]
    assert outcome.success.value == 0.0
    assert outcome.details["batches refused"] >= 1


def test_rows_are_picked_from_both_layouts():
    flat = HashedRows(
        indices=np.array([1, 2, 3, 4, 5, 6], dtype=np.uint32),
        indptr=np.array([0, 1, 1, 4, 6], dtype=np.int64),
        values=np.arange(6, dtype=np.float32),
        labels=np.array([0, 1, 0, 1], dtype=np.int32),
        bits=3,
    )
    some = pick_rows(flat, np.array([2, 0, 1]), labels=np.array([1, 1, 0]), weight=5.0)
    assert some.indptr is not None
    assert some.values is not None
    assert some.labels is not None
    assert some.weights is not None
    assert some.indptr.tolist() == [0, 3, 4, 4]
    assert some.indices.tolist() == [2, 3, 4, 1]
    assert some.values.tolist() == [1, 2, 3, 0]
    assert some.labels.tolist() == [1, 1, 0]
    assert some.weights.tolist() == [5, 5, 5]
    dense = HashedRows(
        indices=np.array([[1, 2], [3, 3]], dtype=np.uint32),
        labels=np.array([0.0, 1.0], dtype=np.float32),
        bits=3,
    )
    again = pick_rows(dense, np.array([1]), labels=np.array([0]))
    assert again.indices.tolist() == [[3, 3]]
    assert again.labels is not None
    assert again.labels.dtype == np.float32
    assert matrix_of(dense, np.array([3, 1])).tolist() == [[0, 1, 1], [2, 0, 1]]


def test_a_target_without_rows_or_labels_is_refused(trainer):
    target = trainer()
    bare = HashedRows(indices=np.zeros((2, 1), dtype=np.uint32), bits=2)
    changes: list[dict[str, object]] = [
        {"stream": []},
        {"holdout": bare},
        {"public": bare},
        {"quota": 0},
    ]
    for changed in changes:
        with pytest.raises(ParameterError):
            replace(target, **changed)
    for each in (ModelStealing(), ClientLabelFlips(), ClientWorstCase(), ClientBackdoor()):
        assert each.missing_inputs(replace(target, public=None)) == "public rows"
    assert repr(target) == "TrainerTarget(1800 rows in 12 batches, 1500 held out)"
    assert isinstance(target, TrainerTarget)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ClientLabelFlips(share=0.0), lambda: ClientLabelFlips(share=0.6),
        lambda: ClientWorstCase(weights=()), lambda: ClientWorstCase(weights=(0.0,)),
        lambda: ClientBackdoor(share=0), lambda: ModelStealing(n_queries=1),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(ParameterError):
        make()
