"""Attacks on tables: what is known by hand is computed, and unprotected tables are broken."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from crosstabs._tables import at, cells_of  # type: ignore[import-not-found] # of its own room
from halfmask._errors import ParameterError
from halfmask.assess.attacks import CrosstabTarget, attack
from halfmask.assess.attacks.crosstabs import Differencing, HiddenCells, RecordInference
from halfmask.crosstabs import CodeSum, Dimension, TablesPolicy
from halfmask.crosstabs._audit import audit
from halfmask.crosstabs._pattern import Knowledge, Requirements


def target_of(cells, hidden, earlier=None, **others):
    """Return a target with some cells hidden, and a part of them published before."""
    is_hidden = np.zeros(cells.n, dtype=bool)
    is_hidden[hidden] = True
    before = None
    if earlier is not None:
        before = np.full(cells.n, np.nan)
        before[earlier] = cells.value[earlier]
    return CrosstabTarget(
        cells=cells,
        value=np.where(is_hidden, np.nan, cells.value),
        attacked=is_hidden,
        earlier=before,
        **others,
    )


def blocks(n=15, seed=0):
    """Return a table of sums with a hidden square of four in many places: nothing is exact."""
    rng = np.random.default_rng(seed)
    inner = rng.lognormal(5, 1.5, (2 * n, 2 * n)).round()
    cells = cells_of(inner)
    hidden = {
        at(cells, f"a{2 * (block % n) + a}", f"b{2 * ((block * 7 + block // n) % n) + b}")
        for block in range(2 * n)
        for a in (1, 2)
        for b in (1, 2)
    }
    return cells, sorted(hidden)


def found(report):
    """Return the verdict of each measure."""
    return {(it.outcome.attack, it.outcome.measure): it.verdict for it in report.findings}


def test_intervals_of_the_handbook():
    """Geurts 1992: rows 7, 3 and (3, 3); columns 9, 7; four cells hidden."""
    cells = cells_of([[5, 2], [1, 2], [3, 3]])
    hidden = [at(cells, a, b) for a in ("a1", "a2") for b in ("b1", "b2")]
    low, high = HiddenCells()._intervals(target_of(cells, hidden), np.array(hidden))
    assert low.tolist() == pytest.approx([3, 1, 0, 0])
    assert high.tolist() == pytest.approx([6, 4, 3, 3])


def test_linked_tables_disclose_what_each_of_them_hides():
    """UserSupport#136: counties ABIJ and KLMN, sizes LM and ABIJKN; A, B, K, L, M are hidden."""
    towns = dict(zip("ABIJKLMN", (2, 2, 8, 8, 3, 3, 3, 7), strict=True))
    groups = {"county-1": "ABIJ", "county-2": "KLMN", "big": "LM", "small": "ABIJKN"}
    sums = (CodeSum("Total", tuple(towns)), *(CodeSum(it, tuple(of)) for it, of in groups.items()))
    town = Dimension(name="town", codes=("Total", *groups, *towns), sums=sums, total="Total")
    cells = cells_of(list(towns.values()), dimensions=(town,))
    hidden = [at(cells, code) for code in "ABKLM"]
    low, high = HiddenCells()._intervals(target_of(cells, hidden), np.array(hidden))
    assert (low[2], high[2]) == pytest.approx((3, 3))
    hidden.append(at(cells, "N"))
    low, high = HiddenCells()._intervals(target_of(cells, hidden), np.array(hidden))
    assert (low[2], high[2]) == pytest.approx((0, 10))


def test_linear_programs_and_the_audit_agree():
    """Each knows the intervals of the other: they share no code."""
    rng = np.random.default_rng(3)
    cells = cells_of(rng.integers(0, 30, (5, 6)).astype(float))
    hidden = rng.random(cells.n) < 0.5
    nothing = np.zeros(cells.n, dtype=bool)
    needs = Requirements(
        cell=np.zeros(0, dtype=np.int64), below=np.zeros(0), above=np.zeros(0), known=()
    )
    known = Knowledge(
        lower=np.zeros(cells.n),
        upper=np.full(cells.n, np.inf),
        must_stay=nothing,
        must_hide=nothing,
    )
    expected = audit(cells, hidden, needs, known)
    where = np.flatnonzero(hidden)
    low, high = HiddenCells()._intervals(target_of(cells, where), where)
    np.testing.assert_allclose(low, expected.lower[where], atol=1e-6)
    np.testing.assert_allclose(high, expected.upper[where], atol=1e-6)


def test_an_earlier_table_is_subtracted():
    """With a1 b1 published before, its row and its column give a1 b2 and a2 b1, these a2 b2."""
    cells = cells_of([[5.0, 3, 8], [2, 6, 1], [7, 7, 7]])
    hidden = [at(cells, a, b) for a in ("a1", "a2") for b in ("b1", "b2")]
    known = target_of(cells, hidden, earlier=[hidden[0]])
    exact, near = Differencing().run(known, random_state=0)
    assert exact.success.value == near.success.value == 1.0
    alone = target_of(cells, hidden, earlier=[])
    exact, _ = Differencing().run(alone, random_state=0)
    assert exact.success.value == 0.0
    low, high = Differencing()._intervals(alone, np.array(hidden))
    # What is left of each row and column: 8, 8, 7, 9.
    assert low.tolist() == [0, 1, 0, 1]
    assert high.tolist() == [7, 8, 7, 8]


