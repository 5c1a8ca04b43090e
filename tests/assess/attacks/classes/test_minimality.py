"""Minimality, on the paper's example and against every assignment of secrets to people."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfmask as hm
from halfmask._errors import ParameterError
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.classes import Minimality
from halfmask.assess.attacks.classes._minimality import Finer, believed, worlds
from halfmask.guarantees import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AtMostHalf(Guarantee):
    """The paper's simplified 2-diversity: the first value has at most half of each class."""

    model: ClassVar[str] = "at-most-half"
    column: str = "ill"

    def _measure(self, classes):
        histogram = classes.histogram(self.column)
        first = np.where(histogram.codes == 0, histogram.counts, 0)
        counts = np.zeros(classes.n_classes)
        np.add.at(counts, histogram.class_of_entry, first)
        shares = counts / classes.sizes
        return shares, shares <= 0.5


def released(raw: list[str], written: list[str], ill: str) -> TableTarget:
    secrets = ["cancer" if sick == "y" else "none" for sick in ill]
    return TableTarget(
        released=pl.DataFrame({"q": written, "ill": secrets}),
        original=pl.DataFrame({"q": raw, "ill": secrets}),
        quasi_identifiers=("q",),
        secrets=("ill",),
        guarantees=(AtMostHalf(),),
    )


def test_the_papers_example(right_of):
    """Wong 2007, section 1: two q1 and four q2; the two cancers must be those of q1.

    Had a q2 had one of them, q1 and q2 would each have kept a half, q2 with its two others.
    """
    target = released(
        ["q1", "q1", "q2", "q2", "q2", "q2"], ["Q", "Q", "Q", "Q", "q2", "q2"], "yynnnn"
    )
    outcome = Minimality(finer="values").run(target, random_state=0)[0]
    assert outcome.details["by_shares_alone"] == pytest.approx(2 / 6)  # q2's two of one value
    assert right_of(outcome) == 6
    assert outcome.details["highest_gain"] == pytest.approx(0.5)


def test_two_reasons_leave_everybody_at_a_half(right_of):
    target = released(["q1", "q1", "q2", "q2"], ["Q"] * 4, "ynyn")
    outcome = Minimality(finer="values").run(target, random_state=0)[0]
    assert right_of(outcome) == 0
    assert outcome.details["highest_gain"] == 0.0


def test_a_class_without_a_reason_contradicts_the_belief():
    """One of four can't break a half on either side: the class is coarser than needed."""
    target = released(["q1", "q1", "q2", "q2"], ["Q"] * 4, "ynnn")
    outcome = Minimality(finer="values").run(target, random_state=0)[0]
    assert outcome.details["classes_contradicted"] == 1
    assert outcome.details["highest_gain"] == 0.0


groups = st.lists(st.integers(0, 2), min_size=2, max_size=6)


@pytest.mark.slow
@settings(max_examples=60)
@given(groups, st.data())
def test_beliefs_agree_with_every_assignment_of_secrets(sides, data):
    """Two finer ways at once, one with other people on its sides."""
    n = len(sides)
    first = np.unique(sides, return_inverse=True)[1]
    second = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    second = np.unique(second, return_inverse=True)[1]
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    others = tuple(
        np.array(data.draw(st.lists(st.integers(0, 2), max_size=2)), dtype=np.int64)
        for _ in range(first.max() + 1)
    )
    nobody = np.zeros(0, dtype=np.int64)
    finer = [Finer(first, others), Finer(second, (nobody,) * (second.max() + 1))]
    guarantees = [hm.DistinctLDiversity(l=2, column="ill")]

    def misses(secrets, way):
        return any(
            len({*(s for s, at in zip(secrets, way.side_of, strict=True) if at == side), *held}) < 2
            for side, held in enumerate(o.tolist() for o in way.others)
        )

    fitting = [
        secrets
        for secrets in itertools.permutations(codes.tolist())
        if all(misses(secrets, way) for way in finer)
    ]
    found = believed(finer, codes, guarantees, column="ill", n_values=3, most=10**6)

    assert found is not None
    assert len(found) == (n if fitting else 0)
    if fitting:
        for person, value in itertools.product(range(n), range(3)):
            share = sum(secrets[person] == value for secrets in fitting) / len(fitting)
            assert found[person, value] == pytest.approx(share)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_worlds_are_all_tables_with_these_margins(sizes, data):
    n = sum(sizes)
    cut = data.draw(st.integers(0, n))
    counts = [cut, n - cut]
    found = worlds(sizes, counts, most=10**6)
    expected = {
        firsts
        for firsts in itertools.product(*(range(size + 1) for size in sizes))
        if sum(firsts) == cut
    }
    assert found is not None
    assert {tuple(world[:, 0].tolist()) for world in found} == expected
    assert len(found) == len(expected)
    assert worlds(sizes, counts, most=len(expected)) is not None
    if len(expected) > 1:
        assert worlds(sizes, counts, most=len(expected) - 1) is None


