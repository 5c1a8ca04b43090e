"""Delta of sampling and suppression, against binomials as fractions and decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import ParameterError
from halfmask.dp.safepub import _sampling_bound, least_class_size, sampling_delta
from halfmask.verifier.safepub._safepub_release import delta_of

CASES = [(1.0, 0.5), (1.0, 0.2), (0.5, 0.3), (2.0, 0.85), (0.25, 0.05)]


def pmf(n: int, share: Fraction) -> list[Fraction]:
    return [math.comb(n, j) * share**j * (1 - share) ** (n - j) for j in range(n + 1)]


def divergence(more: list[Fraction], less: list[Fraction], factor: Fraction) -> Fraction:
    pairs = zip(more, less, strict=True)
    return sum((max(Fraction(0), p - factor * q) for p, q in pairs), Fraction())


def outcomes(n: int, k: int, share: Fraction, most: int) -> list[Fraction]:
    """The probabilities of what is released of a class of n rows: nothing, or k rows, or more."""
    drawn = [*pmf(n, share), *[Fraction(0)] * (most - n)]
    return [sum(drawn[:k], Fraction()), *drawn[k:]]


@pytest.mark.parametrize(("epsilon", "share"), CASES)
@pytest.mark.parametrize("k", [2, 5])
def test_neighbours_differ_by_no_more(epsilon, share, k):
    """Each class with and without one row: the whole of what is seen, in fractions."""
    delta = sampling_delta(k, epsilon=epsilon, sampling_fraction=share)
    factor, beta = Fraction(math.exp(epsilon)), Fraction(share)
    most = 2 * math.ceil(k / (1 - (1 - share) * math.exp(-epsilon)))
    found = []
    for n in range(1, most):
        one, other = outcomes(n, k, beta, most), outcomes(n - 1, k, beta, most)
        found += [divergence(one, other, factor), divergence(other, one, factor)]
    assert max(found) <= delta
    assert max(found) > delta / 50  # nor is delta far too careful


@pytest.mark.parametrize(("epsilon", "share"), CASES)
def test_delta_is_the_largest_tail(epsilon, share):
    """Within a part in 10^8 from above: a delta that is weaker by any more fails."""
    gamma, beta = 1 - (1 - share) * math.exp(-epsilon), Fraction(share)
    for k in (1, 4):
        first = math.ceil(k / gamma - 1)
        exact = max(
            sum(pmf(n, beta)[math.floor(gamma * n) + 1 :], Fraction())
            for n in range(max(1, first), max(1, first) + 12)
        )
        delta = sampling_delta(k, epsilon=epsilon, sampling_fraction=share)
        assert exact <= Fraction(delta) <= exact * (1 + Fraction(1, 10**8))


@settings(max_examples=25)
@given(st.floats(0.05, 4), st.floats(1e-9, 0.2), st.floats(0.05, 1))
def test_the_least_k_is_the_least_and_the_verifier_finds_the_same(epsilon, delta, part):
    share = max(0.001, -math.expm1(-epsilon) * part * (1 - 1e-9))
    k = least_class_size(epsilon=epsilon, delta=delta, sampling_fraction=share)

    found = sampling_delta(k, epsilon=epsilon, sampling_fraction=share)

    assert found <= delta
    if k > 1:
        assert sampling_delta(k - 1, epsilon=epsilon, sampling_fraction=share) > delta
    again = delta_of(k, Decimal(epsilon), share)
    assert float(again) <= found <= float(again) * (1 + 1e-8) + 1e-300


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"sampling_fraction": 1.0}, "sampling_fraction"),
        ({"sampling_fraction": 0.0005}, "sampling_fraction"),
        ({"sampling_fraction": 0.64}, r"at most 1 - exp\(-epsilon\) = 0.632121"),
        ({"epsilon": 2e-3, "sampling_fraction": 0.00199, "delta": 1e-300}, None),
    ],
)
def test_parameters_out_of_their_range_are_refused(changed, match):
    asked = {"epsilon": 1.0, "delta": 1e-6, "sampling_fraction": 0.5} | changed
    if match is None:
        assert least_class_size(**asked) > 100
        return
    with pytest.raises(ParameterError, match=match):
        least_class_size(**asked)


def test_an_epsilon_that_needs_millions_of_rows_is_refused(monkeypatch):
    monkeypatch.setattr(_sampling_bound, "_MOST_ROWS", 50)
    with pytest.raises(ParameterError, match="millions of rows"):
        least_class_size(epsilon=0.1, delta=1e-9, sampling_fraction=0.05)
    with pytest.raises(ParameterError, match="millions of rows"):
        sampling_delta(60, epsilon=0.1, sampling_fraction=0.05)


def test_delta_is_never_nothing():
    assert sampling_delta(10**6, epsilon=1.0, sampling_fraction=0.01) > 0
