"""Models as the Minimizer asks them: any table they take, and what they may answer."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from halfmask._errors import (
    DataError,
)
from halfmask.minimize import Minimizer
from minimize.people_rule import (  # type: ignore[import-not-found] # beside, not in a package
    CITIES,
    minimized,
    people,
)

LIBRARIES = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def test_numbers_that_are_categories():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 6, 2000), rng.integers(0, 6, 2000)])

    minimizer = Minimizer(
        lambda x: np.isin(x[:, 0], [1, 4]), target_accuracy=0.98, categorical=[0], random_state=0
    ).fit(rows)

    parts = minimizer.generalizations_["x0"].parts
    assert sorted(p.values for p in parts) == [(0, 2, 3, 5), (1, 4)]  # no frame's


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_three_libraries(library):
    turn = LIBRARIES[library]
    frame = turn(people())

    minimizer = minimized().fit(frame)
    written = minimizer.transform(frame)

    assert type(written) is type(frame)
    assert pl.DataFrame(written).equals(minimized().fit_transform(people()))
    assert pl.DataFrame(written).schema == people().schema


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_not_needed_need_not_be_collected(library):
    turn = LIBRARIES[library]
    minimizer = minimized().fit(turn(people()))

    whole = minimizer.transform(turn(people(50, seed=1)))
    less = minimizer.transform(turn(people(50, seed=1).drop("shoe")))

    assert pl.DataFrame(less).equals(pl.DataFrame(whole))
    with pytest.raises(ValueError, match="feature names"):
        minimizer.transform(turn(people(50).drop("age")))


def test_a_lazy_frame_need_not_have_what_is_not_needed():
    minimizer, less = minimized().fit(people()), people(50, seed=1).drop("shoe")
    assert minimizer.transform(less.lazy()).equals(minimizer.transform(less))


def test_arrays_of_objects():
    rng = np.random.default_rng(0)
    rows = np.empty((2000, 2), dtype=object)
    rows[:, 0], rows[:, 1] = rng.choice(CITIES, 2000), rng.integers(0, 90, 2000).astype(float)

    minimizer = Minimizer(lambda x: x[:, 1] > 50, target_accuracy=0.98, random_state=0).fit(rows)
    written = minimizer.transform(rows)

    assert minimizer.generalizations_.not_needed == ("x0",)
    assert (written[:, 1].astype(float) > 50).tolist() == (rows[:, 1].astype(float) > 50).tolist()


@pytest.mark.parametrize("as_given", [np.asarray, lambda rows: pl.DataFrame(rows, ["x0", "x1"])])
def test_missing_cells_are_an_answer(as_given):
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(2500, 2))
    rows[::3, 0] = np.nan

    def model(x):
        first = np.asarray(x)[:, 0]
        return np.where(np.isnan(first), 2, first > 0.5)

    minimizer = Minimizer(model, target_accuracy=0.97, random_state=0).fit(as_given(rows))

    parts = minimizer.generalizations_["x0"].parts
    assert parts[-1].label == "missing"
    assert parts[-1].representative is None
    assert np.isnan(np.asarray(minimizer.transform(as_given(rows)))[::3, 0]).all()
    json.loads(minimizer.generalizations_.to_json())


def test_dates_are_cut_by_order():
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2023, 12, 31), eager=True)
    frame = pl.DataFrame({"born": days})

    minimizer = Minimizer(
        lambda rows: (rows["born"].dt.year() >= 2022).to_numpy(),
        target_accuracy=0.97,
        random_state=0,
    ).fit(frame)

    said = json.loads(minimizer.generalizations_.to_json())["features"][0]
    assert said["asked"] == "ranges"
    assert all(part["low"][:2] == "20" for part in said["parts"][1:])
    assert minimizer.transform(frame).schema == frame.schema


class Broken:
    """A model that goes wrong after so many rows."""

    def __init__(self, after, wrong):
        self.after, self.wrong = after, wrong

    def predict(self, rows):
        self.after -= len(rows)
        found = rows[:, 0] > 0.5
        return found if self.after > 0 else self.wrong(found)


def shout(_):
    raise RuntimeError("canary")


@pytest.mark.parametrize("after", [0, 2500])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (shout, "failed on .* rows .RuntimeError."),
        (lambda found: np.where(found, np.nan, 1.0), "NaN, infinite or missing"),
        (lambda found: np.array([None if f else "canary" for f in found]), "missing"),
        (lambda found: found[:-1], "one prediction for each"),
        (lambda found: np.column_stack([found, found]), "one prediction for each"),
    ],
)
def test_a_model_that_fails_at_once_or_half_way(after, wrong, says):
    rows = np.random.default_rng(0).uniform(size=(1000, 2))

    with pytest.raises(DataError, match=says) as caught:
        Minimizer(Broken(after, wrong), target_accuracy=0.9, random_state=0).fit(rows)

    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_texts_beside_a_regression_are_refused_without_one():
    rows = np.random.default_rng(0).normal(size=(100, 1))
    model = Minimizer(
        lambda each: 2.5 * each[:, 0], target_accuracy=0.9, scoring="accuracy", random_state=0
    )
    with pytest.raises(DataError, match=r"predicts numbers, and y holds something else") as caught:
        model.fit(rows, ["xqcanary"] * 100)
    assert "xqcanary" not in str(caught.value)


def test_a_regression_that_answers_texts_quotes_none():
    class Wordy(RegressorMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
        def predict(self, rows):
            return np.array(["xqcanary"] * len(rows))

    with pytest.raises(DataError, match=r"gave no numbers \(ValueError\)") as caught:
        Minimizer(Wordy(), target_accuracy=0.9, random_state=0).fit(
            np.arange(400.0).reshape(200, 2)
        )
    assert "xqcanary" not in str(caught.value)
