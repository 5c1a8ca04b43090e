"""assess_robustness: what is found of models by construction, and what its page says and hides."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, ReleaseError
from halfmask.assess.hardening import assess_robustness
from halfmask.assess.robustness import AttackerBudget, ColumnBudget

RNG = np.random.default_rng(0)
N = 600
#: No page, message or number may hold these.
SECRETS = ("zyzzyva", "quokka", "xerus", "axolotl")
ROWS = pl.DataFrame(
    {
        "age": RNG.integers(20, 80, N),
        "pay": RNG.normal(50, 10, N),
        "job": RNG.choice(SECRETS[:2], N),
    }
)
SCORE = ROWS["age"] + ROWS["pay"] + 20.0 * (ROWS["job"] == SECRETS[0]).cast(pl.Float64)
LABELS = np.where(SCORE.to_numpy() + RNG.normal(0, 4, N) > 110, *SECRETS[2:])
ENCODER = ColumnTransformer(
    [("job", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["job"])],
    remainder="passthrough",
)
TREE = make_pipeline(ENCODER, DecisionTreeClassifier(max_depth=3, random_state=0))
BUDGET = AttackerBudget.of_table(ROWS, most=0.1)
FEW: dict[str, Any] = {"partitions": None, "hardened": False, "attacked_rows": 100}


@pytest.fixture(scope="module")
def found():
    return assess_robustness(
        TREE,
        ROWS,
        LABELS,
        budget=BUDGET,
        shares=(0.2,),
        partitions=5,
        k=5,
        groups="job",
        attacked_rows=40,
    )


def test_each_defence_is_compared_with_the_plain_model(found):
    assert [it.name for it in found.models] == ["plain", "hardened", "5 partitions", "5-anonymous"]
    assert (found.rows, found.held_out_rows, found.scored_by) == (450, 150, "accuracy")
    plain = found.models[0]
    assert plain.score > 0.8
    assert plain.costs.exact.all()
    assert all(it.costs is not None for it in found.models)
    for name, cost in found.clean_costs.items():
        model = next(it for it in found.models if it.name == name)
        assert cost == plain.score - model.score
    whose = {"class 1 of 2", "class 2 of 2", "job 1 of 2", "job 2 of 2"}
    assert set(plain.flipped_by_part) == whose


def key_of(finding):
    return finding.outcome.attack, finding.outcome.measure, finding.outcome.group


def test_the_plain_model_is_the_positive_control(found):
    controls = {key_of(it): it.outcome for it in found.models[0].attacks.findings}
    for model in found.models:
        for it in model.attacks.findings:
            assert it.outcome.census or it.positive_control is not None
            # Of partitions fewer rows are asked.
            if key_of(it) in controls and model.name != "5 partitions":
                assert it.positive_control == controls[key_of(it)]
            assert it.raw_may_resist == (model.name != "plain")


def test_certified_accuracy_starts_at_the_accuracy_and_falls(found):
    plain, _, parts, _ = found.models
    assert parts.certified[0] == parts.score
    assert all(np.diff(parts.certified) <= 0)
    assert len(parts.certified) <= 3  # five votes survive two hostile rows at most
    assert plain.certified == ()


def test_what_poisoning_does_is_drawn_from_what_attacks_measured(found):
    kinds = {
        *("random-flips: accuracy", "targeted-flips: accuracy", "insertions: accuracy"),
        *("backdoor: accuracy", "targeted-flips: targeted error", "insertions: targeted error"),
        "backdoor: trigger rate",
    }
    for model in found.models:
        assert set(model.curves) == kinds
        rates = {key_of(it)[:2]: it.outcome for it in model.attacks.findings}
        backdoor = rates["poisoning/backdoor", "trigger rate at 20 % hostile rows"]
        ends = ((0.0, backdoor.control.value), (0.2, backdoor.success.value))
        assert model.curves["backdoor: trigger rate"] == ends
        lost = rates["poisoning/random-flips", "accuracy lost at 20 % hostile rows"].success.value
        accuracy = dict(model.curves["random-flips: accuracy"])
        assert accuracy[0.0] - accuracy[0.2] == pytest.approx(lost)
    assert found.models[0].curves["backdoor: trigger rate"][1][1] > 0.9
    assert "A backdoor of 20 % hostile rows works in" in found.sentences[0]


def test_the_same_seed_gives_the_same_numbers():
    numbers = [
        assess_robustness(TREE, ROWS, LABELS, budget=BUDGET, shares=(0.1,), random_state=3, **FEW)
        for _ in range(2)
    ]
    assert numbers[0].to_dict() == numbers[1].to_dict()


def test_each_stage_says_which_share_of_it_is_done_and_no_model_is_attacked_twice():
    told: dict[str, list[float | None]] = {}
    assess_robustness(
        TREE,
        ROWS,
        LABELS,
        budget=BUDGET,
        shares=(0.05, 0.2),
        **{**FEW, "hardened": True},
        progress=lambda stage, share=None: told.setdefault(stage, []).append(share),
    )
    assert list(told) == ["plain", "hardened", "suspicious rows", "suspicious blocks"]
    for name in ("plain", "hardened"):  # itself, without hostile rows, by four poisons of two sizes
        assert told[name] == pytest.approx(np.arange(10) / 10)
    assert told["suspicious blocks"] == pytest.approx(np.arange(11) / 11)


def test_a_pipeline_that_reads_pandas_alone_gets_a_hint():
    texts = make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer((OneHotEncoder(), texts), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier())
    with pytest.raises(DataError) as caught:
        assess_robustness(model, ROWS, LABELS, budget=BUDGET, shares=(), **FEW)
    assert "make_column_selector" in str(caught.value.hint)


def test_a_constant_model_cant_be_flipped():
    model = DummyClassifier(strategy="constant", constant=SECRETS[2])
    found = assess_robustness(model, ROWS, LABELS, budget=BUDGET, shares=(), **FEW)
    plain: Any = found.models[0]
    assert plain.costs.share_flipped == 0
    assert np.isinf(plain.costs.found).all()
    assert plain.score == pytest.approx(np.mean(SECRETS[2] == LABELS), abs=0.1)
    assert plain.flipped_by_part["class 2 of 2"] == 0
    assert "<svg" in found.to_html()
    json.dumps(found.to_dict(), allow_nan=False)


def test_wrong_labels_are_found_by_row_number():
    far = np.repeat([0, 100], N // 2)
    rows = pl.DataFrame({"x": far + RNG.normal(0, 1, N), "y": far + RNG.normal(0, 1, N)})
    labels, wrong = far.copy(), np.arange(7, N, 80)
    labels[wrong] = 100 - labels[wrong]
    budget = AttackerBudget.of_table(rows, most=0.1)
    tree = DecisionTreeClassifier(max_depth=1)
    found = assess_robustness(tree, rows, labels, budget=budget, shares=(), **FEW)
    held_out = set(wrong.tolist()) - set(found.suspicious_rows)
    assert set(found.suspicious_rows[: len(wrong) - len(held_out)]) <= set(wrong.tolist())
    assert len(held_out) < 5


def test_a_hostile_block_is_found_by_row_numbers():
    rows, x = pl.DataFrame({"x": np.tile(np.arange(60.0), 10)}), np.tile(np.arange(60), 10)
    labels = (x >= 30).astype(int)
    labels[180:240] = 1 - labels[180:240]
    budget = AttackerBudget.of_table(rows, most=0.1)
    tree = DecisionTreeClassifier(max_depth=1)
    found = assess_robustness(tree, rows, labels, budget=budget, shares=(), **FEW)
    assert found.suspicious_blocks[0][:2] == (180, 239)
    firsts = sorted(first for first, _, _ in found.suspicious_blocks)
    assert firsts == list(range(0, N, 60))


def test_a_regressor_is_flipped_by_a_difference():
    rows = ROWS.drop("job")
    budget = AttackerBudget(columns={"pay": ColumnBudget(cost=1.0)}, most=2.0)
    arguments: dict[str, Any] = {"budget": budget, "shares": (), **FEW, "partitions": 5}
    y = 3 * rows["pay"].to_numpy()
    found = assess_robustness(LinearRegression(), rows, y, difference=6.3, **arguments)
    assert found.scored_by == "R²"
    assert len(found.models) == 1
    plain: Any = found.models[0]
    # A unit of pay costs 1 and moves the prediction by 3.
    assert plain.costs.median == pytest.approx(2.1)
    assert found.suspicious_rows == ()
    with pytest.raises(ParameterError, match="difference"):
        assess_robustness(LinearRegression(), rows, y, **arguments)


def test_columns_of_arrays_go_by_their_numbers():
    rows = ROWS.drop("job").to_numpy()
    budget = AttackerBudget(columns={"0": ColumnBudget()}, most=0.1)
    tree = DecisionTreeClassifier(max_depth=2)
    found = assess_robustness(tree, rows, LABELS, budget=budget, shares=(), **FEW)
    plain: Any = found.models[0]
    assert plain.costs.shares_changed == {"0": 1}


def test_nothing_that_is_shown_holds_a_value(found):
    shown = [found.to_html(), json.dumps(found.to_dict()), repr(found), found._repr_html_()]
    shown += [str(found), *found.sentences, *(repr(it) for it in found.models)]
    for text in shown:
        assert "job" in text or len(text) < 3000
        for secret in SECRETS:
            assert secret not in text


def test_the_page_says_what_was_measured(found):
    page = found.to_html()
    assert "<script" not in page
    for model in found.models:
        assert model.name in page
        assert f"{model.score:.3f}" in page
    assert "prefers-color-scheme: dark" in page
    for row in found.suspicious_rows:
        assert f"{row:,}" in page


def test_pictures_stay_in_their_frames_and_name_their_lines(found):
    pictures = re.findall(r'<svg class="chart".*?</svg>', found.to_html(), re.DOTALL)
    assert len(pictures) >= 5  # the costs of four models, and what is certified of one
    for picture in map(ET.fromstring, pictures):
        _, _, width, height = map(float, picture.attrib["viewBox"].split())
        for path in picture.iter("path"):
            points = [it.split() for it in path.attrib["d"].removeprefix("M").split("L")]
            for x, y in points:
                assert 0 <= float(x) <= width
                assert 0 <= float(y) <= height
        names = [it for it in picture.iter("text") if it.get("class") == "strong"]
        lines = [it for it in picture.iter("path") if "rule" not in it.attrib["class"]]
        assert 2 * len(names) == len(lines) > 0  # each with a sample beside its name
        heights = sorted(float(it.attrib["y"]) for it in names)
        assert all(np.diff(heights) >= 12)
        looks = {(it.attrib["class"], it.get("stroke-dasharray")) for it in lines}
        assert len(looks) == len(names)
        assert picture.findtext("desc")


def test_files_are_written_and_kept(found, tmp_path):
    found.write(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_text() == found.to_html()
    numbers = json.loads((tmp_path / "out" / "robustness.json").read_text())
    assert [it["name"] for it in numbers["models"]] == [it.name for it in found.models]
    with pytest.raises(ReleaseError):
        found.write(tmp_path / "out")
    found.write(tmp_path / "out", overwrite=True)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"estimator": len}, ParameterError),
        ({"held_out": 1.0}, ParameterError),
        ({"shares": (0.7,)}, ParameterError),
        ({"attacked_rows": 0}, ParameterError),
        ({"random_state": -1}, ParameterError),
        ({"groups": "town"}, ColumnNotFoundError),
        ({"groups": "pay"}, ParameterError),
        ({"labels": LABELS[:-1]}, DataError),
        ({"labels": [None, *LABELS[1:]]}, DataError),
        ({"rows": ROWS[:10], "labels": LABELS[:10]}, DataError),
        ({"partitions": 0}, ParameterError),
        ({"k": 0}, ParameterError),
        ({"budget": None}, ParameterError),
        ({"budget": replace(BUDGET, most=0.5, norm="columns")}, ParameterError),
    ],
)
def test_bad_arguments_are_refused_without_values(changed, error):
    given = {"estimator": TREE, "rows": ROWS, "labels": LABELS, "budget": BUDGET, "shares": ()}
    with pytest.raises(error) as caught:
        assess_robustness(**{**given, **FEW, **changed})
    assert not any(secret in str(caught.value) for secret in SECRETS)


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier, lambda rows: rows, None, OneHotEncoder()]
)
def test_what_cant_be_trained_is_refused(estimator):
    with pytest.raises(ParameterError, match="must be a classifier or a regressor"):
        assess_robustness(estimator, ROWS, LABELS, budget=BUDGET)
