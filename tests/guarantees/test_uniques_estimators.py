"""Unique people of a population: ARX's numbers, slow counts, and populations that are known."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from halfmask import DivergenceError, ParameterError
from halfmask.guarantees import Classes, PopulationUniques, estimate_uniques
from halfmask.guarantees._uniques_estimators import _Sample, _shlosser

SIZES = st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 4, 7, 12]), min_size=1, max_size=30)


def share(sizes, population, estimator="dankar"):
    found = estimate_uniques(np.array(sizes), population=population, estimator=estimator)
    assert found.share == found.uniques / population
    return found.share


def skewed(seed, n=400, spread=1.8):
    """Return class sizes of a sample with many small classes and a few large ones."""
    rng = np.random.default_rng(seed)
    weights = rng.lognormal(0, spread, 2000)
    drawn = np.bincount(rng.choice(2000, n, p=weights / weights.sum()))
    return drawn[drawn > 0]


# --- ARX's numbers ---


@pytest.fixture(scope="module")
def adult(shared_data):
    frame = pl.read_csv(
        shared_data / "arx" / "adult_arx_30162.csv", separator=";", infer_schema=False
    )
    return Classes.of(frame, quasi_identifiers=frame.columns)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("fraction", "chosen", "expected"),
    [
        (0.1, "pitman", 0.27684993883653597),
        (0.2, "zayatz", 0.3577099234829125),
        (0.01, "pitman", 0.1446083531167384),
        (1, "counted", 0.5142895033485844),
    ],
)
def test_the_decision_rule_is_that_of_arx(adult, fraction, chosen, expected):
    """ARX's TestRiskMetrics compares four digits; these are nine."""
    population = round(adult.rows / fraction)
    found = estimate_uniques(adult.sizes, population=population, estimator="dankar")
    judged = PopulationUniques(share=0.3, sampling_fraction=fraction).judge(adult)

    assert found.estimator == chosen
    assert found.share == pytest.approx(expected, rel=1e-9)
    assert judged.achieved == found.share
    assert judged.holds == (expected <= 0.3)


@pytest.mark.real_data
def test_zayatz_is_that_of_arx(adult):
    population = round(adult.rows / 0.1)

    found = estimate_uniques(adult.sizes, population=population, estimator="zayatz")

    assert found.share == pytest.approx(0.3207402393466189, rel=1e-14)


# --- slow counts ---


@given(SIZES, st.integers(0, 400))
def test_zayatz_is_bayes_rule_with_binomial_coefficients(sizes, more):
    n = sum(sizes)
    people = n + more
    once = [Fraction(j * math.comb(people - j, n - 1), math.comb(people, n)) for j in sizes]
    one = sizes.count(1)
    expected = one * Fraction(one * n, people) / sum(once) / n if one else 0

    assert share(sizes, people, "zayatz") == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_pitman_is_where_the_likelihood_is_largest(seed):
    """The likelihood as a product, term by term, and a search without derivatives."""
    sizes = skewed(seed)
    u, n = len(sizes), int(sizes.sum())

    def unlikely(x):
        alpha = 1 / (1 + math.exp(-x[0]))
        theta = math.exp(x[1]) - alpha
        log = sum(math.log(theta + i * alpha) for i in range(1, u))
        log -= sum(math.log(theta + i) for i in range(1, n))
        return -log - sum(math.log(i - alpha) for size in sizes for i in range(1, size))

    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000}
    best = minimize(unlikely, [0.0, 3.0], method="Nelder-Mead", options=options)
    alpha = 1 / (1 + math.exp(-best.x[0]))
    theta = math.exp(best.x[1]) - alpha
    log = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(5000)

    assert share(sizes, 5000, "pitman") == pytest.approx(math.exp(log) / 5000, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.8])
