"""Explored points: the numbers of a release, reasons of refusals, and no cell anywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl
import pytest

import halfmask
from halfmask._errors import (
    ColumnNotFoundError,
    DataError,
    ParameterError,
    PolicyError,
    SchemaError,
)
from halfmask.microdata import Policy, explore, protect
from halfmask.microdata.exploring import trial_sentences
from halfmask.microdata.exploring.axes import point_labels

CANARY = "CANARY"
TEXT = """
halfmask = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi_identifier", kind = "numeric", hierarchy = { intervals = [5, 20] } }
town = { role = "quasi_identifier", kind = "text", weight = 2, hierarchy = { prefix = [8] } }
ill = { role = "sensitive", kind = "categorical" }
buys = { role = "insensitive", kind = "categorical", label = true }
[[guarantees]]
model = "k-anonymity"
k = 4
[[guarantees]]
model = "distinct-l-diversity"
l = 2
column = "ill"
"""
POLICY = Policy.from_toml(TEXT)


def people(n=300):
    return pl.DataFrame(
        {
            "name": [f"{CANARY}-{row}" for row in range(n)],
            "age": [18 + row * row % 61 for row in range(n)],
            "town": [f"{CANARY}-{'ab'[row % 2]}{row * 7 % 5}" for row in range(n)],
            "ill": [f"{CANARY}-{row * row // 5 % 4}" for row in range(n)],
            "buys": ["yes" if row * 3 % 7 < 3 else "no" for row in range(n)],
        }
    )


PEOPLE = people()


@pytest.fixture(scope="module")
def found():
    return explore(PEOPLE, POLICY, k=[3, 1000], max_suppression=[0, 0.05], max_points=100)


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    out = tmp_path_factory.mktemp("explored") / "out"
    found.write(out)
    return out


def is_measured_as_released(folder, point):
    """Compare a point with the release that its policy file makes."""
    policy = Policy.load(folder / "policies" / point.asked.file)
    release = protect(PEOPLE, policy)
    risk, utility, measures = release.risk.after, release.utility, point.measures

    assert policy.guarantees() == point.asked.policy.guarantees()
    assert measures.highest == risk.prosecutor.highest.value
    assert measures.average == risk.prosecutor.average.value
    assert measures.classes == utility.class_sizes.classes
    assert measures.suppressed == utility.class_sizes.suppressed
    assert measures.discernibility == utility.class_sizes.discernibility
    assert measures.loss == pytest.approx(utility.loss.loss)
    assert measures.kept == pytest.approx(utility.detail.average)
    assert measures.non_uniform_entropy == pytest.approx(utility.measures.non_uniform_entropy)
    assert measures.ambiguity == pytest.approx(utility.measures.ambiguity)
    assert measures.squared_error == pytest.approx(utility.measures.squared_error)
    assert measures.ncp == pytest.approx(utility.loss.ncp)
    assert measures.detail == pytest.approx(dict(utility.detail.columns))
    assert measures.unique == release.risk.columns.every.share_unique
    return True


def test_a_policy_file_makes_the_release_that_was_measured(found, folder):
    assert len(found.points) > 5
    assert all(is_measured_as_released(folder, each) for each in found.points[-1:])


@pytest.mark.slow
def test_each_policy_file_makes_the_release_that_was_measured(found, folder):
    assert all(is_measured_as_released(folder, each) for each in found.points)


def test_the_comparison_finds_a_point_that_was_measured_wrongly(found, folder):
    point = found.points[-1]
    wrong = replace(point, measures=replace(point.measures, suppressed=point.measures.classes + 1))

    with pytest.raises(AssertionError):
        is_measured_as_released(folder, wrong)


@pytest.mark.slow
def test_risk_over_all_columns_is_that_of_the_released_rows(found):
    for point in found.points[-1:]:
        rows = protect(PEOPLE, point.asked.policy).data
        sizes = rows.group_by(rows.columns).len()["len"]

        assert point.measures.all_columns == pytest.approx(len(sizes) / rows.height)


@pytest.mark.slow
def test_the_risk_from_a_population_is_that_of_a_release():
    everybody = pl.concat([PEOPLE] * 3 + [PEOPLE.filter(pl.col("age") > 40)] * 5)
    found = explore(
        PEOPLE, POLICY, k=[5], methods=["mondrian"], population=everybody, risk="journalist-average"
    )

    for point in found.points:
        risk = protect(PEOPLE, point.asked.policy, population=everybody).risk.after.journalist
        assert risk is not None
        assert point.measures.journalist_highest == risk.highest.value
        assert point.measures.journalist_average == risk.average.value
    assert found.frontier


@pytest.mark.slow
def test_guarantees_about_a_population_are_explored():
    policy = POLICY.changed(guarantees=[{"model": "k-map", "k": 9}])
    everybody = pl.concat([PEOPLE] * 3)
    found = explore(
        PEOPLE, policy, k=[6, 30], methods=["mondrian"], max_suppression=[0], population=everybody
    )

    assert {each.asked.parameters["k"] for each in found.points} == {6, 9, 30}
    for point in found.points:
        release = protect(PEOPLE, point.asked.policy, population=everybody)
        journalist = release.risk.after.journalist
        assert journalist is not None
        assert point.measures.classes == release.utility.class_sizes.classes
        assert point.measures.journalist_highest == journalist.highest.value


@pytest.mark.slow
def test_the_model_of_the_label_scores_as_of_a_release():
    found = explore(
        PEOPLE,
        POLICY,
        k=[4],
        methods=["mondrian", "guided"],
        max_suppression=[0],
        label_model=True,
        utility="accuracy",
    )

    for point in found.points:
        model = protect(PEOPLE, point.asked.policy).utility.model
        assert model is not None
        assert model.released.accuracy is not None
        assert point.measures.score == model.released.accuracy
        assert point.measures.score_raw == model.raw.accuracy
        assert point.measures.lost("accuracy") == 1 - model.released.accuracy


def test_what_the_table_cannot_keep_is_listed_with_the_reason(found):
    beyond = [each for each in found.refused if each.parameters.get("k") == 1000]

    assert beyond
    assert all("reaches 300" in each.why for each in beyond if each.method != "mdav")
    assert {each.why for each in beyond if each.method == "mdav"} == {
        "Mdav weighs columns only where all quasi-identifiers are numbers or dates."
    }
    kept = [it.number for each in found.points for it in (each.asked, *each.also)]
    asked = [*kept, *(it.number for it in found.refused)]
    assert sorted(asked) == list(range(found.n_tried))


def test_the_frontier_is_what_no_point_dominates(found):
    places = {each.asked.number: found.place(each) for each in found.points}
    best = {
        number
        for number, (risk, lost) in places.items()
        if not any(a <= risk and b <= lost and (a, b) != (risk, lost) for a, b in places.values())
    }

    assert {each.asked.number for each in found.frontier} == best


@pytest.mark.slow
def test_each_guarantee_says_what_is_kept_without_it(found):
    whole, without_k, without_l = found.trials

    assert whole.without == ()
    assert whole.classes == protect(PEOPLE, POLICY).utility.class_sizes.classes
    assert without_l.without == ("distinct-l-diversity of ill (l = 2)",)
    alone = POLICY.changed(guarantees=[{"model": "k-anonymity", "k": 4}])
    release = protect(PEOPLE, alone)
    assert without_l.classes == release.utility.class_sizes.classes
    assert without_l.loss == pytest.approx(release.utility.loss.loss)
    assert without_l.detail == pytest.approx(dict(release.utility.detail.columns))
    assert without_k.classes > without_l.classes
    assert f"{without_k.classes:,} classes" in without_k.sentence


def test_the_columns_that_gain_most_without_a_guarantee_are_named(found):
    whole, without_k, _ = found.trials
    sentences = trial_sentences(found.trials)

    gains = {name: without_k.detail[name] - whole.detail[name] for name in whole.detail}
    named = [name for name, gain in gains.items() if gain >= 0.01]
    assert named
    assert all(f"{name} " in sentences[1] for name in named)
    assert "Most is gained by" in sentences[1]
    assert sentences[0] == whole.sentence


def test_without_its_only_guarantee_a_policy_keeps_the_raw_table():
    alone = POLICY.changed(guarantees=[{"model": "k-anonymity", "k": 4}])
    found = explore(PEOPLE, alone, k=[4], methods=["mondrian"])

    assert found.trials[1].classes == PEOPLE.select("age", "town").n_unique()
    assert found.trials[1].loss == 0


def test_several_guarantees_about_columns_are_also_left_out_together():
    both = POLICY.changed(
        guarantees=[
            {"model": "k-anonymity", "k": 4},
            {"model": "distinct-l-diversity", "l": 3, "column": "ill"},
            {"model": "t-closeness", "t": 0.5, "column": "ill"},
        ]
    )
    found = explore(PEOPLE, both, k=[4], methods=["mondrian"], vary={"t": [0.01]})

    together = found.trials[-1]
    assert len(together.without) == 2
    assert together.classes is not None
    assert found.trials[0].classes is not None
    assert together.classes >= found.trials[0].classes


def test_a_policy_that_cannot_be_met_still_says_which_guarantee_costs():
    strict = POLICY.changed(
        guarantees=[
            {"model": "k-anonymity", "k": 4},
            {"model": "distinct-l-diversity", "l": 5, "column": "ill"},
        ]
    )
    found = explore(PEOPLE, strict, k=[2], methods=["mondrian"])

    assert not found.points
    assert found.trials[0].classes is None
    assert found.trials[0].why
    assert (found.trials[2].classes or 0) > 1
    assert found.frontier == ()
    assert "No policy" in found.to_svg()


@pytest.mark.slow
def test_a_sample_of_rows_is_drawn_and_stated():
    found = explore(PEOPLE, POLICY, k=[2], methods=["mondrian"], rows=100)
    again = explore(PEOPLE, POLICY, k=[2], methods=["mondrian"], rows=100)

    assert (found.rows, found.table_rows) == (100, 300)
    assert found.to_dict() == again.to_dict()
    assert "100 rows drawn of 300" in found.to_svg()


@pytest.mark.slow
def test_points_are_seen_as_they_come():
    seen: list[Any] = []
    found = explore(PEOPLE, POLICY, k=[2, 400], methods=["mondrian", "mdav"], watch=seen.append)

    counts = [each.n_tried for each in seen]
    assert counts == sorted(set(counts))
    assert len(counts) > 2
    assert all(each.trials == () for each in seen)
    assert replace(seen[-1], trials=found.trials) == found
    numbers = [point.asked.number for point in seen[1].points]
    assert numbers == sorted(numbers)


@pytest.mark.slow
def test_risks_are_of_persons_where_a_person_is_the_unit():
    several = PEOPLE.with_columns(
        name=pl.Series([f"{CANARY}-{row * row % 97}" for row in range(300)]),
        ill=pl.Series(["abcd"[row * row % 97 % 4] for row in range(300)]),
    )
    policy = Policy.from_toml(TEXT.replace("halfmask = 1", 'halfmask = 1\nperson = "name"'))
    found = explore(several, policy, k=[3], methods=["mondrian"], max_suppression=[0])

    assert [each.why for each in found.refused] == []
    for point in found.points:
        release = protect(several, point.asked.policy)
        after = release.risk.after.prosecutor
        assert point.measures.highest == after.highest.value
        assert point.measures.average == after.average.value
        assert found.raw["highest"] == release.risk.before.prosecutor.highest.value
        assert found.raw["average"] == release.risk.before.prosecutor.average.value


@pytest.mark.slow
def test_masks_are_applied_before():
    masked = Policy.from_toml(
        TEXT.replace("hierarchy = { intervals = [5, 20] }", 'mask = { name = "round", base = 50 }')
    )
    found = explore(PEOPLE, masked, k=[2], methods=["mondrian"])

    assert found.raw["classes"] <= 3 * PEOPLE["town"].n_unique()
    point = found.points[0]
    assert point.measures.classes == protect(PEOPLE, masked).utility.class_sizes.classes


@pytest.mark.slow
def test_a_model_is_compared_with_one_of_the_original_columns():
    masked = Policy.from_toml(
        TEXT.replace("hierarchy = { intervals = [5, 20] }", 'mask = { name = "round", base = 50 }')
    )
    found = explore(PEOPLE, masked, k=[4], methods=["mondrian"], max_points=1, label_model=True)
    model = protect(PEOPLE, masked).utility.model

    assert model is not None
    assert found.points[0].measures.score == model.released.accuracy
    assert found.points[0].measures.score_raw == model.raw.accuracy


@pytest.mark.slow
def test_rows_with_a_missing_cell_that_is_suppressed_count_as_suppressed():
    gaps = PEOPLE.with_columns(age=pl.when(pl.col("age") < 25).then(None).otherwise("age"))
    policy = Policy.from_toml(TEXT.replace("intervals = [5, 20] }", "intervals = [5, 20] }, "
                                           'missing = "suppress"'))  # fmt: skip
    found = explore(gaps, policy, k=[3], methods=["mondrian"], max_suppression=[0])
    point = found.points[-1]
    release = protect(gaps, point.asked.policy)

    assert point.measures.suppressed == release.rows["suppressed"] > 0
    assert point.measures.loss == pytest.approx(release.utility.loss.loss)


def test_policies_whose_releases_have_the_same_rows_are_one_point(found, folder):
    merged = [each for each in found.points if each.also]
    assert merged
    for point in merged[:2]:
        rows = [
            protect(PEOPLE, Policy.load(folder / "policies" / each.file)).data
            for each in (point.asked, point.also[-1])
        ]
        assert rows[0].sort(rows[0].columns).equals(rows[1].sort(rows[1].columns))
        assert f"{point.also[-1].number} {point.also[-1].name}" in point.remark


def test_points_whose_releases_differ_are_not_merged(found):
    released = [each.released for each in found.points]
    assert len(set(released)) == len(released)
    alone = explore(PEOPLE, POLICY, k=[4, 40], methods=["mondrian"], max_suppression=[0])
    assert len({each.measures.classes for each in alone.points if not each.also}) > 1


def test_no_label_of_the_picture_is_over_another():
    """Each label's box, by the width of its letters: with a label at each point some overlap."""
    places = [(300 + 3 * n % 40, 200 + n * n % 30, str(n)) for n in range(60)]
    places += [(840, 100 + 5 * n, str(60 + n)) for n in range(9)]

    def boxes(labels):
        return [(x, y - 11, x + 6.2 * len(words), y) for x, y, words in labels]

    def overlap(one, other):
        return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]

    drawn = point_labels(places, right=876)
    assert not any(overlap(*pair) for pair in combinations(boxes(drawn), 2))
    assert all(right <= 876 for _, _, right, _ in boxes(drawn))
    assert any(overlap(*pair) for pair in combinations(boxes(places), 2))
    named = {word for *_, words in drawn for word in words.split(" and ")[0].split(", ")}
    more = sum(int(words.split()[-2]) for *_, words in drawn if words.endswith("more"))
    assert len(named) + more == len(places)


