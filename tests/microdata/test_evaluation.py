"""Risk and utility before and after: counted, and nothing said that the release doesn't say."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.microdata import _class_fit, protect
from halfmask.microdata._class_fit import raw_classes
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    KEY,
    QUASI,
    classes,
    people,
    policy,
    with_gaps,
)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 1)), min_size=1),
    st.sampled_from([1 << 62, 5, 1]),
)
def test_raw_classes(rows, limit):
    """Sizes are those of counting tuples, also where codes don't fit one integer."""
    columns = [np.array(column, dtype=np.uint8) for column in zip(*rows, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_class_fit, "KEY_LIMIT", limit)
        found = raw_classes(columns, [3, 4, 2])

    assert sorted(found.sizes.tolist()) == sorted(Counter(rows).values())


def test_risk_is_that_of_the_classes():
    """Before are the raw table's classes, after the released ones."""
    table = with_gaps(people(), ["town"])
    release = protect(table, policy(), key=KEY)

    for side, frame in ((release.risk.before, table), (release.risk.after, release.data)):
        sizes = [len(group) for group in classes(frame, QUASI)]
        assert side.prosecutor.highest.value == pytest.approx(1 / min(sizes))
        assert side.prosecutor.average.value == pytest.approx(len(sizes) / sum(sizes))
        assert side.uniqueness.share.value == pytest.approx(sizes.count(1) / sum(sizes))
        assert side.rows == sum(sizes)
    assert release.risk.after_sizes.sum() == release.rows["out"]
    assert release.risk.before_sizes.sum() == release.rows["in"]


def test_ncp_of_ranges_is_their_width():
    """The loss of a number is the width of its range, and missing cells don't widen a class."""
    table = with_gaps(people(), ["age"])
    release = protect(table, policy(), key=KEY)

    raw, found = table["age"].drop_nulls(), release.data["age"]
    width = raw.max() - raw.min()
    lost = []
    for label in found.drop_nulls():
        ends = label.removesuffix(" or missing").strip("[]").split(", ")
        lost.append((int(ends[-1]) - int(ends[0])) / width)
    loss = release.utility.loss.columns["age"]
    only_missing = found.null_count()
    assert any(label.endswith("missing") for label in found.drop_nulls())
    assert not only_missing or loss.ncp >= np.mean(lost) * len(lost) / len(found)
    if not only_missing:
        assert loss.ncp == pytest.approx(np.mean(lost))


def test_pictures_show_no_sparse_bar():
    """No bar stands for fewer rows than k, and at least five."""
    release = protect(people(), policy({"model": "k-anonymity", "k": 20}), key=KEY)

    assert set(release.utility.distributions) == set(QUASI)
    assert {each.min_count for each in release.utility.distributions.values()} == {20}


def test_a_category_that_leaves_nowhere_isnt_drawn():
    """Who is left out for a missing cell isn't in a picture by name."""
    table = people().with_columns(
        town=pl.when(pl.col("row") < 30).then(pl.lit("CANARY")).otherwise("town"),
        spent=pl.when(pl.col("row") >= 30).then("spent"),
    )
    release = protect(table, policy(columns={"spent": {"missing": "suppress"}}), key=KEY)

    assert release.rows["suppressed"] == 30
    assert "CANARY" not in str(release.utility.distributions["town"].to_dict())
    assert "CANARY" not in release.data.write_csv()


def test_nothing_shows_values_but_the_data():
    """No repr and no JSON of risk and utility holds a value of a cell."""
    table = people().with_columns(pl.format("CANARY {}", "town").alias("town"))
    release = protect(table, policy(), key=KEY)

    parts = [release, release.risk, release.utility, release.source, release.source.plan]
    said = [
        *map(repr, parts),
        json.dumps(release.utility.to_dict()),
        json.dumps(release.risk.to_dict()),
    ]
    assert "CANARY" not in " ".join(said)
