"""DefendedLearner: what it keeps, what it takes back, and that a replay gives the same."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask._errors import DivergenceError, IntegrityError, ParameterError
from halfmask.trainer.defences import ClientCaps, DefendedLearner, Guard, NormClip

GUARD = Guard(tolerance=0.03, drift=0.05, min_rows=200)


@pytest.fixture
def stream(make_rows):
    """Honest batches of three clients, and after each third one of an intruder's."""
    found = []
    for turn in range(30):
        found.append((f"client {turn % 3}", make_rows(60, turn)))
        if turn % 3 == 2:
            found.append(("intruder", make_rows(60, 1000 + turn, flipped=True, weight=20.0)))
    return found


def defended(naive, make_rows, **changed):
    settings = {
        "clip": NormClip(weight=1.0),
        "caps": ClientCaps(share=0.4, free=200.0),
        "guard": GUARD,
        "canaries": make_rows(400, 77),
        "every": 150,
        "pause": 300,
    }
    return DefendedLearner(naive(), **settings | changed)


def play(learner, stream):
    return [learner.learn(rows, client=client) for client, rows in stream]


def accuracy(learner, rows):
    return float(((learner.predict(rows) >= 0.5) == (rows.labels == 1)).mean())


def test_without_defences_it_is_the_learner(naive, stream):
    plain, wrapped = naive(), DefendedLearner(naive())
    for client, rows in stream:
        found, done = plain.learn(rows), wrapped.learn(rows, client=client)
        assert (done.rows, done.loss, done.accuracy) == (found.rows, found.loss, found.accuracy)
    assert wrapped.digest() == plain.digest()
    assert wrapped.refused == ()


def test_an_intruder_spoils_what_is_bare_and_not_what_is_defended(naive, make_rows, stream):
    clean = make_rows(1000, 5)
    honest = [each for each in stream if each[0] != "intruder"]
    reached = {}
    for name, learner, sent in (
        ("clean", naive(), honest),
        ("bare", DefendedLearner(naive()), [*honest, *[e for e in stream if e not in honest]]),
        ("defended", defended(naive, make_rows), stream),
    ):
        wrapped = learner if isinstance(learner, DefendedLearner) else DefendedLearner(learner)
        play(wrapped, sent)
        reached[name] = accuracy(wrapped, clean)
    assert reached["bare"] < reached["clean"] - 0.2
    assert reached["defended"] > reached["clean"] - 0.02


def test_what_is_taken_back_leaves_no_trace(naive, make_rows):
    """One bad stretch: the weights are those of a learner that never saw the intruder."""
    learner = defended(naive, make_rows, caps=None, clip=None, every=240)
    honest = [("a", make_rows(60, 1)), ("b", make_rows(60, 2)), ("a", make_rows(60, 3))]
    poison = ("x", make_rows(60, 4, flipped=True, weight=30.0))
    learned = make_rows(240, 9)
    assert learner.learn(learned, client="a").rollback is None
    *_, last = play(learner, [honest[0], poison, *honest[1:]])

    assert last.rollback is not None
    assert last.rollback.clients == (("x", 60),)
    assert last.rollback.rows == 240
    by_client = naive()
    for rows in (learned, honest[0][1], honest[2][1], honest[1][1]):
        by_client.learn(rows)
    assert learner.digest() == by_client.digest()
    assert learner.learned_of("x") == 0.0
    assert learner.refused == ("x",)


def test_nothing_answers_that_was_not_judged(naive, make_rows):
    learner = defended(naive, make_rows, caps=None, clip=None, every=240)
    learner.learn(make_rows(240, 9), client="a")
    clean = make_rows(300, 5)
    judged = learner.predict(clean)
    learner.learn(make_rows(100, 4, flipped=True, weight=30.0), client="x")
    assert (learner.predict(clean) == judged).all()
    again = DefendedLearner.from_bytes(learner.to_bytes(), kind=naive)
    assert (again.predict(clean) == judged).all()
    assert learner.learn(make_rows(200, 6), client="a").rollback.clients == (("x", 100),)
    assert accuracy(learner, clean) > accuracy(naive(), clean) + 0.2
    assert (learner.predict(clean) != judged).any()


def test_a_refused_client_waits_for_others_and_longer_each_time(naive, make_rows):
    learner = defended(naive, make_rows, caps=None, clip=None, every=60, pause=120)
    good, bad = make_rows(120, 1), make_rows(60, 2, flipped=True, weight=30.0)
    learner.learn(good, client="a")
    waited = []
    for _ in range(3):
        assert learner.learn(bad, client="x").rollback is not None
        turns = 0
        while "x" in learner.refused:
            assert learner.learn(bad, client="x").rows == 0
            learner.learn(make_rows(60, 50 + turns), client="a")
            turns += 1
        waited.append(turns)
    assert waited == [2, 4, 8]


def test_a_cap_makes_rows_lighter_and_then_nothing(naive, make_rows):
    learner = DefendedLearner(naive(), caps=ClientCaps(share=0.5, free=150.0))
    done = [learner.learn(make_rows(100, turn), client="a") for turn in range(3)]
    assert [each.rows for each in done] == [100, 100, 0]
    assert [round(each.weight, 6) for each in done] == [1.0, 0.5, 0.0]
    assert learner.learned_of("a") == pytest.approx(150.0)


