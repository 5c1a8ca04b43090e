"""The online learner: what it learns, what it refuses, what it leaves unchanged."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask import DataError, DivergenceError, ParameterError
from halfmask.hashing import HashedRows
from halfmask.trainer.learner import OnlineLearner

KINDS = list(
    itertools.product(
        ["logistic", "hinge", "squared", "quantile", "softmax"], ["sgd", "adagrad", "ftrl"]
    )
)


def rows_of(n=400, *, width=5, bits=8, loss="logistic", values=False, weights=False, seed=0):
    """Rows whose labels follow from their slots."""
    rng = np.random.default_rng(seed)
    each = (1 << bits) // width
    indices = (rng.integers(0, each, (n, width)) + each * np.arange(width)).astype(np.uint32)
    truth = np.random.default_rng(99).normal(size=1 << bits)
    score = truth[indices].sum(axis=1)
    labels = {
        "softmax": np.digitize(score, [-1, 1]).astype(np.int32),
        "squared": score.astype(np.float32),
        "quantile": score.astype(np.float32),
    }.get(loss, (score > 0).astype(np.int32))
    return HashedRows(
        indices=indices,
        values=rng.normal(size=indices.shape).astype(np.float32) if values else None,
        labels=labels,
        weights=rng.integers(0, 3, n).astype(np.float32) if weights else None,
        classes=3 if loss == "softmax" else 2,
        bits=bits,
    )


def learner_of(loss="logistic", optimizer="adagrad", bits=8, **more):
    classes = 3 if loss == "softmax" else 2
    return OnlineLearner(loss=loss, optimizer=optimizer, bits=bits, classes=classes, **more)


def changed(rows, **new):
    """Rows with something else in them."""
    names = ("indices", "indptr", "values", "labels", "weights", "classes", "bits")
    return HashedRows(**({name: getattr(rows, name) for name in names} | new))


def as_csr(rows):
    indptr, indices, values = rows.flat()
    return changed(rows, indptr=indptr, indices=indices, values=values)


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_each_kind_learns(loss, optimizer):
    """Rows that come later are predicted better."""
    learner = learner_of(loss, optimizer)
    early = learner.learn(rows_of(300, loss=loss))
    late = [learner.learn(rows_of(300, loss=loss, seed=seed)) for seed in range(1, 8)][-1]

    assert late.loss < 0.8 * early.loss
    assert (late.accuracy is None) == (loss in ("squared", "quantile"))


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
@given(cuts=st.lists(st.integers(0, 60), max_size=4), values=st.booleans())
@settings(max_examples=5, deadline=None)
def test_batches_may_be_cut_anywhere(loss, optimizer, cuts, values):
    """The weights are the same, bit by bit."""
    rows = rows_of(60, loss=loss, values=values, weights=True)
    whole, parts = learner_of(loss, optimizer), learner_of(loss, optimizer)
    whole.learn(rows)
    bounds = [0, *sorted(cuts), 60]
    for start, stop in itertools.pairwise(bounds):
        parts.learn(rows.slice(start, stop))

    assert parts.digest() == whole.digest()
    assert parts.progress.loss == pytest.approx(whole.progress.loss)


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_layouts_learn_alike(loss, optimizer):
    """Rows of one width give what the same rows in the flat layout give, bit by bit."""
    rows = rows_of(loss=loss, values=True)
    dense, flat = learner_of(loss, optimizer), learner_of(loss, optimizer)
    dense.learn(rows)
    flat.learn(as_csr(rows))

    assert dense.digest() == flat.digest()
    assert (dense.predict(rows) == flat.predict(as_csr(rows))).all()


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_hashing_without_collisions_is_plain_one_hot(loss, optimizer):
    """Whatever the slots are, as long as no two features share one: predictions are the same."""
    plain = rows_of(loss=loss, values=True)
    place = np.random.default_rng(1).permutation(1 << 12)[: 1 << 8].astype(np.uint32)
    hashed = changed(plain, indices=place[plain.indices], bits=12)
    one_hot, keyed = learner_of(loss, optimizer), learner_of(loss, optimizer, bits=12)
    one_hot.learn(plain)
    keyed.learn(hashed)

    assert (one_hot.predict(plain) == keyed.predict(hashed)).all()
    assert (one_hot.weights[:-1] == keyed.weights[place]).all()


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "ftrl"])
@pytest.mark.parametrize("loss", ["logistic", "squared", "softmax"])
def test_normalized_learning_knows_no_units(loss, optimizer):
    """Values in other units give the same predictions; without normalizing, they don't."""
    # Slot 5 * j + k stands for a value of column j, so that each column can have its unit.
    rng = np.random.default_rng(3)
    indices = np.tile(np.arange(5, dtype=np.uint32), (300, 1))
    values = rng.normal(size=(300, 5)).astype(np.float32)
    kind = rows_of(300, loss=loss)
    rows = changed(kind, indices=indices, values=values)
    units = np.float32(2.0) ** np.array([-9, 7, 0, 3, -2], dtype=np.float32)
    other = changed(rows, values=values * units)

    def predictions_of(rows, *, normalized):
        learner = learner_of(loss, optimizer, normalized=normalized, rate=0.05)
        learner.learn(rows)
        return learner.predict(rows)

    assert np.allclose(
        predictions_of(rows, normalized=True),
        predictions_of(other, normalized=True),
        rtol=1e-5,
        atol=1e-6,
    )
    try:
        apart = predictions_of(other, normalized=False)
    except DivergenceError:
        return
    assert not np.allclose(predictions_of(rows, normalized=False), apart, rtol=1e-2, atol=1e-2)


