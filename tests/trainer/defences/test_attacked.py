"""The compiled learner, bare and defended, under the attacks of the battery."""

from __future__ import annotations

import pytest

from halfmask._errors import IntegrityError
from halfmask.assess.attacks import TrainerTarget, attack
from halfmask.assess.attacks.poisoning import ClientBackdoor, ClientWorstCase
from halfmask.trainer.defences import ClientCaps, DefendedLearner, Guard, NormClip
from halfmask.trainer.learner import OnlineLearner

BITS = 6
HONEST = frozenset(f"client {n}" for n in range(5))


@pytest.fixture
def defended(make_rows):
    """Make the compiled learner with all defences, or with none."""

    def make(*, bare=False):
        learner = OnlineLearner(bits=BITS)
        if bare:
            return DefendedLearner(learner)
        return DefendedLearner(
            learner,
            clip=NormClip(weight=1.0, norm=4.0),
            caps=ClientCaps(share=0.4, free=300.0, trusted=frozenset({"owner"})),
            guard=Guard(tolerance=0.02, drift=0.03),
            canaries=make_rows(600, 77),
            every=500,
            pause=2000,
        )

    return make


@pytest.mark.slow
def test_the_worst_client_breaks_a_bare_learner_and_no_defended_one(make_rows, defended):
    def target(*, bare):
        return TrainerTarget(
            make=lambda: defended(bare=bare),
            stream=[(f"client {turn % 5}", make_rows(200, turn)) for turn in range(40)],
            holdout=make_rows(4000, 5000),
            public=make_rows(1500, 6000),
        )

    report = attack(target(bare=False), unprotected=target(bare=True), attacks=[ClientWorstCase()])
    (finding,) = report.findings
    assert finding.verdict == "resisted"
    assert finding.positive_control is not None
    assert finding.positive_control.success.value > 0.3


@pytest.mark.parametrize(
    ("caps", "verdict"),
    [
        (ClientCaps(share=0.4, free=300.0), "broken"),  # canaries don't show the trigger
        (ClientCaps(share=1e-4, free=1.0, trusted=HONEST), "resisted"),
    ],
)
def test_a_backdoor_breaks_canaries_and_no_model_that_knows_whom_it_trusts(
    make_rows, caps, verdict
):
    def target(**defences):
        return TrainerTarget(
            make=lambda: DefendedLearner(OnlineLearner(bits=BITS), every=500, **defences),
            stream=[(f"client {turn % 5}", make_rows(200, turn)) for turn in range(40)],
            holdout=make_rows(4000, 5000),
            public=make_rows(1500, 6000),
        )

    guard = Guard(tolerance=0.02, drift=0.03)
    all_of_it = {"clip": NormClip(weight=1.0, norm=4.0), "guard": guard, "caps": caps}
    report = attack(
        target(canaries=make_rows(600, 77), **all_of_it),
        unprotected=target(),
        attacks=[ClientBackdoor()],
    )
    (finding,) = report.findings
    assert finding.verdict == verdict
    assert finding.positive_control is not None
    assert finding.positive_control.success.value > finding.outcome.control.value + 0.5


def test_the_compiled_learner_is_saved_and_goes_on(make_rows, defended):
    stream = [(f"client {turn % 5}", make_rows(120, turn)) for turn in range(20)]
    stream.insert(9, ("x", make_rows(400, 99, flipped=True, weight=50.0)))
    whole, half = defended(), defended()
    found = [whole.learn(rows, client=client) for client, rows in stream]
    before = [half.learn(rows, client=client) for client, rows in stream[:11]]
    again = DefendedLearner.from_bytes(half.to_bytes())
    after = [again.learn(rows, client=client) for client, rows in stream[11:]]

    assert [*before, *after] == found
    assert any(each.rollback and ("x", 400) in each.rollback.clients for each in found)
    assert again.digest() == whole.digest()
    with pytest.raises(IntegrityError):
        DefendedLearner.from_bytes(whole.to_bytes()[:-1])