def test_no_cell_is_in_what_is_written(found, folder):
    for file in folder.rglob("*"):
        assert CANARY not in file.name
        assert file.is_dir() or CANARY not in file.read_text(encoding="utf-8")
    for shown in (repr(found), found._repr_html_(), str(found.to_dict()), str(found.to_frame())):
        assert CANARY not in shown


def test_the_search_for_cells_finds_one(tmp_path):
    """The test above has power: the table itself is found out."""
    PEOPLE.write_csv(tmp_path / "people.csv")

    assert CANARY in (tmp_path / "people.csv").read_text(encoding="utf-8")


def test_the_table_and_the_json_say_the_same(folder):
    stated = json.loads((folder / "exploration.json").read_text(encoding="utf-8"))
    table = pl.read_csv(folder / "points.csv", infer_schema_length=None)

    assert "no release" in stated["note"]
    assert table.height == len(stated["points"]) + len(stated["refused"])
    by_number = {row["number"]: row for row in table.to_dicts()}
    for point in stated["points"]:
        row = by_number[point["number"]]
        assert row["loss"] == point["loss"]
        assert row["k"] == point["parameters"]["k"]
        assert row["frontier"] == point["frontier"]
        assert row["detail:age"] == point["detail"]["age"]
        assert (folder / point["policy"]).is_file()
    for refused in stated["refused"]:
        assert by_number[refused["number"]]["why"] == refused["why"]


