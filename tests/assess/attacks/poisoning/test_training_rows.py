"""Hostile training rows: plain models are broken, defended ones resist."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ParameterError
from halfmask.assess.attacks import ModelTarget, attack
from halfmask.assess.attacks.poisoning import (
    BackdoorRows,
    InsertedRows,
    RandomLabelFlips,
    TargetedLabelFlips,
)
from halfmask.assess.robustness import AttackerBudget, ColumnBudget
from halfmask.training import PartitionedClassifier

N = 3000
ATTACKS = (RandomLabelFlips, TargetedLabelFlips, InsertedRows, BackdoorRows)
NAMES = ["a", "b", "t", "u"]


def people(seed: int, n: int = N) -> tuple[pl.DataFrame, np.ndarray]:
    """Return rows with two numbers that tell the label, and two rare marks that say nothing."""
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        {
            **{name: rng.normal(size=n) for name in "ab"},
            **{name: (rng.random(n) < 0.003).astype(float) for name in "tu"},
        }
    )
    labels = (rows["a"] + rows["b"] + rng.normal(0, 0.3, n) > 0.5).to_numpy()
    return rows, np.where(labels, "yes", "no")


MEMBERS, OTHERS = people(1), people(2)


def tree(rows, labels, seed):
    return DecisionTreeClassifier(min_samples_leaf=3, random_state=seed).fit(rows, labels)


def target(train, members=MEMBERS, others=OTHERS, **settings) -> ModelTarget:
    model = settings.pop("model", None) or train(*members, 0)
    return ModelTarget(
        model=model,
        members=members[0],
        member_labels=members[1],
        non_members=others[0],
        non_member_labels=others[1],
        train=train,
        **settings,
    )


PLAIN = target(tree)


def verdicts(protected, attacks, unprotected=PLAIN) -> list[str]:
    found = attack(protected, unprotected=unprotected, attacks=attacks)
    return [finding.verdict for finding in found.findings]


def sifted(rows, labels, seed):
    """Train on rows without a mark, whose labels a coarse model of all rows agrees with."""
    plain = rows.filter((pl.col("t") == 0) & (pl.col("u") == 0))
    labels = labels[((rows["t"] == 0) & (rows["u"] == 0)).to_numpy()]
    total = (plain["a"] + plain["b"] > 0.5).to_numpy()  # what nobody can poison
    agrees = (labels == "yes") == total
    return tree(plain.filter(pl.Series(agrees)).select("a", "b"), labels[agrees], seed)


class Sifted:
    """Rows of two columns for a model of them."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_

    def predict(self, rows):
        return self.model.predict(rows.select("a", "b"))


SIFTED = target(lambda *given: Sifted(sifted(*given)))


@pytest.mark.parametrize("make", ATTACKS)
def test_a_plain_tree_is_broken_and_one_of_trusted_rows_resists(make):
    assert verdicts(PLAIN, [make(shares=(0.1,))]) == ["broken"]
    assert verdicts(SIFTED, [make(shares=(0.1,))]) == ["resisted"]


def test_votes_of_partitions_survive_a_few_rows_that_a_tree_doesnt():
    def vote(rows, labels, seed):
        inner = DecisionTreeClassifier(max_depth=4, random_state=seed)
        return PartitionedClassifier(inner, n_partitions=51, random_state=seed).fit(rows, labels)

    few = [BackdoorRows(shares=(0.002,))]
    assert verdicts(PLAIN, few) == ["broken"]
    assert verdicts(target(vote), few) == ["resisted"]


@pytest.mark.parametrize("make", ATTACKS)
def test_an_attack_without_power_is_invalid(make):
    def constant(rows, _labels, _seed):
        return DummyClassifier(strategy="constant", constant="no").fit(rows[:2], ["no", "yes"])

    deaf = target(constant)
    if make in {TargetedLabelFlips, InsertedRows}:
        assert verdicts(deaf, [make()], unprotected=deaf) == ["INVALID"]
    else:
        finding = attack(deaf, unprotected=deaf, attacks=[make()]).findings[0]
        assert finding.verdict == "INVALID"
        assert "does not succeed without protection" in finding.why
    assert verdicts(SIFTED, [make()], unprotected=None) == ["INVALID"]


def test_an_attack_that_a_raw_model_shrugs_off_has_nothing_to_resist():
    other = target(lambda *given: Sifted(sifted(*given)))
    assert verdicts(SIFTED, [BackdoorRows()], unprotected=other) == ["nothing to resist"]


