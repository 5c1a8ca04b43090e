"""k^m-anonymity: all sets of items counted in dictionaries, and the least loss of small tables."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import combinations, product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import DataError, HierarchyError, ParameterError, SchemaError
from halfmask.data import open_table
from halfmask.masks import KmAnonymity, SimpleSampling, mask_table
from halfmask.masks import _item_recoding as recoding
from halfmask.verifier.masked import MASK_CHECKS

KEY = bytes(range(32))
#: Eight items in four shelves, two halls.
TREE = tuple(
    (it, f"shelf {it in 'cdgh'}{it in 'efgh'}", f"hall {it in 'efgh'}") for it in "abcdefgh"
)


def rare_sets(cells, k, m, separator="|"):
    """All sets of at most m items that a cell has and fewer than k have: each is counted."""
    rows = Counter(
        chosen
        for cell in cells
        for size in range(1, m + 1)
        for chosen in combinations(sorted(set((cell or "").split(separator)) - {""}), size)
    )
    return [chosen for chosen, n in rows.items() if n < k]


def fitted(cells, **parameters):
    table = pl.DataFrame({"bought": cells}, schema={"bought": pl.String})
    mask = KmAnonymity(column="bought", separator="|", **parameters)
    plan = mask.fit(table, KEY)
    return mask, plan, plan.apply(table, 0)["bought"]


cell = st.none() | st.lists(st.sampled_from("abcdefgh"), max_size=6).map("|".join)
tables = st.lists(cell, min_size=4, max_size=40)
trees = st.sampled_from([None, TREE])


@pytest.mark.slow
@settings(max_examples=50)
@given(cells=tables, k=st.integers(2, 4), m=st.integers(1, 4), tree=trees)
def test_no_set_of_m_items_is_rare(cells, k, m, tree):
    """And the claim is what the verifier counts; where nothing can stay, it is an error."""
    try:
        mask, plan, written = fitted(cells, k=k, m=m, hierarchy=tree)
    except DataError:
        filled = [each for each in cells if set(each or "") - {"|"}]
        items = Counter(it for each in filled for it in set(each.split("|")))
        if tree is None:
            assert len(filled) < k or max(items.values()) < k
        else:  # nothing below the top is in k rows everywhere
            halls = ["|".join({f"{it in 'efgh'}" for it in each if it != "|"}) for each in filled]
            assert len(filled) < k or rare_sets(halls, k, m)
        return

    assert not rare_sets(written, k, m)
    assert written.is_null().to_list() == [each is None for each in cells]
    (claim,) = mask.claims(["bought"], written.to_frame().select)
    found = MASK_CHECKS[claim.model](claim, written.to_frame().lazy())
    assert found.holds
    assert found.found["smallest"] >= k
    assert 0 <= plan.loss < 1
    if rare_sets(cells, k, m):
        assert plan.loss > 0
        assert not MASK_CHECKS[claim.model](claim, pl.LazyFrame({"bought": cells})).holds
    else:
        assert plan.loss == 0


@settings(max_examples=40)
@given(cells=tables, k=st.integers(2, 4), m=st.integers(1, 3))
def test_items_are_written_in_the_same_way_in_all_rows(cells, k, m):
    """Each is suppressed everywhere or nowhere; the loss is the share that is suppressed."""
    try:
        _, plan, written = fitted(cells, k=k, m=m)
    except DataError:
        return

    before = [set((each or "").split("|")) - {""} for each in cells]
    after = [set((each or "").split("|")) - {""} for each in written]
    kept = set().union(*after)
    assert after == [each & kept for each in before]
    lost = sum(map(len, before)) - sum(map(len, after))
    assert plan.loss == pytest.approx(lost / sum(map(len, before)))
    assert plan.suppressed_fraction == pytest.approx(plan.loss)


def least_suppression(cells, k, m):
    """The least share of items to suppress everywhere: all sets of items are tried."""
    sets = [set((each or "").split("|")) - {""} for each in cells]
    items = sorted(set().union(*sets))
    best = 1.0
    for size in range(1, len(items) + 1):
        for kept in combinations(items, size):
            left = [each & set(kept) for each in sets]
            if not rare_sets(["|".join(it) for it in left], k, m):
                best = min(best, 1 - sum(map(len, left)) / sum(map(len, sets)))
    return best


@settings(max_examples=25)
@given(
    cells=st.lists(
        st.lists(st.sampled_from("abcde"), min_size=1, max_size=4).map("|".join),
        min_size=6,
        max_size=12,
    ),
    m=st.integers(1, 2),
)
def test_suppression_is_near_the_least(cells, m):
    """Of five items, with Chvatal's bound for greedy covers: ln(10) + 1 at most, for m = 2."""
    least = least_suppression(cells, 2, m)
    if least == 1:
        with pytest.raises(DataError, match="No item"):
            fitted(cells, k=2, m=m)
        return

    loss = fitted(cells, k=2, m=m)[1].loss if least < 1 else 1

    assert least <= loss + 1e-9
    assert loss <= 3.4 * least + 1e-9
    if m == 1:
        assert loss == pytest.approx(least)


