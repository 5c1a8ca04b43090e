"""A classed_rows release: which rows leave, in which cell, and what is written for it."""

from __future__ import annotations

import polars as pl
import pytest

from halfmask.microdata import protect
from halfmask.microdata._classed_rows import CELL
from microdata.people import (  # type: ignore[import-not-found] # beside, not in a package
    COLUMNS,
    KEY,
    QUASI,
    lies_in,
    people,
    policy,
    with_gaps,
)


@pytest.fixture(params=[12_000_000, 100], ids=["whole", "sampled"])
def classed_rows(request, monkeypatch):
    """A classed_rows release of 240 people in batches of 50, some suppressed, one identifier."""
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 50)
    for module in ("halfmask.anonymize._summary", "halfmask.microdata._classes"):
        monkeypatch.setattr(f"{module}.MAX_ROWS", request.param)
    table = with_gaps(people(), ["town", "spent"])
    wanted = policy(columns={"town": {"missing": "suppress"}, "spent": {"missing": "suppress"}})
    found = protect(table, wanted, key=KEY).source
    assert (found.cells is None) == (request.param == 100)
    return found


def test_rows_are_placed_in_the_tables_order(classed_rows):
    """Batch by batch each row that leaves comes once, with its cell and what isn't recoded."""
    batches = list(classed_rows.placed())

    rows = pl.concat(batches)
    whole = with_gaps(people(), ["town", "spent"]).drop_nulls(["town", "spent"])
    assert len(batches) == 5
    assert rows["row"].to_list() == whole["row"].to_list()
    assert rows.height == classed_rows.n_out < classed_rows.n_in == 240
    assert rows.columns == [name for name in COLUMNS if name not in {*QUASI, "name"}] + [CELL]
    assert rows.drop(CELL).equals(whole.select(rows.columns[:-1]))


def test_each_row_gets_what_is_written_for_its_cell(classed_rows):
    """What stands for a cell holds the row's own values; columns are in the table's order."""
    rows = classed_rows.finished(pl.concat(list(classed_rows.placed())))

    raw = people().join(rows, on="row", how="semi")
    assert rows.columns == classed_rows.columns == [name for name in COLUMNS if name != "name"]
    for name in QUASI:
        assert all(map(lies_in, raw[name], rows[name]))


def test_progress_ends_at_all_rows(classed_rows):
    """Progress counts rows that were read, the suppressed ones too."""
    told = []
    list(classed_rows.placed(lambda what, share: told.append((what, share))))

    assert told[-1] == ("writing", 1.0)
    assert [share for _, share in told] == sorted(share for _, share in told)


def test_shuffled_holds_the_same_rows(classed_rows):
    """The keyed order changes nothing but the order."""
    plain = classed_rows.finished(pl.concat(list(classed_rows.placed())))
    shuffled = classed_rows.frame()

    assert shuffled.sort("row").equals(plain)
    assert not shuffled.equals(plain)


def test_it_shows_no_key_and_no_value(classed_rows):
    """Neither the key nor a cell is in its repr."""
    assert repr(classed_rows) == f"ClassedRows({classed_rows.n_out} of 240 rows)"


def test_what_suppresses():
    """Columns whose missing cells leave a row out."""
    wanted = policy(
        columns={
            "town": {"missing": "suppress"},
            "note": {"missing": "suppress"},
            "pay": {"missing": "reject"},
        }
    )

    assert wanted.schema().suppressing == ("town", "note")
