"""Rows that are unique on sets of released columns: counted again from the files."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import VerificationError
from halfmask.claims import ClassClaim as Claim
from halfmask.claims import Evidence
from halfmask.verifier.tables import _column_sets, verify
from halfmask.verifier.tables._column_sets import count_sets

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "text": pl.String, "float": pl.Float64, "whole": pl.Int64, "large": pl.UInt64,
    "truth": pl.Boolean, "day": pl.Date, "bytes": pl.Binary, "exact": pl.Decimal(10, 2),
}  # fmt: skip
VALUES: dict[str, list[object]] = {
    "text": ["", "a", "b"],
    "float": [0.0, -0.0, 1.5],
    "whole": [0, -(2**63), 2**63 - 1],
    "large": [0, 2**64 - 1],
    "truth": [True, False],
    "day": [dt.date(2020, 1, 1), dt.date(1850, 1, 1)],
    "bytes": [b"", b"\x00"],
    "exact": [Decimal("1.00"), Decimal("1.01")],
}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from([None, *each]) for name, each in VALUES.items()}),
    min_size=1,
    max_size=40,
)
SETS = [tuple(SCHEMA), ("text", "float", "whole"), ("whole",), ("large", "day"), ("exact",)]


def _naive(rows, names, k):
    sizes = Counter(tuple(repr(row[name]) for name in names) for row in rows)
    return sum(n for n in sizes.values() if n == 1), sum(n for n in sizes.values() if n < k)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [0, 64])
@given(ROWS, st.integers(2, 5))
def test_counts_are_those_of_a_counter(sparse, rows, k):
    """Whatever the types, and however soon rows that are unique are put aside."""
    table = pl.DataFrame(rows, schema=SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_column_sets, "SPARSE", sparse)
        patch.setattr(_column_sets, "CELLS_AT_ONCE", 2 * sparse)
        found = count_sets(table.lazy(), table.schema, SETS, k)

    assert found == [_naive(rows, names, k) for names in SETS]


FRAME = pl.DataFrame({"age": ["[1, 9]"] * 6, "pay": [1, 1, 1, 2, 2, 3], "town": list("aabbcd")})
ROLES = {"age": "quasi_identifier", "pay": "sensitive", "town": "insensitive"}
CLAIM = Claim(
    model="k-anonymity",
    parameters={"k": 3},
    column=None,
    quasi_identifiers=("age",),
    evidence=Evidence(achieved=6, classes=1, rows=6, smallest_class=6),
)


def _set(*columns, unique, under_k):
    return {
        "columns": list(columns), "unique": unique, "under_k": under_k,
        "share_unique": unique / 6, "share_under_k": under_k / 6,
    }  # fmt: skip


def _stated(**changes):
    """What is so: (1, a) stands twice, all other pairs once; pay 1 stands three times."""
    said = {
        "k": 3,
        "exact": True,
        "every": _set("age", "pay", "town", unique=4, under_k=6),
        "unchanged": _set("pay", "town", unique=4, under_k=6),
        "few": [_set("pay", unique=1, under_k=3), _set("town", unique=2, under_k=6)],
    }
    return {"released_columns": {**said, **changes}}


@pytest.fixture
def release(make):
    return make(FRAME, [CLAIM], roles=ROLES)


def test_what_is_so_holds_and_is_shown(release):
    found = verify(release.rewrite(risk=_stated()).path)

    assert found.holds, found.problems
    assert [(each.unique, each.under_k) for each in found.column_sets] == [
        (4, 6), (4, 6), (1, 3), (2, 6),
    ]  # fmt: skip
    assert found.column_sets[2].to_dict() == {
        "columns": ["pay"], "k": 3, "stated_unique": 1, "stated_under_k": 3,
        "unique": 1, "under_k": 3, "holds": True,
    }  # fmt: skip
    assert (
        "The 2 columns that are released unchanged are in no class: 4 of 6 rows are unique on "
        "them, and 6 are in classes under k = 3."
    ) in found.weaknesses


def test_a_release_of_an_earlier_version_states_nothing_and_holds(release):
    found = verify(release.as_first_version().path)

    assert found.holds
    assert found.column_sets == ()
    assert any("nobody counted" in weakness for weakness in found.weaknesses)


def test_a_release_of_this_version_must_state_them(release):
    with pytest.raises(VerificationError, match="lacks the key 'released_columns'"):
        verify(release.rewrite(risk={"before": {}}).path)


@pytest.mark.parametrize(
    "changes",
    [
        {"every": _set("age", "pay", "town", unique=3, under_k=6)},
        {"unchanged": _set("pay", "town", unique=4, under_k=5)},
        {"few": [_set("pay", unique=0, under_k=3)]},
    ],
)
def test_one_row_too_few_breaks_it(release, changes):
    """Where one person fewer is stated than is alone, the release doesn't hold."""
    found = verify(release.rewrite(risk=_stated(**changes)).path)

    assert not found.holds
    assert [each.holds for each in found.column_sets].count(False) == 1
    assert "More rows are unique" in found.problems[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"every": _set("pay", "town", unique=4, under_k=6)}, "other columns than are released"),
        ({"unchanged": _set("town", unique=2, under_k=6)}, "other columns than are released"),
        ({"unchanged": None, "few": []}, "other columns than are released"),
        ({"few": [_set("age", unique=6, under_k=6)]}, "columns that aren't unchanged"),
        ({"k": 2}, "under k = 2, and claims k = "),
    ],
)
def test_a_count_of_something_else_breaks_it(release, changes, said):
    found = verify(release.rewrite(risk=_stated(**changes)).path)

    assert not found.holds
    assert said in " ".join(found.problems)


@pytest.mark.parametrize(
    "changes", [{"k": 1}, {"k": "3"}, {"exact": 1}, {"few": {}}, {"every": None}, {"more": 1}]
)
def test_what_is_no_statement_is_refused(release, changes):
    with pytest.raises(VerificationError, match="released_columns"):
        verify(release.rewrite(risk=_stated(**changes)).path)


def test_an_estimate_may_miss_by_little(make):
    """Estimates of large tables are held to two in a hundred of the rows."""
    frame = pl.DataFrame({"age": ["*"] * 200, "pay": list(range(200))})
    release = make(frame, [CLAIM], roles={"age": "quasi_identifier", "pay": "sensitive"})

    def holds(unique, *, exact):
        pay = {**_set("pay", unique=unique, under_k=200), "share_unique": 1, "share_under_k": 1}
        stated = _stated(
            every={**pay, "columns": ["age", "pay"]}, unchanged=pay, few=[], exact=exact
        )
        found = verify(release.rewrite(risk=stated).path)
        return all(each.holds for each in found.column_sets)

    assert holds(200, exact=True)
    assert not holds(197, exact=True)
    assert holds(197, exact=False)
    assert not holds(190, exact=False)