def test_measures_are_by_share_and_each_has_the_clean_accuracy():
    found = attack(PLAIN, attacks=[it(shares=(0.02, 0.2)) for it in ATTACKS]).findings
    assert [finding.outcome.measure for finding in found] == [
        f"{measure} at {share} % hostile rows"
        for measure in ("accuracy lost", "targeted error", "targeted error", "trigger rate")
        for share in (2, 20)
    ]
    clean = {finding.outcome.details["accuracy without attack"] for finding in found}
    assert len(clean) == 1
    assert clean.pop() > 0.9
    assert [finding.outcome.details["share"] for finding in found[:2]] == [0.02, 0.2]
    lost = found[1].outcome
    details = lost.details
    assert lost.success.value == pytest.approx(
        details["accuracy without attack"] - details["accuracy under attack"]
    )
    assert found[0].outcome.baseline is None
    assert all(each.outcome.baseline is not None for each in found[2:])


def test_arms_are_counted_as_a_naive_loop_counts_them():
    trained = []

    def learn(rows, labels, seed):
        trained.append((rows, np.asarray(labels), tree(rows, labels, seed)))
        return trained[-1][-1]

    given = target(learn)
    trained.clear()
    outcome = attack(given, attacks=["poisoning/backdoor"]).findings[0].outcome
    (rows, labels, spoilt), (clean_rows, _, clean), (_, flipped, by_chance) = trained
    hostile = rows[MEMBERS[0].height :]
    assert outcome.baseline is not None
    assert clean_rows.equals(MEMBERS[0])
    assert len(hostile) == 30
    assert hostile["t"].unique().to_list() == hostile["u"].unique().to_list() == [1.0]
    (label,) = set(labels[MEMBERS[0].height :])
    assert (flipped != MEMBERS[1]).sum() == 30
    marked = (
        OTHERS[0].filter(pl.Series(OTHERS[1] != label)).with_columns(t=pl.lit(1.0), u=pl.lit(1.0))
    )
    for model, arm in (
        (spoilt, outcome.success),
        (clean, outcome.control),
        (by_chance, outcome.baseline),
    ):
        assert arm.value == np.mean([it == label for it in model.predict(marked)])


def test_frames_and_arrays_of_the_same_rows_give_the_same_findings():
    def numbers(rows, labels, seed):
        return tree(np.asarray(rows), labels, seed)

    class AsArray:
        def __init__(self, model):
            self.model, self.classes_ = model, model.classes_

        def predict(self, rows):
            return self.model.predict(np.asarray(rows))

    found = []
    for kind in (lambda it: it, lambda it: it.to_pandas(), lambda it: it.to_numpy()):
        seen: list[type] = []

        def train(rows, labels, seed, seen=seen):
            seen.append(type(rows))
            return AsArray(numbers(rows, labels, seed))

        given = target(train, (kind(MEMBERS[0]), MEMBERS[1]), (kind(OTHERS[0]), OTHERS[1]))
        report = attack(given, attacks=[it() for it in ATTACKS])
        found.append([f.outcome.success.value for f in report.findings])
        assert set(seen) == {type(given.members)}
    assert found[0] == found[1] == found[2]


def test_categories_of_pandas_and_whole_numbers_keep_their_types():
    rng = np.random.default_rng(3)

    def mixed(n):
        return pd.DataFrame(
            {
                "n": rng.integers(0, 9, n),
                "job": pd.Categorical(rng.choice(["x", "y", "z"], n, p=[0.5, 0.49, 0.01])),
                "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 3, n), "D"),
                3: rng.random(n) < 0.01,
            }
        )

    schemas = []

    def train(rows, labels, seed):
        schemas.append(rows.dtypes.astype(str).to_dict())
        return AsCodes(tree(as_codes(rows), labels, seed))

    def as_codes(rows):
        return np.column_stack([rows["n"], rows["job"].cat.codes, rows["day"].astype(int), rows[3]])

    class AsCodes:
        def __init__(self, model):
            self.model, self.classes_ = model, model.classes_

        def predict(self, rows):
            return self.model.predict(as_codes(rows))

    members, others = mixed(2000), mixed(1000)
    given = target(
        train, (members, (members["n"] > 4).to_numpy()), (others, (others["n"] > 4).to_numpy())
    )
    finding = attack(given, attacks=["poisoning/backdoor"]).findings[0]
    assert finding.verdict == "broken", finding.why
    assert all(each == schemas[0] for each in schemas)


