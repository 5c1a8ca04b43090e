"""Targets: what is refused before an attack is run on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError
from halfmask.assess.attacks import ModelTarget, TableTarget, attack
from halfmask.data import Intervals
from halfmask.guarantees import KAnonymity


def model_target(**others: Any) -> ModelTarget:
    settings = {
        "members": np.zeros((3, 2)),
        "member_labels": [0, 1, 0],
        "non_members": np.zeros((2, 2)),
        "non_member_labels": [0, 1],
    }
    return ModelTarget(model=None, **{**settings, **others})


def table_target(**others: Any) -> TableTarget:
    frame = pl.DataFrame({"age": [1, 2, 3], "sex": ["f", "m", "f"]})
    return TableTarget(**{"released": frame, "original": frame, **others})


@pytest.mark.parametrize(
    ("others", "given"),
    [
        ({"member_labels": [0]}, "members and member_labels must be as many. Got 3 and 1"),
        ({"non_member_labels": [0]}, "non_members and non_member_labels"),
        ({"trained_rows": np.zeros((2, 2))}, "trained_rows must be as many as members"),
        ({"groups": (("a",), np.zeros(4, int))}, "a number for each member and non-member"),
        ({"groups": (("a",), np.array([0, 0, 0, 1, -1]))}, "one of the 1 descriptions"),
        ({"groups": (("a",), np.array([0, 0, 0, -2, -1]))}, "Got -2 to 0"),
        ({"groups": (("a",), [0, 0, np.nan, 0, 0])}, "'groups' .* whole numbers, none missing"),
        ({"groups": (("a",), [0, 0, 0.5, 0, 0])}, "whole numbers, none missing. Got float64"),
        ({"groups": (("a",), [0, 0, None, 0, 0])}, "Got object of 1"),
        ({"groups": (("a", "b", "a"), np.zeros(5, int))}, "One of the descriptions is twice"),
        ({"groups": (("a", "everyone"), np.zeros(5, int))}, "'everyone': all people"),
        ({"groups": (("a",),)}, "groups must be the descriptions"),
        ({"groups": 3}, "'groups' parameter of ModelTarget must be a list .* type int"),
        ({"members": csr_matrix(np.zeros((3, 2)))}, "members must be a frame .* csr_matrix"),
        ({"trained_rows": csr_matrix(np.zeros((3, 2)))}, "trained_rows must be a frame"),
        ({"non_members": pl.LazyFrame({"a": [1, 2]})}, "non_members must be .* LazyFrame"),
        ({"secrets": "age"}, "'secrets' parameter of ModelTarget must be a list .* type str"),
        ({"secrets": 1}, "must be a list of columns. Got a value of type int"),
        ({"secrets": (1, 1)}, "One of the columns is twice in the 'secrets'"),
    ],
)
def test_rows_labels_and_groups_must_fit(others, given):
    with pytest.raises(ParameterError, match=given):
        model_target(**others)


def test_groups_may_leave_people_out():
    target = model_target(groups=(("a", "b"), np.array([-1, 0, 1, 1, -1])))
    assert (target.n_members, target.n_non_members) == (3, 2)
    assert repr(target) == "ModelTarget(3 members, 2 non-members)"


@pytest.mark.parametrize("secret", [0, 1])
def test_a_secret_of_an_array_is_a_number(secret):
    assert model_target(secrets=(secret,)).secrets == (secret,)
    for wrong in (2, "age"):
        with pytest.raises(ColumnNotFoundError, match=str(wrong)):
            model_target(secrets=(wrong,))


def test_a_secret_of_a_frame_is_a_name():
    frame = pl.DataFrame({"age": [1, 2, 3]})
    for rows in (frame, frame.to_pandas()):
        both = {"members": rows, "non_members": rows[:2]}
        assert model_target(**both, secrets=("age",)).secrets == ("age",)
        with pytest.raises(ColumnNotFoundError, match="Did you mean 'age'"):
            model_target(**both, secrets=("agee",))


@pytest.mark.parametrize(
    ("others", "given"),
    [
        ({"quasi_identifiers": ("zip",)}, "'zip' isn't in the original"),
        ({"secrets": ("zip",)}, "'zip' isn't in the original"),
        ({"owners": np.array([0, 1])}, "a number for each released row"),
        ({"owners": np.array([0, 1, 3])}, "numbers of the 3 original rows. Got 0 to 3"),
        ({"owners": np.array([0, 1, -1])}, "Got -1 to 1"),
        ({"released": pl.DataFrame({"age": [1]})}, "must give the owner of each row"),
        ({"owners": [0.0, 1.0, 1.5]}, "whole numbers, none missing. Got float64 of 1"),
        ({"owners": pl.Series([0, None, 2])}, "'owners' .* none missing"),
        ({"owners": ["a", "b", "c"]}, "whole numbers"),
        ({"owners": [[0], [1, 2], [3]]}, "whole numbers"),
        ({"owners": np.zeros((3, 1), int)}, "Got int64 of 2 dimensions"),
        ({"quasi_identifiers": "age"}, "'quasi_identifiers' .* must be a list of columns"),
        ({"secrets": "sex"}, "'secrets' parameter of TableTarget must be a list"),
        ({"secrets": ["sex", "sex"]}, "One of the columns is twice"),
        (
            {"earlier": (pl.DataFrame({"age": [1]}),)},
            "earlier.* must be releases, each with its rows",
        ),
        ({"earlier": 3}, "'earlier' parameter of TableTarget must be a list of two tables"),
        ({"guarantees": KAnonymity(k=2)}, "'guarantees' .* a list of guarantees. Got a value"),
        ({"guarantees": [2]}, "must be a list of guarantees"),
        ({"hierarchies": {"age": Intervals(widths=[10])}}, "must be hierarchies by column"),
        ({"hierarchies": 3}, "must be hierarchies by column"),
    ],
)
def test_columns_and_owners_must_fit(others, given):
    with pytest.raises(ParameterError, match=given):
        table_target(**others)


@pytest.mark.parametrize("kind", [list, np.array, pl.Series, pd.Series, tuple])
def test_owners_and_groups_may_be_any_list_of_whole_numbers(kind):
    for numbers in ([2, 0, 0], [2.0, 0.0, 0.0]):
        owners = table_target(owners=kind(numbers)).owner_of_row
        assert owners.tolist() == [2, 0, 0]
        assert owners.dtype == np.int64

    groups = model_target(groups=[kind(["a", "b"]), kind([-1, 0, 1, 1, -1])]).groups
    assert groups is not None
    assert (groups[0], groups[1].tolist()) == (("a", "b"), [-1, 0, 1, 1, -1])


def test_columns_may_be_any_list_of_names():
    target = table_target(quasi_identifiers=["age"], secrets=np.array(["sex"]))
    assert (target.quasi_identifiers, target.secrets) == (("age",), ("sex",))
    assert model_target(secrets=[1]).secrets == (1,)


@pytest.mark.parametrize(
    "turned", [pl.DataFrame.to_pandas, pl.DataFrame.lazy, pl.DataFrame.to_arrow]
)
def test_tables_of_other_libraries_are_attacked_as_polars_are(turned):
    rng = np.random.default_rng(0)

    def rows() -> pl.DataFrame:
        return pl.DataFrame({"age": rng.integers(0, 50, 200), "ill": rng.choice(["a", "b"], 200)})

    tables: dict[str, Any] = {
        "released": rows(),
        "original": rows(),
        "control": rows(),
        "earlier": (rows(), rows()),
    }
    others: dict[str, Any] = {
        name: tuple(map(turned, table)) if isinstance(table, tuple) else turned(table)
        for name, table in tables.items()
    }
    attacks = ["tables/record-linkage-distance", "tables/singling-out-univariate"]

    found = [
        attack(TableTarget(**given, quasi_identifiers=("age",)), attacks=attacks).to_dict()
        for given in (tables, others)
    ]
    assert found[0] == found[1]
    made = TableTarget(**others)
    assert isinstance(made.control, pl.DataFrame)
    assert all(isinstance(each, pl.DataFrame) for each in made.earlier[0])


def test_what_is_no_table_is_refused():
    for wrong in ([1, 2, 3], None):
        with pytest.raises(DataError):
            table_target(original=wrong)


def test_rows_are_in_the_same_order_unless_owners_say_otherwise():
    assert table_target().owner_of_row.tolist() == [0, 1, 2]
    assert table_target(owners=np.array([2, 2, 0])).owner_of_row.tolist() == [2, 2, 0]
    assert repr(table_target()) == "TableTarget(3 released of 3 rows)"


def test_targets_can_be_told_apart():
    # Rows have no truth value: targets are compared by who they are, not by what they hold.
    target = model_target()
    assert target == target  # noqa: PLR0124 # this is what is tested
    assert target != model_target()
    assert len({target, table_target()}) == 2
