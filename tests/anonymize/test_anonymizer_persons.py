"""`Anonymizer` with a person who has several rows."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from halfmask._errors import ColumnNotFoundError, GuaranteeNotMetError, ParameterError, SchemaError
from halfmask.anonymize import Anonymizer, FullDomain, Mdav, Mondrian
from halfmask.anonymize.recodings import Level, Ranges
from halfmask.data import Intervals
from halfmask.guarantees import DistinctLDiversity, KAnonymity

K = 3
METHODS: dict[str, Any] = {
    "mondrian": {"method": Mondrian(), "recoding": Ranges()},
    "mdav": {"method": Mdav()},
    "full-domain": {
        "method": FullDomain(),
        "recoding": Level(),
        "hierarchies": {name: Intervals(widths=(2, 4, 8, 32)) for name in ("age", "pay")},
    },
}


def visits(seed, n=60, persons=14):
    draw = random.Random(seed)
    rows = [
        (
            f"p{min(draw.randrange(persons), draw.randrange(persons))}",
            draw.randrange(30),
            draw.randrange(20),
        )
        for _ in range(n)
    ]
    return pl.DataFrame(rows, schema=["who", "age", "pay"], orient="row")


def fewest_persons(released, who):
    found = defaultdict(set)
    for key, person in zip(released.select("age", "pay").rows(), who, strict=True):
        found[key].add(person)
    return min(len(each) for key, each in found.items() if key != (None, None))


@pytest.mark.mostly_slow
@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10**6))
def test_each_class_has_k_persons(method, seed):
    frame = visits(seed)
    released = Anonymizer(
        guarantees=[KAnonymity(k=K)], person="who", **METHODS[method]
    ).fit_transform(frame)
    assert released.columns == ["age", "pay"]
    assert fewest_persons(released, frame["who"]) >= K


def test_without_the_person_classes_of_too_few_persons_are_found():
    found = []
    for seed in range(5):
        frame = visits(seed)
        released = Anonymizer(
            guarantees=[KAnonymity(k=K)], quasi_identifiers=["age", "pay"], recoding=Ranges()
        ).fit_transform(frame)
        found.append(fewest_persons(released, frame["who"]))
    assert min(found) < K


def test_levels_judgements_and_plan_count_persons():
    frame = pl.DataFrame({"who": [1, 1, 2, 3], "age": [1, 2, 9, 9]})
    fitted = Anonymizer(guarantees=[KAnonymity(k=2)], person="who").fit(frame)
    assert [each.achieved for each in fitted.judgements_] == [3.0]
    assert fitted.judgements_[0].rows == 4
    assert fitted.plan_.quasi_identifiers == ("age",)


def test_the_column_is_no_feature_in_any_kind_of_table():
    array = np.array([[21.0, 1, 5], [23.0, 1, 6], [58.0, 2, 7], [60.0, 3, 8]])
    for whose in (1, "x1"):
        fitted = Anonymizer(guarantees=[KAnonymity(k=2)], person=whose).fit(array)
        assert fitted.transform(array).shape == (4, 2)
        assert fitted.get_feature_names_out().tolist() == ["x0", "x2"]
        assert fitted.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "c"]
    frame = pd.DataFrame(array, columns=["age", "who", "pay"], index=[7, 8, 9, 6])
    fitted = Anonymizer(guarantees=[KAnonymity(k=2)], person="who")
    released = fitted.fit_transform(frame)
    assert list(released.columns) == ["age", "pay"]
    assert list(released.index) == [7, 8, 9, 6]
    assert fitted.get_feature_names_out().tolist() == ["age", "pay"]
    numbered = pd.DataFrame(array)
    released = Anonymizer(guarantees=[KAnonymity(k=2)], person=1).fit_transform(numbered)
    assert list(released.columns) == [0, 2]


def test_new_rows_are_written_whoever_they_are_of():
    frame = visits(1)
    fitted = Anonymizer(guarantees=[KAnonymity(k=K)], person="who").fit(frame)
    others = frame.with_columns(who=pl.lit("new"))
    assert fitted.transform(others).equals(fitted.transform(frame))


def test_it_is_cloned_and_joins_a_pipeline():
    one = Anonymizer(guarantees=[KAnonymity(k=K)], person=0)
    assert clone(one).get_params()["person"] == 0
    array = np.array([[w, a] for w in range(9) for a in (w, w + 3.0)])
    scaled = make_pipeline(one, StandardScaler()).fit_transform(array)
    assert scaled.shape == (18, 1)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"person": "whom"}, ColumnNotFoundError),
        ({"person": 9}, ColumnNotFoundError),
        ({"person": "who", "quasi_identifiers": ["age", "who"]}, ParameterError),
    ],
)
def test_a_column_that_is_none_or_another_is_refused(more, kind):
    with pytest.raises(kind, match=r"who|9"):
        Anonymizer(guarantees=[KAnonymity(k=2)], **more).fit(visits(1))


def test_a_person_as_sensitive_column_is_refused():
    asked = [KAnonymity(k=2), DistinctLDiversity(l=2, column="who")]
    with pytest.raises(ParameterError, match="whose row"):
        Anonymizer(guarantees=asked, person="who").fit(visits(1))


@pytest.mark.parametrize("blank", ["", "  ", "false"])
def test_blank_texts_are_no_person(blank):
    frame = visits(1).with_columns(
        who=pl.when(pl.int_range(pl.len()) == 3)
        .then(pl.lit(blank))
        .otherwise(pl.col("who").cast(pl.String))
    )
    with pytest.raises(SchemaError, match="'who' says whose row it is and has 1 missing or blank"):
        Anonymizer(guarantees=[KAnonymity(k=2)], person="who").fit(frame)


def test_missing_persons_and_too_few_are_errors_without_values():
    frame = visits(1).with_columns(
        who=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("who")
    )
    with pytest.raises(SchemaError, match="'who' says whose row it is and has 1 missing"):
        Anonymizer(guarantees=[KAnonymity(k=2)], person="who").fit(frame)
    alone = pl.DataFrame({"who": ["secret"] * 5, "age": [1, 2, 3, 4, 5]})
    with pytest.raises(GuaranteeNotMetError, match="5 rows of 1 persons") as caught:
        Anonymizer(guarantees=[KAnonymity(k=2)], person="who").fit(alone)
    assert "secret" not in str(caught.value)
