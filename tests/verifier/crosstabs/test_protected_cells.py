"""Sensitive cells by the verifier's own tabulation and rules, and what can be computed of them."""

from __future__ import annotations

import polars as pl
import pytest

import halfmask
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    claim,
    flat,
    intervals,
    protected,
    release,
    tree,
)

ROW, COLUMN = flat("row", "r1", "r2", "r3"), flat("column", "c1", "c2", "c3")
P10 = {"rule": "p-percent", "p": 10.0}


def rows_of(contributions, *, owners=True):
    """Microdata: a row for each contribution; each has an owner of its own unless it is a pair."""
    rows, number = [], 0
    for (row, column), values in contributions.items():
        for value in values:
            number += 1
            who, amount = value if isinstance(value, tuple) else (f"f{number}", value)
            rows.append({"row": row, "column": column, "firm": who, "turnover": float(amount)})
    frame = pl.DataFrame(rows)
    return frame if owners else frame.drop("firm")


def sums_of(frame):
    inner = {
        (row, column): value
        for row, column, value in frame.group_by("row", "column")
        .agg(pl.col("turnover").sum())
        .rows()
    }
    return cells_of(inner, (ROW, COLUMN))


#: Only r1, c1 is sensitive: its second contributor knows the first to within 5 percent.
FIRMS = {
    ("r1", "c1"): [100, 60, 5],
    **{
        (f"r{row}", f"c{column}"): [40, 38, 36, 35]
        for row in (1, 2, 3)
        for column in (1, 2, 3)
        if (row, column) != (1, 1)
    },
}
SQUARE = {("r1", "c1"), ("r1", "c2"), ("r2", "c1"), ("r2", "c2")}


def checked(folder, frame, hidden, rules=(P10,), *, sensitive=1, owner="firm", **more):
    table = Table("t", (ROW, COLUMN), sums_of(frame), hidden, measure="turnover")
    claims = [
        claim("true-values"),
        intervals(1e-4, len(hidden), measure="turnover"),
        protected(rules, sensitive=sensitive, **more),
    ]
    claims[0] = claim("true-values", cells=len(table.cells) - len(hidden))
    release(folder, [table], claims if hidden else [claims[0], claims[2]], owner=owner)
    return halfmask.verify(folder, originals=frame)


def test_a_square_of_cells_protects_one(tmp_path):
    found = checked(tmp_path / "a", rows_of(FIRMS), SQUARE)
    assert found.holds, found.sentences()
    assert found.claims[2].found["sensitive"] == 1


def test_without_the_originals_it_is_not_checked(tmp_path):
    checked(tmp_path / "a", rows_of(FIRMS), SQUARE)
    found = halfmask.verify(tmp_path / "a")
    assert not found.holds
    assert not found.is_broken
    assert [each.checked for each in found.claims] == [False, True, False]


def test_a_published_sensitive_cell_fails(tmp_path):
    assert checked(tmp_path / "a", rows_of(FIRMS), set()).claims[1].holds is False


@pytest.mark.parametrize("cell", sorted(SQUARE))
def test_each_cell_of_the_square_is_needed(tmp_path, cell):
    assert not checked(tmp_path / "a", rows_of(FIRMS), SQUARE - {cell}).claims[2].holds


def test_two_rows_of_one_firm_are_one_contribution(tmp_path):
    """One firm with two rows of 50 dominates r2, c3 as one with a row of 100 does."""
    firms = FIRMS | {("r2", "c3"): [("x", 50), ("x", 50), 60, 5]}
    found = checked(tmp_path / "a", rows_of(firms), SQUARE, sensitive=2)
    assert not found.claims[2].holds
    assert found.claims[2].found["published"] == 1
    rows = rows_of(firms, owners=False)
    assert checked(tmp_path / "b", rows, SQUARE, owner=None).claims[2].holds


def test_fewer_sensitive_cells_than_there_are(tmp_path):
    assert not checked(tmp_path / "a", rows_of(FIRMS), SQUARE, sensitive=0).claims[2].holds


def test_an_interval_that_is_too_narrow(tmp_path):
    """The other cells of the square hold 2 each: r1, c1 is known to within 2 of 165."""
    firms = FIRMS | {cell: [0.5] * 4 for cell in SQUARE - {("r1", "c1")}}
    rules = [{"rule": "minimum-frequency", "n": 4, "margin": 1.0}]
    assert checked(tmp_path / "a", rows_of(firms), SQUARE, rules).claims[2].holds
    rules = [{"rule": "minimum-frequency", "n": 4, "margin": 2.0}]
    assert not checked(tmp_path / "b", rows_of(firms), SQUARE, rules).claims[2].holds


