"""Record linkage: by distance, by probability, by assignment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.assess.attacks import Attack, TableTarget
from halfmask.assess.attacks import attack as run_battery
from halfmask.assess.attacks.tables import (
    AssignmentLinkage,
    DistanceLinkage,
    ProbabilisticLinkage,
    RankLinkage,
)
from halfmask.assess.attacks.tables._fellegi_sunter import agreement_weights
from halfmask.assess.attacks.tables._links import Comparison, known_people, matched_columns

if TYPE_CHECKING:
    from halfmask.anonymize import Recoding

LINKAGES: list[Attack] = [
    DistanceLinkage(),
    ProbabilisticLinkage(),
    RankLinkage(),
    AssignmentLinkage(n_attacks=600),
]
#: The toy of sdcMicro's own tests: four points, and where masking moved them.
TOY = pl.DataFrame({"x": [1.0, 0.0, -1.0, 0.0], "y": [0.0, 1.0, 0.0, -1.0]})
MOVED = pl.DataFrame({"x": [0.0, 0.0, -2.1, 0.0], "y": [0.0, 2.1, 0.0, -2.1]})


def rates(attack: Attack, target: TableTarget) -> dict[str, float]:
    return {
        outcome.measure.rsplit(" by ")[-1]: outcome.success.value
        for outcome in attack.run(target, random_state=0)
    }


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_the_raw_table_is_broken(attack: Attack, raw: TableTarget):
    for outcome in attack.run(raw, random_state=0):
        assert outcome.success.value > 0.9
        assert outcome.excess.bounds(0.01)[0] > 0.8


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_shuffled_columns_resist(attack: Attack, permuted: TableTarget):
    for outcome in attack.run(permuted, random_state=0):
        assert outcome.excess.value < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
@pytest.mark.parametrize("recoding", [hm.Centroid(), hm.Ranges(), hm.Representative()], ids=str)
def test_k_anonymity_keeps_linkage_by_quasi_identifiers_to_one_in_k(
    attack: Attack, recoding: Recoding, raw: TableTarget, original: pl.DataFrame
):
    made = hm.Anonymizer(
        guarantees=[hm.KAnonymity(k=10)],
        quasi_identifiers=list(raw.quasi_identifiers),
        recoding=recoding,
    ).fit_transform(original)
    target = TableTarget(released=made, original=original, quasi_identifiers=raw.quasi_identifiers)

    assert 0 < rates(attack, target)["quasi-identifiers"] <= 0.1 + 1e-9


def test_other_columns_of_a_k_anonymous_table_still_link(original: pl.DataFrame):
    known = ["age", "city", "job"]
    made = hm.Anonymizer(guarantees=[hm.KAnonymity(k=10)], quasi_identifiers=known).fit_transform(
        original
    )
    target = TableTarget(released=made, original=original, quasi_identifiers=tuple(known))
    found = rates(DistanceLinkage(), target)

    assert found["quasi-identifiers"] <= 0.1
    assert found["any columns"] > 0.9


def test_a_class_of_k_is_right_once_in_k():
    original = pl.DataFrame({"a": [1, 2, 3, 4, 11, 12, 13]})
    released = pl.DataFrame({"a": ["[1, 4]"] * 4 + ["[11, 13]"] * 3})
    target = TableTarget(released=released, original=original, quasi_identifiers=("a",))

    for attack in LINKAGES:
        # Four people with 1/4 each and three with 1/3 each: two of seven.
        assert rates(attack, target)["quasi-identifiers"] == pytest.approx(2 / 7), attack.name


@pytest.mark.parametrize(
    "spelt",
    ["[{}, {})", "[{},{}[", "{}..{}", "[{}, {}]", "{}\u2013{}", "{} to {}"],
)
def test_ranges_without_one_end_keep_nobody_at_the_end_of_two(spelt: str):
    """Tens, each in a range of his own: half of them were held to be in the one before as well."""
    tens = pl.DataFrame({"age": range(0, 1000, 10)})
    beyond = 10 if ")" in spelt or spelt.endswith("[") else 9
    labels = [spelt.format(ten, ten + beyond) for ten in tens["age"]]
    target = TableTarget(
        released=pl.DataFrame({"age": labels}), original=tens, quasi_identifiers=("age",)
    )

    for attack in LINKAGES:
        assert rates(attack, target)["quasi-identifiers"] == 1.0, attack.name


def test_the_toy_is_linked_by_assignment_and_not_by_the_nearest_row():
    target = TableTarget(released=MOVED, original=TOY, quasi_identifiers=("x", "y"))
    (nearest, _) = DistanceLinkage().run(target, random_state=0)

    assert rates(AssignmentLinkage(), target)["quasi-identifiers"] == 1.0
    assert nearest.details["all columns"] == 0.25


def test_the_other_toy_is_not_linked_by_assignment():
    target = TableTarget(
        released=pl.DataFrame({"x": [2.0, 3.0, 4.0, -0.1]}),
        original=pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}),
        quasi_identifiers=("x",),
    )

    assert rates(AssignmentLinkage(), target) == {"quasi-identifiers": 0.0, "any columns": 0.0}
    # By hand: only 1 is nearest to its own 2.
    assert set(rates(DistanceLinkage(), target).values()) == {0.25}


def test_who_is_whose_comes_from_the_owners(original: pl.DataFrame):
    order = np.random.default_rng(0).permutation(original.height)[:300]
    target = TableTarget(released=original[order], original=original, owners=order)

    for attack in LINKAGES:
        assert min(rates(attack, target).values()) > 0.9, attack.name


@pytest.mark.slow
def test_suppressed_rows_do_not_hide_the_others(original: pl.DataFrame):
    known = ["age", "city", "job", "born", "height"]
    silent = pl.int_range(pl.len()) < 100
    released = original.with_columns(
        pl.when(silent).then(None).otherwise(pl.col(name)).alias(name) for name in known
    )
    target = TableTarget(released=released, original=original, quasi_identifiers=tuple(known))

    for attack in LINKAGES:
        assert rates(attack, target)["quasi-identifiers"] > 0.6, attack.name


def test_noise_is_seen_through_by_distance(original: pl.DataFrame):
    rng = np.random.default_rng(0)
    released = original.select(
        pl.col("age") + pl.Series(rng.normal(0, 0.3, 400)),
        pl.col("height") + pl.Series(rng.normal(0, 0.1, 400)),
    )
    target = TableTarget(released=released, original=original.select("age", "height"))

    for attack in LINKAGES[::2]:
        assert rates(attack, target)["any columns"] > 0.8, attack.name


def test_d_risk_counts_people_with_every_number_near():
    original = pl.DataFrame({"a": [0.0, 10.0, 20.0, 30.0], "b": [0.0, 1.0, 2.0, 3.0]})
    released = pl.DataFrame({"a": [0.1, 10.0, 25.0, 30.0], "b": [0.0, 1.9, 2.0, 3.01]})
    target = TableTarget(released=released, original=original)
    (outcome,) = [o for o in DistanceLinkage().run(target, random_state=0) if "any" in o.measure]

    # By hand: sd 13.8 and 1.3 times 0.05 allow 0.69 and 0.064; rows 1 and 4 stay inside.
    assert outcome.details["d_risk"] == 0.5


def test_look_alikes_of_the_control_hit_less_often(raw: TableTarget):
    (outcome, _) = DistanceLinkage().run(raw, random_state=0)

    assert 0 <= outcome.details["look_alike"] < outcome.success.value - 0.3


def test_knowing_less_links_less(raw: TableTarget):
    (outcome, _) = DistanceLinkage().run(raw, random_state=0)
    shares = [outcome.details[f"{percent}% of quasi-identifiers"] for percent in (25, 50, 100)]

    assert shares == sorted(shares)


def test_agreement_weights_find_what_was_simulated():
    """Pairs drawn from known probabilities: fitted weights are their likelihood ratios."""
    rng = np.random.default_rng(0)
    m, u, n = np.array([0.95, 0.9, 0.8, 0.9]), np.array([0.1, 0.3, 0.05, 0.5]), 200_000
    same = rng.random(n) < 0.02
    agree = rng.random((n, 4)) < np.where(same[:, None], m, u)
    counts = np.bincount(agree @ (1 << np.arange(4)), minlength=16)
    weights = agreement_weights(counts, 4, prevalence=0.02)

    patterns = (np.arange(16)[:, None] >> np.arange(4)) & 1
    ratios = np.where(patterns == 1, np.log(m / u), np.log((1 - m) / (1 - u))).sum(axis=1)
    assert weights == pytest.approx(ratios, abs=0.4)


def test_blocks_are_bounded_and_together_the_whole(
    raw: TableTarget, monkeypatch: pytest.MonkeyPatch
):
    columns = matched_columns(raw, ("age", "city"))
    known = known_people(columns, raw.original)
    ((_, whole),) = Comparison(columns=columns).blocks(known)
    monkeypatch.setattr("halfmask.assess.attacks.tables._links.PAIRS_PER_BLOCK", 3000)
    blocks = list(Comparison(columns=columns).blocks(known))

    assert max(block.size for _, block in blocks) <= 3000
    assert np.array_equal(np.concatenate([block for _, block in blocks]), whole)
    assert whole.dtype == np.float64  # single precision loses one cell in a long sum


def test_without_columns_nothing_can_be_linked():
    target = TableTarget(released=pl.DataFrame({"a": [1]}), original=pl.DataFrame({"b": [1]}))

    for attack in LINKAGES:
        assert "column" in attack.missing_inputs(target)


@pytest.mark.slow
@pytest.mark.real_data
def test_k_anonymous_adult_is_linked_at_most_once_in_k(adult_csv):
    original = pl.read_csv(adult_csv).sample(2000, seed=0)
    known = [
        name
        for name in original.columns
        if name in {"age", "workclass", "education", "marital-status", "occupation", "race", "sex"}
    ]
    made = hm.Anonymizer(guarantees=[hm.KAnonymity(k=20)], quasi_identifiers=known).fit_transform(
        original
    )
    raw = TableTarget(released=original, original=original, quasi_identifiers=tuple(known))
    target = TableTarget(released=made, original=original, quasi_identifiers=tuple(known))

    for attack in (DistanceLinkage(n_attacks=500), AssignmentLinkage(n_attacks=500)):
        assert rates(attack, target)["quasi-identifiers"] <= 0.05 + 1e-9
        assert rates(attack, raw)["quasi-identifiers"] > 0.3


def ten_each(k: int = 10) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return people in classes of k to 2k - 1 rows, and the rows they were made of."""
    rng = np.random.default_rng(11)
    rows = pl.DataFrame({"age": rng.permutation(2_000), "zip": rng.permutation(2_000)})
    return hm.Anonymizer(guarantees=[hm.KAnonymity(k=k)]).fit_transform(rows), rows


