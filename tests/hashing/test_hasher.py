"""KeyedHasher as scikit-learn, pipelines and owners of vaults see it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from halfmask._errors import (
    ColumnNotFoundError,
    ColumnWarning,
    DataError,
    KeyMismatchError,
    ParameterError,
    SchemaError,
)
from halfmask.hashing import HashedRows, KeyedHasher
from halfmask.vault import Secret
from hashing.plain_hasher import rows_of  # type: ignore[import-not-found] # beside, not in a package

SECRET = Secret.from_bytes(bytes(range(32)))
#: What it can't keep of scikit-learn's contract, and why.
EXPECTED = {
    "check_estimators_pickle": "a secret can't be pickled; to_bytes() keeps a hasher without it",
    "check_estimators_overwrite_params": "joblib tells parameters apart by pickling them",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "quantiles": {},
    "log, signed": {"numbers": "log", "signed": True},
}


def contract():
    for variant, said in VARIANTS.items():
        estimator = KeyedHasher(secret=SECRET, bits=6, **said)
        for _, check in estimator_checks_generator(estimator, legacy=True):
            name = getattr(check, "func", check).__name__
            yield pytest.param(estimator, check, name, id=f"{variant}-{name}")


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("estimator", "check", "name"), list(contract()))
def test_scikit_learn_takes_it_for_a_transformer(estimator, check, name):
    if name in EXPECTED:
        with pytest.raises(TypeError, match="can't be pickled"):
            check(clone(estimator))
        return
    check(clone(estimator))


PEOPLE = pl.DataFrame(
    {
        "age": [41, 17, None, 90] * 5,
        "town": ["Bree", "Dale", None, "Bree"] * 5,
        "note": ["new york", "", None, "york"] * 5,
    }
)


def test_a_matrix_of_what_is_hashed():
    hasher = KeyedHasher(secret=SECRET, bits=18, text=["note"]).fit(PEOPLE)

    matrix = hasher.transform(PEOPLE)

    assert matrix.shape == (20, 2**18)
    assert matrix.dtype == np.float32
    assert [sorted(it.indices.tolist()) for it in matrix] == rows_of(hasher.hash_batch(PEOPLE))
    assert (hasher.fit_transform(PEOPLE) != matrix).nnz == 0
    assert hasher.n_features_in_ == 3


def test_batches_are_the_table():
    hasher = KeyedHasher(secret=SECRET, text=["note"])
    parts = [PEOPLE[:7], PEOPLE[7:8], PEOPLE[8:]]

    whole = hasher.fit(PEOPLE).hash_batch(PEOPLE)
    joined = HashedRows.concat(hasher.fit_batches(parts).hash_batches(iter(parts)))

    assert joined.equals(whole)
    assert list(hasher.hash_batches([])) == []


def test_it_learns_in_a_pipeline():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("abcdef"), 400), "b": rng.normal(size=400)})
    y = (frame["a"] < "c") ^ (frame["b"] > 0)
    hasher = KeyedHasher(secret=SECRET, bits=14, bins=4, interactions=[("a", "b")])

    model = make_pipeline(hasher, SGDClassifier(random_state=0, loss="log_loss")).fit(frame, y)
    in_columns = make_column_transformer((KeyedHasher(secret=SECRET, bits=8), ["a"]))

    assert model.score(frame, y) > 0.9
    assert in_columns.fit_transform(frame).shape == (400, 256)


@pytest.mark.parametrize("numbers", ["log", "raw"])
def test_some_need_no_fit(numbers):
    hasher = KeyedHasher(secret=SECRET, numbers=numbers)
    frame = PEOPLE.drop("note")

    before = hasher.hash_batch(frame)

    assert before.equals(hasher.fit(frame).hash_batch(frame))
    unfitted = KeyedHasher(secret=SECRET, numbers=numbers)
    assert unfitted.transform(frame).nnz == len(frame) * 2
    assert unfitted.transform(frame.select("town")).nnz == len(frame)  # it keeps nothing of before
    assert HashedRows.concat(unfitted.hash_batches([frame[:3], frame[3:]])).equals(before)


def test_quantiles_need_a_fit():
    hasher = KeyedHasher(secret=SECRET)

    for use in (hasher.transform, hasher.hash_batch, lambda it: list(hasher.hash_batches([it]))):
        with pytest.raises(NotFittedError):
            use(PEOPLE)
    with pytest.raises(NotFittedError):
        hasher.to_bytes()


def test_labels_and_weights_go_along():
    hasher = KeyedHasher(secret=SECRET, text=["note"]).fit(PEOPLE)

    rows = hasher.hash_batch(PEOPLE, [0, 1, 2, 0] * 5, weights=np.full(20, 0.5), classes=3)

    assert rows.label_kind == "classes:3"
    assert rows.labels is not None
    assert rows.labels.tolist() == [0, 1, 2, 0] * 5
    assert rows.weights is not None
    assert rows.weights.tolist() == [0.5] * 20
    assert hasher.hash_batch(PEOPLE, np.arange(20) / 2).label_kind == "number"
    for wrong in (["yes"] * 20, [2**40] * 20, [-1] * 20, [0] * 19, [0.5, np.nan] * 10):
        with pytest.raises(DataError):
            hasher.hash_batch(PEOPLE, wrong)


def test_bytes_without_a_key():
    hasher = KeyedHasher(secret=SECRET, bits=9, text=["note"], ngrams=(1, 2), bins=5).fit(PEOPLE)

    again = KeyedHasher.from_bytes(hasher.to_bytes(), secret=SECRET)

    assert again.hash_batch(PEOPLE).equals(hasher.hash_batch(PEOPLE))
    assert (again.bits, again.ngrams, again.bins) == (9, (1, 2), 5)
    assert clone(again).fit(PEOPLE).to_bytes() == hasher.to_bytes()
    with pytest.raises(KeyMismatchError):
        KeyedHasher.from_bytes(hasher.to_bytes(), secret=Secret.fresh())
    with pytest.raises(TypeError, match="vault"):
        pickle.dumps(hasher)


def test_its_text_shows_no_key():
    shown = repr(KeyedHasher(secret=SECRET, bits=9))

    assert SECRET.id in shown
    assert "\\x" not in shown
    assert bytes(range(32)).hex() not in shown


@pytest.mark.parametrize("given", [b"canary" * 6, "canary" * 6, ["canary"], bytearray(b"canary")])
def test_neither_does_it_show_what_is_no_secret(given):
    hasher = KeyedHasher(secret=given)
    for each in (hasher, clone(hasher), KeyedHasher(secret=SECRET).set_params(secret=given)):
        kind = type(given).__name__
        with pytest.raises(ParameterError, match=f"must be a Secret. Got a {kind}") as refused:
            each.fit(PEOPLE)
        assert "canary" not in f"{each!r}{each._repr_html_()}{each.__dict__}{refused.value}"


WRONG: dict[str, list[Any]] = {
    "bits": [0, 32, 2.5, "x"],
    "signed": [1, None],
    "numbers": ["bins", None],
    "bins": [1, 1 << 17],
    "bins_per_octave": [3, 0],
    "categorical": ["town", [1], ["town", "town"]],
    "text": [None, "note"],
    "sets": ["note"],
    "interactions": ["ab", [("age",)], [("age", "age")], [("age", "town"), ("age", "town")]],
    "ngrams": [(0, 1), (2, 1), (1, 17), 1, (1.0, 2)],
    "characters": [(0, 0)],
    "name": ["", 3],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in WRONG.items() for value in values],
    ids=repr,
)
def test_a_parameter_out_of_range(name, value):
    hasher = KeyedHasher(secret=SECRET, **{name: value})

    with pytest.raises(ParameterError):
        hasher.fit(PEOPLE)


@pytest.mark.parametrize("secret", [None, b"x" * 32, "secret"])
def test_a_secret_is_a_secret(secret):
    with pytest.raises(ParameterError, match="Secret") as caught:
        KeyedHasher(secret=secret).fit(PEOPLE)
    assert "xxx" not in str(caught.value)


MISNAMED = [
    ({"text": ["nota"]}, ColumnNotFoundError),
    ({"interactions": [("age", "nowhere")]}, ColumnNotFoundError),
    ({"text": ["age"]}, SchemaError),
    ({"sets": ["town"]}, SchemaError),
    ({"text": ["note"], "categorical": ["note"]}, SchemaError),
    ({"text": ["note"], "interactions": [("age", "note")]}, SchemaError),
    ({"numbers": "raw", "interactions": [("age", "town")]}, SchemaError),
    ({"text": ["note"], "ngrams": None}, ParameterError),
]


@pytest.mark.parametrize(("said", "kind"), MISNAMED, ids=range(len(MISNAMED)))
def test_columns_that_do_not_fit(said, kind):
    with pytest.raises(kind):
        KeyedHasher(secret=SECRET, **said).fit(PEOPLE)


def test_a_column_of_lists_has_to_be_named():
    with pytest.raises(SchemaError, match="sets"):
        KeyedHasher(secret=SECRET).fit(pa.table({"a": [["x"]]}))


def test_batches_of_other_columns_are_refused():
    hasher = KeyedHasher(secret=SECRET)

    with pytest.raises(SchemaError):
        hasher.fit_batches([pa.table({"a": [1]}), pa.table({"b": [1]})])
    with pytest.raises(SchemaError, match="'a'"):
        hasher.fit_batches([pa.table({"a": [1]}), pa.table({"a": ["x"]})])


def test_unsigned_equals_one_hot_where_nothing_collides():
    """Each distinct cell has one index, and each index one cell."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{i}": rng.choice(list("abcdefgh"), 300) for i in range(6)})
    rows = KeyedHasher(secret=SECRET, bits=31).fit(frame).hash_batch(frame)

    pairs = {(name, cell) for name in frame.columns for cell in frame[name].unique().to_list()}
    assert len(np.unique(rows.indices)) == len(pairs)
    one_hot = frame.to_dummies().to_numpy()
    gram = one_hot @ one_hot.T
    same = (rows.indices[:, None, :] == rows.indices[None, :, :]).sum(axis=2)
    assert (same == gram).all()


