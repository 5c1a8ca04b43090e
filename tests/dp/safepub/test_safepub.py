"""Releases of SafePub: what they hold, what they don't depend on, and what the verifier finds."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfmask
from halfmask._errors import (
    BudgetError,
    ColumnNotFoundError,
    DataError,
    GuaranteeNotMetError,
    HierarchyError,
    ParameterError,
    VerificationError,
)
from halfmask.data import Dates, Groups, Hierarchy, Intervals, Order, Prefix
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit
from halfmask.dp.safepub import SafePub, _levels
from halfmask.dp.safepub._levels import LeveledColumn, level_scores

TREES: dict[str, Any] = {
    "age": Intervals(widths=(10, 20)),
    "town": Groups({"north": ["a", "b"], "south": ["c", "d"]}),
    "sex": None,
}
GIVEN: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 1e-3,
    "sampling_fraction": 0.5,
    "search_epsilon": 0.0,
    "hierarchies": TREES,
    "levels": {"age": 1, "town": 1, "sex": 1},
}


def people(n=6007, seed=1, *, gaps=False):
    draw = random.Random(seed)
    rows = [
        (
            None if gaps and draw.random() < 0.2 else draw.randrange(60),
            draw.choice("abcd"),
            draw.choice("fm"),
            f"name {i}",
        )
        for i in range(n)
    ]
    return pl.DataFrame(rows, schema=["age", "town", "sex", "name"], orient="row")


def test_rows_are_a_sample_at_the_given_levels_without_small_classes():
    table = people()
    safe = SafePub(**GIVEN)

    released = safe.release(table).data

    assert released.columns == ["age", "town", "sex"]
    expected = Counter(
        (f"[{age // 10 * 10}, {age // 10 * 10 + 10})", "north" if town in "ab" else "south", "*")
        for age, town, _, _ in table.rows()
    )
    found = Counter(released.rows())
    assert all(safe.k <= n <= expected[key] for key, n in found.items())
    drawn = table.height / 2
    assert abs(released.height - drawn) < 6 * math.sqrt(drawn / 2)
    assert released.equals(released.sort(released.columns))


def test_two_releases_differ_and_missing_cells_are_a_class():
    safe = SafePub(**GIVEN)
    one, two = (safe.release(people(gaps=True)).data for _ in range(2))
    assert not one.equals(two)
    assert one["age"].null_count() >= safe.k


def test_rows_are_drawn_with_exactly_the_stated_probability(monkeypatch):
    limit = 2**63
    words = np.array([0, limit - 1, limit, 2**64 - 1], dtype=np.uint64)
    monkeypatch.setattr(os, "urandom", lambda n: words.tobytes() * (n // 32))
    table = pl.DataFrame({"sex": ["f", "m", "f", "m"] * 500})
    safe = SafePub(**GIVEN | {"hierarchies": {"sex": None}, "levels": {"sex": 0}})

    released = safe.release(table).data

    assert Counter(released["sex"]) == {"f": 500, "m": 500}  # words 0 and 1 of each four


@pytest.mark.slow
@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_one_row_moves_a_score_by_no_more_than_the_sensitivity(seed):
    draw = random.Random(seed)
    table = people(draw.randrange(1, 30), seed)
    least_rows = draw.randrange(1, 6)
    candidates = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 1), (3, 2, 0), (0, 2, 1)]

    def scores(frame):
        columns = [LeveledColumn.of(frame[name], tree) for name, tree in TREES.items()]
        return level_scores(columns, candidates, least_rows=least_rows)

    (before, sensitivity), (after, same) = scores(table), scores(table.tail(-1))
    assert sensitivity == same == 36 * least_rows / 2
    assert np.abs(before - after).max() <= sensitivity


@pytest.mark.parametrize(
    ("rule", "series"),
    [
        (Dates(levels=("month", "year")), pl.Series(["2020-01-31", "2021-02-01", "2021-02-03"])),
        (Prefix(keep=(3, 1), length=4), pl.Series([1234, 1299, 7])),
        (Order(["a", "b", "c", "d"], sizes=(2,)), pl.Series(["a", "b", "d"])),
    ],
)
def test_labels_by_any_rule_depend_on_no_other_row(rule, series):
    whole = LeveledColumn.of(series, rule)
    for i in range(3):
        one = LeveledColumn.of(series[i : i + 1], rule)
        assert one.height == whole.height
        for level in range(one.height + 1):
            assert one.at(level)[0] == whole.at(level)[i]
    none = pl.Series([None, None], dtype=series.dtype)
    assert LeveledColumn.of(none, rule).height == whole.height


def test_levels_are_chosen_within_what_is_allowed(monkeypatch):
    asked = []

    def choose(scores, **_):
        asked.append(len(scores))
        return len(scores) - 1

    monkeypatch.setattr(_levels, "choose", choose)
    levels = {"age": (1, 2), "town": (1, None), "sex": 0}
    given = {"search_epsilon": 0.25, "sampling_fraction": 0.4, "levels": levels}
    assert SafePub(**GIVEN | given).release(people()).levels == {"age": 2, "town": 2, "sex": 0}
    assert asked == [4]


def visits():
    """One patient has half of all rows, with a town of their own."""
    rows = people(4000)
    many = pl.DataFrame({"age": [70] * 4000, "town": "d", "sex": "f", "name": "canary"})
    return pl.concat([rows, many.select(rows.columns)])


def test_one_row_of_each_person_takes_part():
    levels = {"age": 1, "town": 0, "sex": 0}
    safe = SafePub(**GIVEN | {"levels": levels})
    old = pl.col("age") == "[70, 80)"
    assert not safe.release(visits()).data.filter(old).is_empty()
    released = SafePub(**GIVEN | {"levels": levels, "person": "name"}).release(visits())
    assert released.data.height
    assert released.data.filter(old).is_empty()
    claim = released.claims()[0]
    assert claim.about["unit"] == "person"
    assert claim.about["neighbours"] == "all rows of one person are added or removed"


def test_a_row_without_a_person_is_refused_without_a_value():
    table = people().with_columns(name=pl.lit(None, dtype=pl.String))
    with pytest.raises(DataError, match="names no person in 6,007 rows"):
        SafePub(**GIVEN, person="name").release(table)
    with pytest.raises(ColumnNotFoundError, match="name"):
        SafePub(**GIVEN, person="name").release(table.drop("name"))


def test_half_of_the_sensitivity_would_be_too_little():
    """Power: T rows that become T + 0 are all of the score at once."""
    table = pl.DataFrame({"sex": ["f"] * 5})
    (before, sensitivity), (after, _) = (
        level_scores([LeveledColumn.of(frame["sex"], None)], [(0,), (1,)], least_rows=5)
        for frame in (table, table.tail(-1))
    )
    assert abs(before[0] - after[0]) == sensitivity > sensitivity / 2


def test_levels_are_chosen_with_this_sensitivity_and_epsilon(monkeypatch):
    asked = []

    def choose(scores, *, sensitivity, epsilon):
        asked.append((len(scores), sensitivity, epsilon))
        return int(np.argmax(scores))

    monkeypatch.setattr(_levels, "choose", choose)
    safe = SafePub(**GIVEN | {"search_epsilon": 0.25, "sampling_fraction": 0.4, "levels": None})

    found = safe.release(people())

    # 4 x 3 x 2 levels; the common denominator of thirds, halves and ones, times three columns.
    assert asked == [(24, 18.0 * math.ceil(safe.k / 0.4), 0.25)]
    assert found.levels["sex"] in (0, 1)
    assert found.heights == {"age": 3, "town": 2, "sex": 1}


@pytest.mark.slow
def test_levels_are_chosen_at_random_and_good_ones_often():
    safe = SafePub(
        epsilon=2.0,
        delta=1e-2,
        sampling_fraction=0.5,
        search_epsilon=1.0,
        hierarchies={"sex": None, "town": TREES["town"]},
    )
    chosen = Counter(tuple(safe.release(people(4000)).levels.values()) for _ in range(8))
    assert chosen.most_common(1)[0][0] == (0, 0)


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_labels_of_a_row_do_not_depend_on_other_rows(seed):
    draw = random.Random(seed)
    table = people(draw.randrange(1, 12), seed, gaps=True)
    fewer = table.head(draw.randrange(1, table.height + 1))
    for name, tree in TREES.items():
        all_rows, some = LeveledColumn.of(table[name], tree), LeveledColumn.of(fewer[name], tree)
        assert all_rows.height == some.height
        for level in range(some.height + 1):
            assert some.at(level).equals(all_rows.at(level).head(fewer.height))


def test_a_root_is_written_the_same_if_all_cells_are_missing():
    tree = Hierarchy.from_rows([("a", "All"), ("b", "All")], column="town")
    none = pl.Series("town", [None, None], dtype=pl.String)
    assert LeveledColumn.of(none, tree).at(1).to_list() == ["All", "All"]
    assert LeveledColumn.of(none, None).at(1).to_list() == ["*", "*"]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"search_epsilon": 0.2}, "Got both"),
        ({"levels": None}, "Got none"),
        ({"search_epsilon": 1.0, "levels": None}, "search_epsilon"),
        ({"levels": {"age": 1}}, "one level for each"),
        ({"levels": {"name": 1}}, "of no other"),
        ({"person": "age"}, "is dropped"),
        ({"sampling_fraction": 0.7}, r"1 - exp\(-epsilon\)"),
        ({"hierarchies": {}}, "for each released column"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_parameters_that_contradict_are_refused(changed, match):
    with pytest.raises(ParameterError, match=match):
        SafePub(**GIVEN | changed)


def test_tables_that_do_not_fit_are_refused_without_values():
    safe = SafePub(**GIVEN)
    with pytest.raises(ColumnNotFoundError, match="sex"):
        safe.release(people().drop("sex"))
    with pytest.raises(DataError, match="no rows"):
        safe.release(people().clear())
    with pytest.raises(HierarchyError) as caught:
        safe.release(people().with_columns(town=pl.lit("secret")))
    assert "secret" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"levels 0 to 3\. Got 4"):
        SafePub(**GIVEN | {"levels": {"age": 4, "town": 0, "sex": 0}}).release(people())
    for odd in (1.5, (0, 1, 2), (2, 1), "ab"):
        levels = {"age": odd, "town": 0, "sex": 0}
        given = {"levels": levels, "search_epsilon": 0.1, "sampling_fraction": 0.4}
        with pytest.raises(ParameterError, match="has levels 0 to 3"):
            SafePub(**GIVEN | given).release(people())
    rule = {"town": Prefix(keep=[1])}
    with pytest.raises(ParameterError, match="depends on the values"):
        SafePub(**GIVEN | {"hierarchies": rule, "levels": {"town": 1}}).release(people())
    few = SafePub(**GIVEN).release(people(20))
    with pytest.raises(GuaranteeNotMetError, match="nothing to release"):
        few.claims()


def test_a_release_is_booked_before_a_row_is_drawn(tmp_path, monkeypatch):
    table = people()
    ledger = PrivacyLedger.create(tmp_path / "vault", table, dataset="x", epsilon=1.5, delta=2e-3)
    safe = SafePub(**GIVEN)

    assert safe.release(table, ledger=ledger).data.height
    assert ledger.spent >= 1.0
    monkeypatch.setattr(os, "urandom", None)  # nothing is drawn any more
    with pytest.raises(BudgetError):
        safe.release(table, ledger=ledger)
    with pytest.raises(DataError, match="isn't the one"):
        safe.release(people(seed=2), ledger=ledger)
    assert len(ledger.charges) == 1


def test_a_budget_of_another_unit_is_refused(tmp_path):
    table = people()
    unit = PrivacyUnit(person="name", max_rows=1)
    ledger = PrivacyLedger.create(
        tmp_path / "vault", table, dataset="x", epsilon=2.0, delta=2e-3, unit=unit
    )
    with pytest.raises(ParameterError, match="of one 'name', and the release single"):
        SafePub(**GIVEN).release(table, ledger=ledger)
    assert not ledger.charges
    SafePub(**GIVEN, person="name").release(table, ledger=ledger)
    assert len(ledger.charges) == 1


@pytest.fixture
def written(tmp_path):
    SafePub(**GIVEN).release(people()).write(tmp_path / "out")
    return tmp_path / "out"


def test_the_release_is_verified_and_says_nothing_of_the_rest(written):
    found = verified(written)

    assert found.holds
    assert [each.claim.basis for each in found.claims] == ["accounted", "counted"]
    assert " rows or more." in (written / "report.html").read_text()
    assert "the random draws themselves were not seen" in found.claims[0].sentence
    assert any("no file shows that rows were drawn at random" in it for it in found.weaknesses)
    for path in written.rglob("*"):
        if path.is_file() and path.suffix != ".parquet":
            text = path.read_text()
            assert "6007" not in text
            assert "6,007" not in text


def verified(folder) -> Any:
    return halfmask.verify(folder)


def changed(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    return verified(folder)


def claimed(part, name, value):
    def change(manifest):
        manifest["claims"][0][part][name] = value

    return change


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "delta", 2e-4),
        ("parameters", "epsilon", 0.9),
        ("evidence", "sampling_fraction", 0.6),
        ("evidence", "k", 5),
        ("evidence", "search_epsilon", 0.1),
        ("evidence", "k", 10**6),
        ("about", "levels", "chosen"),
        ("evidence", "k", True),
    ],
)
def test_a_claim_that_the_arithmetic_does_not_bear_out_is_found(written, part, name, value):
    found = changed(written, claimed(part, name, value))

    assert [each.holds for each in found.claims] == [False, True]


def test_weaker_claims_of_the_same_release_hold(written):
    assert changed(written, claimed("parameters", "delta", 2e-3)).holds


def test_a_class_under_k_is_found(written):
    """As if suppression had left one out."""
    path = written / "data" / "part-00000.parquet"
    rows = pl.read_parquet(path)
    first = rows.head(1)
    same = rows.join(first, on=rows.columns, how="semi", nulls_equal=True)
    others = rows.join(first, on=rows.columns, how="anti", nulls_equal=True)
    pl.concat([same.head(3), others]).write_parquet(path)

    def change(manifest):
        raw = path.read_bytes()
        file = manifest["files"][0]
        sha256 = hashlib.sha256(raw).hexdigest()
        file.update({"sha256": sha256, "bytes": len(raw), "rows": 3 + others.height})
        manifest["claims"][1]["evidence"].update(smallest_class=3, rows=3 + others.height)

    found = changed(written, change)

    assert [each.holds for each in found.claims] == [False, False]


def test_both_claims_must_be_there(written):
    found = changed(written, lambda manifest: manifest["claims"].pop())
    assert found.problems == ("The manifest lacks the claim 'k-anonymity'.",)


def test_a_wrong_k_leaves_no_release(tmp_path, monkeypatch):
    monkeypatch.setattr(SafePub, "k", property(lambda _: 3))
    with pytest.raises(VerificationError, match="doesn't bear it out"):
        SafePub(**GIVEN).release(people()).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
