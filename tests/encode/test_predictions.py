"""Predictions come home: classes, probabilities and numbers, siblings added up or averaged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import CategoricalNB

from halfmask import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import to_polars
from halfmask.encode import Codec
from halfmask.vault import Secret


def _fitted(table, secret, **settings):
    return Codec(learner="trees", secret=secret, **settings).fit(table, target="town")


@pytest.fixture(scope="module")
def known(table):
    """Rows whose class is known."""
    return table.drop_nulls("town")


def test_codes_come_back_as_classes(known, secret):
    codec = _fitted(known, secret)
    codes = codec.encode_target(known, batch=2)[codec.target_name_]

    assert codec.decode_predictions(codes, batch=2).equals(known["town"])
    assert list(codec.decode_predictions(codes.to_numpy(), batch=2)) == known["town"].to_list()
    assert list(codec.decode_predictions(codes.to_list(), batch=2)) == known["town"].to_list()


@pytest.mark.parametrize("split", [False, True])
def test_probabilities_of_codes_add_up_to_those_of_classes(known, secret, split):
    codec = _fitted(known, secret, split=split, rows="kept")
    target = codec.plan_.target
    assert target is not None
    codes = codec.encode_target(known)[codec.target_name_].to_numpy()
    certain = np.eye(int(codes.max()) + 1)[codes]

    decoded = codec.decode_predictions(certain)

    assert codec.classes_ == ["Bree", "Dale", "Esgaroth", "Ost"]
    assert (certain.shape[1] > 4) == split
    assert decoded.shape == (known.height, 4)
    truth = known["town"].to_numpy()[:, None] == np.array(codec.classes_)
    assert np.array_equal(decoded, truth.astype(float))


def test_frames_of_predictions_come_back_as_frames(known, secret):
    codec = _fitted(known, secret)
    codes = codec.encode_target(known)[codec.target_name_]
    certain = np.eye(4)[codes.to_numpy()]

    labels = codec.decode_predictions(pd.DataFrame({"answer": codes.to_numpy()}))
    shares = codec.decode_predictions(pl.DataFrame(certain, schema=["0", "1", "2", "3"]))

    assert isinstance(labels, pd.DataFrame)
    assert to_polars(labels)["town"].to_list() == known["town"].to_list()
    assert shares.columns == codec.classes_
    assert shares["Bree"].to_list() == (known["town"] == "Bree").cast(pl.Float64).to_list()


@pytest.mark.parametrize("names", [["1", "0", "2", "3"], [3.0, 2.0, 1.0, 0.0]], ids=str)
def test_probabilities_in_another_order_than_the_codes_are_refused(known, secret, names):
    shares = pd.DataFrame(np.eye(4), columns=names)

    with pytest.raises(DataError, match="don't ascend"):
        _fitted(known, secret).decode_predictions(shares, batch=None)
    ordered = _fitted(known, secret).decode_predictions(shares[sorted(names)], batch=None)
    assert ordered.to_numpy().sum() == 4.0


@pytest.mark.parametrize("name", ["age", "income", "paid"])
def test_numbers_come_back_in_their_own_unit(table, secret, name):
    codec = Codec(learner="linear", secret=secret, rows="kept")
    codec.fit(table, target=name, task="regression")
    encoded = codec.encode_target(table.drop_nulls(name))[codec.target_name_]
    truth = table[name].drop_nulls().cast(pl.Float64).to_numpy()

    between = (encoded.to_numpy()[1:] + encoded.to_numpy()[:-1]) / 2

    assert np.allclose(codec.decode_predictions(encoded.to_numpy()), truth, rtol=1e-12)
    assert np.allclose(codec.decode_predictions(between), (truth[1:] + truth[:-1]) / 2, rtol=1e-12)
    assert codec.decode_predictions(encoded).name == name
    assert abs(np.corrcoef(encoded.to_numpy(), truth)[0, 1]) > 0.999999


def test_integers_are_classes_or_numbers_as_said(table, secret):
    counts = pl.DataFrame({"x": [1.5, 2.5, 3.5], "y": [7, 8, 7]})

    with pytest.raises(ParameterError, match="classes, or numbers"):
        Codec(learner="trees", secret=secret).fit(counts, target="y")
    classes = Codec(learner="trees", secret=secret).fit(counts, target="y", task="classification")
    assert classes.classes_ == [7, 8]
    with pytest.raises(SchemaError, match="no regression predicts"):
        Codec(learner="trees", secret=secret).fit(table, target="town", task="regression")


def test_a_missing_target_stays_missing(table, secret):
    for name in ("town", "income"):
        codec = Codec(learner="distances", secret=secret, missing="hidden", rows="kept")
        encoded = codec.fit(table, target=name).encode(table)

        assert encoded[codec.target_name_].null_count() == table[name].null_count()
        back = codec.decode(encoded)[name]
        assert back.is_null().equals(table[name].is_null())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (np.array([0, 4]), "1 codes that stand for no value"),
        (np.array([0, -1]), "1 codes that stand for no value"),
        (np.array([0.5, 1.0]), "whole numbers"),
        (np.array([np.nan, 1.0]), "not finite"),
        (np.array([1e300, 1.0]), "whole numbers"),
        (np.array(["Bree"]), "must be numbers"),
        (np.array(1.0), "0 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([[1.0], [1.0, 2.0]], "a row for each encoded row"),
        (np.array([[0, 0.5, 0.5, 0], [7, 1, 0, 0]]), "nothing but whole numbers"),
        (np.array([[-1, 0.5, 0.5, 0], [0, 1, 0, 0]]), "nothing but whole numbers"),
        (np.full((2, 3), 1 / 3), "probabilities for 3 codes; the target has 4"),
    ],
)
def test_answers_that_no_model_gave_are_refused(known, secret, answer, said):
    with pytest.raises(DataError, match=said):
        _fitted(known, secret).decode_predictions(answer)


def test_scores_of_a_regression_may_lie_beyond_0_and_1(known, secret):
    scores = np.array([[1.2, -0.3, 0.1, 0.0], [0.0, 1.0, 0.0, 0.0]])

    decoded = _fitted(known, secret).decode_predictions(scores, batch=None)
    assert np.allclose(decoded.sum(axis=1), 1.0)


def test_without_a_target_nothing_is_predicted(table, secret):
    codec = Codec(learner="trees", secret=secret).fit(table)

    for use in (
        lambda: codec.decode_predictions(np.zeros(2)),
        lambda: codec.encode_target(table),
        lambda: codec.classes_,
        lambda: codec.target_name_,
    ):
        with pytest.raises(SchemaError, match="target"):
            use()


def test_a_target_is_encoded_without_its_features_unless_they_split_it(known, secret):
    whole = _fitted(known, secret)
    split = _fitted(known, secret, split=True)

    assert whole.encode_target(known.select("town")).equals(whole.encode_target(known))
    with pytest.raises(ColumnNotFoundError, match="'age'"):
        split.encode_target(known.select("town"))
    with pytest.raises(ColumnNotFoundError, match="'town'"):
        whole.encode_target(known.drop("town"))


def _letters(n=3000, seed=5):
    rng = np.random.default_rng(seed)
    letter = rng.choice(list("abcdef"), n, p=[0.5, 0.2, 0.12, 0.08, 0.06, 0.04])
    other = rng.normal(size=n)
    label = np.where(rng.random(n) < 0.2 + 0.1 * (letter == "a") + 0.3 * (letter == "b"), "y", "n")
    return pl.DataFrame({"letter": letter, "other": other, "third": rng.normal(size=n), "y": label})


def test_the_mean_over_siblings_is_the_mean_of_the_category(secret):
    """A saturated model of codes, asked for all siblings, answers as one of categories would."""
    rows = _letters()
    codec = Codec(learner="trees", secret=secret, split=True).fit(rows, target="y")
    target = codec.plan_.target
    assert target is not None
    sent = codec.encode(rows)
    token = next(it.token for it in codec.plan_.codes if it.name == "letter")
    codes, labels = sent[token].to_numpy(), sent[codec.target_name_].to_numpy()
    n_labels = int(labels.max()) + 1
    means = np.zeros((int(codes.max()) + 1, n_labels))
    np.add.at(means, (codes, labels), 1.0)
    means /= means.sum(axis=1, keepdims=True)

    asked, shares = codec.encode_siblings(rows[:500].drop("y"), "letter")
    combined = codec.combine_siblings(means[asked[token].to_numpy()], shares)

    wanted = rows.group_by("letter").agg((pl.col("y") == "y").mean().alias("share"))
    truth = rows[:500].join(wanted, on="letter", how="left", maintain_order="left")["share"]
    assert asked.height > 2 * 500
    assert np.allclose(combined[:, codec.classes_.index("y")], truth.to_numpy(), atol=1e-12)
    with pytest.raises(ColumnNotFoundError, match="'other'"):
        codec.encode_siblings(rows.drop("other"), "letter")


def test_sums_over_siblings_of_a_split_target_restore_naive_bayes(secret):
    """A split target that is predicted from nothing gives each class its own share."""
    rows = _letters()
    codec = Codec(learner="trees", secret=secret, split=True, rows="kept", unseen="reserve")
    sent = codec.fit(rows, target="letter", task="classification").encode(rows)
    labels = sent[codec.target_name_].to_numpy()
    model = CategoricalNB(alpha=1e-9, force_alpha=True).fit(np.zeros((rows.height, 1)), labels)

    shares = codec.decode_predictions(model.predict_proba(np.zeros((rows.height, 1))))

    wanted = [rows["letter"].eq(letter).mean() for letter in codec.classes_]
    assert len(set(labels)) > 6
    assert np.allclose(shares[0], wanted, atol=1e-6)


def test_siblings_are_asked_only_where_they_are(table, secret):
    codec = _fitted(table.drop_nulls("town"), secret)

    with pytest.raises(ParameterError, match="'member' is no feature that the codec has split"):
        codec.encode_siblings(table, "member")
    with pytest.raises(ParameterError, match="have no mean"):
        codec.combine_siblings(np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(DataError, match="2 predictions for 3 rows"):
        codec.combine_siblings(np.zeros((2, 4)), np.zeros((3, 2)))


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "kept"), [("trees", True), ("distances", False)])
def test_only_trees_are_sent_a_target_the_right_way_up(known, learner, kept):
    """Boosting breaks ties by the sign of its target; other learners can't tell."""
    numbers = known.select("age", "income", "member").drop_nulls()
    upside_down = {"member": 0, "income": 0}
    for number in range(20):
        for target, rows in (("member", known), ("income", numbers)):
            codec = Codec(learner=learner, secret=Secret.from_bytes(bytes([number]) * 32))
            codec.fit(rows, target=target)
            sent = codec.encode_target(rows, batch=0)[codec.target_name_].to_numpy()
            home = codec.plan_.order(rows.height, 0)
            falls = np.corrcoef(sent, rows[target].cast(pl.Float64).to_numpy()[home])[0, 1] < 0
            upside_down[target] += int(falls)

    assert all((n == 0) == kept for n in upside_down.values())
    assert kept or all(n < 20 for n in upside_down.values())
