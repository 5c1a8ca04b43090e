"""Record linkage by ranks, against a loop over all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata

from halfmask.assess.attacks import TableTarget
from halfmask.assess.attacks.tables import DistanceLinkage, RankLinkage


def linked(original: pl.DataFrame, released: pl.DataFrame, **others: object) -> float:
    target = TableTarget(released=released, original=original, **others)  # type: ignore[arg-type]
    return RankLinkage().run(target, random_state=0)[-1].success.value


def naive(original: np.ndarray, released: np.ndarray) -> float:
    """Return the better share of right links by absolute and by squared differences of ranks."""
    x, z = (
        np.column_stack([rankdata(column) for column in table.T]) for table in (original, released)
    )
    rates = []
    for power in (1, 2):
        right = 0.0
        for i in range(len(x)):
            apart = np.abs(x[i] - z) ** power
            near = np.isclose(apart.sum(axis=1), apart.sum(axis=1).min())
            right += near[i] / near.sum()
        rates.append(right / len(x))
    return max(rates)


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_links_are_those_of_a_loop(decimals):
    rng = np.random.default_rng(decimals)
    original = rng.normal(size=(150, 3)).round(decimals)
    # Only the original has ties: their rank is their mean rank.
    released = original + 0.2 * rng.normal(size=original.shape)

    found = linked(*(pl.DataFrame(each, schema=["a", "b", "c"]) for each in (original, released)))

    assert found == pytest.approx(naive(original, released), abs=0.01)
    assert 0.0 < found < 1.0


def test_a_changed_scale_does_not_hide_ranks():
    rng = np.random.default_rng(3)
    original = pl.DataFrame(rng.normal(size=(200, 2)), schema=["a", "b"])
    released = original.select(pl.all().exp() * 7 + 100)

    assert linked(original, released) == 1.0
    target = TableTarget(released=released, original=original)
    assert DistanceLinkage().run(target, random_state=0)[-1].success.value < 0.2


def test_more_noise_links_less():
    rng = np.random.default_rng(4)
    original, noise = (
        pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"]) for _ in "ab"
    )

    found = [linked(original, original + noise * size) for size in (0.0, 0.1, 0.2, 0.4)]

    assert found[0] == 1.0
    assert all(a > b + 0.1 for a, b in itertools.pairwise(found))


def test_ranks_of_sampled_rows_are_their_own_and_suppressed_cells_say_nothing():
    rng = np.random.default_rng(5)
    original = pl.DataFrame({"a": rng.permutation(100.0 * np.arange(300))})
    owners = np.arange(0, 300, 2)

    assert linked(original, original[owners], owners=owners) > 5 / 150
    silent = pl.DataFrame({"a": pl.Series([None] * 300, dtype=pl.Float64)})
    assert linked(original, silent) == pytest.approx(1 / 300)


def test_the_most_similar_other_person_is_measured_too(raw):
    outcome = RankLinkage().run(raw, random_state=0)[-1]

    assert 0.0 <= outcome.details["look_alike"] < outcome.success.value


def test_a_table_without_numbers_lacks_ranks():
    words = pl.DataFrame({"city": ["ulm", "bonn"]})

    assert "numbers" in RankLinkage().missing_inputs(TableTarget(released=words, original=words))
    empty = pl.DataFrame({"a": [1.0]})
    assert not RankLinkage().missing_inputs(TableTarget(released=empty, original=empty))
