"""Times of day keep their fractions of a second where they become texts, and claims hold."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import halfmask as hm
from halfmask.data import open_table

TIMES = [dt.time(10, 0, 0, i * 1000) for i in range(12)] * 4
PEOPLE = pl.DataFrame({"came": TIMES, "age": range(48), "sex": ["f", "m"] * 24})


def protected(folder, came, *promises, form="parquet", **more):
    columns = {
        "came": came,
        "age": {"role": "quasi_identifier", "kind": "numeric"},
        "sex": {"role": "insensitive", "kind": "categorical"},
    }
    k = {"model": "k-anonymity", "k": 4}
    policy = hm.Policy(
        halfmask=1, columns=columns, guarantees=[k, *promises], output={"format": form}, **more
    )
    hm.protect(PEOPLE, policy).write(folder)
    assert hm.verify(folder).holds
    return open_table(folder / "data" / f"part-00000.{form}").read()


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("kind", ["datetime", "categorical"])
def test_ranges_and_sets_name_the_fractions(tmp_path, form, kind):
    found = protected(tmp_path / "out", {"role": "quasi_identifier", "kind": kind}, form=form)

    written = found["came"].str.extract_all(r"10:00:00(?:\.\d+)?").explode().unique()
    assert set(written) <= {str(it.isoformat("milliseconds")) for it in TIMES} | {"10:00:00"}
    assert len(written) > 3


def test_sensitive_times_differ_by_their_fractions(tmp_path):
    """With the fractions cut, all were one value, and no class had two."""
    promise = {"model": "distinct-l-diversity", "l": 3, "column": "came"}

    found = protected(tmp_path / "out", {"role": "sensitive", "kind": "datetime"}, promise)

    assert found["came"].n_unique() == 12
