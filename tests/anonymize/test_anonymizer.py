"""The Anonymizer as scikit-learn, frames of three libraries, and a reader of messages see it."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from halfmask._errors import (
    ColumnNotFoundError,
    ColumnWarning,
    GuaranteeNotMetError,
    HierarchyError,
    ParameterError,
    SchemaError,
)
from halfmask.anonymize import (
    Anonymizer,
    Centroid,
    Guided,
    Level,
    Mondrian,
    Ranges,
    Representative,
)
from halfmask.data import Groups, Hierarchy, Intervals
from halfmask.guarantees import DistinctLDiversity, KAnonymity, TCloseness, measure

K2 = [KAnonymity(k=2)]
LIBRARIES = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


@pytest.mark.slow
@parametrize_with_checks(
    [
        Anonymizer(guarantees=K2),
        Anonymizer(guarantees=K2, method=Guided()),
        Anonymizer(guarantees=K2, recoding=Centroid(numeric="median")),
        Anonymizer(guarantees=K2, recoding=Representative(), max_suppression_fraction=0.1),
    ]
)
def test_scikit_learn_takes_it_for_an_estimator(estimator, check):
    check(estimator)


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice(["rome", "oslo", "lyon", "paris"], n),
            "income": np.round(rng.lognormal(3, 1, n), 2),
            "ill": rng.choice(["flu", "cold", "none"], n),
        }
    )


def smallest(frame, names):
    return int(frame.group_by(names).len()["len"].to_numpy().min())


# --- frames ---


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("recoding", [None, Ranges(), Representative()], ids=repr)
def test_the_same_kind_of_frame_comes_out(library, recoding):
    frame = LIBRARIES[library](people())
    quasi = ["age", "city", "income"]
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=7)], quasi_identifiers=quasi, recoding=recoding
    )

    fitted, later = anonymizer.fit_transform(frame), anonymizer.transform(frame)

    assert type(fitted) is type(later) is type(frame)
    released = pl.DataFrame(fitted)
    assert released.equals(pl.DataFrame(later))
    assert smallest(released, quasi) >= 7
    assert released["ill"].to_list() == people()["ill"].to_list()


def test_a_lazy_frame_comes_out_lazy():
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=7)])

    written = anonymizer.fit_transform(people().lazy())

    assert isinstance(written, pl.LazyFrame)
    assert written.collect().equals(anonymizer.fit_transform(people()))


def test_a_lazy_frame_is_read_once_whose_rows_come_in_another_order_each_time():
    reads = []

    def turned(frame):
        reads.append(frame.height)
        return frame if len(reads) % 2 else frame.reverse()

    lazy = people().lazy().map_batches(turned)
    guarantees = [KAnonymity(k=7), DistinctLDiversity(l=2, column="ill")]

    written = Anonymizer(guarantees=guarantees).fit_transform(lazy).collect()

    assert len(reads) == 1
    expected = Anonymizer(guarantees=guarantees).fit_transform(people())
    assert written.equals(expected)


def test_all_libraries_are_anonymized_alike():
    written = [
        Anonymizer(guarantees=[KAnonymity(k=5)], recoding=Ranges()).fit_transform(to(people()))
        for to in LIBRARIES.values()
    ]

    rows = [pl.DataFrame(frame).rows() for frame in written]
    assert rows[0] == rows[1] == rows[2]


def test_the_index_of_pandas_stays():
    frame = people(20).to_pandas().set_index(pd.Index(range(100, 120), name="row"))

    released = Anonymizer(guarantees=K2).fit_transform(frame)

    pd.testing.assert_index_equal(released.index, frame.index)


def test_the_frame_that_is_given_is_left_alone():
    frame, before = people(), people()

    Anonymizer(guarantees=K2).fit_transform(frame)

    assert frame.equals(before)


def test_missing_cells_of_pandas_are_missing():
    frame = pd.DataFrame({"age": [1.0, float("nan"), 3.0, 4.0], "city": ["a", None, "a", "a"]})

    released = Anonymizer(guarantees=[KAnonymity(k=4)], recoding=Ranges()).fit_transform(frame)

    assert released["age"].tolist() == ["[1.0, 4.0] or missing"] * 4
    assert released["city"].tolist() == ["a or missing"] * 4


def test_categories_of_pandas_and_dictionaries_of_arrow():
    frame = pd.DataFrame({"city": pd.Categorical(["a", "b", "a", "b"], categories=["c", "b", "a"])})
    table = pa.table({"city": pa.array(["a", "b", "a", "b"]).dictionary_encode()})

    for each in (frame, table):
        released = Anonymizer(guarantees=K2, recoding=Ranges()).fit_transform(each)
        assert pl.DataFrame(released)["city"].cast(pl.String).to_list() == ["a", "b", "a", "b"]


# --- arrays ---


def test_arrays_of_numbers_come_out_as_numbers():
    released = Anonymizer(guarantees=K2).fit_transform(np.array([[1, 10], [2, 20], [8, 9], [9, 9]]))

    assert released.tolist() == [[1.5, 15.0], [1.5, 15.0], [8.5, 9.0], [8.5, 9.0]]


def test_arrays_of_objects_and_positions():
    rows = np.array([["a", 1.0], ["a", 2.0], ["b", 8.0], ["b", None]], dtype=object)

    by_name = Anonymizer(guarantees=K2, quasi_identifiers=["x1"], recoding=Ranges())
    for position in (1, np.int64(1)):
        released = clone(by_name).set_params(quasi_identifiers=[position]).fit_transform(rows)

        assert released[:, 0].tolist() == ["a", "a", "b", "b"]
        assert released[:, 1].tolist() == ["[1.0, 2.0]"] * 2 + ["8.0 or missing"] * 2
        assert released.tolist() == by_name.fit_transform(rows).tolist()


@pytest.mark.parametrize("position", [2, -1, "x9", "1"])
def test_a_column_that_is_not_there(position):
    with pytest.raises(ColumnNotFoundError, match="not in the table"):
        Anonymizer(guarantees=K2, quasi_identifiers=[position]).fit(np.zeros((5, 2)))


# --- guides ---


def test_guided_by_classes_predictions_and_numbers():
    frame = people()
    young = (frame["age"] < 40).to_numpy()
    probabilities = np.column_stack([young * 0.9, 1 - young * 0.9])
    three = np.column_stack([young * 0.5, young * 0.3, 1 - young * 0.8])
    for y in (young, young.astype(str), young * 1.0, probabilities, three, pl.Series(young)):
        anonymizer = Anonymizer(guarantees=[KAnonymity(k=10)], method=Guided())
        released = anonymizer.fit_transform(frame, y)
        assert smallest(released, released.columns) >= 10
        ages, partition = anonymizer.plan_.codings[0], anonymizer.plan_.partition
        assert int(partition.feature[0]) == 0
        assert ages.codes(pl.Series([39])).tolist() == [int(partition.cut[0])]


def test_guided_classes_keep_what_a_learner_needs():
    frame = people(600)
    young = (frame["age"] < 40).to_numpy()
    encoder = OrdinalEncoder()
    numbers = encoder.fit_transform(frame.select("age", "city", "income"))
    learner = make_pipeline(
        Anonymizer(guarantees=[KAnonymity(k=25)], method=Guided()),
        DecisionTreeClassifier(random_state=0),
    )

    assert learner.fit(numbers, young).score(numbers, young) > 0.95


def test_a_guided_method_without_a_guide():
    with pytest.raises(ParameterError, match="requires y to be passed"):
        Anonymizer(guarantees=K2, method=Guided()).fit(people())


def test_a_guide_of_another_length():
    with pytest.raises(ParameterError, match="300 and 2"):
        Anonymizer(guarantees=K2, method=Guided()).fit(people(), [0, 1])


# --- new rows ---


def test_a_category_never_seen_is_an_error_or_suppressed():
    frame = people()
    new = frame[:3].with_columns(city=pl.Series(["rome", "canary", "oslo"]))
    quasi = ["age", "city"]
    strict = Anonymizer(guarantees=K2, quasi_identifiers=quasi).fit(frame)
    loose = Anonymizer(guarantees=K2, quasi_identifiers=quasi, unseen="suppress").fit(frame)

    with pytest.raises(SchemaError, match="'city' has 1 cells") as caught:
        strict.transform(new)
    written = loose.transform(new)

    assert "canary" not in str(caught.value)
    assert written["city"].null_count() == written["age"].null_count() == 1
    assert written["ill"].to_list() == new["ill"].to_list()


def test_columns_may_change_their_order_but_not_their_names():
    frame = people()
    anonymizer = Anonymizer(guarantees=K2).fit(frame)

    with pytest.raises(ValueError, match="feature names"):
        anonymizer.transform(frame.rename({"age": "years"}))


def test_numbers_outside_of_the_fit_go_to_the_nearest_class():
    anonymizer = Anonymizer(guarantees=K2).fit(np.array([[1.0], [2.0], [8.0], [9.0]]))

    assert anonymizer.transform(np.array([[-5.0], [99.0]])).tolist() == [[1.5], [8.5]]


# --- suppression ---


def test_suppressed_rows_stay_in_place_with_nothing_left():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": [20] * 30 + [90] * 30, "ill": ["flu", "cold"] * 30})
    frame = frame.with_columns(
        ill=pl.when(pl.int_range(60) < 30).then(pl.lit("flu")).otherwise("ill")
    )
    frame = frame[rng.permutation(60)]
    guarantees = [KAnonymity(k=5), TCloseness(t=0.3, column="ill")]

    anonymizer = Anonymizer(
        guarantees=guarantees, quasi_identifiers=["age"], max_suppression_fraction=0.2
    )
    released = anonymizer.fit_transform(frame)

    gone = released["age"].is_null()
    assert gone.sum() <= 12
    np.testing.assert_array_equal(gone.to_numpy(), anonymizer.cells_ < 0)
    assert released["ill"].equals(frame["ill"])
    assert all(judgement.holds for judgement in anonymizer.judgements_)


@pytest.mark.parametrize("fraction", [-0.1, 1.5, float("nan")])
def test_a_fraction_is_one(fraction):
    with pytest.raises(ParameterError, match="max_suppression_fraction"):
        Anonymizer(guarantees=K2, max_suppression_fraction=fraction).fit(people())


# --- schema ---


def test_what_a_guarantee_judges_is_not_recoded_unless_asked():
    guarantees = [KAnonymity(k=5), DistinctLDiversity(l=2, column="ill")]

    anonymizer = Anonymizer(guarantees=guarantees).fit(people())

    assert anonymizer.plan_.quasi_identifiers == ("age", "city", "income")
    released = anonymizer.transform(people())
    judged = measure(
        released, quasi_identifiers=anonymizer.plan_.quasi_identifiers, guarantees=guarantees
    )
    assert all(judgement.holds for judgement in judged)
    assert [judgement.achieved for judgement in judged] == [
        judgement.achieved for judgement in anonymizer.judgements_
    ]


def test_hierarchies_and_kinds():
    tree = Groups({"south": ["rome", "lyon"], "north": ["oslo", "paris"]})
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=40)],
        quasi_identifiers=["age", "city"],
        hierarchies={"age": Intervals(widths=(10, 20), origin=0), "city": tree},
        kinds={"age": "numeric"},
        recoding=Level(),
    )

    released = anonymizer.fit_transform(people())

    assert set(released["city"]) <= {"rome", "oslo", "lyon", "paris", "south", "north", "*"}
    assert all(age == "*" or age.startswith("[") for age in released["age"])
    assert smallest(released, ["age", "city"]) >= 40


def test_numbers_may_be_categories():
    frame = pl.DataFrame({"zip": [1, 2, 3, 1, 2, 3]})

    released = Anonymizer(
        guarantees=[KAnonymity(k=6)], kinds={"zip": "categorical"}, recoding=Ranges()
    ).fit_transform(frame)

    assert set(released["zip"]) == {"{1, 2, 3}"}


@pytest.mark.parametrize("said", ["hierarchies", "kinds"])
def test_what_is_said_of_a_column_that_is_not_there(said):
    value = {"agee": Intervals(widths=(5,)) if said == "hierarchies" else "numeric"}
    anonymizer = Anonymizer(guarantees=K2).set_params(**{said: value})

    with pytest.raises(ColumnNotFoundError, match="Did you mean 'age'"):
        anonymizer.fit(people())


# --- errors, all without a value ---


@pytest.mark.parametrize(
    ("arguments", "frame", "error", "says"),
    [
        ({"kinds": {"a": "numeric"}}, {"a": ["canary", "x"]}, SchemaError, "has kind numeric"),
        ({}, {"a": [1.0, float("inf")]}, SchemaError, "infinite"),
        ({"hierarchies": {"a": Hierarchy.from_rows([("x", "*")], column="a")}},
         {"a": ["canary", "x"]}, HierarchyError, "lacks 1 value"),
        ({}, {"a": [["canary"], ["x"]]}, SchemaError, "List"),
        ({"unseen": "ignore"}, {"a": [1, 2]}, ParameterError, "unseen"),
        ({"guarantees": [KAnonymity(k=3)]}, {"a": [1, 2]}, ParameterError, "At least 3"),
        ({"guarantees": [DistinctLDiversity(l=3, column="b")]},
         {"a": [1, 2, 3], "b": ["canary", "x", "x"]}, GuaranteeNotMetError, "can't be met"),
        ({"guarantees": []}, {"a": [1, 2]}, ParameterError, "at least one guarantee"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(arguments, frame, error, says):
    with pytest.raises(error, match=says) as caught:
        Anonymizer(guarantees=K2).set_params(**arguments).fit(pl.DataFrame(frame))

    assert "canary" not in str(caught.value)


# --- a value ---


def test_clones_and_parameters():
    anonymizer = Anonymizer(
        guarantees=K2,
        method=Mondrian(strict=False),
        quasi_identifiers=["age"],
        recoding=Level(),
        hierarchies={"age": Intervals(widths=(5,))},
        kinds={"age": "numeric"},
        max_suppression_fraction=0.125,
        unseen="suppress",
    )

    assert clone(anonymizer).get_params() == anonymizer.get_params()
    assert anonymizer.set_params(unseen="error").unseen == "error"


def test_a_fitted_one_survives_a_pickle():
    """joblib does this to estimators; halfmask itself never reads a pickle."""
    anonymizer = Anonymizer(guarantees=K2).fit(people())

    again = pickle.loads(pickle.dumps(anonymizer))  # noqa: S301 # our own, made above

    assert again.transform(people()).equals(anonymizer.transform(people()))


@pytest.mark.parametrize("strict", [True, False])
def test_relaxed_cells_keep_their_promise_on_the_rows_of_the_fit(strict):
    frame = pl.DataFrame({"age": [30] * 40 + [31] * 3, "city": ["a", "b"] * 21 + ["a"]})
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=3)], method=Mondrian(strict=strict), recoding=Ranges()
    )

    released = anonymizer.fit_transform(frame)

    assert smallest(released, ["age", "city"]) >= 3


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_rows(n):
    frame = people(n)

    released = Anonymizer(guarantees=[KAnonymity(k=n)], recoding=Ranges()).fit_transform(frame)

    assert released.n_unique() == 1


def test_constant_columns():
    frame = pl.DataFrame({"a": [5] * 10, "b": ["x"] * 10, "c": range(10)})

    released = Anonymizer(guarantees=[KAnonymity(k=5)], recoding=Ranges()).fit_transform(frame)

    assert released["a"].unique().to_list() == ["5"]
    assert released["c"].to_list() == ["[0, 4]"] * 5 + ["[5, 9]"] * 5


def test_a_column_without_a_value_is_of_any_type():
    table = pd.DataFrame({"age": [41, 17, 33, np.nan], "town": ["Bree", "Dale", "Bree", None]})
    fitted = Anonymizer(guarantees=[KAnonymity(k=1)]).fit(table)

    for dtype in (float, object):
        gap = pd.DataFrame({"age": [None] * 2, "town": [None] * 2}, dtype=dtype)
        assert fitted.transform(gap).isna().all().all()


def test_a_time_with_a_zone_is_not_one_without():
    times = pl.Series([f"2020-01-0{i} 10:00" for i in range(1, 5)]).str.to_datetime()
    fitted = Anonymizer(guarantees=[KAnonymity(k=2)]).fit(pl.DataFrame({"seen": times}))

    with pytest.raises(SchemaError, match="'seen' held Datetime"):
        fitted.transform(pl.DataFrame({"seen": times.dt.replace_time_zone("UTC")}))


def test_texts_that_are_nearly_numbers_are_reported():
    table = pl.DataFrame({"pay": ["NA", *map(str, range(40))]})
    anonymizer = Anonymizer(guarantees=[KAnonymity(k=2)])

    with pytest.warns(ColumnWarning, match="'pay' looks like numbers"):
        anonymizer.fit(table)
    anonymizer.set_params(kinds={"pay": "categorical"}).fit(table)
