"""The audit refutes weakened mechanisms, and no mechanism of ours."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask import DataError, ParameterError
from halfmask.dp.accounting import ExponentialEvent, epsilon_of
from halfmask.dp.audit import audit_neighbours
from halfmask.dp.noise import GaussianMechanism, LaplaceMechanism, choose

RUNS = 16_000
#: Of audits of what is right: a false alarm fails a test.
SURE = 1 - 1e-9
LAPLACE = LaplaceMechanism(sensitivity=1.0, scale=1.0)
GAUSS = GaussianMechanism(sensitivity=1.0, scale=0.7)
DELTAS = {LAPLACE: 0.0, GAUSS: 0.05}


def _refuted(audit, claimed, tries=4):
    """Whether one of some audits refutes what is wrong: one alone may miss it by chance."""
    return any(audit().refutes(claimed) for _ in range(tries))


def _audited(mechanism, *, delta, change=1.0, confidence=SURE):
    return audit_neighbours(
        lambda n: mechanism.release(np.zeros(n)),
        lambda n: mechanism.release(np.full(n, change)),
        delta=delta,
        runs=RUNS,
        confidence=confidence,
    )


def _claimed(mechanism):
    return epsilon_of([mechanism.event()], delta=DELTAS[mechanism])


@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSS], ids=["laplace", "gaussian"])
def test_no_audit_refutes_our_noise_and_it_comes_near(mechanism):
    found = _audited(mechanism, delta=DELTAS[mechanism])

    assert 0.4 * _claimed(mechanism) < found.low <= _claimed(mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSS], ids=["laplace", "gaussian"])
def test_two_thirds_of_the_noise_are_refuted(mechanism):
    weak = type(mechanism)(sensitivity=1.0, scale=mechanism.scale * 2 / 3)

    assert _refuted(
        lambda: _audited(weak, delta=DELTAS[mechanism], confidence=0.999), _claimed(mechanism)
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSS], ids=["laplace", "gaussian"])
def test_a_sensitivity_that_is_off_by_one_is_refuted(mechanism):
    """The vector moves by 2 where 1 was stated."""
    assert _refuted(
        lambda: _audited(mechanism, delta=DELTAS[mechanism], change=2.0, confidence=0.999),
        _claimed(mechanism),
    )


def _chosen(scores, n, epsilon):
    return [choose(scores, sensitivity=1.0, epsilon=epsilon) for _ in range(n)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "confidence", "tries"), [(2.0, SURE, 1), (3.0, 0.999, 4)], ids=["right", "wrong"]
)
def test_choices_with_two_thirds_of_the_noise_are_refuted(epsilon, confidence, tries):
    """One score rises where all others fall: the ratio comes near e^epsilon."""

    def audit():
        return audit_neighbours(
            lambda n: np.equal(_chosen([1.0] + [0.0] * 9, n, epsilon), 0),
            lambda n: np.equal(_chosen([0.0] + [1.0] * 9, n, epsilon), 0),
            delta=0.0,
            runs=8000,
            confidence=confidence,
        )

    claimed = ExponentialEvent(epsilon=2.0).pure_epsilon
    assert _refuted(audit, claimed, tries) is (epsilon > claimed)


def test_equal_tables_have_no_epsilon():
    assert _audited(LAPLACE, delta=0.0, change=0.0).low < 0.1


@pytest.mark.parametrize("wrong", [[1.0], [[1.0] * 100], [float("nan")] * 100])
def test_runs_without_one_number_each_are_refused(wrong):
    with pytest.raises(DataError, match="one finite number"):
        audit_neighbours(lambda _: wrong, lambda _: wrong, delta=0.0, runs=100, confidence=0.9)


@pytest.mark.parametrize("given", [{"delta": 1.0}, {"runs": 5}, {"confidence": 1.0}])
def test_parameters_outside_of_their_ranges_are_refused(given):
    asked = {"delta": 0.0, "runs": 100, "confidence": 0.9, **given}
    with pytest.raises(ParameterError, match=next(iter(given))):
        audit_neighbours(np.zeros, np.zeros, **asked)