def test_a_lone_owner_computes_another_cell(tmp_path):
    """Who is alone in r1, c2 knows the square's other cells, too."""
    firms = FIRMS | {("r1", "c2"): [("big", 150)]}
    rules = [P10, {"rule": "minimum-frequency", "n": 2, "margin": 5.0}]
    found = checked(tmp_path / "a", rows_of(firms), SQUARE, rules, sensitive=2)
    assert not found.claims[2].holds
    assert found.claims[2].found["unmet"] > 0
    assert (
        checked(tmp_path / "b", rows_of(firms), SQUARE, rules, sensitive=2, singletons="off")
        .claims[2]
        .holds
    )
    wider = SQUARE | {("r1", "c3"), ("r2", "c3")}
    for how in ("exact", "full"):
        found = checked(tmp_path / how, rows_of(firms), wider, rules, sensitive=2, singletons=how)
        assert found.holds, found.sentences()


def test_a_lone_owner_knows_their_own_part_of_a_total(tmp_path):
    """The total of r1 is 920, and 900 of it are one firm's: for this firm it can't be 850."""
    firms = FIRMS | {("r1", "c1"): [("big", 900)]}
    firms |= {("r1", "c2"): [5, 5], ("r1", "c3"): [5, 5]}
    rows = {(row, column) for row in ("r1", "r2") for column in ("Total", "c1", "c2", "c3")}
    found = checked(tmp_path / "a", rows_of(firms), rows, sensitive=4, singletons="full")
    assert found.holds, found.sentences()


def test_the_sum_of_hidden_cells_keeps_the_rules(tmp_path):
    """A firm of 100 stays 90 percent of what is hidden in its row."""
    firms = FIRMS | {("r1", "c1"): [100, 5], ("r1", "c2"): [4, 3, 2.5]}
    found = checked(tmp_path / "a", rows_of(firms), SQUARE)
    assert not found.claims[2].holds
    assert found.claims[2].found["sums"] > 0
    found = checked(tmp_path / "b", rows_of(firms), SQUARE, hidden_sums="off", singletons="off")
    assert found.claims[2].found["sums"] == 0


@pytest.mark.parametrize(
    ("rule", "n_sensitive"),
    [
        ({"rule": "dominance", "n": 1, "k": 60.0}, 1),
        ({"rule": "dominance", "n": 1, "k": 61.0}, 0),
        ({"rule": "dominance", "n": 2, "k": 90.0}, 1),
        ({"rule": "p-percent", "p": 5.0}, 0),
        ({"rule": "p-percent", "p": 5.1}, 1),
        ({"rule": "prior-posterior", "p": 5.0, "q": 100.0}, 0),
        ({"rule": "prior-posterior", "p": 5.0, "q": 90.0}, 1),
        ({"rule": "minimum-frequency", "n": 3, "margin": 5.0}, 0),
        ({"rule": "minimum-frequency", "n": 4, "margin": 5.0}, 1),
    ],
)
def test_each_rule_by_hand(tmp_path, rule, n_sensitive):
    """r1, c1 has 100, 60 and 5: the first is 60.6 percent, two are 97 percent."""
    found = checked(tmp_path / "a", rows_of(FIRMS), SQUARE, [rule], sensitive=n_sensitive)
    assert found.claims[2].found["sensitive"] == n_sensitive


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "p-percent"},
        {"rule": "p-percent", "p": -1.0},
        {"rule": "p-percent", "p": 10.0, "k": 3.0},
        {"rule": "p-percent", "p": 10.0, "tables": ["other"]},
        {"rule": "dominance", "n": 6, "k": 90.0},
        {"rule": "minimum-frequency", "n": 3},
        {"rule": "class-disclosure", "dimension": "row"},
        {"rule": "other"},
        {"rule": "p-percent", "p": "10"},
    ],
)
def test_a_rule_that_can_not_be_applied(tmp_path, rule):
    found = checked(tmp_path / "a", rows_of(FIRMS), SQUARE, [rule], sensitive=9)
    assert not found.claims[2].holds


@pytest.mark.parametrize("more", [{"singletons": "none"}, {"hidden_sums": "yes"}])
def test_words_that_are_not_known(tmp_path, more):
    assert not checked(tmp_path / "a", rows_of(FIRMS), SQUARE, **more).claims[2].holds


def counts(folder, people, hidden, rules, **more):
    """A release of counts of people, by group and illness."""
    group, ill = flat("group", "g1", "g2", "g3"), flat("ill", "flu", "cough", "none")
    inner = {
        (row, column): n for row, column, n in people.group_by("group", "ill").len().iter_rows()
    }
    shown = {(row, column): 0 for row in group.codes for column in ill.codes}
    cells = shown | cells_of(inner, (group, ill))
    claims = [
        claim("true-values", cells=16 - len(hidden)),
        intervals(1, len(hidden)),
        protected(rules, sensitive=more.pop("sensitive", 0), **more),
    ]
    release(folder, [Table("t", (group, ill), cells, hidden)], claims, zeros="suppressible")
    return halfmask.verify(folder, originals=people)


def people(**cells):
    return pl.DataFrame(
        [
            {"group": place.split("_")[0], "ill": place.split("_")[1]}
            for place, n in cells.items()
            for _ in range(n)
        ]
    )