def test_the_picture_is_the_same_each_time_and_names_the_frontier(found, folder):
    picture = (folder / "frontier.svg").read_text(encoding="utf-8")

    assert picture == found.to_svg()
    assert picture.count("<circle") == len(found.points) + 2  # and the legend
    assert all(f">{each.asked.number}</text>" in picture for each in found.frontier)
    assert "no release" in picture


@pytest.mark.mostly_slow
@pytest.mark.parametrize("risk", ["highest", "average", "all-columns"])
@pytest.mark.parametrize("utility", ["loss", "ambiguity", "suppressed", "detail:age"])
def test_every_axis_has_a_frontier_and_a_picture(risk, utility):
    found = explore(
        PEOPLE, POLICY, k=[2, 9], methods=["mondrian"], risk=risk, utility=utility, max_points=5
    )

    assert found.frontier
    assert found.to_svg().startswith("<svg")


def test_what_exists_is_not_replaced_unless_it_is_an_exploration(found, tmp_path):
    found.write(tmp_path / "out")
    with pytest.raises(halfmask.ReleaseError):
        found.write(tmp_path / "out")
    found.write(tmp_path / "out", overwrite=True)

    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").touch()
    with pytest.raises(halfmask.ReleaseError):
        found.write(tmp_path / "home", overwrite=True)


