"""How much detail is left, which columns lost nearly all, and which guarantee cost it."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from halfmask.microdata import Policy, protect
from halfmask.microdata import _detail_kept as module
from halfmask.microdata._detail_kept import DetailKept, GuaranteeCost

ROWS = 6_000
K = {"model": "k-anonymity", "k": 5}


def _table(rare=3):
    """``flag`` has one value, but for a few rows: three kinds of them can't be in many classes."""
    rng = np.random.default_rng(0)
    flag = np.array(["no"] * ROWS, dtype=object)
    flag[:rare], flag[rare : 2 * rare] = "yes", "maybe"
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "zip": rng.integers(1_000, 9_999, ROWS),
            "flag": rng.permutation(flag).tolist(),
            "ill": rng.choice(list("abcdef"), ROWS).tolist(),
        }
    )


def _l(column, l):
    return {"model": "distinct-l-diversity", "l": l, "column": column}


def _policy(*guarantees):
    roles = {"age": "numeric", "zip": "numeric", "flag": None, "ill": None}
    columns = {
        name: {
            "role": "sensitive" if kind is None else "quasi_identifier",
            "kind": kind or "categorical",
        }
        for name, kind in roles.items()
    }
    return Policy(halfmask=1, columns=columns, guarantees=list(guarantees))


def _detail(*guarantees, table=None):
    release = protect(_table() if table is None else table, _policy(*guarantees))
    return release, release.utility.detail


def test_a_weight_moves_detail_to_its_column_and_counts_in_the_average(adult_csv):
    """On real rows with a hierarchy."""
    names = ["age", "education", "hours-per-week"]
    table = pl.read_csv(adult_csv, n_rows=4_000).select(names)

    def kept(weight):
        columns: dict[str, dict[str, object]] = {
            name: {"role": "quasi_identifier", "kind": "numeric"}
            for name in names
            if name != "education"
        }
        columns["education"] = {"role": "quasi_identifier", "kind": "categorical"}
        columns["hours-per-week"] |= {"weight": weight, "hierarchy": {"intervals": [5, 10, 20, 40]}}
        policy = Policy(halfmask=1, columns=columns, guarantees=[{**K, "k": 10}])
        return protect(table, policy).utility.detail

    even, heavy = kept(1.0), kept(8.0)

    assert heavy.columns["hours-per-week"] > even.columns["hours-per-week"] + 0.05
    assert heavy.columns["age"] < even.columns["age"]
    mean = sum((8 if "hours" in name else 1) * share for name, share in heavy.columns.items()) / 10
    assert heavy.average == pytest.approx(mean)


def test_a_guarantee_that_costs_most_of_the_detail_is_named_with_what_it_costs():
    """Three rows have one rare value: with l = 3 of it at most three classes can be."""
    release, detail = _detail(K, _l("ill", 2), _l("flag", 3))
    with_it, _ = _detail(K, _l("flag", 3))
    without, _ = _detail(K)

    (cost,) = detail.costs
    assert (cost.model, dict(cost.parameters), cost.column) == (
        "distinct-l-diversity", {"l": 3}, "flag",
    )  # fmt: skip
    assert release.utility.class_sizes.classes <= 3
    # What it costs is what releases by such policies have.
    assert (cost.rows, cost.classes) == (ROWS, with_it.utility.class_sizes.classes)
    assert cost.classes_without == without.utility.class_sizes.classes
    assert cost.kept == pytest.approx(1 - with_it.utility.loss.loss)
    assert cost.kept_without == pytest.approx(1 - without.utility.loss.loss)
    assert any("of flag (l = 3) costs most of the detail" in each for each in detail.warnings)


def test_columns_that_lost_nearly_all_are_named():
    release, detail = _detail(K, _l("flag", 3))

    lost = [name for name, each in release.utility.loss.columns.items() if each.loss > 0.95]
    assert lost
    assert list(detail.nearly_lost) == lost
    assert any("less than 5 % of the detail" in each for each in detail.warnings)
    assert detail.average == pytest.approx(1 - release.utility.loss.loss)


def test_nothing_is_said_of_guarantees_that_cost_little():
    _, detail = _detail(K, _l("ill", 2))

    assert (detail.costs, detail.warnings) == ((), ())


def test_a_large_k_is_nobody_elses_fault():
    """Where k-anonymity alone costs the detail, no other guarantee is blamed for it."""
    _, detail = _detail({**K, "k": 2_000}, _l("ill", 2))

    assert detail.average < 0.5
    assert detail.costs == ()


def test_a_sample_that_cannot_keep_it_at_all_is_not_the_last_word(monkeypatch):
    """Of 200 rows hardly one is rare: the guarantee is tried on all rows then."""
    monkeypatch.setattr(module, "TRIAL_CELLS", 400)
    _, detail = _detail(K, _l("flag", 3))

    (cost,) = detail.costs
    assert cost.rows == ROWS
    assert cost.classes <= 3 < cost.classes_without


def test_numbers_become_json():
    cost = GuaranteeCost(
        model="t-closeness", parameters={"t": 0.1}, column="pay", kept=0.1, kept_without=0.8,
        classes=2, classes_without=50, rows=99,
    )  # fmt: skip
    detail = DetailKept(average=0.1, columns={"age": 0.01, "zip": 0.2}, costs=(cost,))
    said = json.loads(json.dumps(detail.to_dict()))

    assert said["columns"] == {"age": 0.01, "zip": 0.2}
    assert said["costs"][0]["parameters"] == {"t": 0.1}
    lost, costly = detail.warnings
    assert lost == "age keeps less than 5 % of the detail."
    assert costly == (
        "t-closeness of pay (t = 0.1) costs most of the detail: 2 classes and 10 % of the detail "
        "are left with it, 50 and 80 % without it (tried on 99 rows). Remove it, or ask for less."
    )


def test_of_many_columns_ten_are_named():
    detail = DetailKept(average=0.0, columns={f"c{i}": 0.0 for i in range(12)}, costs=())

    assert detail.warnings[0].endswith("c9 and 2 more columns keep less than 5 % of the detail.")
