"""The classes of an earlier plan are found again in other rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask._errors import (
    DataError,
    GuaranteeNotMetError,
    HalfmaskError,
    ParameterError,
    SchemaError,
)
from halfmask.anonymize import (
    FullDomain,
    Guided,
    Level,
    Mdav,
    Mondrian,
    Population,
    Protection,
    Ranges,
)
from halfmask.anonymize.reusing import open_plan, seal_plan
from halfmask.data import Column, Hierarchy, Schema
from halfmask.guarantees import AverageRisk, DistinctLDiversity, KAnonymity, KMap, LKCPrivacy

CITIES = [f"{'ns'[i % 2]}{i}" for i in range(12)]
TREE = Hierarchy.from_rows([(city, city[0], "*") for city in CITIES], column="city")


def schema(*, tree=TREE, kind="numeric"):
    return Schema(
        (
            Column(name="age", role="quasi_identifier", kind=kind),
            Column(name="city", role="quasi_identifier", kind="categorical", hierarchy=tree),
            Column(name="ill", role="sensitive", kind="categorical"),
        )
    )


def people(n, seed=0, *, gaps=0.05, ages=(17, 90)):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(ages[0], ages[1], n),
            "city": rng.choice(CITIES, n),
            "ill": rng.choice(["flu", "cold", "none"], n),
        }
    )
    gone = pl.Series(rng.random(n) < gaps)
    return frame.with_columns(age=pl.when(gone).then(None).otherwise("age"))


def protection(method=None, *, k=5, recoding=None, said=None, more=(), **others):
    return Protection(
        schema=said or schema(),
        guarantees=(KAnonymity(k=k), *more),
        method=method or Mondrian(),
        recoding=recoding or Ranges(),
        **{"max_suppression_fraction": 0.0, **others},
    )


def made(given_protection, rows):
    fitted = given_protection.fit(given_protection.summarize(rows))
    return given_protection.plan_counted(fitted)


def reusing(given_protection, plan):
    return replace(given_protection, reused=open_plan(seal_plan(plan)))


def groups(cells):
    """Which rows are together, whatever the cells are called."""
    return np.unique(cells, return_inverse=True)[1].tolist()


KINDS = {
    "mondrian": {},
    "flat": {"said": schema(tree=None)},
    "level": {"recoding": Level()},
    "grid": {"said": schema(tree=None), "recoding": Ranges(step=5)},
    "guided": {"method": Guided(), "split_targets": ("ill",), "said": schema(tree=None)},
    "diverse": {"more": (DistinctLDiversity(l=3, column="ill"),)},
    "suppressing": {"max_suppression_fraction": 0.1},
    "joined": {"more": (LKCPrivacy(l=1, k=9, c=0.9, column="ill"),)},
}


@pytest.mark.parametrize("kind", [each for each in KINDS if each != "joined"])
def test_the_rows_of_the_plan_are_in_the_cells_that_it_finds_for_them(kind):
    first = protection(**KINDS[kind])
    rows = people(1500)
    plan, _, _ = made(first, rows)
    second = reusing(first, plan)

    again = second.fit(second.summarize(rows)).cell_of_row

    cells = plan.cells(rows)
    kept = cells >= 0
    assert groups(again[kept]) == groups(cells[kept])


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(sorted(set(KINDS) - {"joined"})))
@settings(max_examples=30)
def test_other_rows_with_known_values_are_in_the_cells_that_the_plan_finds(seed, kind):
    first = protection(**KINDS[kind])
    plan, _, _ = made(first, people(300, seed, ages=(17, 40)))
    rows = people(200, seed + 1, ages=(17, 40))
    known = pl.all_horizontal(pl.Series(codes >= 0) for codes in plan.codes(rows))
    rows = rows.filter(rows.select(known).to_series()) if rows.height else rows
    second = reusing(first, plan)

    found = second.fit(second.summarize(rows)).cell_of_row

    cells = plan.cells(rows)
    kept = cells >= 0
    assert groups(found[kept]) == groups(cells[kept])


@pytest.mark.parametrize("kind", KINDS)
def test_classes_keep_every_guarantee_and_ranges_hold_their_own_rows_alone(kind):
    first = protection(**KINDS[kind])
    plan, _, _ = made(first, people(1500))
    rows = people(900, 1, ages=(5, 99))

    again, fitted, counts = made(reusing(first, plan), rows)

    assert counts.classes.sizes.min() >= 5
    assert all(judgement.holds for judgement in fitted.judge())
    for column, coding in enumerate(again.codings):
        codes = coding.codes(rows[coding.column.name])
        for cell in range(again.partition.n_cells):
            here = codes[fitted.cell_of_row == cell]
            assert again.partition.low[cell, column] == here.min()
            assert again.partition.high[cell, column] == here.max()


def test_a_new_number_goes_where_the_next_smaller_one_went():
    said = Schema((Column(name="age", role="quasi_identifier", kind="numeric"),))
    first = protection(k=2, said=said)
    plan, _, _ = made(first, pl.DataFrame({"age": [10, 20, 30, 40]}))
    second = reusing(first, plan)

    rows = pl.DataFrame({"age": [1, 20, 29, 30, 99]})

    cells = second.fit(second.summarize(rows)).cell_of_row
    assert cells.tolist() == plan.cells(rows).tolist() == [0, 0, 0, 1, 1]


def test_a_new_leaf_goes_to_the_node_that_it_is_below():
    tree = Hierarchy.from_rows(
        [(each, each[0], "*") for each in ["a1", "a2", "b1", "b2"]], column="c"
    )
    said = Schema((Column(name="c", role="quasi_identifier", kind="categorical", hierarchy=tree),))
    first = protection(k=2, said=said, recoding=Level())
    plan, _, _ = made(first, pl.DataFrame({"c": ["a1", "a1", "b2", "b2"]}))

    rows = pl.DataFrame({"c": ["a1", "a2", "b1", "b2"]})

    again, _, _ = made(reusing(first, plan), rows)
    assert again.apply(rows)["c"].to_list() == ["a", "a", "b", "b"]


def test_new_categories_are_released_and_missing_cells_too():
    said = schema(tree=None)
    first = protection(said=said)
    plan, _, _ = made(first, people(500, gaps=0))
    rows = people(500, 1, gaps=0.3).with_columns(
        city=pl.when(pl.int_range(500) < 20).then(pl.lit("new")).otherwise("city")
    )

    _, fitted, counts = made(reusing(first, plan), rows)

    assert counts.classes.rows == 500
    assert (fitted.cell_of_row >= 0).all()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"joined"}))
def test_a_plan_can_be_reused_again_and_again(kind):
    first = protection(**KINDS[kind])
    rows = people(1500)
    plan, _, _ = made(first, rows)
    once = reusing(first, plan)
    for seed in range(3):
        again, fitted, _ = made(once, people(800, seed + 1, ages=(10 + seed, 95)))
        twice = reusing(first, again)
        found = twice.fit(twice.summarize(people(800, seed + 1, ages=(10 + seed, 95))))
        kept = fitted.cell_of_row >= 0
        assert groups(found.cell_of_row[kept]) == groups(fitted.cell_of_row[kept])
        once = twice


def test_the_levels_of_full_domain_generalization_stay():
    first = protection(FullDomain(), recoding=Level(), max_suppression_fraction=0.2)
    plan, _, _ = made(first, people(300))
    rows = people(3000, 1)

    again, _, counts = made(reusing(first, plan), rows)

    assert again.partition.levels == plan.partition.levels
    assert made(first, rows)[0].partition.levels != plan.partition.levels
    assert counts.classes.sizes.min() >= 5


def test_a_table_that_is_counted_in_batches_has_the_same_classes():
    first = protection()
    plan, _, _ = made(first, people(1500))
    second, rows = reusing(first, plan), people(900, 1)
    whole = second.summarize(rows)
    sample = replace(whole, rows=whole.rows.head(100))

    fitted = second.fit(sample)
    counted, _, counts = second.plan_counted(fitted, second.count(fitted, rows))

    assert groups(counted.cells(rows)) == groups(made(second, rows)[1].cell_of_row)
    assert counts.classes.sizes.min() >= 5


@pytest.mark.parametrize(
    ("method", "recoding", "fraction"),
    [
        (Mondrian(), Ranges(), 0.0),
        (Mondrian(strict=False), Ranges(), 0.0),
        (Mdav(), Ranges(), 0.0),
        (FullDomain(), Level(), 0.1),
        (FullDomain(rounds=2), Level(), 0.1),
    ],
)
def test_a_plan_without_some_rows_has_the_same_cells_and_drops_those_that_lack_rows(
    method, recoding, fraction
):
    said = schema(tree=TREE if isinstance(method, FullDomain) else None)
    wanted = protection(method, recoding=recoding, said=said, max_suppression_fraction=fraction)
    rows = people(600, gaps=0)
    _, fitted, _ = made(wanted, rows)
    is_first = fitted.cell_of_row == 0
    gone = np.random.default_rng(3).random(600) < 0.2
    gone |= is_first & (np.cumsum(is_first) > 3)

    plan, left, counts = wanted.plan_apart(fitted.without(gone))

    sizes = np.bincount(fitted.cell_of_row[~gone & (fitted.cell_of_row >= 0)])
    assert sorted(sizes[sizes >= 5].tolist()) == sorted(counts.classes.sizes.tolist())
    assert (left.cell_of_row[gone] == -1).all()
    stays = left.cell_of_row >= 0
    assert groups(left.cell_of_row[stays]) == groups(fitted.cell_of_row[stays])
    assert all(judgement.holds for judgement in left.judge())
    assert len(plan.written[0]) == plan.partition.n_cells == counts.classes.n_classes
    if method in (Mondrian(), FullDomain()):
        assert plan.cells(rows)[stays].tolist() == left.cell_of_row[stays].tolist()
    ages = rows["age"].filter(pl.Series(stays))
    if not isinstance(method, FullDomain):
        low = pl.DataFrame({"cell": left.cell_of_row[stays], "age": ages}).group_by("cell").min()
        written = plan.written[0].str.extract(r"^\[?(\d+)").cast(pl.Int64)
        assert written.gather(low["cell"]).to_list() == low["age"].to_list()


def test_ranges_end_at_values_of_the_rows_that_are_left():
    said = Schema((Column(name="age", role="quasi_identifier", kind="numeric"),))
    wanted = protection(k=2, said=said)
    _, fitted, _ = made(wanted, pl.DataFrame({"age": [10, 11, 12, 40, 40]}))

    plan, _, counts = wanted.plan_apart(fitted.without(np.arange(5) == 0))

    assert plan.written[0].to_list() == ["[11, 12]", "40"]
    assert counts.classes.sizes.tolist() == plan.partition.sizes.tolist() == [2, 2]


def test_no_cells_are_merged_for_a_guarantee_of_the_whole_table():
    said = Schema((Column(name="age", role="quasi_identifier", kind="numeric"),))
    wanted = protection(k=2, said=said, more=(AverageRisk(risk=0.25),))
    _, fitted, _ = made(wanted, pl.DataFrame({"age": [10] * 4 + [40] * 4}))

    with pytest.raises(GuaranteeNotMetError, match="No cell keeps"):
        wanted.plan_apart(fitted.without(np.arange(8) % 4 == 0))


def test_people_are_counted_again_in_the_ranges_of_the_rows_that_are_left():
    said = Schema((Column(name="age", role="quasi_identifier", kind="numeric"),))
    everybody = pl.DataFrame({"age": [10, 10, 10, 11, 12, 13, *[40] * 6, 41, 42, 43]})
    wanted = protection(k=2, said=said, more=(KMap(k=6),), population=Population(people=everybody))
    _, fitted, _ = made(wanted, pl.DataFrame({"age": [10, 11, 12, 13, 40, 41, 42, 43]}))

    plan, _, _ = wanted.plan_apart(fitted.without(np.arange(8) == 0))

    assert plan.written[0].to_list() == ["[40, 43]"]


def test_no_row_is_left_out_to_make_a_reused_class_narrower():
    said = Schema((Column(name="age", role="quasi_identifier", kind="numeric"),))
    rows = pl.DataFrame({"age": [10, 10, 10, 10, 10, 99]})
    plan, _, _ = made(protection(said=said), rows)
    wanted = protection(said=said, max_suppression_fraction=0.2)

    assert made(wanted, rows)[2].classes.rows == 5
    assert made(reusing(wanted, plan), rows)[2].classes.rows == 6


FULL = {"method": FullDomain(), "recoding": Level(), "max_suppression_fraction": 0.2}
ROUNDS = {**FULL, "method": FullDomain(rounds=2)}
FLAT = schema(tree=None)
TALL = Hierarchy.from_rows([(city, city[0], "all", "*") for city in CITIES], column="city")
OTHER = Hierarchy.from_rows([(city, city[-1], "*") for city in CITIES], column="city")


@pytest.mark.parametrize(
    ("first", "second", "error", "why"),
    [
        ({"method": Mdav()}, {"method": Mdav()}, ParameterError, "can't be reused"),
        ({"method": Mondrian(strict=False), "said": FLAT}, {}, ParameterError, "can't be reused"),
        (ROUNDS, ROUNDS, ParameterError, "can't be reused"),
        (FULL, ROUNDS, ParameterError, "rounds=2"),
        (FULL, {**FULL, "said": schema(tree=TALL)}, SchemaError, "had another height"),
        ({}, {"method": Guided()}, ParameterError, "made by 'mondrian'"),
        ({}, {"said": Schema(schema().columns[:1])}, SchemaError, "has 2 quasi-identifiers"),
        (
            {"said": FLAT},
            {"said": FLAT, "recoding": Ranges(step=5)},
            SchemaError,
            "ended elsewhere",
        ),
        ({}, {"said": schema(tree=OTHER)}, SchemaError, "'city' have another order"),
    ],
)
def test_what_can_t_be_reused_is_refused(first, second, error, why):
    plan, _, _ = made(protection(**first), people(500))

    with pytest.raises(error, match=why) as caught:
        made(reusing(protection(**second), plan), people(500, 1))

    assert caught.value.hint


def test_values_of_another_type_are_refused_and_named_by_their_column():
    first = protection()
    plan, _, _ = made(first, people(500))
    halves = people(500).with_columns(pl.col("age").cast(pl.Float64))
    texts = halves.with_columns(pl.col("age").cast(pl.String))

    assert made(reusing(first, plan), halves)[2].classes.rows == 500
    with pytest.raises(HalfmaskError, match="'age'"):
        made(reusing(first, plan), texts)
    plan, _, _ = made(first, halves.with_columns(pl.col("age") + 0.5))
    with pytest.raises(SchemaError, match="'age'"):
        made(reusing(first, plan), people(500))


@pytest.mark.parametrize("sealed", [b"", b"{}\n", b'{"version": 1}\nx', b'{"version": 2}\n', b"[]"])
def test_what_is_no_plan_is_an_error(sealed):
    with pytest.raises(DataError):
        open_plan(sealed)