def test_a_weight_of_two_is_two_rows():
    """With a constant rate, exactly as the paper says."""
    rows = rows_of(200)
    one, two = (learner_of(optimizer="sgd", normalized=False, decay=0.0) for _ in range(2))
    one.learn(changed(rows, weights=np.full(200, 2, np.float32)))
    for i in range(200):
        two.learn(rows.slice(i, i + 1))
        two.learn(rows.slice(i, i + 1))

    assert np.allclose(one.weights, two.weights, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "ftrl"])
def test_a_row_of_no_weight_moves_no_weight(optimizer):
    """It is predicted, and counts nothing."""
    learner = learner_of(optimizer=optimizer)
    learner.learn(rows_of())
    before = learner.weights
    progress = learner.learn(changed(rows_of(seed=4), weights=np.zeros(400, np.float32)))

    assert (learner.weights == before).all()
    assert (progress.rows, progress.weight, progress.loss) == (400, 0.0, 0.0)


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_progress_is_measured_before_each_update(loss, optimizer):
    """The same as predicting each row, then learning it."""
    rows = rows_of(80, loss=loss)
    whole, single = learner_of(loss, optimizer), learner_of(loss, optimizer)
    one_by_one = []
    for i in range(80):
        one_by_one.append(single.predict(rows.slice(i, i + 1))[0])
        single.learn(rows.slice(i, i + 1))
    found, labels = np.array(one_by_one, np.float64), rows.labels
    costs = {
        "logistic": lambda: -np.log(np.where(labels == 1, found, 1 - found)),
        "hinge": lambda: np.maximum(0, 1 - (2 * labels - 1) * found),
        "squared": lambda: (labels - found) ** 2 / 2,
        "quantile": lambda: np.abs(labels - found) / 2,
        "softmax": lambda: -np.log(found[np.arange(80), labels]),
    }
    progress = whole.learn(rows)

    assert progress.loss == pytest.approx(costs[loss]().mean(), rel=1e-4)
    if loss == "softmax":
        assert progress.accuracy == pytest.approx((found.argmax(axis=1) == labels).mean())


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("labels", [np.array([0, 2], np.float32), np.array([0.5, 1], np.float32)])
def test_labels_other_than_0_and_1_are_refused(loss, labels):
    """Nothing is learnt of rows that hold one."""
    learner = learner_of(loss)
    before = learner.digest()
    with pytest.raises(DataError, match="0 or 1"):
        learner.learn(changed(rows_of(2), labels=labels))

    assert learner.digest() == before