def test_worlds_weigh_what_they_stand_for():
    """One of two groups misses: of all C(4, 2) pairs of sick people two put both on one side."""
    side_of = np.array([0, 0, 1, 1])
    nobody = np.zeros(0, dtype=np.int64)
    found = believed(
        [Finer(side_of, (nobody, nobody))],
        np.array([0, 0, 1, 1]),
        [hm.DistinctLDiversity(l=2, column="ill")],
        column="ill",
        n_values=2,
        most=100,
    )
    assert found is not None
    assert found[0, 0] == 0.5
    assert math.comb(4, 2) == 6


def mondrian(n: int = 1500) -> tuple[TableTarget, TableTarget]:
    """Return a diverse release by strict Mondrian of people with a rare secret, and raw rows."""
    rng = np.random.default_rng(5)
    original = pl.DataFrame(
        {
            "age": rng.integers(0, 1500, n),
            "ill": rng.choice(["a", "b", "c"], n, p=[0.1, 0.45, 0.45]),
        }
    )
    guarantees = (hm.DistinctLDiversity(l=3, column="ill"),)
    protect = hm.Anonymizer(guarantees=list(guarantees), quasi_identifiers=["age"])
    protected = protect.fit_transform(original)
    return (
        TableTarget(
            released=protected,
            original=original,
            quasi_identifiers=("age",),
            guarantees=guarantees,
        ),
        TableTarget(
            released=original, original=original, quasi_identifiers=("age",), secrets=("ill",)
        ),
    )


def test_a_release_of_ours_is_measured_by_what_mondrian_does():
    """Every class that was left had a reason, so the belief fits each: some world is left."""
    protected, raw = mondrian()
    outcome = attack(protected, unprotected=raw, attacks=[Minimality()]).findings[0].outcome
    assert outcome.details["classes_concluded"] > 50
    assert outcome.details["highest_gain"] > 0.1
    assert outcome.details["classes_contradicted"] == 0
    assert outcome.details["classes_too_large"] < 0.3 * outcome.details["classes"]


def test_raw_rows_are_broken_and_what_is_lacking_is_said():
    protected, raw = mondrian(300)
    assert attack(raw, attacks=[Minimality()]).findings[0].verdict == "broken"

    def missing_inputs(*guarantees):
        return Minimality().missing_inputs(
            TableTarget(
                released=raw.released,
                original=raw.original,
                quasi_identifiers=("age",),
                secrets=("ill",),
                guarantees=guarantees,
            )
        )

    unclear = "a guarantee on one secret that judges each class by itself"
    assert missing_inputs() == ""
    assert missing_inputs(hm.KAnonymity(k=5)) == unclear
    assert missing_inputs(hm.TCloseness(t=0.2, column="ill")) == unclear
    diverse = hm.DistinctLDiversity(l=2, column="ill")
    assert missing_inputs(diverse, hm.DistinctLDiversity(l=2, column="age")) == unclear
    assert missing_inputs(hm.KAnonymity(k=5), diverse) == ""
    assert Minimality().missing_inputs(protected) == ""


def test_settings_out_of_range_are_refused():
    for wrong in ({"finer": "all"}, {"sure": 0.4}, {"max_worlds": 0}, {"max_classes": 0}):
        with pytest.raises(ParameterError):
            Minimality(**wrong)


def test_only_so_many_classes_are_attacked_as_asked():
    _, raw = mondrian(300)
    outcome = Minimality(max_classes=7).run(raw, random_state=1)[0]
    assert outcome.details["classes"] == 7
    assert outcome == Minimality(max_classes=7).run(raw, random_state=1)[0]
