"""Ordered categories keep their order for masks, whatever kind of table they come from."""

from __future__ import annotations

import statistics

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfmask as hm
from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import (
    DataShuffling,
    Masker,
    Microaggregation,
    OrdinalTailCoding,
    RankSwapping,
    mask_table,
)
from masks.masking import KEY  # type: ignore[import-not-found] # beside, not in a package

#: Not in the order of the alphabet.
LEVELS = ("none", "low", "mid", "high", "extreme")
CELLS = [LEVELS[(i * i + i // 7) % 5] for i in range(60)] + [None]
NUMBERS = [float(i // 6) for i in range(61)]


def enum_frame():
    return pl.DataFrame({"s": pl.Series(CELLS, dtype=pl.Enum(LEVELS)), "n": NUMBERS})


def pandas_frame():
    cells = pd.Categorical(CELLS, categories=LEVELS, ordered=True)
    return pd.DataFrame({"s": cells, "n": NUMBERS})


def arrow_table():
    places = [None if it is None else LEVELS.index(it) for it in CELLS]
    cells = pa.DictionaryArray.from_arrays(
        pa.array(places, pa.int8()), pa.array(LEVELS), ordered=True
    )
    return pa.table({"s": cells, "n": NUMBERS})


def tables(folder):
    """The same table in every form that has an order."""
    enum_frame().write_parquet(folder / "enum.parquet")
    enum_frame().write_ipc(folder / "enum.arrow")
    pandas_frame().to_parquet(folder / "pandas.parquet")
    pq.write_table(arrow_table(), folder / "arrow.parquet")
    return [enum_frame(), enum_frame().lazy(), pandas_frame(), arrow_table(), *folder.iterdir()]


def rank(text):
    return LEVELS.index(text)


def test_microaggregation_by_gower_writes_the_lower_median(tmp_path):
    """By a naive median of the ranks in the groups of n, which the numbers decide."""
    mask = Microaggregation(columns=("n",), k=6)
    groups = mask.fit(enum_frame().select("n"), KEY).apply(enum_frame().select("n"), 0)["n"]

    for table in tables(tmp_path):
        both = Microaggregation(columns=("s", "n"), k=6, method="gower")
        found = mask_table(open_table(table), {}, key=KEY, table_masks=[both]).read()
        assert found["s"].dtype == pl.String
        for group in found.with_columns(raw=pl.Series(CELLS)).partition_by("s", "n"):
            ranks = [rank(it) for it in group["raw"] if it is not None]
            if group["s"][0] is not None and group.height < 12:
                assert rank(group["s"][0]) == statistics.median_low(ranks)
    assert groups.n_unique() > 2


def test_categories_opt_out_of_the_order():
    """Then it is the most frequent one, as for texts."""
    texts = enum_frame().cast({"s": pl.String})
    masks = [
        Microaggregation(columns=("s", "n"), k=6, method="gower", categories=names)
        for names in (("s",), ())
    ]

    without = mask_table(open_table(enum_frame()), {}, key=KEY, table_masks=masks[:1]).read()

    assert without.equals(mask_table(open_table(texts), {}, key=KEY, table_masks=masks[1:]).read())


@pytest.mark.parametrize(
    "mask",
    [
        RankSwapping(columns=("s",), max_rank_distance=0.2),
        DataShuffling(columns=("s",), given=("n",)),
    ],
)
def test_masks_of_ranks_keep_the_values_and_know_their_order(tmp_path, mask):
    """In every form of table; the order is that of the type, and stays with the column."""
    for table in tables(tmp_path):
        source = mask_table(open_table(table), {}, key=KEY, table_masks=[mask])
        found = source.read()["s"]
        assert sorted(found.drop_nulls()) == sorted(filter(None, CELLS))
        assert found[-1] is None
        assert source.orders["s"] == LEVELS
        if mask.name == "rank-swapping":  # at least 6 of 60 cells have each rank
            moved = [abs(rank(a) - rank(b)) for a, b in zip(CELLS[:60], found[:60], strict=True)]
            assert max(moved) <= 2
            assert any(moved)


def test_rank_swapping_of_texts_takes_a_stated_order():
    """The same draws as with a type that has it."""
    texts = enum_frame().cast({"s": pl.String})
    stated = RankSwapping(columns=("s",), max_rank_distance=0.2, orders={"s": LEVELS})
    typed = RankSwapping(columns=("s",), max_rank_distance=0.2)

    one = stated.fit(texts, KEY).apply(texts, 0)["s"]

    assert one.to_list() == typed.fit(enum_frame(), KEY).apply(enum_frame(), 0)["s"].to_list()
    with pytest.raises(SchemaError, match=r"'s'.*ordered categories"):
        mask_table(open_table(texts), {}, key=KEY, table_masks=[typed])
    short = RankSwapping(columns=("s",), max_rank_distance=0.2, orders={"s": LEVELS[:4]})
    with pytest.raises(DataError, match=r"'s' has 10 cells that its order doesn't list") as refused:
        mask_table(open_table(texts), {}, key=KEY, table_masks=[short])
    assert "extreme" not in str(refused.value)
    with pytest.raises(SchemaError, match="'n' has an order, which is for texts"):
        RankSwapping(columns=("n",), max_rank_distance=0.2, orders={"n": LEVELS}).fit(texts, KEY)


@pytest.mark.parametrize("orders", [{"x": ("a", "b")}, {"s": ()}, {"s": ("a", "a")}])
def test_orders_are_checked(orders):
    with pytest.raises(ParameterError, match=r"'orders'|order of column 's'"):
        RankSwapping(columns=("s",), max_rank_distance=0.2, orders=orders)


def test_tails_take_the_order_of_the_type_and_a_stated_one_wins(tmp_path):
    for table in tables(tmp_path):
        coded = mask_table(open_table(table), {"s": OrdinalTailCoding(high="mid")}, key=KEY).read()
        assert coded["s"].to_list() == ["mid" if it in {"high", "extreme"} else it for it in CELLS]
        stated = OrdinalTailCoding(high="none", order=("extreme", "none", "low", "mid", "high"))
        other = mask_table(open_table(table), {"s": stated}, key=KEY).read()
        assert set(other["s"]) == {"extreme", "none", None}


@pytest.mark.parametrize("table", [enum_frame, pandas_frame, arrow_table])
def test_the_transformer_knows_the_order(table):
    masker = Masker(
        {"s": OrdinalTailCoding(high="mid")},
        table_masks=[RankSwapping(columns=("n",), max_rank_distance=0.3)],
        key=KEY,
    )
    swapping = Masker(table_masks=[RankSwapping(columns=("s",), max_rank_distance=0.2)], key=KEY)

    coded = pl.DataFrame(masker.fit_transform(table()))["s"]
    swapped = pl.DataFrame(swapping.fit_transform(table()))["s"]

    assert set(coded) == {"none", "low", "mid", None}
    assert sorted(swapped.drop_nulls()) == sorted(filter(None, CELLS))


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
def test_a_policy_says_whether_the_order_counts(kind):
    """Codes of categories in a type with an order can be mere names."""
    policy = hm.Policy.from_toml(
        f'halfmask = 1\n[columns.s]\nrole = "insensitive"\nkind = "{kind}"\n'
        '[columns.n]\nrole = "insensitive"\nkind = "numeric"\n'
        '[[masks]]\nname = "rank-swapping"\ncolumns = ["s"]\nmax_rank_distance = 0.2\n'
    )

    if kind == "ordinal":
        assert sorted(hm.mask(pandas_frame(), policy).data["s"].dropna()) == sorted(
            filter(None, CELLS)
        )
        return
    with pytest.raises(SchemaError, match="kind 'ordinal'"):
        hm.mask(pandas_frame(), policy)


@pytest.mark.parametrize(("stated", "fits"), [("", False), ('orders = { s = ["a", "b"] }', True)])
def test_ordinal_texts_without_an_order_are_refused_by_masks_that_take_one(stated, fits):
    """They were nominal without a word: the mode was written in the place of the median."""
    policy = hm.Policy.from_toml(
        'halfmask = 1\n[columns.s]\nrole = "insensitive"\nkind = "ordinal"\n'
        '[[masks]]\nname = "microaggregation"\nmethod = "gower"\ncolumns = ["s"]\nk = 2\n' + stated
    )
    frame = pl.DataFrame({"s": ["a", "b"] * 10})

    if fits:
        assert hm.mask(frame, policy).data.height == 20
        return
    with pytest.raises(SchemaError, match="'s' has kind ordinal, but its texts have no order"):
        hm.mask(frame, policy)


def test_labels_of_a_statistical_file_are_names_unless_a_policy_says_otherwise(tmp_path):
    """The codes of towns have an order, and it says nothing."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"s": [rank(it) + 1.0 for it in CELLS[:60]], "n": NUMBERS[:60]})
    labels = {i + 1: it for i, it in enumerate(LEVELS)}
    pyreadstat.write_sav(frame, tmp_path / "it.sav", variable_value_labels={"s": labels})
    mask = Microaggregation(columns=("s", "n"), k=6, method="gower")
    texts = pl.DataFrame({"s": CELLS[:60], "n": NUMBERS[:60]})

    found = mask_table(open_table(tmp_path / "it.sav"), {}, key=KEY, table_masks=[mask]).read()

    expected = mask_table(open_table(texts), {}, key=KEY, table_masks=[mask]).read()
    assert found["s"].to_list() == expected["s"].to_list()
    swapped = RankSwapping(columns=("s",), max_rank_distance=0.2)
    with pytest.raises(SchemaError, match="ordered categories"):
        mask_table(open_table(tmp_path / "it.sav"), {}, key=KEY, table_masks=[swapped])