def test_bounds_go_through_signed_and_open_equations():
    cells = cells_of([[5.0, -3], [2, 6]])
    hidden = [at(cells, "a1", "b1"), at(cells, "a1", "b2"), at(cells, "a1"), at(cells)]
    target = target_of(cells, hidden, earlier=[hidden[0]], signed=True)
    low, high = Differencing()._intervals(target, np.array(hidden))
    assert low.tolist() == high.tolist() == [5, -3, 2, 10]


def test_hidden_squares_resist_and_published_cells_dont():
    cells, hidden = blocks()
    target = target_of(cells, hidden)
    attacks = [HiddenCells(percent=1.0, n_cells=110)]
    report = attack(target, unprotected=target.unprotected(), attacks=attacks)
    assert found(report)["crosstabs/hidden-cells", "cells computed exactly"] == "resisted"
    assert "broken" not in found(report).values()
    bare = attack(target.unprotected(), unprotected=target.unprotected(), attacks=attacks)
    assert set(found(bare).values()) == {"broken"}


def test_one_hidden_cell_in_a_line_is_broken():
    cells, _ = blocks()
    hidden = [at(cells, f"a{i}", f"b{i}") for i in range(1, 31)]
    target = target_of(cells, hidden)
    report = attack(target, unprotected=target.unprotected(), attacks=["crosstabs/hidden-cells"])
    assert found(report)["crosstabs/hidden-cells", "cells computed exactly"] == "broken"


def test_without_hidden_cells_or_earlier_tables_nothing_is_attacked():
    cells, _ = blocks(2)
    report = attack(target_of(cells, []))
    assert dict(report.skipped) == {
        "crosstabs/differencing": "an earlier release",
        "crosstabs/hidden-cells": "cells that are hidden or changed",
        "crosstabs/record-inference": "records",
    }


def _people(n, seed):
    """Return people whose illness is drawn for each profile of area and job: few share one."""
    rng = np.random.default_rng(seed)
    area, job = rng.integers(0, 40, n), rng.integers(0, 40, n)
    ill = rng.integers(0, 4, n)
    return pl.DataFrame(
        {
            "a": [f"a{it + 1}" for it in area],
            "b": [f"b{it + 1}" for it in job],
            "c": [f"c{it + 1}" for it in ill],
        }
    )


def _counted(people, tables):
    shape = (40, 40, 4)
    counts = np.zeros(shape)
    places = [people[name].str.slice(1).cast(pl.Int64).to_numpy() - 1 for name in "abc"]
    np.add.at(counts, tuple(places), 1)
    return cells_of(counts, measure="n", tables=tables)


def test_categories_of_single_records_are_inferred():
    people, others = _people(500, 1), _people(500, 2)
    whole = _counted(people, {"abc": ["a", "b", "c"]})
    few = _counted(people, {"ac": ["a", "c"], "bc": ["b", "c"], "ab": ["a", "b"]})
    more = {"records": people, "holdout": others, "secret": "c"}
    bare = target_of(whole, [], **more)
    attacks = [RecordInference(n_steps=100)]
    report = attack(target_of(few, [], **more), unprotected=bare, attacks=attacks)
    names = ("categories guessed", "categories inferred for certain")
    exact = attack(bare, unprotected=bare, attacks=attacks)
    for name in names:
        assert found(exact)["crosstabs/record-inference", name] == "broken"
    # Three two-way tables tell much of those who are in them, and nothing of others.
    guessed = next(it for it in report.findings if it.outcome.measure == names[0])
    assert guessed.verdict == "broken"
    assert guessed.outcome.success.value > 0.4
    assert guessed.outcome.control.value < 0.35
    coarse = attack(
        target_of(_counted(people, {"a": ["a"], "c": ["c"]}), [], **more),
        unprotected=bare,
        attacks=attacks,
    )
    assert {it.verdict for it in coarse.findings} <= {"resisted", "not shown"}


_POLICY = """
halfmask-tables = 1
[[tables]]
name = "t"
dimensions = {}
[protection]
method = "cell-key"
record = "id"
max_deviation = 3
variance = 2.0
"""


def test_a_target_is_made_of_releases():
    people = _people(300, 4).with_row_index("id")
    first, second = (
        hm.protect(people, TablesPolicy.from_toml(_POLICY.format(names)), key=bytes(32))
        for names in ('["a", "c"]', '["a"]')
    )
    target = CrosstabTarget.of_release(first, earlier=second)
    assert target.earlier is not None
    assert np.isfinite(target.earlier).sum() == 41
    assert target.attacked.sum() > 0
    other = CrosstabTarget.of_release(second, earlier=first)
    assert other.cells.n == 41
    np.testing.assert_array_equal(target.cells.equations @ target.cells.value, 0)
    with pytest.raises(ParameterError, match="no tables of this measure"):
        CrosstabTarget.of_release(first, measure="turnover")


def test_what_doesnt_fit_is_refused():
    cells, _ = blocks(2)
    with pytest.raises(ParameterError, match="'value' parameter"):
        CrosstabTarget(cells=cells, value=np.zeros(3), attacked=np.zeros(cells.n, dtype=bool))
    with pytest.raises(ParameterError, match="'secret' parameter"):
        target_of(cells, [], records=pl.DataFrame({"a": ["a1"], "b": ["b1"]}))
