"""A table behind its masks: the same in each pass, whatever the size of batches."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask._errors import ColumnNotFoundError, DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import (
    MASKS,
    KeyedTokens,
    Mask,
    MaskedReader,
    Pram,
    RandomNoise,
    Rounding,
    TailCoding,
    mask_table,
)

KEY = bytes(range(32))
TABLE = pl.DataFrame(
    {
        "age": [17, 33, None, 41, 58, 90, 33],
        "job": ["cook", "nurse", "cook", None, "judge", "cook", "nurse"],
        "pay": [10.5, 2000.25, 310.0, None, 77.0, 12.0, 99999.0],
        "name": ["Ann", "Bob", "Cy", "Di", "Ed", "Flo", "Ann"],
        "plain": [1, 2, 3, 4, 5, 6, 7],
    }
)
MASKED: dict[str, Mask] = {
    "age": RandomNoise(law="laplace", scale=5, decimals=0),
    "job": Pram(keep=0.3),
    "pay": TailCoding(high_share=0.2),
    "name": KeyedTokens(),
}


@pytest.mark.slow
@given(n_rows=st.integers(1, 8), columns=st.permutations(TABLE.columns))
def test_batches_of_any_size_and_columns_see_the_same(n_rows, columns):
    """Draws are by row number: what one pass sees is what the next one writes."""
    source = mask_table(open_table(TABLE), MASKED, key=KEY)
    whole = source.read()

    for some in (columns, columns[:2]):
        parts = pl.concat(list(source.batches(n_rows, columns=list(some))))
        assert parts.equals(whole.select(some))


def test_a_reader_that_forgets_its_place_is_seen(monkeypatch):
    """The test above has power: with draws from each batch's first row on, passes differ."""
    source = mask_table(open_table(TABLE), MASKED, key=KEY)
    whole = source.read()

    def forgetful(self, columns, n_rows):
        for frame in self._reader.frames(columns, n_rows):
            yield frame.with_columns(
                self._plans[name].apply(frame[name], 0) for name in frame.columns if name in MASKED
            )

    monkeypatch.setattr(MaskedReader, "frames", forgetful)

    assert not pl.concat(list(source.batches(2))).equals(whole)


def test_what_has_no_mask_stays_and_types_are_known_before():
    """Other columns, and the number of rows."""
    source = mask_table(open_table(TABLE), MASKED, key=KEY)

    assert source.n_rows == 7
    assert dict(source.read().schema) == source.dtypes
    assert source.dtypes["pay"] == pl.Float64
    assert source.read()["plain"].equals(TABLE["plain"])
    assert mask_table(source, {}, key=KEY) is source


def test_each_column_has_a_key_of_its_own():
    """Two columns of the same numbers get other noise."""
    table = pl.DataFrame({"a": [0.0] * 50, "b": [0.0] * 50})
    mask = RandomNoise(law="gaussian", scale=1.0, decimals=6)

    found = mask_table(open_table(table), {"a": mask, "b": mask}, key=KEY).read()

    assert (found["a"] != found["b"]).all()


def test_an_order_of_categories_is_not_that_of_what_is_written():
    """So that no guarantee is judged in an order that the release doesn't have."""
    table = pl.DataFrame({"size": pl.Series(["S", "L"], dtype=pl.Enum(["S", "M", "L"]))})
    source = open_table(table)
    assert source.orders == {"size": ("S", "M", "L")}

    assert mask_table(source, {"size": KeyedTokens()}, key=KEY).orders == {}


def test_columns_and_types_are_checked_before_anything_is_read():
    """By name, with a hint."""
    with pytest.raises(ColumnNotFoundError, match="wage"):
        mask_table(open_table(TABLE), {"wage": KeyedTokens()}, key=KEY)
    with pytest.raises(SchemaError, match=r"'job'.*'round'"):
        mask_table(open_table(TABLE), {"job": Rounding(base=10)}, key=KEY)


def test_each_mask_is_listed_under_its_name():
    """And says whether it coarsens or randomises."""
    found = {name: each.coarsens for name, each in MASKS.items()}
    assert (
        found
        | {
            "noise": False,
            "pram": False,
            "round": True,
            "tails": True,
            "token": True,
        }
        == found
    )  # and what a page of the docs may have added


def test_noise_of_two_releases_does_not_cancel():
    """Under one key: of other cells, or with another scale, it is drawn anew; tokens stay."""
    table = pl.DataFrame({"pay": [float(i) for i in range(500)], "name": ["Ann"] * 500})
    other = table.with_columns(pay=pl.col("pay") + pl.Series([1.0] + [0.0] * 499))

    def masked(frame, scale):
        masks: dict[str, Mask] = {
            "pay": RandomNoise(law="uniform", scale=scale, decimals=6),
            "name": KeyedTokens(),
        }
        return mask_table(open_table(frame), masks, key=KEY).read()

    first, again, double, later = (
        masked(*it) for it in ((table, 5.0), (table, 5.0), (table, 10.0), (other, 5.0))
    )

    assert first.equals(again)
    true = table["pay"]
    assert (2 * first["pay"] - double["pay"] - true).abs().max() > 1
    assert (first["pay"] - later["pay"]).slice(1).abs().max() > 1
    assert first["name"].equals(later["name"])


@pytest.mark.parametrize("fault", ["fills", "shortens", "retypes"])
def test_what_a_mask_may_not_do_is_refused(monkeypatch, fault):
    """Missing cells stay missing, and what is written has the type that was said."""
    plan = type(KeyedTokens().fit("name", pl.String(), None, KEY))
    faults = {
        "fills": lambda cells: cells.fill_null("canary"),
        "shortens": lambda cells: cells.head(1),
        "retypes": lambda cells: cells.is_null(),
    }
    monkeypatch.setattr(plan, "apply", lambda _, cells, __: faults[fault](cells))
    source = mask_table(open_table(TABLE.select("job")), {"job": KeyedTokens()}, key=KEY)

    with pytest.raises(DataError, match="mask of column 'job'") as refused:
        source.read()
    assert "canary" not in str(refused.value)


def test_keys_and_weaknesses_are_checked(monkeypatch):
    """A public key makes tokens that everybody makes."""
    with pytest.raises(ParameterError, match="32 bytes"):
        mask_table(open_table(TABLE), MASKED, key=b"")
    monkeypatch.setattr(KeyedTokens, "weaknesses", ("nosuch",))
    with pytest.raises(ParameterError, match="'nosuch'"):
        mask_table(open_table(TABLE), MASKED, key=KEY)