def test_the_slide_negative_binomial_expects_what_was_counted(seed, fraction):
    """Its chances of each class size, drawn row by row, summed up to sizes that never occur."""
    sizes = skewed(seed)
    n = int(sizes.sum())
    people = round(n / fraction)
    f = n / people
    one, two = int((sizes == 1).sum()), int((sizes == 2).sum())
    seen = [(j, int((sizes == j).sum())) for j in range(1, int(sizes.max()) + 1)]
    unseen = sum(s * (1 - f) ** j for j, s in seen)
    once = sum(s * j * f * (1 - f) ** (j - 1) for j, s in seen)
    classes = len(sizes) + one * unseen / once
    assert _shlosser(_Sample.of(sizes, people)) == pytest.approx(classes)
    j = np.arange(1, 4000)
    logs = np.array([math.lgamma(i) for i in range(1, 4001)])

    def expected(x):
        alpha, beta = math.exp(x[0]), 1 / (1 + math.exp(-x[1]))
        rise = np.array([math.lgamma(alpha + i) for i in range(len(j))]) - math.lgamma(alpha)
        chance = np.exp(rise - logs[j - 1] + (j - 1) * np.log1p(-beta) + alpha * math.log(beta))
        first = classes * np.sum(chance * j * f * (1 - f) ** (j - 1))
        second = classes * np.sum(chance * j * (j - 1) / 2 * f**2 * (1 - f) ** (j - 2.0))
        return abs(first / one - 1) + abs(second / two - 1), classes * beta**alpha

    options = {"xatol": 1e-11, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}
    best = min(
        (
            minimize(lambda x: expected(x)[0], start, method="Nelder-Mead", options=options)
            for start in ([-1.0, -2.0], [0.0, 0.0])
        ),
        key=lambda each: each.fun,
    )
    assert best.fun < 1e-8
    found = share(sizes, people, "snb")
    assert found == pytest.approx(expected(best.x)[1] / people, rel=1e-5)


# --- what has no estimate is an error, never a risk of 0 ---


@pytest.mark.parametrize(
    ("sizes", "estimator"),
    [
        ([1] * 50, "pitman"),  # all alike: the likelihood has no maximum
        ([1] * 50, "snb"),  # no class of two
        ([1] * 50 + [3] * 5, "snb"),
        ([1] * 90 + [2] * 5, "pitman"),  # fewer pairs than by chance
    ],
)
def test_no_solution_is_an_error(sizes, estimator):
    with pytest.raises(DivergenceError, match=f"'{estimator}' has no solution"):
        share(sizes, 10_000, estimator)

    judgement = PopulationUniques(share=0.9, population=10_000, estimator=estimator).judge(
        Classes(np.array(sizes))
    )
    assert judgement.achieved == math.inf
    assert not judgement.holds
    assert len(judgement.failing) == sizes.count(1)


def test_the_rule_falls_back_to_zayatz():
    """All rows unique in the sample: nothing says that a single one isn't in the population."""
    found = estimate_uniques(np.array([1] * 50), population=10_000, estimator="dankar")

    assert found.estimator == "zayatz"
    assert found.share == pytest.approx(1.0)


def test_a_population_smaller_than_the_sample_is_an_error():
    with pytest.raises(ParameterError, match="fewer than the 5 rows"):
        share([1, 2, 2], 4)
    with pytest.raises(ParameterError, match="fewer than the 5 rows"):
        PopulationUniques(share=0.1, population=4).judge(Classes(np.array([1, 2, 2])))


def test_what_needs_no_estimate_is_counted():
    assert share([1, 1, 3], 5) == 0.4
    assert share([2, 2], 1000, "pitman") == 0
    assert share([7], 1000, "snb") == 0
    assert PopulationUniques(share=0, sampling_fraction=1).judge(Classes(np.array([2, 3]))).holds


def test_a_population_of_more_than_64_bits():
    """ARX cuts N to 2**31 - 1 in Zayatz's estimator; the share must go on falling."""
    sizes = [1] * 60 + [2] * 15 + [3] * 6 + [6] * 3
    found = [share(sizes, 10**digits, "pitman") for digits in (6, 9, 12, 20)]
    bayes = [share(sizes, 10**digits, "zayatz") for digits in (9, 10, 12, 20)]

    assert found == sorted(found, reverse=True)
    assert bayes == pytest.approx([60 * 60 / sum(sizes) ** 2] * 4, rel=1e-6)