@pytest.mark.slow
@pytest.mark.parametrize("linkage", LINKAGES, ids=lambda attack: attack.name)
def test_links_are_judged_by_what_k_claims(linkage: Attack):
    released, rows = ten_each()
    raw = TableTarget(released=rows, original=rows, quasi_identifiers=("age", "zip"))
    bare = replace(raw, released=released)
    claimed = replace(bare, guarantees=(hm.KAnonymity(k=10),))
    found = run_battery(claimed, unprotected=raw, attacks=[linkage])
    assert {each.verdict for each in found.findings} == {"resisted"}
    for each in found.findings:
        assert 0.03 < each.outcome.success.value <= 0.1
        assert "against 0.100 claimed" in each.sentence
    # A release that claims nothing, or more than that, is reported so.
    for less in (bare, replace(bare, guarantees=(hm.KAnonymity(k=1_000),))):
        found = run_battery(less, unprotected=raw, attacks=[linkage])
        assert "resisted" not in {each.verdict for each in found.findings}


@pytest.mark.slow
@pytest.mark.parametrize("linkage", LINKAGES[::2], ids=lambda attack: attack.name)
def test_links_beyond_what_k_claims_are_broken(linkage: Attack):
    released, rows = ten_each(k=2)
    target = TableTarget(
        released=released,
        original=rows,
        quasi_identifiers=("age", "zip"),
        guarantees=(hm.KAnonymity(k=10),),
    )
    assert {each.verdict for each in run_battery(target, attacks=[linkage]).findings} == {"broken"}


