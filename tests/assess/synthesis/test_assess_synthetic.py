"""assess_synthetic: rows that give people away are told from rows that don't."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from halfmask import DataError
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.tables import DensityMembership
from halfmask.assess.masking.pairs import column_pairs
from halfmask.assess.synthesis import assess_synthetic, marginal_distances, trained_models


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pl.DataFrame(
        {
            "x": x,
            "y": x + rng.normal(size=n),
            "z": rng.normal(size=n),
            "town": rng.choice(["Lyon", "Nice", "Rome"], n),
            "ill": np.where(x + rng.normal(size=n) > 0, "yes", "no"),
        }
    )


def test_copies_are_found_by_membership_and_other_people_are_not():
    learnt, others, control = people(1_500, 1), people(1_500, 2), people(1_500, 3)
    for released, is_found in ((learnt, True), (others, False)):
        target = TableTarget(released=released, original=learnt, control=control, owners="unknown")
        raw = TableTarget(released=learnt, original=learnt, control=control)
        report = attack(target, unprotected=raw, attacks=[DensityMembership()], random_state=0)
        for finding in report.findings:
            success, chance = finding.outcome.success.value, finding.outcome.control.value
            assert (success - chance > 0.5) is is_found
            assert (finding.verdict == "broken") is is_found


def test_tables_of_columns_agree_for_the_same_rows_and_differ_for_shuffled_ones():
    table = people(2_000, 1)
    shuffled = table.with_columns(pl.col("y").shuffle(seed=1))
    names = table.columns
    same = marginal_distances(column_pairs(table, table, names), None, random_state=0)
    assert [each.mean for each in same] == [0.0, 0.0, 0.0]
    others = column_pairs(table, people(2_000, 2), names)
    found = marginal_distances(column_pairs(table, shuffled, names), others, random_state=0)
    assert found[0].mean == 0.0
    assert {"x", "y"} <= set(found[1].worst)
    assert found[1].largest > 3 * (found[1].by_chance or 0)


def test_distances_by_hand():
    one = pl.DataFrame({"a": ["p"] * 6 + ["q"] * 4})
    other = pl.DataFrame({"a": ["p"] * 3 + ["q"] * 7})
    found = marginal_distances(column_pairs(one, other, ["a"]), None, random_state=0)
    assert found[0].mean == pytest.approx(0.3)


@pytest.mark.slow
def test_models_of_noise_score_worse_than_models_of_the_rows():
    learnt, control = people(1_500, 1), people(800, 2)
    names = learnt.columns
    noise = learnt.with_columns(pl.col("ill").shuffle(seed=1))
    others = column_pairs(learnt, control, names)
    for drawn, low, high in ((people(1_500, 3), 0.75, 1.0), (noise, 0.3, 0.72)):
        scores = trained_models(column_pairs(learnt, drawn, names), others, "ill", random_state=0)
        assert [each.learner for each in scores] == ["linear", "forest", "boosting"]
        assert all(low < each.synthetic < high for each in scores)
        assert all(each.original > 0.75 for each in scores)
    numbers = trained_models(column_pairs(learnt, noise, names), others, "y", random_state=0)
    assert numbers[0].measure == "R2"


@pytest.mark.slow
def test_the_assessment_counts_copies_and_turns_into_json():
    learnt, control = people(300, 1), people(100, 2)
    found = assess_synthetic(learnt, learnt[:200], control=control, label="ill", secrets=["ill"])
    assert (found.copied, found.control_copied) == (200, 0)
    assert set(found.to_dict()) == {"risk", "utility"}
    assert {block.title for block in found.blocks()} == {"Attacks", "Tables of columns", "Models"}
    assert "SynthesisAssessment(200 rows" in repr(found)
    assert "<table" in found._repr_html_()


def test_without_control_rows_no_attack_runs():
    found = assess_synthetic(people(100, 1), people(100, 2), control=people(5, 3))
    assert found.attacks is None
    assert "No attack was run" in found.not_attacked
    assert found.blocks()[0].rows[0][-1] == "not run"
    assert found.learners == ()


def test_control_rows_of_the_table_itself_are_refused():
    with pytest.raises(DataError, match="control rows are in the table"):
        assess_synthetic(people(300, 1), people(300, 2), control=people(300, 1))


def test_a_table_without_rows_is_refused():
    with pytest.raises(DataError, match="without rows"):
        assess_synthetic(people(10, 1), people(0, 2), control=people(5, 3))