@pytest.mark.parametrize("cut", [0, 1, 7, 20, 39, 40])
def test_saved_at_any_point_it_goes_on_as_if_it_had_not_been(naive, make_rows, stream, cut):
    """Within a stretch, after a rollback, while a client waits: bit by bit."""
    whole, half = defended(naive, make_rows), defended(naive, make_rows)
    found = play(whole, stream)
    before = play(half, stream[:cut])
    again = DefendedLearner.from_bytes(half.to_bytes(), kind=naive)
    assert again.digest() == half.digest()
    assert again.refused == half.refused
    after = play(again, stream[cut:])

    assert [*before, *after] == found
    assert any(each.rollback for each in found)
    assert again.digest() == whole.digest()
    assert again.to_bytes() == whole.to_bytes()


def test_altered_bytes_are_refused(naive, make_rows, stream):
    learner = defended(naive, make_rows)
    play(learner, stream[:5])
    data = learner.to_bytes()
    for place in np.linspace(0, len(data) - 1, 40).astype(int):
        torn = bytearray(data)
        torn[place] ^= 1
        with pytest.raises(IntegrityError):
            DefendedLearner.from_bytes(bytes(torn), kind=naive)
    for end in (0, 3, 40, len(data) - 1):
        with pytest.raises(IntegrityError):
            DefendedLearner.from_bytes(data[:end], kind=naive)


def test_a_guard_needs_canaries(naive, make_rows):
    learner = DefendedLearner(naive(), guard=GUARD)
    with pytest.raises(ParameterError, match="needs canaries"):
        learner.learn(make_rows(20, 0))
    assert learner.digest() == naive().digest()
    with pytest.raises(ParameterError, match="200 canaries"):
        DefendedLearner(naive(), guard=GUARD, canaries=make_rows(20, 0))


@pytest.mark.parametrize("wrong", [{"every": 0}, {"pause": -1}])
def test_numbers_out_of_range_are_refused(naive, wrong):
    with pytest.raises(ParameterError):
        DefendedLearner(naive(), **wrong)


def test_other_canaries_judge_from_then_on_and_the_same_change_nothing(naive, make_rows):
    learner = defended(naive, make_rows, caps=None, clip=None, every=240)
    learner.learn(make_rows(200, 9), client="a")
    before = learner.to_bytes()
    assert learner.judge_by(make_rows(400, 77)) is None
    assert learner.to_bytes() == before
    with pytest.raises(ParameterError, match="200 canaries"):
        learner.judge_by(make_rows(20, 77))
    assert learner.to_bytes() == before

    learner.learn(make_rows(30, 4, flipped=True, weight=90.0), client="x")
    rollback = learner.judge_by(make_rows(300, 78))
    assert rollback.clients == (("x", 30),), "what wasn't judged is judged by those before"
    other = defended(naive, make_rows, caps=None, clip=None, every=240)
    other.judge_by(make_rows(300, 79, flipped=True))
    assert other.learn(make_rows(240, 10), client="a").rollback is not None, "another world's"
    with pytest.raises(ParameterError, match="Canaries are for a guard"):
        DefendedLearner(naive()).judge_by(make_rows(300, 78))


def test_a_tally_counts_what_was_done(naive, make_rows):
    caps = ClientCaps(share=0.5, free=150.0)
    learner = defended(naive, make_rows, caps=caps, every=240, pause=500)
    learner.learn(make_rows(100, 1, weight=5.0), client="a")
    learner.learn(make_rows(100, 2), client="a")
    learner.learn(make_rows(100, 3, flipped=True, weight=1.0), client="x")
    found = learner.tally
    assert (found.clipped, found.capped, found.rollbacks) == (100, 100, 1)
    assert found.latest[0]["clients"] == {"x": 100}
    assert found.taken_back == 100
    learner.learn(make_rows(7, 4), client="x")
    assert learner.tally.refused == 7
    assert DefendedLearner.from_bytes(learner.to_bytes(), kind=naive).tally == learner.tally


def test_a_stretch_of_many_small_batches_is_judged_before_it_takes_too_much(
    naive, make_rows, monkeypatch
):
    monkeypatch.setattr("halfmask.trainer.defences._defended.STRETCH_BYTES", 10 * 4_096)
    learner = defended(naive, make_rows, caps=None, clip=None, every=1_000)
    clean = make_rows(50, 5)
    fresh = learner.predict(clean)
    for turn in range(9):
        learner.learn(make_rows(1, turn), client="a")
        assert (learner.predict(clean) == fresh).all()
    learner.learn(make_rows(1, 9), client="a")
    assert (learner.predict(clean) != fresh).any()


def test_rows_that_diverge_alone_are_taken_back(naive, make_rows, monkeypatch):
    """Of two clients one can only be learned in the other's company: it goes, the other stays."""
    learner = defended(naive, make_rows, caps=None, clip=None, every=240)
    learner.learn(make_rows(240, 9), client="a")
    learner.learn(make_rows(41, 1, flipped=True, weight=90.0), client="x")
    together, learn = learner._learner, naive.learn

    def diverge(self, rows):
        if self is not together and len(rows) == 41:
            raise DivergenceError("Learning diverged.")
        return learn(self, rows)

    monkeypatch.setattr(naive, "learn", diverge)
    rollback = learner.learn(make_rows(240, 2), client="a").rollback
    assert rollback.clients == (("x", 41),)