#: Different numbers that floating-point numbers don't all keep apart, of each type that has some.
MANY_DIGITS = {
    "Int64": pl.Series([2**60 + i for i in range(300)]),
    "negative": pl.Series([-(2**62) - i for i in range(300)]),
    "UInt64": pl.Series([2**64 - 1 - i for i in range(300)], dtype=pl.UInt64),
    "Int128": pl.Series([2**120 + i for i in range(300)], dtype=pl.Int128),
    "Decimal": pl.Series([10**30 + i for i in range(300)]).cast(pl.String).cast(pl.Decimal(38, 2)),
    "Datetime": pl.Series([2**60 + i for i in range(300)]).cast(pl.Datetime("ns")),
    "Duration": pl.Series([2**60 + i for i in range(300)]).cast(pl.Duration("ns")),
    "text": pl.Series([str(10**25 + i) for i in range(300)]),
    "two clusters": pl.Series([i % 150 + (2**60 if i < 150 else 0) for i in range(300)]),
    "a code among them": pl.Series([-1 if i == 7 else 2**60 + i for i in range(300)]),
}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
@pytest.mark.parametrize("ids", MANY_DIGITS.values(), ids=MANY_DIGITS)
def test_numbers_of_many_digits_are_told_apart(attack: Attack, ids: pl.Series):
    """All ids differ, so each link is right."""
    original = pl.DataFrame({"id": ids, "other": np.arange(300) % 7})
    released = original.with_columns(other=pl.lit(0))
    target = TableTarget(released=released, original=original)

    if not attack.missing_inputs(target):
        assert rates(attack, target)["quasi-identifiers"] == 1.0