@given(SIZES, st.integers(0, 3000))
@example([1, 1, 1, 1], 408)  # rounded to more people than there are
def test_a_share_is_a_share(sizes, more):
    for estimator in ("dankar", "zayatz", "pitman", "snb"):
        try:
            assert 0 <= share(sizes, sum(sizes) + more, estimator) <= 1
        except DivergenceError:
            assert estimator in {"pitman", "snb"}


@pytest.mark.parametrize("more", [{}, {"population": 10, "sampling_fraction": 0.1}])
def test_the_population_is_said_once(more):
    with pytest.raises(ParameterError, match="takes one of 'population' and 'sampling_fraction'"):
        PopulationUniques(share=0.1, **more)


# --- merging ---


@pytest.mark.mostly_slow
@pytest.mark.parametrize("estimator", ["zayatz", "pitman", "snb", "dankar"])
def test_it_is_not_monotone(estimator):
    """Two classes are merged, no unique row among them, and the estimate rises."""
    sizes = np.array([1] * 30 + [2] * 12 + [3] * 6 + [4] * 3 + [6] * 3 + [12] * 2)
    guarantee = PopulationUniques(share=0.5, sampling_fraction=0.05, estimator=estimator)
    assert not guarantee.monotone
    before = guarantee.judge(Classes(sizes))
    risen = 0
    for i in range(len(sizes)):
        for j in range(i):
            into = np.arange(len(sizes))
            into[i] = j
            into[into > i] -= 1
            merged = Classes(sizes).coarsened(into, len(sizes) - 1)
            both_larger = min(sizes[i], sizes[j]) > 1
            risen += both_larger and guarantee.judge(merged).achieved > before.achieved
    assert risen


def test_unique_rows_are_blamed_in_proportion():
    classes = Classes(np.array([3] + [1] * 20 + [2] * 8 + [6] * 3))
    level = PopulationUniques(share=0.001, sampling_fraction=0.5).judge(classes).achieved

    half = PopulationUniques(share=level / 2, sampling_fraction=0.5).judge(classes)
    near = PopulationUniques(share=level * 0.999, sampling_fraction=0.5).judge(classes)

    assert half.failing.tolist() == list(range(1, 11))
    assert near.failing.tolist() == [1]
    assert PopulationUniques(share=level, sampling_fraction=0.5).judge(classes).holds


# --- populations that are known ---


def lognormal(rng, people):
    weights = rng.lognormal(0, rng.uniform(1, 2.5), int(10 ** rng.uniform(4, 5.5)))
    return rng.choice(len(weights), people, p=weights / weights.sum())


def gamma(rng, people):
    weights = rng.gamma(rng.uniform(0.05, 0.5), size=int(10 ** rng.uniform(4, 5.5)))
    return rng.choice(len(weights), people, p=weights / weights.sum())


def pitman_yor(rng, people):
    """Draw people one by one: a new class, or that of one drawn before, less likely if small."""
    alpha, theta = rng.uniform(0.3, 0.8), 10 ** rng.uniform(1, 3.5)
    owner, sizes = np.zeros(people, dtype=np.int64), [1]
    for i in range(1, people):
        if rng.random() * (theta + i) < theta + alpha * len(sizes):
            owner[i] = len(sizes)
            sizes.append(1)
            continue
        while True:
            of = owner[int(rng.random() * i)]
            if rng.random() > alpha / sizes[of]:
                break
        owner[i] = of
        sizes[of] += 1
    return owner


@pytest.mark.slow
def test_estimates_of_known_populations():
    """36 populations of 30,000 people, four samples of each."""
    rng, errors, covered = np.random.default_rng(7), [], []
    for _ in range(12):
        for draw in (lognormal, gamma, pitman_yor):
            classes = draw(rng, 30_000)
            truth = (np.bincount(classes) == 1).sum() / 30_000
            for fraction in (0.05, 0.1, 0.2, 0.5):
                sample = rng.choice(classes, int(30_000 * fraction), replace=False)
                sizes = np.bincount(sample)
                found = share(sizes[sizes > 0], 30_000)
                errors.append(abs(found / truth - 1))
                covered.append(truth <= 1.5 * found)

    assert np.median(errors) <= 0.25
    assert np.mean(covered) >= 0.9