def least_cut(cells, tree, k, m):
    """The least NCP of any cut through the tree, without suppression: all are tried."""
    sets = [set(each.split("|")) for each in cells]
    items = [row[0] for row in tree]
    total = sum(map(len, sets))
    best = 1.0
    for levels in product(range(len(tree[0]) + 1), repeat=len(items)):
        label = {row[0]: (*row, "*")[level] for row, level in zip(tree, levels, strict=True)}
        of = {it: [row[0] for row in tree if label[it] in (*row, "*")] for it in items}
        if any(label[other] != label[it] for it in items for other in of[it]):
            continue  # no full subtree
        written = ["|".join({label[it] for it in each}) for each in sets]
        if not rare_sets(written, k, m):
            lost = sum(
                (len(of[it]) if len(of[it]) > 1 else 0) / len(items) for s in sets for it in s
            )
            best = min(best, lost / total)
    return best


SMALL = tuple((it, "left" if it in "ab" else "right") for it in "abcd")


@pytest.mark.slow
@settings(max_examples=25)
@given(
    cells=st.lists(
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map("|".join),
        min_size=6,
        max_size=12,
    )
)
def test_a_hierarchy_never_loses_more_than_suppression(cells):
    """And is not far from the best of suppression alone and of all cuts of four items."""
    best = min(least_cut(cells, SMALL, 2, 2), least_suppression(cells, 2, 2))

    loss = fitted(cells, k=2, m=2, hierarchy=SMALL)[1].loss

    with suppress(DataError):  # without a hierarchy nothing may stay
        assert loss <= fitted(cells, k=2, m=2)[1].loss
    assert loss <= 3.4 * best + 1e-9


def test_neighbours_are_written_as_their_parent():
    """Beer and wine are each in one basket with milk, and together in two."""
    tree = (("beer", "drinks"), ("wine", "drinks"), ("milk", "food"), ("bread", "food"))

    _, plan, written = fitted(
        ["beer|milk", "wine|milk", "bread|milk", "milk|bread"], k=2, m=2, hierarchy=tree
    )

    assert written.to_list() == ["drinks|milk", "drinks|milk", "bread|milk", "bread|milk"]
    assert plan.loss == pytest.approx(2 * (2 / 4) / 8)
    assert plan.counts["bought"] == {
        "items": 8, "suppressed": 0, "generalized": 2, "% loss (NCP)": 13,
    }  # fmt: skip


def test_an_item_is_suppressed_where_its_parent_would_lose_more():
    """One rare item of a large branch: its neighbours stay as they are."""
    tree = (*((f"wine {n}", "drinks") for n in range(9)), ("milk", "food"))
    cells = [f"milk|wine {n}" for n in range(8) for _ in range(3)] + ["milk|wine 8"]

    _, plan, written = fitted(cells, k=2, m=2, hierarchy=tree)

    assert written.to_list()[:24] == cells[:24]
    assert written.to_list()[24] == "milk"
    assert plan.counts["bought"]["suppressed"] == 1


def test_a_label_that_is_an_item_of_another_branch_comes_to_an_end():
    tree = (("a", "c", "left"), ("b", "b2", "left"), ("c", "d", "right"), ("d", "d", "right"))

    _, _, written = fitted(["a|b", "c|d", "a|d", "b|c", "a"], k=3, m=2, hierarchy=tree)

    assert not rare_sets(written, 3, 2)


def test_a_search_without_the_last_size_is_noticed(monkeypatch):
    """Weakened to pairs, three items single out a basket that the claim covers."""
    cells = [*["a|b", "b|c", "a|c"] * 3, "a|b|c"]
    run = recoding._Search.run
    monkeypatch.setattr(recoding._Search, "run", lambda it, k, m, column: run(it, k, m - 1, column))

    mask, _, written = fitted(cells, k=2, m=3)

    (claim,) = mask.claims(["bought"], written.to_frame().select)
    found = MASK_CHECKS[claim.model](claim, written.to_frame().lazy())
    assert not found.holds
    assert found.found["rare_sets"] == 1