@pytest.mark.parametrize("written", ["text", "range"])
def test_numbers_of_many_digits_are_read_from_labels(written: str):
    ids = pl.Series([2**60 + i for i in range(300)])
    low = ids - (np.arange(300) % 3 if written == "range" else 0)
    labels = [f"[{n}, {n + 2}]" if written == "range" else str(n) for n in low.to_list()]
    target = TableTarget(released=pl.DataFrame({"id": labels}), original=pl.DataFrame({"id": ids}))

    expected = 1 / 3 if written == "range" else 1.0
    assert rates(DistanceLinkage(), target)["quasi-identifiers"] == pytest.approx(expected)


def test_noise_as_large_as_a_code_does_not_drown_other_columns():
    """Half the cells are a code, so that noise by standard deviations hides the other half."""
    rng = np.random.default_rng(1)
    x = rng.choice([1, 2, 3, 4, 5, 999], 600, p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
    others = {f"q{i}": rng.normal(size=600) for i in range(2)}
    moved = {name: values + rng.normal(0, 0.1, 600) for name, values in others.items()}
    original = pl.DataFrame({"x": x, **others})
    released = pl.DataFrame({"x": x + rng.normal(0, x.std() / 10, 600), **moved})
    target = TableTarget(released=released, original=original)

    found = rates(DistanceLinkage(), target)["quasi-identifiers"]

    fewer = TableTarget(released=released.drop("x"), original=original.drop("x"))
    assert found > rates(DistanceLinkage(), fewer)["quasi-identifiers"] > 0.2


@pytest.mark.parametrize("code", [999_999, 10**9, 10**12, 1e300], ids=str)
@pytest.mark.parametrize("attack", [DistanceLinkage(), AssignmentLinkage(n_attacks=600)], ids=str)
def test_one_cell_sets_no_scale(attack: Attack, code: float):
    """Ids moved by less than half a step are nearest to their own, whatever one cell holds."""
    ids = np.arange(600.0)
    ids[5] = code
    moved = ids + np.where(ids == code, 0, np.random.default_rng(0).uniform(-0.4, 0.4, 600))
    original = pl.DataFrame({"id": ids, "other": np.arange(600) % 2})
    target = TableTarget(
        released=original.with_columns(id=moved, other=pl.lit(0)),
        original=original,
        quasi_identifiers=("id",),
    )

    assert rates(attack, target)["quasi-identifiers"] == 1.0


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
@pytest.mark.parametrize("few", [20, 300])
def test_numbers_near_the_largest_float_are_linked_without_a_warning(attack: Attack, few: int):
    """Their squares, sums and differences are no floats; warnings are errors here."""
    ids = np.arange(300.0)
    ids[:few] = np.linspace(-1.7, 1.7, few) * 1e308
    original = pl.DataFrame({"id": ids, "other": np.arange(300) % 7})
    target = TableTarget(released=original, original=original, quasi_identifiers=("id", "other"))

    assert rates(attack, target)["quasi-identifiers"] > 0.9
