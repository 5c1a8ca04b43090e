"""Splitting flattens frequencies, and siblings keep different company."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import adjusted_rand_score

from halfmask import SchemaError
from halfmask.encode import Codec
from halfmask.encode._planning import split


def _zipf(n=6000, seed=0):
    """Return rows of 12 categories after Zipf, whose company differs."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 13)
    place = rng.choice(12, n, p=share / share.sum())
    company = (rng.normal(size=(12, 3))[place] + rng.normal(size=(n, 3))).round(9)
    letters = np.array(list("abcdefghijkl"))[place]
    return pl.DataFrame({"letter": letters}).with_columns(
        pl.Series(f"x{i}", company[:, i]) for i in range(3)
    )


def _codes(codec, rows):
    codes = next(it for it in codec.plan_.codes if it.name == "letter")
    return codes, codec.encode(rows)[codes.token].to_numpy()


def test_frequencies_become_flat_and_categories_come_back(secret):
    rows = _zipf()
    codec = Codec(learner="distances", secret=secret, split=True, rows="kept").fit(rows)

    codes, sent = _codes(codec, rows)

    counts = np.bincount(sent)
    before = rows["letter"].value_counts()["count"]
    assert before.max() / before.min() > 8
    assert counts.max() / counts.min() < 2
    assert len(counts) > 30
    assert codec.decode(codec.encode(rows))["letter"].equals(rows["letter"])
    assert np.allclose(np.bincount(codes.value_of, weights=codes.weights), 1)


def test_no_sibling_is_smaller_than_asked(secret):
    rows = _zipf(1500)
    codec = Codec(learner="trees", secret=secret, split=True, min_sibling_rows=100, rows="kept")

    _, sent = _codes(codec.fit(rows), rows)

    own = np.bincount(rows["letter"].cast(pl.Enum(list("abcdefghijkl"))).to_physical().to_numpy())
    assert np.bincount(sent).min() >= min(100, own.min())


def test_the_same_row_is_always_of_the_same_sibling(secret):
    rows = _zipf(800)
    codec = Codec(learner="trees", secret=secret, split=True, rows="kept").fit(rows)

    _, whole = _codes(codec, rows)
    _, again = _codes(codec, rows[::-1])

    assert np.array_equal(whole, again[::-1])


def _profiles(code, x):
    """Return the mean company of each code, standardised by its own error."""
    n = np.bincount(code)[:, None]
    means = np.column_stack([np.bincount(code, weights=column) for column in x.T]) / n
    return means * np.sqrt(n.mean())


def _merged(profiles, n_groups):
    """Merge codes by their company, as an attacker does who knows how many categories there are."""
    from sklearn.cluster import AgglomerativeClustering  # noqa: PLC0415 # one attack

    return AgglomerativeClustering(n_clusters=n_groups).fit_predict(profiles)


def test_codes_of_equal_company_no_longer_tell_the_siblings(secret):
    """The attack merges random siblings almost without error, and ours far worse."""
    rows = _zipf()
    x = rows.drop("letter").to_numpy()
    codec = Codec(learner="trees", secret=secret, split=True, rows="kept").fit(rows)
    codes, ours = _codes(codec, rows)
    owner = codes.value_of
    rng = np.random.default_rng(1)
    naive = np.empty_like(ours)
    for value in range(12):
        mine = np.flatnonzero(owner == value)
        at = np.isin(ours, mine)
        naive[at] = rng.choice(mine, at.sum())

    kept = adjusted_rand_score(owner, _merged(_profiles(ours, x), 12))
    lost = adjusted_rand_score(owner, _merged(_profiles(naive, x), 12))

    assert lost > 0.9
    assert kept < 0.6


def test_a_column_alone_can_not_be_split(secret):
    with pytest.raises(SchemaError, match="no other feature"):
        Codec(learner="trees", secret=secret, split=True).fit(pl.DataFrame({"a": ["x", "y"]}))


def test_equal_scores_stay_together():
    place, score = np.zeros(100, dtype=np.int64), np.repeat([0.0, 1.0], 50)

    def even(n):
        return np.full(n, 0.5)

    cuts, shares = split(place, score, counts=np.array([100, 10]), min_rows=10, uneven=even)

    assert [list(cut) for cut in cuts] == [[1.0], []]
    assert list(shares[0]) == [0.5, 0.5]


def _rank_matched(sent, truth, others):
    """Return the share of rows that are named by the rank of their code's frequency."""
    names = others.value_counts(sort=True)[others.name].to_list()
    codes, counts = np.unique(sent, return_counts=True)
    ranked = codes[np.argsort(-counts, kind="stable")]
    named = {code: names[min(rank, len(names) - 1)] for rank, code in enumerate(ranked)}
    return float(np.mean([named[code] == name for code, name in zip(sent, truth, strict=True)]))


@pytest.mark.parametrize("name", ["education", "marital-status"])
def test_ranks_of_frequencies_name_no_more_rows_than_guessing(adult_csv, secret, name):
    """And name nearly all of them without splitting."""
    columns = ["age", "education", "marital-status", "hours-per-week", "relationship"]
    rows = pl.read_csv(adult_csv, columns=columns).select(columns)
    mine, others = rows[:10_000], rows[10_000:20_000]
    matched = {}
    for split_up in (False, True):
        codec = Codec(learner="trees", secret=secret, split=split_up, rows="kept").fit(mine)
        token = next(it.token for it in codec.plan_.codes if it.name == name)
        matched[split_up] = _rank_matched(codec.encode(mine)[token], mine[name], others[name])

    guessing = float((mine[name] == others[name].mode()[0]).mean() or 0)
    assert matched[False] > guessing + 0.3
    assert matched[True] <= guessing + 0.02


def test_siblings_are_not_told_by_the_number_of_their_rows(secret):
    """Equal parts are: codes of a category then have the same frequency, to a row."""
    rows = _zipf()
    codec = Codec(learner="trees", secret=secret, split=True, rows="kept").fit(rows)
    codes, sent = _codes(codec, rows)
    counts, owner = np.bincount(sent), codes.value_of

    def told(counts):
        nearest = np.abs(np.subtract.outer(counts, counts) + 1e9 * np.eye(len(counts)))
        return float((owner[nearest.argmin(axis=1)] == owner)[counts < counts.max()].mean())

    each = np.bincount(owner)
    equal = (np.bincount(owner, weights=counts) / each)[owner]
    assert told(equal) > 0.9
    assert told(counts) < 0.5


@pytest.mark.parametrize("frequent", [0.55, 0.9])
def test_of_two_categories_no_code_gives_more_than_its_small_share_away(secret, frequent):
    rng = np.random.default_rng(3)
    rows = pl.DataFrame(
        {"letter": np.where(rng.random(20_000) < frequent, "a", "b"), "x": rng.normal(size=20_000)}
    )
    codec = Codec(learner="trees", secret=secret, split=True, rows="kept").fit(rows)

    codes, sent = _codes(codec, rows)

    # naming the rarest code after the rare category gains at most what the code weighs
    counts = np.bincount(sent)
    assert counts.max() / len(rows) < 0.02
    sizes = [counts[codes.value_of == value].mean() for value in (0, 1)]
    assert max(sizes) < 1.5 * min(sizes)
