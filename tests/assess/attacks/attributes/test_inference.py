"""Attribute inference with power: an overfitted model is broken, one that can't know is not."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.assess.attacks import ModelTarget, SuccessCount, attack
from halfmask.assess.attacks.attributes import (
    ATTACKS,
    BlackBoxInference,
    QueryInference,
    WhiteBoxTreeInference,
)
from halfmask.assess.attacks.attributes._inference_setup import inference_setup

CHEAP = GaussianNB()


def memory(target_rows: np.ndarray) -> object:
    """Return a broken model: surer of the first class for those it saw whose secret is 1."""
    seen = {tuple(row[:3]): row[3] for row in target_rows.tolist()}

    def chances(rows: np.ndarray) -> np.ndarray:
        found = np.array([0.5 + 0.3 * seen.get(tuple(row[:3]), 0.0) for row in rows.tolist()])
        return np.column_stack([found, 1 - found])

    return chances


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [QueryInference(), WhiteBoxTreeInference(), WhiteBoxTreeInference(prior="marginal")],
    ids=["queries", "white box", "white box, marginal"],
)
def test_an_overfitted_tree_is_broken_beyond_imputation(target_of, made):
    overfitted = target_of(DecisionTreeClassifier(random_state=0))
    finding = attack(overfitted, attacks=[made]).findings[0]
    assert finding.verdict == "broken"
    # 0.74: half of the secrets follow from a leaf that holds the person, others are as imputed.
    assert finding.outcome.success.value > 0.7
    assert finding.outcome.control.value < 0.63
    assert finding.outcome.excess.bounds(0.01)[0] > 0.05


@pytest.mark.slow
def test_a_forest_is_broken_by_its_output_too(target_of):
    overfitted = target_of(RandomForestClassifier(n_estimators=10, random_state=0))
    for made in (BlackBoxInference(), WhiteBoxTreeInference(learner=CHEAP)):
        outcome = made.run(overfitted, random_state=0)[0]
        assert outcome.excess.bounds(0.01)[0] > 0, made
        assert outcome.excess.value > 0.04, made


@pytest.mark.slow
def test_a_model_that_remembers_secrets_is_broken_by_its_output(target_of):
    blank = target_of(lambda rows: np.full((len(rows), 2), 0.5))
    broken = target_of(memory(blank.members))
    outcome = BlackBoxInference().run(broken, random_state=0)[0]
    assert outcome.success.value > 0.95
    assert outcome.control.value < 0.6
    assert attack(broken, attacks=[BlackBoxInference()]).findings[0].verdict == "broken"


@pytest.mark.slow
@pytest.mark.parametrize("made", [BlackBoxInference, QueryInference])
def test_a_model_that_says_nothing_gives_no_more_than_imputation(target_of, made):
    blank = target_of(lambda rows: np.full((len(rows), 2), 0.5))
    outcome = made().run(blank, random_state=0)[0]
    assert outcome.excess.value < 0.03
    assert outcome.excess.bounds(0.01)[0] < 0
    assert attack(blank, attacks=[made()]).findings[0].verdict != "resisted"


def test_a_large_leafed_tree_resists_where_the_overfitted_one_is_broken(target_of):
    whole = target_of(DecisionTreeClassifier(max_depth=2, random_state=0), n=8000)
    raw = target_of(DecisionTreeClassifier(random_state=0), n=8000)
    report = attack(
        whole,
        unprotected=raw,
        attacks=[QueryInference(learner=CHEAP), WhiteBoxTreeInference(learner=CHEAP)],
    )
    assert [finding.verdict for finding in report.findings] == ["resisted", "resisted"]


@pytest.mark.slow
def test_what_an_output_says_of_anybody_is_the_controls_too(target_of):
    # This tree splits on the secret: its output tells everybody's, members' and others'.
    telling = target_of(DecisionTreeClassifier(min_samples_leaf=200, random_state=0))
    outcome = BlackBoxInference().run(telling, random_state=0)[0]
    assert outcome.success.value == pytest.approx(outcome.control.value, abs=0.05)
    assert outcome.baseline is not None
    assert outcome.baseline.value < 0.65


def paths(tree: Any, column: int, value: float) -> dict[int, float]:
    """Return the leaves that fit a value of a column, with their share of rows: walked by hand."""
    found, todo = {}, [0]
    while todo:
        node = todo.pop()
        left, right = tree.children_left[node], tree.children_right[node]
        if left == right:
            found[node] = tree.n_node_samples[node] / tree.n_node_samples[0]
        elif tree.feature[node] == column:
            todo.append(left if value <= tree.threshold[node] else right)
        else:
            todo += [left, right]
    return found


def test_the_white_box_weighs_paths_as_the_paper_says(target_of):
    target = target_of(DecisionTreeClassifier(max_depth=4, random_state=0))
    tree, rows = target.model.tree_, target.members
    made = WhiteBoxTreeInference(prior="marginal", learner=CHEAP)
    setup = inference_setup(
        target, 3, bins=5, positive=None, learner=CHEAP, with_known=False, random_state=0
    )
    guessed = made._guesser(target, setup, 0)(setup.targets)
    prior = setup.imputed.frequencies
    leaf_of = target.model.apply(rows)
    for place in range(100):
        row, label = setup.targets.rows[place], setup.targets.labels[place]
        weights = []
        for value in (0, 1):
            fitting = paths(tree, 3, value)
            leaf = target.model.apply([[*row[:3], value]])[0]
            of_label = np.mean((leaf_of == leaf) & (target.member_labels == label))
            weights.append(prior[value] * of_label / sum(fitting.values()))
        if abs(weights[0] - weights[1]) > 1e-6:
            assert guessed[place] == np.argmax(weights)


def leaf_by_hand(tree: Any, row: list[float]) -> int:
    """Return the leaf of a row: walked by hand."""
    node = 0
    while tree.children_left[node] != tree.children_right[node]:
        left = np.float32(row[tree.feature[node]]) <= tree.threshold[node]
        node = (tree.children_left if left else tree.children_right)[node]
    return int(node)


def test_without_labels_the_white_box_weighs_all_rows_of_a_path(target_of):
    target = target_of(DecisionTreeClassifier(max_depth=6, random_state=0), n=400)
    made = WhiteBoxTreeInference(prior="marginal", counts="all", learner=CHEAP)
    setup = inference_setup(
        target, 3, bins=5, positive=None, learner=CHEAP, with_known=False, random_state=0
    )
    guessed = made._guesser(target, setup, 0)(setup.targets)
    tree, people = target.model.tree_, setup.targets.rows.tolist()
    rows_at: dict[int, int] = {}
    for row in target.members.tolist():
        leaf = leaf_by_hand(tree, row)
        rows_at[leaf] = rows_at.get(leaf, 0) + 1
    leaves = {v: [leaf_by_hand(tree, [*row[:3], v]) for row in people] for v in (0, 1)}
    reached = {v: sum(rows_at[leaf] for leaf in set(leaves[v])) for v in (0, 1)}
    compared = 0
    for place in range(len(people)):
        zero, one = (
            setup.imputed.frequencies[v] * rows_at[leaves[v][place]] / reached[v] for v in (0, 1)
        )
        if abs(zero - one) > 1e-6:
            assert guessed[place] == int(one > zero)
            compared += 1
    assert compared > 350
    assert 0 < guessed.sum() < len(people)


def test_without_labels_a_grown_tree_tells_what_a_stump_can_not():
    rng = np.random.default_rng(5)
    secret = rng.integers(0, 2, 3000)
    near = np.where(rng.random(3000) < 0.85, secret, 1 - secret)
    rows = np.column_stack([rng.integers(0, 4, 3000), near, secret]).astype(float)
    labels = (near ^ secret) | (rows[:, 0] > 2)
    made = WhiteBoxTreeInference(column=2, prior="marginal", counts="all", learner=CHEAP)

    def read(depth: int | None) -> float:
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        target = ModelTarget(
            model=tree.fit(rows[:1000], labels[:1000]),
            members=rows[:1000],
            member_labels=labels[:1000],
            non_members=rows[1000:],
            non_member_labels=labels[1000:],
        )
        return made.run(target, random_state=0)[0].success.value

    assert read(None) > 0.7
    # The stump splits on the first column: each value has the same leaf, and the prior decides.
    assert read(1) == pytest.approx(0.5, abs=0.04)


def test_without_labels_no_label_changes_a_guess(target_of):
    target = target_of(DecisionTreeClassifier(random_state=0))
    exchanged = ModelTarget(
        model=target.model,
        members=target.members,
        member_labels=1 - target.member_labels,
        non_members=target.non_members,
        non_member_labels=np.full_like(target.non_member_labels, 7),
        secrets=(3,),
    )

    def right(counts: str, target: ModelTarget) -> float:
        made = WhiteBoxTreeInference(prior="marginal", counts=counts, learner=CHEAP)
        return made.run(target, random_state=0)[0].success.value

    assert right("all", exchanged) == right("all", target)
    assert right("label", exchanged) < right("label", target) - 0.1


def test_frames_are_attacked_as_arrays_are(target_of):
    arrays = target_of(DecisionTreeClassifier(random_state=0))
    frames = target_of(DecisionTreeClassifier(random_state=0), frames=True)
    made = QueryInference(learner=CHEAP)
    by_number, by_name = made.run(arrays, random_state=3)[0], made.run(frames, random_state=3)[0]
    assert by_name.success == by_number.success
    assert by_name.control == by_number.control
    assert by_name.measure == "accuracy of 'secret'"


def test_pandas_is_attacked_as_polars_is(target_of):
    frames = target_of(DecisionTreeClassifier(random_state=0), frames=True)
    model = frames.model
    pandas = ModelTarget(
        model=model,
        members=frames.members.to_pandas(),
        member_labels=frames.member_labels,
        non_members=frames.non_members.to_pandas(),
        non_member_labels=frames.non_member_labels,
        secrets=("secret",),
    )
    made = WhiteBoxTreeInference(learner=CHEAP)
    assert (
        made.run(pandas, random_state=3)[0].success == made.run(frames, random_state=3)[0].success
    )


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeClassifier(max_depth=3, splitter="random"),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, splitter="random")),
    ],
    ids=["a tree", "a pipeline"],
)
def test_the_same_seed_gives_the_same_outcome(target_of, learner):
    target = target_of(DecisionTreeClassifier(random_state=0))
    made = BlackBoxInference(learner=learner)
    assert made.run(target, random_state=1) == made.run(target, random_state=1)
    assert made.run(target, random_state=1) != made.run(target, random_state=2)


def test_a_learner_sees_the_other_columns_the_label_and_what_the_model_says(target_of):
    target = target_of(DecisionTreeClassifier(max_depth=3, random_state=0))
    seen: list[np.ndarray] = []

    def noted(rows: np.ndarray) -> np.ndarray:
        seen.append(rows)
        return rows

    made = BlackBoxInference(learner=make_pipeline(FunctionTransformer(noted), GaussianNB()))
    setup = inference_setup(
        target, 3, bins=5, positive=None, learner=CHEAP, with_known=True, random_state=0
    )
    made.run(target, random_state=0)
    imputed, shown = seen[0], seen[1]
    np.testing.assert_array_equal(imputed[:, :3], np.asarray(setup.held_out.rows)[:, :3])
    np.testing.assert_array_equal(shown[:, :3], np.asarray(setup.known.rows)[:, :3])
    labels = np.asarray(target.member_labels)[setup.known.places]
    np.testing.assert_array_equal(shown[:, 3] == shown[0, 3], labels == labels[0])
    found = target.model.predict_proba(setup.known.rows)
    np.testing.assert_allclose(shown[:, 4:], found)
    assert imputed.shape[1] == 4


def test_a_numeric_secret_is_inferred_by_quantiles(target_of):
    target = target_of(DecisionTreeClassifier(random_state=0))
    outcome = QueryInference(column=0, bins=4, learner=CHEAP).run(target, random_state=0)[0]
    assert outcome.details["values"] == 4
    assert outcome.baseline is not None
    assert outcome.baseline.value == pytest.approx(0.25, abs=0.06)


def test_precision_and_recall_are_of_the_positive_value(target_of):
    target = target_of(DecisionTreeClassifier(random_state=0))
    made = QueryInference(positive=1, learner=CHEAP)
    outcomes = made.run(target, random_state=0)
    assert [each.kind for each in outcomes] == ["accuracy of", "precision of", "recall of"]
    accuracy, precision, recall = (each.success for each in outcomes)
    assert isinstance(accuracy, SuccessCount)
    assert isinstance(precision, SuccessCount)
    assert isinstance(recall, SuccessCount)
    hits = recall.successes
    assert precision.successes == hits
    assert recall.trials == int((target.members[:, 3] == 1).sum())
    wrong = (recall.trials - hits) + (precision.trials - hits)
    assert accuracy.successes == 1500 - wrong


def test_subgroups_are_attacked_where_there_are_enough(target_of):
    base = target_of(DecisionTreeClassifier(random_state=0))
    numbers = np.r_[base.members[:, 2], base.non_members[:, 2]].astype(np.int64)
    numbers[numbers == 4] = -1
    numbers[0] = 4
    groups = (["zero", "one", "two", "three", "one person"], numbers)
    target = target_of(DecisionTreeClassifier(random_state=0), groups=groups)
    outcomes = QueryInference(learner=CHEAP).run(target, random_state=0)
    assert [outcome.group for outcome in outcomes] == ["everyone", "zero", "one", "two", "three"]
    assert outcomes[2].success.trials == int((numbers[:1500] == 1).sum())


@pytest.mark.parametrize("made", ATTACKS)
def test_without_secrets_there_is_nothing_to_infer(target_of, made):
    target = target_of(DecisionTreeClassifier(), secrets=())
    assert made().missing_inputs(target) == "secrets"
    assert made(column=3).missing_inputs(target) == ""
    assert "column 9" in made(column=9).missing_inputs(target)
    with pytest.raises(ParameterError, match="lacks secrets"):
        attack(target, attacks=[made()])


def test_a_model_without_trees_has_no_white_box(target_of):
    target = target_of(GaussianNB())
    assert "tree" in WhiteBoxTreeInference().missing_inputs(target)


def test_too_few_people_are_invalid_and_say_how_many_are_needed(target_of):
    few = target_of(DecisionTreeClassifier(), n=40)
    with pytest.raises(DataError, match="at least 100 members"):
        BlackBoxInference().run(few, random_state=0)
    finding = attack(few, attacks=[QueryInference()]).findings[0]
    assert finding.verdict == "INVALID"
    assert "100 members" in finding.why_invalid


@pytest.mark.parametrize(
    "given",
    [
        lambda rows: np.full((len(rows) - 1, 2), 0.5),
        lambda rows: np.full((len(rows), 2), np.nan),
        lambda rows: np.full(len(rows), 0.5),
    ],
    ids=["too short", "no number", "one class"],
)
def test_a_model_that_gives_no_probabilities_is_invalid(target_of, given):
    finding = attack(target_of(given), attacks=[QueryInference(learner=CHEAP)]).findings[0]
    assert finding.verdict == "INVALID"
    assert "The model" in finding.why_invalid
    assert "probabilities" in finding.why_invalid


def test_a_label_that_the_model_never_saw_is_given_no_chance(target_of):
    target = target_of(DecisionTreeClassifier(random_state=0))
    labels = target.non_member_labels.copy()
    labels[:200] = 7
    seen = ModelTarget(
        model=target.model,
        members=target.members,
        member_labels=target.member_labels,
        non_members=target.non_members,
        non_member_labels=labels,
        secrets=(3,),
    )
    for made in (QueryInference(learner=CHEAP), WhiteBoxTreeInference(learner=CHEAP)):
        assert made.run(seen, random_state=0)[0].success.value > 0.7


def test_a_secret_of_one_value_is_refused(target_of):
    target = target_of(DecisionTreeClassifier(random_state=0))
    target.members[:, 2] = 0
    target.non_members[:, 2] = 0
    with pytest.raises(DataError, match="one value"):
        QueryInference(column=2).run(target, random_state=0)


def test_no_value_is_in_an_error(target_of):
    target = target_of(DecisionTreeClassifier(random_state=0), frames=True)
    with pytest.raises(ParameterError) as caught:
        QueryInference(positive="canary").run(target, random_state=0)
    assert "canary" not in str(caught.value)


def test_settings_are_checked():
    with pytest.raises(ParameterError, match="bins"):
        QueryInference(bins=1)
    with pytest.raises(ParameterError, match="predict_proba"):
        QueryInference(learner="forest")
    with pytest.raises(ParameterError, match="prior"):
        WhiteBoxTreeInference(prior="none")
    with pytest.raises(ParameterError, match="counts"):
        WhiteBoxTreeInference(counts="none")


def test_a_secret_must_be_a_column(target_of):
    with pytest.raises(ColumnNotFoundError, match="sicret"):
        target_of(DecisionTreeClassifier(), frames=True, secrets=("sicret",))


def test_words_and_what_is_missing_are_inferred_like_numbers(target_of):
    base = target_of(DecisionTreeClassifier(random_state=0), frames=True)
    found = pl.when(pl.col("secret") == 1).then(pl.lit("yes")).alias("secret")
    members, others = base.members.with_columns(found), base.non_members.with_columns(found)
    encoder = make_column_transformer((OrdinalEncoder(), ["secret"]), remainder="passthrough")
    tree = make_pipeline(encoder, DecisionTreeClassifier(random_state=0))
    target = ModelTarget(
        model=tree.fit(members, base.member_labels),
        members=members,
        member_labels=base.member_labels,
        non_members=others,
        non_member_labels=base.non_member_labels,
        secrets=("secret",),
    )
    for made in (
        QueryInference(learner=CHEAP, positive="yes"),
        WhiteBoxTreeInference(learner=CHEAP, positive="yes"),
    ):
        accuracy, precision, _ = made.run(target, random_state=0)
        assert accuracy.success.value > 0.7
        assert precision.success.value > 0.6
        assert "yes" not in repr([accuracy, precision])


N = 400
DAY = date(2020, 2, 29)


def nullable(dtype: pl.DataType, values: list[Any]) -> pl.DataFrame:
    """Return people whose secret is one of the values, or missing for one in ten."""
    rng = np.random.default_rng(4)
    places = rng.integers(0, len(values), N)
    gone = rng.random(N) < 0.1
    cells = [None if none else values[at] for at, none in zip(places, gone, strict=True)]
    return pl.DataFrame(
        {"other": rng.normal(size=N), "secret": pl.Series(cells, dtype=dtype, strict=True)}
    )


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (pl.Int64(), [3, 5]),
        (pl.UInt8(), [3, 5]),
        (pl.Float64(), [0.5, 2.0]),
        (pl.Boolean(), [True, False]),
        (pl.String(), ["x", "y"]),
        (pl.Categorical(), ["x", "y"]),
        (pl.Decimal(8, 2), [Decimal("1.25"), Decimal(3)]),
        (pl.Date(), [DAY, DAY + timedelta(days=1)]),
        (pl.Datetime("ms"), [datetime(2020, 1, 1), datetime(2021, 1, 1, 5)]),  # noqa: DTZ001
        (pl.Datetime("ns"), [datetime(2020, 1, 1), datetime(2021, 1, 1, 5)]),  # noqa: DTZ001
        (pl.Datetime("us", "UTC"), [datetime(2020, 1, 1, tzinfo=UTC)] * 2),
        (pl.Duration("ns"), [timedelta(hours=1), timedelta(days=1)]),
        (pl.Time(), [time(1), time(2, 30)]),
    ],
    ids=str,
)
def test_a_model_is_asked_about_each_value_and_about_none_in_the_columns_type(dtype, values):
    frame = nullable(dtype, values)
    seen: list[pl.Series] = []

    def model(rows: pl.DataFrame) -> np.ndarray:
        assert rows.schema == frame.schema
        seen.append(rows["secret"].unique())
        return np.full((len(rows), 2), 0.5)

    labels = np.tile([0, 1], N // 2)
    half = N // 2
    target = ModelTarget(
        model=model,
        members=frame[:half],
        member_labels=labels[:half],
        non_members=frame[half:],
        non_member_labels=labels[half:],
    )
    (outcome,) = QueryInference(column="secret", learner=CHEAP).run(target, random_state=0)

    assert outcome.details["values"] == frame["secret"].n_unique()
    assert all(len(each) == 1 for each in seen)
    assert set(pl.concat(seen).to_list()) == set(frame["secret"].to_list())


def test_many_whole_numbers_some_missing_are_binned():
    frame = nullable(pl.Int64(), list(range(50)))
    target = ModelTarget(
        model=lambda rows: np.full((len(rows), 2), 0.5),
        members=frame[:200],
        member_labels=np.tile([0, 1], 100),
        non_members=frame[200:],
        non_member_labels=np.tile([0, 1], 100),
    )
    (outcome,) = QueryInference(column="secret", bins=4, learner=CHEAP).run(target, random_state=0)
    assert outcome.details["values"] == 5  # four quantiles, and what is missing


def test_a_secret_whose_name_is_there_twice_is_refused(target_of):
    base = target_of(DecisionTreeClassifier(random_state=0), frames=True)
    members, others = base.members.to_pandas(), base.non_members.to_pandas()
    for rows in (members, others):
        rows.columns = ["a", "b", "c", "a"]
    given = {
        "model": base.model,
        "members": members,
        "member_labels": base.member_labels,
        "non_members": others,
        "non_member_labels": base.non_member_labels,
    }
    with pytest.raises(SchemaError, match="'a' is there 2 times"):
        ModelTarget(**given, secrets=("a",))
    assert (
        QueryInference(column="a").missing_inputs(ModelTarget(**given))
        == "one column 'a', it has 2"
    )
    assert QueryInference(column="b").missing_inputs(ModelTarget(**given)) == ""


def test_a_value_that_others_columns_cant_hold_stays_out_of_errors():
    frame = nullable(pl.String(), ["x", "canary"])
    narrow = frame.filter(pl.col("secret") == "x").cast({"secret": pl.Enum(["x"])})[:150]
    target = ModelTarget(
        model=lambda rows: np.full((len(rows), 2), 0.5),
        members=narrow,
        member_labels=np.tile([0, 1], 75),
        non_members=frame.cast({"secret": pl.Enum(["x", "canary"])}),
        non_member_labels=np.tile([0, 1], N // 2),
        secrets=("secret",),
    )
    finding = attack(target, attacks=[QueryInference(learner=CHEAP)]).findings[0]
    assert finding.verdict == "INVALID"
    assert finding.why_invalid.startswith("failed: Column 'secret' of some people can't hold")
    assert "canary" not in finding.why_invalid


class Loud(DecisionTreeClassifier):  # type: ignore[misc] # scikit-learn ships no types
    """Fails in the given method, and quotes a cell."""

    def __init__(self, at="fit"):
        super().__init__()
        self.at = at

    def fit(self, rows, labels, sample_weight=None):
        if self.at == "fit":
            raise ValueError("xqcanary")
        return super().fit(rows, labels, sample_weight)

    def predict_proba(self, *_):
        raise ValueError("xqcanary")


@pytest.mark.parametrize(
    ("at", "given"), [("fit", "couldn't be trained"), ("predict", "failed to predict")]
)
def test_an_attackers_learner_that_fails_quotes_nothing(target_of, at, given):
    target = target_of(DecisionTreeClassifier(random_state=0))
    report = attack(target, attacks=[BlackBoxInference(learner=Loud(at))])
    assert {finding.why_invalid for finding in report.findings} == {
        f"failed: The attacker's learner {given} (ValueError)"
    }
    assert "xqcanary" not in repr(report.to_dict())