class TestBadInput:
    @pytest.mark.slow
    def test_one_row_keeps_nothing(self):
        found = explore(PEOPLE.head(1), POLICY)

        assert not found.points
        assert all(each.why for each in found.refused)

    def test_a_policy_whose_parts_do_not_go_together_is_listed_and_others_are_tried(self):
        wrong = POLICY.changed(method={"name": "full-domain"}, recoding={"name": "representative"})
        found = explore(PEOPLE, wrong, k=[3], methods=["mondrian"], recodings=["ranges"])

        assert [each.number for each in found.refused] == [0]
        assert found.refused[0].why == found.trials[0].why != ""
        assert found.points

    def test_no_rows_are_an_error(self):
        with pytest.raises(DataError, match="no rows"):
            explore(PEOPLE.clear(), POLICY)

    def test_a_policy_of_masks_alone_has_nothing_to_vary(self):
        masks = Policy.from_toml(
            """
            halfmask = 1
            [columns.age]
            role = "insensitive"
            kind = "numeric"
            mask = { name = "round", base = 5 }
            """
        )
        with pytest.raises(PolicyError, match="nothing to vary"):
            explore(PEOPLE.select("age"), masks)

    def test_a_path_is_no_policy(self):
        with pytest.raises(ParameterError, match="must be a Policy"):
            explore(PEOPLE, "policy.toml")  # type: ignore[arg-type] # that is the test

    def test_a_column_without_a_section_is_an_error(self):
        with pytest.raises(SchemaError):
            explore(PEOPLE.with_columns(more=1), POLICY)

    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ({"risk": "high"}, ParameterError),
            ({"risk": "journalist-highest"}, ParameterError),
            ({"utility": "beauty"}, ParameterError),
            ({"utility": "accuracy"}, ParameterError),
            ({"utility": "detail:ill"}, ColumnNotFoundError),
            ({"max_points": 0}, ParameterError),
            ({"rows": 0}, ParameterError),
            ({"random_state": -1}, ParameterError),
            ({"methods": ["mondrain"]}, ParameterError),
            ({"key": b"short"}, ParameterError),
        ],
    )
    def test_a_wrong_argument_is_an_error(self, given, error):
        with pytest.raises(error):
            explore(PEOPLE, POLICY, **given)

    def test_a_model_without_a_label_is_an_error(self):
        with pytest.raises(ParameterError, match="no label"):
            explore(PEOPLE, Policy.from_toml(TEXT.replace(", label = true", "")), label_model=True)

    def test_a_recoding_without_a_hierarchy_can_be_asked_for(self):
        plain = TEXT.replace(", hierarchy = { intervals = [5, 20] }", "")
        plain = plain.replace(", hierarchy = { prefix = [8] }", "")

        found = explore(
            PEOPLE, Policy.from_toml(plain), k=[3], methods=["mondrian"], recodings=["level"]
        )

        assert found.points