@pytest.mark.parametrize(
    ("rows", "error", "given"),
    [
        (changed(rows_of(), labels=None), DataError, "no labels"),
        (rows_of(bits=7), ParameterError, "7 bits"),
        (changed(rows_of(), labels=np.zeros(400, np.float32)), DataError, "int32"),
        (changed(rows_of(loss="softmax"), classes=9, labels=np.full(400, 7, np.int32)), DataError,
         "3 classes"),
    ],
)  # fmt: skip
def test_rows_that_do_not_fit_are_refused(rows, error, given):
    """Before anything is learnt."""
    learner = learner_of("softmax")
    before = learner.digest()
    with pytest.raises(error, match=given):
        learner.learn(rows)

    assert learner.digest() == before


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "ftrl"])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_divergence_leaves_the_learner_as_it_was(optimizer, values, threads):
    """Weights, scales and counts: the batch is learnt wholly or not at all."""
    learner = learner_of(
        "squared", optimizer, rate=50.0, normalized=False, invariant=False, threads=threads
    )
    good = rows_of(3, loss="squared", seed=9)
    learner.learn(changed(good, labels=np.zeros(3, np.float32)))
    before, progress = learner.to_bytes(), learner.progress
    rows = rows_of(5000, loss="squared", values=values)
    huge = changed(rows, labels=rows.labels * np.float32(1e30))
    with pytest.raises(DivergenceError, match="diverged"):
        learner.learn(huge)

    assert learner.to_bytes() == before
    assert learner.progress == progress


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "ftrl"])
def test_values_beyond_32_bits_are_a_divergence(loss, optimizer):
    """Neither infinity nor NaN ever gets into the weights."""
    learner = learner_of(loss, optimizer, normalized=False, invariant=False)
    rows = rows_of(loss=loss, values=True)
    before = learner.digest()
    with pytest.raises(DivergenceError):
        learner.learn(changed(rows, values=rows.values * np.float32(1e37)))

    assert learner.digest() == before


@pytest.mark.parametrize(
    ("said", "hint"),
    [({}, "Bin the numbers"), ({"normalized": False}, "Use normalized=True")],
)
def test_a_divergence_hints_at_what_is_not_so_already(said, hint):
    learner = learner_of("logistic", **said)
    rows = rows_of(loss="logistic", values=True)
    with pytest.raises(DivergenceError) as caught:
        learner.learn(changed(rows, values=rows.values * np.float32(1e37)))

    assert hint in str(caught.value)
    assert ("normalized=True" in str(caught.value)) == bool(said)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_no_rows_make_weights_that_are_no_numbers(data):
    """Whatever finite values and weights come, all is finite, or all is as before."""
    loss, optimizer = data.draw(st.sampled_from(KINDS))
    odd = st.sampled_from([0.0, 1e-38, -1e-20, 1.0, -3.0, 1e10, -1e19, 3e38])
    n = data.draw(st.integers(1, 6))
    rows = rows_of(n, loss=loss, bits=2, width=2)
    values = np.array(data.draw(st.lists(odd, min_size=2 * n, max_size=2 * n)), np.float32)
    weights = np.abs(np.array(data.draw(st.lists(odd, min_size=n, max_size=n)), np.float32))
    learner = learner_of(
        loss, optimizer, bits=2, normalized=data.draw(st.booleans()),
        invariant=data.draw(st.booleans()),
    )  # fmt: skip
    before = learner.digest()
    try:
        learner.learn(changed(rows, values=values.reshape(n, 2), weights=weights))
    except DivergenceError:
        assert learner.digest() == before
    assert np.isfinite(learner.weights).all()
    assert OnlineLearner.from_bytes(learner.to_bytes()).digest() == learner.digest()


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_further_passes_learn_more(loss):
    """Rows are gone through again, in another order that follows from the seed."""
    rows = rows_of(loss=loss, values=True)
    one, many, again, other = (learner_of(loss, random_state=seed) for seed in (0, 0, 0, 1))
    first = one.learn(rows)
    found = [each.learn(rows, passes=5) for each in (many, again, other)]

    assert found[0] == first
    assert many.digest() == again.digest() != other.digest()
    assert many.copy().learn(rows).loss < one.copy().learn(rows).loss


