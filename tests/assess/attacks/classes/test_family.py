"""What all attacks on classes share: any name, spans of time, and seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask.assess.attacks import Attack, TableTarget
from halfmask.assess.attacks.classes import ATTACKS, Minimality
from halfmask.assess.attacks.classes._disclosure import class_numbers
from halfmask.assess.attacks.releases import Intersection
from halfmask.assess.attacks.tables import AssignmentLinkage

if TYPE_CHECKING:
    from halfmask.assess.attacks import Outcome

EVERY: list[Attack] = [
    *(make() for make in ATTACKS),
    Intersection(),
    Minimality(finer="values"),
]
#: Names that tables of ours or of polars have, and one that polars takes for a pattern.
NAMES = (
    *("count", "row", "row of class", "class", "size", "seen", "own", "label", "child", "n", "m"),
    *("text", "index", "later", "earlier", "row later", "twin of row", "value", "literal", "place"),
    *("", "0", "^.*$", "*"),
)


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "city": rng.choice(["ulm", "bonn", "kiel"], n),
            "ill": rng.choice(["flu", "hiv", "cold", "none"], n),
        }
    )


def release(original: pl.DataFrame, names: dict[str, str]) -> TableTarget:
    """Return a release whose columns have other names."""
    age, city, ill = (names.get(name, name) for name in ("age", "city", "ill"))
    renamed = original.rename(names)
    decade = original["age"] // 10 * 10
    coarse = pl.select(pl.format("[{}, {}]", decade, decade + 9)).to_series().alias(age)
    return TableTarget(
        released=renamed.with_columns(coarse),
        original=renamed,
        quasi_identifiers=(age, city),
        secrets=(ill,),
        guarantees=(hm.DistinctLDiversity(l=2, column=ill),),
        earlier=[(renamed, renamed)],
    )


def numbers(outcomes: tuple[Outcome, ...]) -> list[object]:
    return [(o.success, o.control, o.details) for o in outcomes]


@pytest.mark.slow
@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
@pytest.mark.parametrize("column", ["age", "city", "ill"])
def test_a_columns_name_changes_nothing(each: Attack, column: str):
    original = people(60, 1)
    plain = numbers(each.run(release(original, {}), random_state=0))

    for name in NAMES:
        found = each.run(release(original, {column: name}), random_state=0)
        assert numbers(found) == plain, name


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_a_columns_name_is_no_part_of_what_is_measured(each: Attack):
    original = people(60, 1)
    plain = [o.kind for o in each.run(release(original, {}), random_state=0)]

    assert plain
    for name in ("AUC", "certain", "ill ill"):
        found = each.run(release(original, {"ill": name}), random_state=0)
        assert [o.kind for o in found] == plain, name


def test_classes_are_numbered_by_their_first_rows_whatever_columns_are_called():
    rows = pl.DataFrame({"^.*$": [1, 1, 2, 1], "row": ["x", "y", "x", "x"], "b": [1, 2, 3, 4]})

    assert class_numbers(rows, ["^.*$", "row"]).to_list() == [0, 1, 2, 0]
    assert class_numbers(rows, ["^.*$"]).to_list() == [0, 0, 2, 0]
    assert class_numbers(rows, ["absent"]).to_list() == [0, 0, 0, 0]


def test_assignment_takes_columns_of_any_name():
    rows = pl.DataFrame({"^.*$": [1, 1, 2], "row": [5, 6, 7]})
    target = TableTarget(released=rows, original=rows, quasi_identifiers=("^.*$",))
    known, everything = AssignmentLinkage().run(target, random_state=0)

    assert known.success.value == pytest.approx(2 / 3)
    assert everything.success.value == 1.0


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
@pytest.mark.parametrize("column", ["city", "ill"])
def test_spans_of_time_are_values_like_others(each: Attack, column: str):
    original = people(60, 1)
    hours = {"ulm": 1, "bonn": 2, "kiel": 3, "flu": 1, "hiv": 2, "cold": 3, "none": 4}
    coded = original.with_columns(pl.col(column).replace_strict(hours, return_dtype=pl.Int64))
    spans = coded.with_columns(pl.duration(minutes=pl.col(column)).alias(column))

    of_spans, of_numbers = (
        each.run(release(table, {}), random_state=0) for table in (spans, coded)
    )
    assert numbers(of_spans) == numbers(of_numbers)


def test_lists_beside_what_is_attacked_are_left_alone():
    original = people(60, 1).with_columns(pl.concat_list("age", "age").alias("twice"))
    target = TableTarget(
        released=original,
        original=original,
        quasi_identifiers=("age",),
        secrets=("ill",),
        earlier=[(original, original)],
    )

    for each in EVERY[:3] + EVERY[-2:-1]:
        assert each.run(target, random_state=0), each.name


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.name)
def test_a_seed_decides_every_digit(each: Attack):
    """Sums of shares depend on their order, which polars leaves open unless it is asked."""
    rng = np.random.default_rng(0)
    original = pl.DataFrame(
        {
            "age": rng.integers(0, 3000, 4000),
            "city": rng.choice([f"city {i}" for i in range(300)], 4000),
            "ill": rng.choice([f"ill {i}" for i in range(40)], 4000),
        }
    )
    target = release(original, {})

    first = numbers(each.run(target, random_state=3))
    assert all(numbers(each.run(target, random_state=3)) == first for _ in range(5))
