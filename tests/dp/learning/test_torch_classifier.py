"""Networks by DP-SGD, where torch and Opacus are installed; refused by name where they aren't."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from halfmask import BudgetError, DataError
from halfmask._errors import MissingDependencyError
from halfmask.dp.accounting import epsilon_of
from halfmask.dp.learning import PrivateTorchClassifier

INSTALLED = find_spec("torch") is not None and find_spec("opacus") is not None
needs_torch = pytest.mark.skipif(not INSTALLED, reason="the extra dp-torch isn't installed")
RNG = np.random.default_rng(4)
X = RNG.uniform(-1, 1, size=(1500, 2))
Y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def _model(module, **settings):
    usual: dict[str, Any] = {
        "epsilon": 8.0,
        "delta": 1e-5,
        "classes": ["other", "same"],
        "clip_norm": 1.0,
        "sampling_probability": 1.0,
        "steps": 150,
        "learning_rate": 0.05,
    }
    return PrivateTorchClassifier(module, **{**usual, **settings})


def _network(*more):
    import torch  # noqa: PLC0415 # the extra

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 16), torch.nn.Tanh(), *more, torch.nn.Linear(16, 2)
    )


@pytest.mark.skipif(INSTALLED, reason="the extra dp-torch is installed")
def test_without_the_extra_it_is_refused_by_name():
    with pytest.raises(MissingDependencyError, match="opacus"):
        _model(None).fit(X, Y)


@needs_torch
def test_a_network_learns_what_no_linear_model_can_within_its_budget(notes):
    ledger = notes()
    model = _model(_network(), ledger=ledger).fit(X, Y)

    assert model.score(X, Y) > 0.85
    assert model.spent_epsilon_ == epsilon_of(model.events_, delta=1e-5) <= 8.0
    assert ledger.booked[0][0] == model.events_
    assert model.predict_proba(X[:3]).sum(axis=1) == pytest.approx(1.0)


@needs_torch
def test_the_module_itself_is_not_trained():
    import torch  # noqa: PLC0415 # the extra

    module = _network()
    before = [each.clone() for each in module.parameters()]
    _model(module, steps=2).fit(X, Y)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))


@needs_torch
def test_no_row_adds_more_than_the_clip_norm():
    from halfmask.dp.learning import _torch_classifier  # noqa: PLC0415 # its inner sums

    network = _torch_classifier._Network(_network())
    weights, codes = network.weights(), (Y == "same").astype(np.int64)
    far = X[:20] * np.logspace(-3, 30, 20)[:, None]
    for clip in (0.01, 1.0):
        every = network.clipped_sum(weights, far, codes[:20], clip_norm=clip)
        for row in range(20):
            kept = np.arange(20) != row
            rest = network.clipped_sum(weights, far[kept], codes[:20][kept], clip_norm=clip)
            assert np.linalg.norm(every - rest) <= clip * (1 + 1e-9)
    assert not network.clipped_sum(weights, far[:0], codes[:0], clip_norm=1.0).any()


@needs_torch
def test_gradients_are_those_of_the_loss():
    """Wide clipping, rows that agree: the sum is the gradient that torch computes itself."""
    import torch  # noqa: PLC0415 # the extra

    from halfmask.dp.learning import _torch_classifier  # noqa: PLC0415 # its inner sums

    module, codes = _network(), (Y == "same").astype(np.int64)
    network = _torch_classifier._Network(module)
    ours = network.clipped_sum(network.weights(), X[:50], codes[:50], clip_norm=100.0)
    loss = torch.nn.functional.cross_entropy(
        module(torch.as_tensor(X[:50], dtype=torch.float32)),
        torch.as_tensor(codes[:50]),
        reduction="sum",
    )
    loss.backward()
    plain = np.concatenate([each.grad.numpy().ravel() for each in module.parameters()])
    assert ours[0] == pytest.approx(plain, abs=0.05)


@needs_torch
def test_a_module_that_mixes_rows_is_refused():
    import torch  # noqa: PLC0415 # the extra

    with pytest.raises(DataError, match="Opacus refused the module"):
        _model(_network(torch.nn.BatchNorm1d(16))).fit(X, Y)


@needs_torch
def test_a_spent_ledger_stops_it(notes):
    model = _model(_network(), ledger=notes(times=0))
    with pytest.raises(BudgetError):
        model.fit(X, Y)
    assert not hasattr(model, "module_")