@pytest.mark.parametrize(("loss", "optimizer"), KINDS)
def test_threads_learn_nearly_as_well(loss, optimizer):
    """Hogwild: about the loss of one writer, and no row is left out."""
    rows = rows_of(20_000, loss=loss)
    one, two = learner_of(loss, optimizer), learner_of(loss, optimizer, threads=2)
    alone, together = one.learn(rows), two.learn(rows)

    assert together.rows == 20_000
    assert together.loss < 1.3 * alone.loss + 0.05


def test_rows_without_values_are_rows_of_ones():
    """Also where a learner gets both kinds."""
    rows = rows_of()
    ones = changed(rows, values=np.ones_like(rows.indices, dtype=np.float32))
    for optimizer in ("sgd", "adagrad", "ftrl"):
        without, with_ones, both = (learner_of(optimizer=optimizer) for _ in range(3))
        without.learn(rows)
        with_ones.learn(ones)
        both.learn(rows.slice(0, 200))
        both.learn(ones.slice(200, 300))
        both.learn(rows.slice(300, 400))

        assert np.allclose(without.weights, with_ones.weights, atol=1e-5)
        assert np.allclose(without.weights, both.weights, atol=1e-5)


def test_rows_without_features_teach_the_bias():
    """And a learner without a bias, nothing."""
    rows = HashedRows(
        indices=np.zeros(0, np.uint32),
        indptr=np.zeros(51, np.int64),
        labels=np.ones(50, np.int32),
        bits=8,
    )
    learner, without = learner_of(), learner_of(intercept=False)
    learner.learn(rows)
    without.learn(rows)

    assert learner.predict(rows)[0] > 0.6
    assert without.predict(rows)[0] == 0.5


def test_no_rows_change_nothing():
    """And are no error."""
    learner = learner_of()
    before = learner.digest()
    progress = learner.learn(rows_of(0))

    assert (progress.rows, progress.loss, progress.accuracy) == (0, 0.0, None)
    assert learner.digest() == before
    assert learner.predict(rows_of(0)).shape == (0,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "poisson"}, {"optimizer": "adam"}, {"bits": 0}, {"bits": 32}, {"rate": 0.0},
        {"rate": float("nan")}, {"decay": 1.5}, {"l1": 0.1}, {"classes": 3}, {"classes": 1},
        {"tau": 1.0}, {"threads": 0}, {"random_state": -1}, {"normalized": "yes"}, {"beta": 0.0},
        {"loss": "softmax", "bits": 31, "classes": 1000},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(wrong):
    """By name, before memory is asked for."""
    with pytest.raises(ParameterError):
        OnlineLearner(**wrong)


def test_ftrl_keeps_most_weights_at_zero():
    """The more, the larger L1 is."""
    rows = rows_of(2000, bits=12)
    counts = []
    for l1 in (0.0, 0.5, 2.0, 1e3):
        learner = learner_of(optimizer="ftrl", bits=12, l1=l1)
        learner.learn(rows)
        counts.append(np.count_nonzero(learner.weights[:-1]))

    assert counts[0] > counts[1] > counts[2] > counts[3] == 0
