"""Masks as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from tests.microdata.table_masks import Drawn, Share

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask.masks import (
    KeyedTokens,
    Masker,
    Pram,
    RandomNoise,
    Rounding,
    TailCoding,
    TextRedaction,
    row_fractions,
)

KEY = bytes(range(32))
PEOPLE = pl.DataFrame(
    {
        "pay": [41_300.0, 38_900.0, None, 52_250.0] * 25,
        "job": ["cook", "nurse", None, "judge"] * 25,
        "name": [f"n{i}" for i in range(100)],
    }
)
MASKS: dict[str, Any] = {
    "pay": RandomNoise(law="laplace", scale=100.0, decimals=0),
    "job": Pram(keep=0.5),
    "name": KeyedTokens(),
}


#: Noise is drawn for a row's place: in another order, or alone, a row gets another.
OF_PLACES = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}


@pytest.mark.parametrize("masks", [None, {"x0": RandomNoise(law="uniform", scale=1.0, decimals=3)}])
def test_scikit_learns_contract(masks):
    """Without a mask, and with one that randomises."""
    results = check_estimator(Masker(masks, key=KEY), on_fail=None, on_skip=None)

    failed = {it["check_name"] for it in results if it["status"] == "failed"}
    assert failed <= (OF_PLACES if masks else set())
    assert len(results) > 40


def test_the_key_is_shown_nowhere():
    """Not in a repr, a notebook, a pipeline, a clone, or the parameters that a log prints."""
    key = b"canary" * 5 + b"!!"
    masker = Masker(MASKS, key=key)
    for each in (masker, clone(masker), Masker(MASKS).set_params(key=key), make_pipeline(masker)):
        shown = f"{each!r}{each}{each._repr_html_()}{each.get_params()}"
        assert "canary" not in shown
    assert masker.key == clone(masker).key == key
    assert "canary" not in repr(masker.fit(PEOPLE).__dict__)


@pytest.mark.parametrize("kind", [str, bytearray, np.bytes_, list, int, float])
def test_what_is_no_key_is_not_shown_either(kind):
    """It may be one all the same, such as a key's text in hexadecimal digits."""
    text = "20251128"
    key: Any = (
        [text] if kind is list else kind(text.encode() if kind in {bytearray, np.bytes_} else text)
    )
    masker = Masker(MASKS, key=key)
    for each in (masker, clone(masker), Masker(MASKS, key=KEY).set_params(key=key)):
        with pytest.raises(ParameterError, match=r"must be bytes. Got a |Got 8") as refused:
            make_pipeline(each).fit(PEOPLE)
        shown = f"{each!r}{make_pipeline(each)!r}{each._repr_html_()}{each.__dict__}{refused.value}"
        assert text not in shown


def test_a_frame_of_the_same_library_comes_back():
    """With its index, and missing cells missing."""
    frame = PEOPLE.to_pandas().set_index(np.arange(100) + 7)

    found = Masker(MASKS, key=KEY).fit_transform(frame)

    assert list(found.index) == list(frame.index)
    assert found["pay"].isna().sum() == 25
    assert isinstance(Masker(MASKS, key=KEY).fit_transform(PEOPLE), pl.DataFrame)


def test_another_batch_has_other_noise():
    """Or who knows one batch would subtract its noise from the next."""
    masker = Masker({"pay": MASKS["pay"]}, key=KEY).fit(PEOPLE)
    other = PEOPLE.with_columns(pl.col("pay") + 1)

    first, again = masker.transform(PEOPLE)["pay"], masker.transform(PEOPLE)["pay"]
    second = masker.transform(other)["pay"]

    assert first.equals(again)
    noise = (first - PEOPLE["pay"]).drop_nulls()
    assert not noise.equals((second - other["pay"]).drop_nulls())


def test_what_the_fit_saw_is_kept_for_other_rows():
    """Bounds by share and frequencies are those of the fit; tokens are those of the key."""
    masker = Masker({"pay": TailCoding(high_share=0.4), "name": KeyedTokens()}, key=KEY)
    masker.fit(PEOPLE)

    found = masker.transform(PEOPLE.head(4).with_columns(pay=pl.lit(1e6)))

    assert set(found["pay"]) == {41_300.0}
    assert found["name"].equals(masker.transform(PEOPLE)["name"].head(4))


def test_masks_of_several_columns_are_of_the_rows_that_are_transformed():
    """Ranks and groups of other rows mean nothing here."""
    masker = Masker(table_masks=[Drawn(columns=("name",))], key=KEY).fit(PEOPLE)

    found = masker.transform(PEOPLE.head(10))

    assert sorted(found["name"]) == sorted(PEOPLE["name"].head(10))


def test_it_stands_in_a_pipeline():
    """Before a model that is trained on masked numbers."""
    X = np.c_[row_fractions(200, key=KEY), row_fractions(200, key=KEY, stream=1)]
    masker = Masker({"x0": Rounding(base=0.1)})

    model = make_pipeline(masker, LogisticRegression()).fit(X, X[:, 0] > 0.5)

    assert model.score(X, X[:, 0] > 0.5) > 0.9
    assert list(masker.get_feature_names_out()) == ["x0", "x1"]


def test_bad_input_is_refused():
    """Named, before anything is masked."""
    with pytest.raises(ColumnNotFoundError, match="wage"):
        Masker({"wage": Rounding(base=1)}).fit(PEOPLE)
    with pytest.raises(SchemaError, match="'job'"):
        Masker({"job": Rounding(base=1)}).fit(PEOPLE)
    with pytest.raises(ParameterError, match="rows stay"):
        Masker(table_masks=[Share(share=0.5)]).fit(PEOPLE)  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="32 bytes"):
        Masker(MASKS, key=b"short").fit(PEOPLE)
    masker = Masker({"pay": Rounding(base=1)}).fit(PEOPLE)
    with pytest.raises(SchemaError, match="'pay' has the type"):
        masker.transform(PEOPLE.with_columns(pay=pl.lit(1)))


def test_names_are_searched_as_they_were_before_other_masks():
    """A token in the column of names hides no name from the search."""
    people = pl.DataFrame({"name": ["Annabel Quist"], "note": ["Annabel Quist came"]})
    search = TextRedaction(columns=("note",), names_from=("name",), types=("name",))

    found = Masker({"name": KeyedTokens()}, table_masks=[search], key=KEY).fit_transform(people)

    assert "Quist" not in found["note"][0]


@pytest.mark.parametrize(
    "mask",
    [
        Pram(matrix={"cook": {"cook": 0.9, "nurse": 0.1}, "nurse": {"nurse": 1.0}}),
        Pram(keep={"cook": 0.5, "nurse": 0.9}),
    ],
    ids=["matrix", "keep"],
)
def test_pram_refuses_values_that_the_fit_never_saw(mask):
    """They were written as the first fitted value is."""
    masker = Masker({"job": mask}, key=KEY).fit(pl.DataFrame({"job": ["cook", "nurse"] * 9}))

    assert masker.transform(pl.DataFrame({"job": ["nurse", None]}))["job"].null_count() == 1
    with pytest.raises(SchemaError, match="'job' has 2 cells with values") as caught:
        masker.transform(pl.DataFrame({"job": ["nurse", "canary", "nurse ", None]}))
    assert "canary" not in str(caught.value)
