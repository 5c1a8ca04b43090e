"""Release: what may leave, in memory, in the library that the table came in."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from halfmask.microdata import Release, protect
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    K,
    classes,
    people,
    policy,
    promise,
    with_gaps,
)


@pytest.fixture
def release():
    promised = [K, promise("distinct-l-diversity", "illness", l=2)]
    wanted = policy(*promised, columns={"town": {"missing": "suppress"}})
    return protect(with_gaps(people(), ["town"]), wanted, key=KEY)


def test_rows_and_claims(release):
    """Rows add up, and there is a claim for each promise with what was counted for it."""
    data = release.data

    assert isinstance(release, Release)
    assert release.rows["in"] == 240 == release.rows["out"] + release.rows["suppressed"]
    assert release.rows["out"] == data.height
    assert [claim.model for claim in release.claims] == ["k-anonymity", "distinct-l-diversity"]
    sizes = [len(group) for group in classes(data, QUASI)]
    assert release.claims[0].evidence.achieved == min(sizes) >= 5
    assert "name" not in data.columns


def test_its_repr_is_its_promise(release):
    """A release shows its rows and what it keeps; no value."""
    achieved = [f"{claim.model} {claim.evidence.achieved:g}" for claim in release.claims]

    assert repr(release) == f"Release({release.rows['out']} rows, {', '.join(achieved)})"


def test_data_is_the_same_each_time(release):
    """Asking twice gives the same rows in the same order."""
    assert release.data.equals(release.data)


def test_the_table_is_not_touched():
    """The frame that was given stays as it was, in each library."""
    for table in (people(), people().to_pandas(), people().to_arrow()):
        before = table.clone() if hasattr(table, "clone") else table
        before = table.copy() if isinstance(table, pd.DataFrame) else before
        data = protect(table, policy(), key=KEY).data

        same = table.equals(before)
        assert same
        assert type(data) is type(table)


def test_pandas_gets_a_new_index():
    """An index may say who a row is: rows leave with numbers from 0 in their new order."""
    table = (
        people().to_pandas().set_index(pd.Index([f"Person {i}" for i in range(240)], name="who"))
    )

    data = protect(table, policy(), key=KEY).data

    assert data.index.tolist() == list(range(240))
    assert data.index.name is None
    assert data["row"].tolist() != list(range(240))


def test_arrow_has_no_metadata():
    """What travelled with an Arrow table stays behind."""
    table = people().to_arrow().replace_schema_metadata({"owner": "me"})

    data = protect(table, policy(), key=KEY).data

    assert isinstance(data, pa.Table)
    assert data.schema.metadata is None
