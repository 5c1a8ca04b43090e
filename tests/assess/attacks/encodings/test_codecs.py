"""What attacks make of codecs: what is promised holds, what isn't is found."""

from __future__ import annotations

import numpy as np
import pytest

from halfmask import ColumnNotFoundError, ParameterError
from halfmask.assess.attacks import EncodingTarget
from halfmask.assess.attacks.encodings import (
    Fingerprints,
    FrequencyMatching,
    KnownPlaintext,
    NameDictionary,
    NullPatterns,
    PopulationSample,
    QuantileMatching,
    ReMerge,
    SecretReuse,
)
from halfmask.assess.attacks.encodings._re_merge import agreement, by_chains, by_counts


def _value(attack, target, place=0):
    return attack.run(target, random_state=0)[place].success.value


@pytest.mark.slow
def test_known_rows_solve_a_matrix_and_not_a_strong_flow(encoded):
    linear, bent = (
        KnownPlaintext(n_rows=400).run(encoded(learner=kind, strength=strength), random_state=0)[0]
        for kind, strength in (("linear", 0.0), ("networks", 4.0))
    )

    assert linear.success.value > 0.999
    assert linear.details["variance_from_4"] > 0.9  # m + 1 rows
    assert linear.details["k50"] <= 4
    assert bent.success.value < 0.6
    assert bent.details["k50"] > linear.details["k50"]


def test_a_sample_undoes_a_matrix_without_a_known_row(encoded):
    assert _value(PopulationSample(), encoded(learner="linear")) > 0.8
    assert _value(PopulationSample(), encoded(learner="distances")) > 0.8


def test_ranks_are_read_by_quantiles(encoded):
    assert _value(QuantileMatching(), encoded(learner="trees")) > 0.95


def test_keyed_names_resist_the_true_names(encoded):
    (found,) = NameDictionary().run(encoded(learner="trees"), random_state=0)
    assert found.success.value == 0.0
    assert found.details["claimed"] == 0.0


def test_holes_are_seen_unless_they_are_hidden(encoded):
    assert _value(NullPatterns(), encoded(learner="trees")) > 1e-4
    seen = NullPatterns().run(encoded(learner="distances"), random_state=0)[0].details
    hidden = (
        NullPatterns().run(encoded(learner="trees", missing="hidden"), random_state=0)[0].details
    )
    assert seen["missing_cells_seen"] == 1.0
    assert hidden["missing_cells_seen"] < 0.5


def test_a_secret_that_is_used_again_links_rows_and_a_fresh_one_does_not(encoded):
    assert _value(SecretReuse(), encoded(learner="linear", reuse=True)) > 0.99
    assert _value(SecretReuse(), encoded(learner="linear")) < 0.01


def test_a_fresh_secret_does_not_hide_that_rows_are_the_same(encoded):
    """Distances from the mean and counts of codes outlive any key."""
    assert _value(Fingerprints(), encoded(learner="linear")) > 0.9


def test_splitting_stops_ranks_of_frequencies(encoded):
    plain, split = (encoded(learner="trees", split=up) for up in (False, True))
    before, after = (
        FrequencyMatching().run(it, random_state=0)[0].details for it in (plain, split)
    )
    assert before["named of town"] > 0.95
    assert after["named of town"] <= after["most frequent of town"] + 0.02


@pytest.mark.slow
def test_merging_finds_random_siblings_and_is_told_by_way(encoded):
    details = ReMerge().run(encoded(learner="trees", split=True), random_state=0)[0].details
    assert {"context", "chains", "counts"} == {name.split(",")[0] for name in details}
    assert details["counts, codes of town"] < 0.5


def test_chains_join_slices_of_one_direction_and_counts_join_equal_parts():
    """Each way has power where it should: made splits are found again."""
    from halfmask.assess.attacks.encodings._re_merge import Features  # noqa: PLC0415 # one test

    rng = np.random.default_rng(0)
    n = 6000
    value = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    x = rng.normal(size=(n, 4)) + 2 * rng.normal(size=(4, 4))[value]
    score = x @ np.array([1.0, -0.5, 0.7, 0.2])
    code = np.empty(n, dtype=np.int64)
    owner: list[int] = []
    for each, parts in enumerate((4, 3, 2, 1)):
        mine = value == each
        cuts = np.quantile(score[mine], np.arange(1, parts) / parts)
        code[mine] = len(owner) + np.searchsorted(cuts, score[mine])
        owner += [each] * parts
    rows = (x - x.mean(axis=0)).astype(np.float32)
    products = (rows.T @ rows).astype(float) / n
    features = Features(rows=rows, products=products, column=np.zeros(4, dtype=np.int64))

    truth = np.array(owner)
    assert agreement(by_chains(code, 10, features, 4), truth) > 0.6
    assert agreement(by_counts(np.repeat(np.arange(4), [50, 50, 20, 10]), 4, features, 3),
                     np.array([0, 0, 1, 2])) == 1.0  # fmt: skip


def test_agreement_is_that_of_scikit_learn():
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415 # the oracle

    rng = np.random.default_rng(0)
    for n in (5, 50, 500):
        first, second = rng.integers(0, 4, n), rng.integers(0, 3, n)
        assert np.isclose(agreement(first, second), adjusted_rand_score(first, second))


def test_a_target_refuses_what_does_not_fit(rows):
    with pytest.raises(ParameterError, match="original's rows"):
        EncodingTarget(encoded=rows[:5], original=rows)
    with pytest.raises(ColumnNotFoundError):
        EncodingTarget(encoded=rows, original=rows, holders={"age": "nothing"})
    with pytest.raises(ColumnNotFoundError):
        EncodingTarget(encoded=rows, original=rows, population=rows.drop("age"))
    with pytest.raises(ParameterError, match="range"):
        EncodingTarget(encoded=rows, original=rows, periods=(1,))