GAPS = [
    pd.DataFrame({name: [np.nan] * 3 for name in ("age", "town", "seen")}),
    pd.DataFrame({name: [None] * 3 for name in ("age", "town", "seen")}, dtype=object),
    pl.DataFrame({name: [None] * 3 for name in ("age", "town", "seen")}),
]


@pytest.mark.parametrize("gap", GAPS, ids=["NaN", "object", "polars"])
def test_a_batch_without_a_value_is_of_any_type(gap):
    """pandas makes floats of a column of missing cells, whatever it was before."""
    table = pl.DataFrame({"age": [41, 17, None], "town": ["Bree", "Dale", None]}).with_columns(
        seen=pl.Series(["2020-01-01", "2021-05-04", None]).str.to_date()
    )
    hasher = KeyedHasher(secret=SECRET, bits=16).fit(table)

    missing = hasher.hash_batch(table).indices[2]

    assert (hasher.hash_batch(gap).indices == missing).all()
    again = KeyedHasher(secret=SECRET, bits=16).fit_batches([table, gap])
    assert again.hash_batch(table).equals(hasher.hash_batch(table))


def test_a_time_with_a_zone_is_not_one_without():
    local = pl.DataFrame({"seen": pl.Series(["2020-01-01 10:00"]).str.to_datetime()})
    hasher = KeyedHasher(secret=SECRET).fit(local)

    with pytest.raises(SchemaError, match="'seen'"):
        hasher.transform(local.with_columns(pl.col("seen").dt.replace_time_zone("UTC")))


def test_a_fit_says_which_texts_are_nearly_numbers():
    cells = ["NA", *map(str, range(40))]
    table = pl.DataFrame({"pay": cells, "code": cells, "zip": map(str, range(41))})

    with pytest.warns(ColumnWarning, match="'pay' looks like numbers .* 40 of 41") as caught:
        KeyedHasher(secret=SECRET, categorical=["code"]).fit(table)

    # scikit-learn 1.6 has polars warn, too
    assert [it.category for it in caught].count(ColumnWarning) == 1


def test_columns_that_share_a_name_are_named_by_their_number():
    """In our words, not in those of the library that looks at names first."""
    rows = pd.DataFrame([["canary", "b"]], columns=["canary", "canary"])

    with pytest.raises(SchemaError, match="share a name: number 1, 2 of 2") as caught:
        KeyedHasher(secret=SECRET).fit(rows)
    assert "canary" not in str(caught.value)