def test_a_group_of_one_category(tmp_path):
    """All of g1 have flu: a cell of g1 that nobody is in must be possible."""
    frame = people(g1_flu=5, g2_flu=4, g2_cough=6, g2_none=3, g3_flu=3, g3_cough=4, g3_none=8)
    rules = [{"rule": "class-disclosure", "dimension": "ill"}]
    square = {("g1", "flu"), ("g1", "cough"), ("g2", "flu"), ("g2", "cough")}
    found = counts(tmp_path / "a", frame, square, rules)
    assert found.holds, found.sentences()
    other = {("g2", "flu"), ("g2", "cough"), ("g3", "flu"), ("g3", "cough")}
    found = counts(tmp_path / "b", frame, other, rules)
    assert not found.claims[2].holds
    assert found.claims[2].found["unmet"] == 1


def test_counts_need_an_interval_up_to_n(tmp_path):
    frame = people(
        g1_flu=2, g1_cough=9, g1_none=9, g2_flu=1, g2_cough=7, g2_none=9, g3_flu=9, g3_none=8
    )
    square = {("g1", "flu"), ("g1", "cough"), ("g2", "flu"), ("g2", "cough")}
    rules = [{"rule": "minimum-frequency", "n": 3}]
    # g1, flu can be 0 to 3, and g2, flu the rest of 3.
    found = counts(tmp_path / "a", frame, square, rules, sensitive=2, singletons="off")
    assert found.holds, found.sentences()
    rules = [{"rule": "minimum-frequency", "n": 4}]
    found = counts(tmp_path / "b", frame, square, rules, sensitive=2, singletons="off")
    assert not found.claims[2].holds
    # Who is alone in g2, flu computes g1, flu: their sum is published.
    rules = [{"rule": "minimum-frequency", "n": 3}]
    found = counts(tmp_path / "c", frame, square, rules, sensitive=2)
    assert not found.claims[2].holds


def test_zeros_that_are_sensitive(tmp_path):
    frame = people(
        g1_flu=5, g1_none=5, g2_flu=4, g2_cough=6, g2_none=3, g3_flu=3, g3_cough=4, g3_none=2
    )
    square = {("g1", "flu"), ("g1", "cough"), ("g2", "flu"), ("g2", "cough")}
    found = counts(tmp_path / "a", frame, square, [{"rule": "zeros"}], sensitive=1)
    assert found.holds, found.sentences()
    other = {("g2", "flu"), ("g2", "cough"), ("g3", "flu"), ("g3", "cough")}
    assert not counts(tmp_path / "b", frame, other, [{"rule": "zeros"}], sensitive=1).holds


def test_who_is_alone_in_a_group_knows_that_its_other_cells_are_empty(tmp_path):
    frame = people(g1_flu=1, g2_flu=4, g2_cough=6, g2_none=3, g3_flu=3, g3_cough=4, g3_none=2)
    rows = {(group, ill) for group in ("g1", "g2") for ill in ("Total", "flu", "cough", "none")}
    for how in ("exact", "full"):
        found = counts(
            tmp_path / how, frame, rows, [{"rule": "zeros"}], sensitive=2, singletons=how
        )
        assert found.holds, found.sentences()


def test_weights_by_the_two_formulas(tmp_path):
    """G6: 100 of weight 2 and 1 of weight 3 are 203: p percent is unsafe for replicated units."""
    row = flat("row", "r1", "r2")
    frame = pl.DataFrame(
        {
            "row": ["r1", "r1", *["r2"] * 4],
            "turnover": [100.0, 1.0, 60.0, 60.0, 60.0, 60.0],
            "w": [2.0, 3.0, 1.0, 1.0, 1.0, 1.0],
        }
    )
    table = Table(
        "t", (row,), cells_of({("r1",): 203.0, ("r2",): 240.0}, (row,)), measure="turnover"
    )
    for how, n in (("replicated", 1), ("sample", 0)):
        claims = [
            claim("true-values", cells=3),
            protected([{"rule": "p-percent", "p": 4.0}], sensitive=1),
        ]
        folder = release(tmp_path / how, [table], claims, weight="w", weights=how)
        found = halfmask.verify(folder, originals=frame)
        assert found.claims[0].holds
        assert found.claims[1].found["published"] == n


def test_trees_and_codes_that_are_numbers(tmp_path):
    """Codes of a tree are those of its column; whole floats are written without their point."""
    place = tree(
        "place", {"north": ("1", "2"), "south": ("3", "NA")}, levels=("town",), missing="NA"
    )
    frame = pl.DataFrame({"town": [1.0, 1.0, 2.0, 3.0, None, None, None]})
    cells = {
        ("Total",): 7,
        ("north",): 3,
        ("south",): 4,
        ("1",): 2,
        ("2",): 1,
        ("3",): 1,
        ("NA",): 3,
    }
    folder = release(tmp_path / "a", [Table("t", (place,), cells)], [claim("true-values", cells=7)])
    assert halfmask.verify(folder, originals=frame).holds
    assert not halfmask.verify(folder, originals=frame.head(6)).holds
    assert not halfmask.verify(folder, originals=frame.fill_null(9.0)).holds
