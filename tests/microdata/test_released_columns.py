"""Columns that are released unchanged: what they single out is counted, said, and refused."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask._errors import GuaranteeNotMetError
from halfmask.microdata import evaluation as module
from halfmask.microdata import protect, protect_to
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    UNTOUCHED,
    K,
    people,
    policy,
    promise,
    rare,
)


def test_rows_are_counted_over_all_columns_and_over_unchanged_ones():
    """``row`` numbers the rows, so that everybody is unique on it alone."""
    release = protect(people(), policy(K), key=KEY)
    risk = release.risk.columns

    assert risk.unchanged is not None
    assert risk.worst is not None
    assert risk.every.columns == tuple(release.data.columns)
    assert risk.unchanged.columns == tuple(UNTOUCHED)
    assert risk.every.unique == risk.unchanged.unique == release.rows["out"]
    assert risk.worst.columns == ("row",)
    assert str(risk.warning).startswith("100 % of the rows are unique on row alone")


def test_suppressed_rows_are_not_counted():
    """Whoever isn't released isn't found, and leaves nobody alone."""
    table = people().with_columns(age=pl.when(pl.col("row") < 3).then(None).otherwise("age"))
    wanted = policy(K, columns={"age": {"missing": "suppress"}}, suppression={"max_fraction": 0.5})
    release = protect(table, wanted, key=KEY)
    data = release.data

    assert release.rows["out"] < 240
    risk = release.risk.columns
    for each in risk.sets:
        assert each.rows == data.height
        assert (each.unique, each.under_k) == rare(data, each.columns, 5)


def test_without_unchanged_columns_the_classes_are_all_there_is():
    table = people().select("name", "age", "town", "born", "smoker")
    wanted = policy(K).model_copy(deep=True)
    columns = {name: said for name, said in wanted.columns.items() if name in table.columns}
    release = protect(table, wanted.model_copy(update={"columns": columns}), key=KEY)
    risk = release.risk.columns

    assert (risk.unchanged, risk.few, risk.warning) == (None, (), None)
    assert (risk.every.unique, risk.every.under_k) == (0, 0)


def test_k_is_that_of_the_policy_and_two_without():
    two = promise("distinct-l-diversity", "illness", l=2)

    assert protect(people(), policy(K), key=KEY).risk.columns.k == 5
    assert protect(people(), policy(two), key=KEY).risk.columns.k == 2


def test_strict_raises_and_leaves_no_release(tmp_path):
    with pytest.raises(GuaranteeNotMetError, match="100 % of the rows are unique on row") as raised:
        protect_to(people(), policy(K), tmp_path / "out", key=KEY, strict=True)

    assert str(raised.value.hint).startswith("Round 'row'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_search_looks_at_a_sample_and_the_count_at_all_rows(monkeypatch):
    """Which sets are counted is found in few rows; the numbers are of all."""
    monkeypatch.setattr(module, "SEARCH_ROWS", 40)
    monkeypatch.setattr("halfmask.microdata._classes.SEARCH_ROWS", 40)
    release = protect(people(), policy(K), key=KEY)

    for each in release.risk.columns.few:
        assert (each.unique, each.under_k) == rare(release.data, each.columns, 5)