def test_a_trigger_stays_in_columns_that_the_budget_lets_change():
    held = []

    def learn(rows, labels, seed):
        held.append(rows)
        return tree(rows, labels, seed)

    columns = {"a": ColumnBudget(), "t": ColumnBudget(change="no"), "u": ColumnBudget()}
    budget = AttackerBudget(columns=columns, most=1.0)
    attack(target(learn, budget=budget), attacks=["poisoning/backdoor"])
    hostile = held[1][MEMBERS[0].height :]
    assert hostile["t"].mean() < 0.1
    assert hostile["b"].n_unique() > 20
    assert hostile["a"].n_unique() == hostile["u"].n_unique() == 1


def test_regressors_and_targets_that_cant_train_are_skipped_and_told():
    rows = MEMBERS[0]
    numbers = target(
        lambda rows, labels, _: LinearRegression().fit(rows, labels),
        (rows, rows["a"].to_numpy()),
        (OTHERS[0], OTHERS[0]["a"].to_numpy()),
    )
    report = attack(numbers, families=["poisoning"])
    assert not report.findings
    assert all("classifier" in why for _, why in report.skipped)
    with pytest.raises(ParameterError, match="lacks 'train'"):
        attack(target(None, model=tree(*MEMBERS, 0)), attacks=["poisoning/backdoor"])


@pytest.mark.parametrize("make", ATTACKS)
def test_what_fails_is_invalid_and_holds_no_cell(make):
    def fails(_rows, labels, _seed):
        raise ValueError(f"couldn't read {labels[0]} of Anna")

    found = attack(target(fails, model=tree(*MEMBERS, 0)), attacks=[make()]).findings[0]
    assert found.verdict == "INVALID"
    assert "some of them hostile (ValueError)" in found.why
    for few, words in ((MEMBERS[0][:9], "too few"), (MEMBERS[0][:1], "two classes")):
        labels = MEMBERS[1][: len(few)]
        given = target(tree, (few, labels), model=tree(*MEMBERS, 0))
        finding = attack(given, attacks=[make()]).findings[0]
        assert finding.verdict == "INVALID"
        assert words in finding.why or "two columns" in finding.why
        assert not {"Anna", "yes"} & set(finding.sentence.split())
    one = target(tree, others=(OTHERS[0], np.array(["no"] * N)))
    if make is InsertedRows:
        finding = attack(one, attacks=[make()]).findings[0]
        assert "All non-members are of the class" in finding.why


def test_models_of_a_target_are_trained_once():
    calls = []

    def counted(rows, labels, seed):
        calls.append(len(rows))
        return tree(rows, labels, seed)

    given = target(counted)
    calls.clear()
    attacks = [RandomLabelFlips(), TargetedLabelFlips(), InsertedRows()]
    found = attack(given, unprotected=given, attacks=attacks).findings
    assert len(calls) == 4  # clean, random flips, targeted flips, insertions
    others = attack(SIFTED, unprotected=given, attacks=attacks).findings
    assert len(calls) == 4
    assert [it.positive_control for it in others] == [it.outcome for it in found]


def test_a_function_that_trains_one_model_again_and_again_changes_nothing():
    again, own = DecisionTreeClassifier(min_samples_leaf=3), tree(*MEMBERS, 0)

    def train(rows, labels, seed):
        return again.set_params(random_state=seed).fit(rows, labels)

    reports = [
        attack(target(each, model=own), attacks=[it() for it in ATTACKS]).to_dict()
        for each in (train, tree)
    ]
    assert reports[0] == reports[1]
    found = attack(target(train, model=again), attacks=["poisoning/backdoor"]).findings[0]
    assert found.verdict == "INVALID"
    assert "must return a new model" in found.why


def test_a_function_that_changes_what_it_gets_changes_no_other_model():
    arrays = [(rows.to_numpy(writable=True), labels.copy()) for rows, labels in (MEMBERS, OTHERS)]

    def spoils(rows, labels, seed):
        model = tree(rows, labels, seed)
        rows[:], labels[:] = 0.0, labels[0]
        return model

    own = tree(*arrays[0], 0)
    reports = [
        attack(target(each, *arrays, model=own), attacks=[it() for it in ATTACKS]).to_dict()
        for each in (tree, spoils)
    ]
    assert reports[0] == reports[1]
    assert arrays[0][0].any()


def test_the_same_seed_gives_the_same_report():
    reports = [attack(target(tree), attacks=[it() for it in ATTACKS]).to_dict() for _ in range(2)]
    assert reports[0] == reports[1]
