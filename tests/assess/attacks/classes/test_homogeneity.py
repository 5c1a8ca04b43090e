"""Homogeneity and background knowledge, against people counted one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask._errors import ParameterError
from halfmask.assess.attacks import Attack, TableTarget, attack
from halfmask.assess.attacks.classes import BackgroundKnowledge, Homogeneity

cells = st.sampled_from(["a", "b", None])
rows = st.lists(
    st.tuples(cells, cells, st.sampled_from(["flu", "hiv", "cold", None])), min_size=2, max_size=12
)


def table(given_rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    columns = ["q1", "q2", "ill"]
    return pl.DataFrame(
        given_rows, schema=dict.fromkeys(columns, pl.String), orient="row", strict=False
    )


def one_by_one(given_rows: list[tuple[str | None, ...]], own: list[str | None], most: int) -> int:
    """Count whose secret is certain: at most so many values in the class, the own among them."""
    certain = 0
    for row, secret in zip(given_rows, own, strict=True):
        found = [other[2] for other in given_rows if other[:2] == row[:2]]
        certain += len(set(found)) <= most and secret in found
    return certain


@pytest.mark.slow
@given(rows, st.randoms(use_true_random=False))
def test_counts_agree_with_people_counted_one_by_one(right_of, given_rows, random):
    """Missing equals missing, and a secret that was swapped in a class is still found."""
    own = [row[2] for row in given_rows]
    random.shuffle(own)
    released = table(given_rows)
    target = TableTarget(
        released=released,
        original=released.with_columns(ill=pl.Series(own, dtype=pl.String)),
        quasi_identifiers=("q1", "q2"),
        secrets=("ill",),
    )
    if not Homogeneity().missing_inputs(target):
        found = Homogeneity().run(target, random_state=0)[0]
        assert right_of(found) == one_by_one(given_rows, own, 1)
    for ruled_out in (0, 1, 2):
        each = BackgroundKnowledge(ruled_out=ruled_out)
        if not each.missing_inputs(target):
            found = each.run(target, random_state=0)[0]
            assert right_of(found) == one_by_one(given_rows, own, ruled_out + 1)


def test_owners_say_whose_row_a_row_is(right_of):
    released = pl.DataFrame({"q": ["x", "x"], "ill": ["flu", "flu"]})
    original = pl.DataFrame({"q": ["1", "2", "3"], "ill": ["flu", "hiv", "flu"]})
    target = TableTarget(
        released=released,
        original=original,
        quasi_identifiers=("q",),
        secrets=("ill",),
        owners=np.array([2, 1]),
    )
    found = Homogeneity().run(target, random_state=0)[0]
    assert (right_of(found), found.success.trials) == (1, 2)
    assert found.details["most_frequent"] == pytest.approx(2 / 3)


def test_a_suppressed_class_tells_nothing(right_of):
    """All quasi-identifiers and secrets missing: a class of one value that is nobody's."""
    original = pl.DataFrame({"q": [1, 2, 3], "ill": ["flu", "hiv", "flu"]})
    blank = original.with_columns(pl.lit(None).cast(t).alias(n) for n, t in original.schema.items())
    target = TableTarget(
        released=blank, original=original, quasi_identifiers=("q",), secrets=("ill",)
    )
    assert right_of(Homogeneity().run(target, random_state=0)[0]) == 0


def test_numbers_that_went_through_text_are_the_same_numbers():
    original = pl.DataFrame({"q": [1, 2], "pay": [10.0, 20.5]})
    released = pl.DataFrame({"q": ["1", "2"], "pay": ["10", "20.5"]})
    target = TableTarget(
        released=released, original=original, quasi_identifiers=("q",), secrets=("pay",)
    )
    assert Homogeneity().run(target, random_state=0)[0].success.value == 1.0


def test_what_is_lacking_is_said():
    frame = pl.DataFrame({"q": [1, 2], "ill": ["flu", "hiv"], "same": ["x", "x"]})
    bare = TableTarget(released=frame, original=frame, secrets=("ill",))
    constant = TableTarget(
        released=frame, original=frame, quasi_identifiers=("q",), secrets=("same",)
    )
    binary = TableTarget(released=frame, original=frame, quasi_identifiers=("q",), secrets=("ill",))
    named = TableTarget(
        released=frame,
        original=frame,
        quasi_identifiers=("q",),
        guarantees=(hm.DistinctLDiversity(l=2, column="ill"),),
    )
    assert Homogeneity().missing_inputs(bare) == "quasi-identifiers"
    assert "a secret with more than 1 values" in Homogeneity().missing_inputs(constant)
    assert "a secret with more than 2 values" in BackgroundKnowledge().missing_inputs(binary)
    assert Homogeneity().missing_inputs(named) == ""
    with pytest.raises(ParameterError):
        BackgroundKnowledge(ruled_out=-1)


def release(guarantees, n: int = 4000) -> tuple[TableTarget, TableTarget]:
    """Return a release of people whose secret follows their age, and their raw rows."""
    rng = np.random.default_rng(7)
    age = rng.integers(0, 4000, n)
    zipcode = rng.integers(0, 1000, n)
    secret = np.where(rng.random(n) < 0.85, age // 800, rng.integers(0, 5, n))
    original = pl.DataFrame({"age": age, "zip": zipcode, "ill": [f"s{s}" for s in secret]})
    known = ("age", "zip")
    protected = hm.Anonymizer(guarantees=guarantees, quasi_identifiers=known).fit_transform(
        original
    )
    of_protected, of_raw = (
        TableTarget(released=t, original=original, quasi_identifiers=known, secrets=("ill",))
        for t in (protected, original)
    )
    return of_protected, of_raw


def test_k_alone_is_broken_and_l_diversity_resists():
    """Machanavajjhala 2006: k says nothing of the secrets of a class."""
    only_k, raw = release([hm.KAnonymity(k=5)])
    diverse, _ = release([hm.KAnonymity(k=5), hm.DistinctLDiversity(l=3, column="ill")])
    attacks: list[Attack] = [Homogeneity(), BackgroundKnowledge()]
    broken = attack(only_k, unprotected=raw, attacks=attacks)
    resisted = attack(diverse, unprotected=raw, attacks=attacks)
    assert [f.verdict for f in broken.findings] == ["broken"] * 2
    assert [f.verdict for f in resisted.findings] == ["resisted"] * 2
    assert resisted.findings[0].outcome.success.value == 0.0


def test_two_values_stop_homogeneity_but_not_background_knowledge():
    diverse, raw = release([hm.KAnonymity(k=5), hm.DistinctLDiversity(l=2, column="ill")])
    report = attack(diverse, unprotected=raw, attacks=[Homogeneity(), BackgroundKnowledge()])
    assert [f.verdict for f in report.findings] == ["resisted", "broken"]
