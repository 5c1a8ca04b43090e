"""Rows that come with other types than at the fit: predicted alike, or refused."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import halfmask as hm
from halfmask._errors import SchemaError

N = 60
NUMBERS = [n % 2 for n in range(N)]
LABELS = np.array(NUMBERS)
DAY = date(2024, 1, 1)

#: The same cells by each type.
CELLS: dict[str, Any] = {
    "text": pl.Series([str(n) for n in NUMBERS]),
    "categorical": pl.Series([str(n) for n in NUMBERS], dtype=pl.Categorical),
    "enum": pl.Series([str(n) for n in NUMBERS], dtype=pl.Enum(["0", "1"])),
    "int": pl.Series(NUMBERS),
    "float": pl.Series([float(n) for n in NUMBERS]),
    "decimal": pl.Series([Decimal(n) for n in NUMBERS], dtype=pl.Decimal(10, 2)),
    "bool": pl.Series([n == 1 for n in NUMBERS]),
    "date": pl.Series([DAY + timedelta(n) for n in NUMBERS]),
    "datetime": pl.Series([DAY + timedelta(n) for n in NUMBERS]).cast(pl.Datetime("us")),
    "missing": pl.Series([None] * N, dtype=pl.Null),
}
TEXTS, QUANTITIES, DATES = (
    {"text", "categorical", "enum"},
    {"int", "float", "decimal"},
    {"date", "datetime"},
)
#: What may come in place of what: the same kind, and of texts what spells them.
ALIKE = {
    **dict.fromkeys(TEXTS, TEXTS | {"int", "float", "missing"}),
    **dict.fromkeys(QUANTITIES, QUANTITIES | {"missing"}),
    **dict.fromkeys(DATES, DATES | {"missing"}),
    "bool": {"bool", "missing"},
    "missing": set(CELLS),
}
LIBRARIES = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def frame(cells: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"a": cells, "b": [n / N for n in range(N)]})


def model(**more: Any) -> hm.AnonymizedEstimator:
    return hm.AnonymizedEstimator(
        DecisionTreeClassifier(random_state=0),
        guarantees=[hm.KAnonymity(k=5)],
        split_targets="labels",
        representative="centroid",
        **more,
    )


@pytest.fixture(scope="module", params=list(LIBRARIES))
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture(scope="module", params=list(CELLS))
def fitted(request, library):
    made = library(frame(CELLS[request.param]))
    return request.param, model().fit(made, LABELS), library


@pytest.mark.slow
@pytest.mark.parametrize("now", list(CELLS))
def test_every_type_after_every_other_is_predicted_alike_or_refused(fitted, now):
    at_fit, trained, library = fitted
    rows = library(frame(CELLS[now]))
    if now not in ALIKE[at_fit]:
        with pytest.raises(SchemaError, match=r"Column 'a' held .* at the fit\. Got"):
            trained.predict(rows)
        return
    said = trained.predict(rows)
    if "missing" not in (now, at_fit):
        assert (said == LABELS).all()
    trained.transform(rows) if now == at_fit else None


def test_texts_that_come_as_numbers_with_a_gap_are_what_they_were():
    """What pandas makes of a column of 1 to 5 with one missing cell."""
    groups = [n % 5 + 1 for n in range(200)]
    labels = np.isin(groups, [2, 5])
    trained = model().fit(pd.DataFrame({"a": [str(n) for n in groups]}), labels)
    assert (trained.predict(pd.DataFrame({"a": [float(n) for n in groups]})) == labels).all()
    gap = pd.DataFrame({"a": [*map(float, groups[:-1]), np.nan]})
    assert (trained.predict(gap)[:-1] == labels[:-1]).all()
    assert (
        trained.transform(gap[:-1]) == trained.transform(pd.DataFrame({"a": groups[:-1]}))
    ).all()


@pytest.mark.parametrize(
    ("array", "ok"),
    [
        (np.array([[str(n)] for n in NUMBERS]), True),
        (np.array([[n] for n in NUMBERS]), True),
        (np.array([[float(n)] for n in NUMBERS]), True),
        (np.array([[str(n)] for n in NUMBERS], dtype=object), True),
        (np.array([[Decimal(n)] for n in NUMBERS], dtype=object), True),
        (np.array([[n == 1] for n in NUMBERS]), False),
        (np.array([[n + 0.5] for n in NUMBERS]), False),
        (np.array([[f"2024-01-0{n + 1}"] for n in NUMBERS], dtype="datetime64[us]"), False),
    ],
)
def test_arrays_of_other_types_too(array, ok):
    trained = model().fit(np.array([[str(n)] for n in NUMBERS]), LABELS)
    if ok:
        assert (trained.predict(array) == LABELS).all()
    else:
        with pytest.raises(SchemaError, match="60 cells that are none of its categories"):
            trained.predict(array)


def test_an_encoder_of_ones_own_isnt_given_other_types():
    """It would find none of its categories, and say nothing."""
    texts = frame(CELLS["text"]).select("a").to_pandas()
    trained = model(encoder=OneHotEncoder(handle_unknown="ignore")).fit(texts, LABELS)
    assert (trained.predict(texts) == LABELS).all()
    with pytest.raises(SchemaError, match=r"Column 'a' held String at the fit\. Got Float64"):
        trained.predict(texts.astype(float))


def test_a_category_that_is_new_stays_allowed():
    trained = model().fit(frame(CELLS["text"]), LABELS)
    assert len(trained.predict(frame(pl.Series(["new"] * N)))) == N


def test_no_cell_is_in_the_error():
    trained = model().fit(frame(pl.Series(["secret"] * 30 + ["other"] * 30)), LABELS)
    with pytest.raises(SchemaError) as told:
        trained.predict(frame(pl.Series([12345.5] * N)))
    assert "secret" not in str(told.value)
    assert "12345" not in str(told.value)
