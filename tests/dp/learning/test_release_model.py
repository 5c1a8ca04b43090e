"""A released model: its claim is repeated by the verifier, and a weaker one isn't borne out."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import halfmask
from halfmask import GuaranteeNotMetError, ParameterError, ReleaseError, VerificationError
from halfmask.claims import Claim
from halfmask.dp.accounting import (
    EpsilonDeltaEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ObjectivePerturbationEvent,
    SampledGaussianEvent,
    epsilon_of,
)
from halfmask.dp.learning import (
    PrivateBoostingClassifier,
    PrivateGaussianNB,
    PrivateLogisticRegression,
    PrivateMultinomialNB,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
    load_model,
    release_model,
)
from halfmask.verifier._privacy_check import check_privacy

X = np.random.default_rng(0).normal(size=(200, 2))
Y = (X[:, 0] > 0).astype(int)
LAPLACE = LaplaceEvent(noise_multiplier=10.0, coordinates=2)
MODELS = {
    "output": PrivateLogisticRegression(
        epsilon=1.0, delta=0.0, row_norm=2.0, classes=[0, 1], C=0.1
    ),
    "objective": PrivateLogisticRegression(
        epsilon=1.0, delta=1e-5, row_norm=2.0, classes=[0, 1], C=0.1, perturbation="objective"
    ),
    "sgd": PrivateSGDClassifier(epsilon=2.0, delta=1e-5, classes=[0, 1], clip_norm=1.0, steps=5),
    "bayes": PrivateGaussianNB(
        epsilon=1.0, delta=1e-5, bounds=(-3, np.array([3.0, 4.0])), classes=[0, 1]
    ),
}
#: A model of each kind that can be released, for three columns of at least 0.
KINDS = {
    **{name: clone(model) for name, model in MODELS.items() if name != "bayes"},
    "bayes": PrivateGaussianNB(epsilon=1.0, delta=0.0, bounds=(0.0, 3.0), classes=[0, 1]),
    "counts": PrivateMultinomialNB(epsilon=1.0, delta=0.0, row_sum=4.0, classes=[0, 1]),
    "boosting": PrivateBoostingClassifier(
        epsilon=1.0, delta=1e-5, bounds=(0.0, 3.0), classes=[0, 1], rounds=2
    ),
    "numbers": PrivateSGDRegressor(
        epsilon=1.0, delta=1e-5, target_bounds=(-1.0, 1.0), clip_norm=1.0, steps=5
    ),
}
RUNS: dict[str, list[Any]] = {
    "laplace": [LAPLACE] * 40,
    "gaussian": [GaussianEvent(noise_multiplier=4.0, coordinates=3)] * 7,
    "sampled": [
        SampledGaussianEvent(
            noise_multiplier=1.5, sampling_probability=0.02, steps=300, coordinates=5
        ),
        LAPLACE,
    ],
    "choices": [ExponentialEvent(epsilon=0.1)] * 100 + [LAPLACE],
    "objective": [
        ObjectivePerturbationEvent(noise_multiplier=k, curvature=c, classes=n, coordinates=5)
        for k, c, n in ((4.0, 0.2, 2), (8.0, 3.0, 2), (8.0, 0.1, 3))
    ]
    + [GaussianEvent(noise_multiplier=40.0, coordinates=5), LAPLACE],
    "paid": [EpsilonDeltaEvent(epsilon=0.3, delta=1e-6), LAPLACE],
}


def _claim(events, epsilon, delta, **changed):
    return Claim(
        model="differential-privacy",
        parameters={"epsilon": epsilon, "delta": delta},
        about={},
        basis="accounted",
        evidence={"events": [each if isinstance(each, dict) else each.to_json() for each in events],
                  **changed},
    )  # fmt: skip


@pytest.mark.mostly_slow
@pytest.mark.parametrize("run", RUNS)
def test_the_verifier_comes_to_the_same_epsilon(run):
    """With code of its own, which shares dp-accounting alone."""
    epsilon = epsilon_of(RUNS[run], delta=1e-5)
    found = check_privacy(_claim(RUNS[run], epsilon, 1e-5), ())

    assert found.holds
    assert found.found["epsilon"] == pytest.approx(epsilon, rel=0.02)
    assert not check_privacy(_claim(RUNS[run], epsilon * 0.95, 1e-5), ()).holds


def test_without_a_delta_epsilons_add_up():
    assert check_privacy(_claim([LAPLACE] * 3, 0.3, 0.0), ()).holds
    assert not check_privacy(_claim([LAPLACE] * 3, 0.29, 0.0), ()).holds
    assert not check_privacy(_claim(RUNS["gaussian"], 50.0, 0.0), ()).holds


@pytest.mark.parametrize("wrong", [
    [], [{}], [{"mechanism": "none"}], [{"mechanism": "laplace", "noise_multiplier": 9.0}],
    [{"mechanism": "laplace", "noise_multiplier": 0, "coordinates": 1}],
    [{"mechanism": "laplace", "noise_multiplier": "9", "coordinates": 1}],
    [{"mechanism": "laplace", "noise_multiplier": 9.0, "coordinates": 1.5}],
    [{"mechanism": "exponential", "epsilon": -1.0}],
    [{"mechanism": "epsilon-delta", "epsilon": 0.1, "delta": -0.5}],
    [{"mechanism": "exponential", "epsilon": 0.1, "more": 1}],
    [{"mechanism": "objective-perturbation", "noise_multiplier": 9.0, "curvature": 0.1,
      "classes": 1, "coordinates": 1}],
    [{"mechanism": "objective-perturbation", "noise_multiplier": 9.0, "curvature": -0.1,
      "classes": 2, "coordinates": 1}],
])  # fmt: skip
def test_events_that_cannot_be_do_not_hold(wrong):
    try:
        held = check_privacy(_claim(wrong, 5.0, 1e-5), ()).holds
    except (KeyError, TypeError, ValueError):  # a check that raises doesn't hold
        held = False
    assert not held


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_released_and_verified(name, tmp_path):
    model = MODELS[name].fit(X, Y)
    release_model(model, tmp_path / "model")
    found = halfmask.verify(tmp_path / "model")

    assert found.holds
    lines = (tmp_path / "model" / "data" / "model.jsonl").read_text().splitlines()
    read = [json.loads(line) for line in lines]
    written = {each["attribute"]: each["values"] for each in read if "attribute" in each}
    assert written["classes_"] == [0, 1]
    for attribute, values in written.items():
        assert np.array_equal(values, getattr(model, attribute))
    assert "the random draws themselves were not seen" in str(found.to_dict()["claims"])


@pytest.mark.parametrize("epsilon", [40.0, 90.0])
def test_a_model_of_a_large_epsilon_has_its_price(epsilon, tmp_path):
    model = clone(KINDS["bayes"]).set_params(epsilon=epsilon, delta=1e-5).fit(np.abs(X), Y)
    assert 0.98 * epsilon <= model.spent_epsilon_ <= epsilon
    release_model(model, tmp_path / "model")
    assert halfmask.verify(tmp_path / "model").holds


@pytest.mark.mostly_slow
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [False, True]])
@pytest.mark.parametrize("name", [*MODELS, "counts", "boosting"])
def test_a_receiver_predicts_what_the_owner_does(name, labels, tmp_path, notes):
    model = {
        "counts": PrivateMultinomialNB(epsilon=1.0, delta=0.0, row_sum=4.0, classes=[0, 1]),
        "boosting": PrivateBoostingClassifier(
            epsilon=1.0, delta=1e-5, bounds=([-3.0, -2.0], 3.0), classes=[0, 1], rounds=2
        ),
        **MODELS,
    }[name]
    rows = np.abs(X) if name == "counts" else X
    model = clone(model).set_params(classes=np.array(labels), ledger=notes())
    model.fit(rows, np.array(labels)[Y])
    release_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")

    assert type(loaded) is type(model)
    assert loaded.ledger is None
    assert (loaded.predict(rows) == model.predict(rows)).all()
    assert (loaded.predict_proba(rows) == model.predict_proba(rows)).all()
    assert loaded.classes_.tolist() == labels
    assert (loaded.events_, loaded.unit_) == (model.events_, model.unit_)
    assert loaded.spent_epsilon_ == model.spent_epsilon_
    with pytest.raises(ValueError, match="features"):
        loaded.predict(np.ones((1, 3)))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("name", KINDS)
def test_a_received_model_knows_its_columns_by_name(name, frame, tmp_path):
    rows = dict(zip("abc", np.abs(np.random.default_rng(0).normal(size=(3, 200))), strict=True))
    model = clone(KINDS[name]).fit(frame(rows), Y)
    release_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")

    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (loaded.predict(frame(rows)) == model.predict(frame(rows))).all()
    swapped = frame({column: rows[column] for column in "bac"})
    for each in (model, loaded):
        with pytest.raises(ValueError, match="same order"):
            each.predict(swapped)


def test_a_model_of_columns_without_names_stays_without(tmp_path):
    release_model(MODELS["output"].fit(X, Y), tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert not hasattr(loaded, "feature_names_in_")
    assert (loaded.predict(X) == MODELS["output"].predict(X)).all()


def test_a_receiver_predicts_numbers(tmp_path):
    model = PrivateSGDRegressor(
        epsilon=1.0, delta=1e-5, target_bounds=(-1.0, 1.0), clip_norm=1.0, steps=5
    ).fit(X, Y)
    release_model(model, tmp_path / "model")
    assert (load_model(tmp_path / "model").predict(X) == model.predict(X)).all()


def _rewrite(folder, change):
    """Change the lines of a model, and its hash in the manifest."""
    path, manifest = folder / "data" / "model.jsonl", folder / "manifest.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change({line.get("attribute", line.get("parameter")): line for line in lines}, lines)
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(text)
    stated = json.loads(manifest.read_text())
    stated["files"][0].update(
        sha256=hashlib.sha256(text).hexdigest(), bytes=len(text), rows=len(lines)
    )
    manifest.write_text(json.dumps(stated))


@pytest.mark.parametrize("change", [
    lambda named, _lines: named["coef_"].update(values=[[1.0, 2.0, 3.0]]),
    lambda named, _lines: named["coef_"].update(values=[["a", "b"]]),
    lambda named, _lines: named["coef_"].update(attribute="__class__"),
    lambda named, _lines: named["C"].update(parameter="cost"),
    lambda named, _lines: named["classes_"].update(values=[]),
    lambda _named, lines: lines.append({"attribute": "predict", "values": 1}),
    lambda _named, lines: lines.append({"attribute": "feature_names_in_", "values": ["a"]}),
    lambda _named, lines: lines.append({"attribute": "feature_names_in_", "values": ["a", "a"]}),
    lambda _named, lines: lines.append({"attribute": "feature_names_in_", "values": [1, 2]}),
    lambda _named, lines: lines.clear(),
])  # fmt: skip
def test_a_file_that_is_no_model_is_not_loaded(change, tmp_path):
    release_model(MODELS["output"].fit(X, Y), tmp_path / "model")
    _rewrite(tmp_path / "model", lambda *_: None)
    load_model(tmp_path / "model")
    _rewrite(tmp_path / "model", change)
    with pytest.raises(VerificationError):
        load_model(tmp_path / "model")


def test_a_model_that_was_altered_is_not_loaded(tmp_path):
    release_model(MODELS["output"].fit(X, Y), tmp_path / "model")
    path = tmp_path / "model" / "data" / "model.jsonl"
    path.write_text(path.read_text().replace("intercept_", "coef_"))
    with pytest.raises(VerificationError):
        load_model(tmp_path / "model")
    with pytest.raises(VerificationError):
        load_model(tmp_path / "nowhere")


@pytest.mark.parametrize("change", [
    lambda claim: claim["parameters"].update(epsilon=0.9),
    lambda claim: claim["evidence"]["events"][0].update(noise_multiplier=0.5),
    lambda claim: claim["evidence"]["events"].append(claim["evidence"]["events"][0]),
    lambda claim: claim["evidence"].update(events=[]),
    lambda claim: claim.update(basis="counted"),
    lambda claim: claim.update(model="epsilon"),
])  # fmt: skip
def test_a_claim_that_states_more_is_not_borne_out(change, tmp_path):
    release_model(MODELS["output"].fit(X, Y), tmp_path / "model")
    path = tmp_path / "model" / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["claims"][0])
    path.write_text(json.dumps(manifest))

    assert not halfmask.verify(tmp_path / "model").holds


def test_a_model_that_cost_more_than_it_claims_leaves_no_release(tmp_path):
    model = PrivateLogisticRegression(epsilon=1.0, delta=0.0, row_norm=2.0, classes=[0, 1]).fit(
        X, Y
    )
    model.epsilon = 0.5
    with pytest.raises((VerificationError, ReleaseError, GuaranteeNotMetError)):
        release_model(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_only_models_of_numbers_are_released(tmp_path):
    model = PrivateLogisticRegression(epsilon=1.0, delta=0.0, row_norm=2.0, classes=[0, 1])
    model.events_ = (LAPLACE,)
    with pytest.raises(ParameterError, match="numbers"):
        release_model(model, tmp_path / "model")


def test_the_check_loads_nothing_of_the_room_that_trains():
    code = (
        "import halfmask.verifier._privacy_check, sys;"
        "print([m for m in sys.modules if m.startswith('halfmask.dp') or m == 'opendp'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.strip() == "[]"