def test_a_search_that_looks_again_after_few_sets_finds_all(monkeypatch):
    cells = ["|".join(it) for it in combinations("abcdefgh", 3)]
    monkeypatch.setattr(recoding, "_MOST_FOUND", 2)

    _, _, written = fitted(cells, k=4, m=2, hierarchy=TREE)

    assert not rare_sets(written, 4, 2)


def test_too_many_sets_are_refused(monkeypatch):
    monkeypatch.setattr(recoding, "_MOST_COUNTED", 10)

    with pytest.raises(DataError, match="sets of 2 items"):
        fitted(["a|b|c|d"] * 3, k=2, m=2)


def test_a_set_is_written_once_in_order_and_keeps_missing_cells():
    cells = ["b|a|b", "a||b|", "", None, "b|a"]

    assert fitted(cells, k=2, m=2)[2].to_list() == ["a|b", "a|b", "", None, "a|b"]


def test_more_known_items_than_the_largest_set_has():
    """All items of a set are known then; nothing else changes."""
    assert fitted(["a|b", "a|b", "c"], k=2, m=9)[2].to_list() == ["a|b", "a|b", ""]


def test_other_rows_get_the_items_that_are_known():
    table = pl.DataFrame({"bought": ["a|b"] * 3})
    plan = KmAnonymity(column="bought", k=2, m=2, separator="|").fit(table, KEY)

    other = pl.DataFrame({"bought": ["b|new", "new", None]})

    assert plan.apply(other, 0)["bought"].to_list() == ["b", "", None]
    assert "b" not in repr(plan).replace("RecodedItems", "")


@pytest.mark.parametrize(
    ("cells", "k", "words"),
    [
        (["a", "b"], 3, "2 rows with an item"),
        ([None, "", "|"], 2, "0 rows with an item"),
        (["a", "b", "c"], 2, "No item"),
    ],
)
def test_what_can_not_be_kept_is_refused(cells, k, words):
    with pytest.raises(DataError, match=words):
        fitted(cells, k=k, m=2)


def test_numbers_are_refused():
    mask = KmAnonymity(column="bought", k=2, m=1, separator="|")

    with pytest.raises(SchemaError, match="texts of items"):
        mask.fit(pl.DataFrame({"bought": [1, 2]}), KEY)


@pytest.mark.parametrize(
    "wrong",
    [{"k": 1}, {"m": 0}, {"separator": ""}, {"column": ""}, {"k": 2.0}, {"m": True}],
)
def test_parameters_that_can_not_be(wrong):
    with pytest.raises(ParameterError):
        KmAnonymity(**{"column": "bought", "k": 2, "m": 1, "separator": "|", **wrong})


def test_a_hierarchy_must_fit():
    with pytest.raises(HierarchyError, match="hold the separator"):
        fitted(["a", "a"], k=2, m=1, hierarchy=(("a", "x|y"),))
    with pytest.raises(HierarchyError, match="lacks 1 value"):
        fitted(["a|b", "a"], k=2, m=1, hierarchy=(("a", "x"),))


def test_rows_are_dropped_before_it():
    table = open_table(pl.DataFrame({"bought": ["a|b"] * 8}))
    mask, drop = KmAnonymity(column="bought", k=2, m=2, separator="|"), SimpleSampling(n=4)

    with pytest.raises(ParameterError, match="drops rows after"):
        mask_table(table, {}, key=KEY, table_masks=[mask, drop])
    found = mask_table(table, {}, key=KEY, table_masks=[drop, mask]).read()["bought"]
    assert found.to_list() == ["a|b"] * 4


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("m", "suppressed", "generalized"), [(1, 0.0022, 0.0005), (2, 0.457, 0.018), (3, 0.83, 0.026)]
)
def test_invoices_of_online_retail(shared_data, m, suppressed, generalized):
    """25,900 sets of up to 1,110 of 4,070 products; with a hierarchy of their codes, too."""
    lines = pl.read_csv(shared_data / "online_retail.csv.gz", infer_schema=False)
    sets = lines.group_by("InvoiceNo").agg(bought=pl.col("StockCode").unique())
    cells = sets["bought"].list.join("|").to_list()
    codes = lines["StockCode"].unique().sort()
    tree = tuple((it, *(f"{it[:n]:*<7}" for n in (4, 3, 2, 1))) for it in codes)

    for hierarchy, loss in ((None, suppressed), (tree, generalized)):
        mask, plan, written = fitted(cells, k=5, m=m, hierarchy=hierarchy)
        (claim,) = mask.claims(["bought"], written.to_frame().select)
        assert MASK_CHECKS[claim.model](claim, written.to_frame().lazy()).holds
        assert not MASK_CHECKS[claim.model](claim, pl.LazyFrame({"bought": cells})).holds
        assert plan.loss <= loss
