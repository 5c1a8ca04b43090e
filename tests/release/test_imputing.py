"""Completed tables of a release: they fit its cells, and regressions on them cover the truth."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask import ParameterError, Policy, VerificationError, combine_estimates, impute_release

PEOPLE = pl.DataFrame(
    {
        "age": [30, 31, 40, 44, 45, 60],
        "weight": [60.5, 70.25, 80.0, 81.5, 81.75, 90.0],
        "born": [dt.date(1990, month, 1) for month in range(1, 7)],
        "smokes": [True, False, True, False, False, True],
        "city": ["a", "b", "a", "c", "c", "b"],
        "income": [1.5, 2.0, 3.0, None, 5.0, 6.0],
    }
)
KINDS = {"age": "numeric", "weight": "numeric", "born": "datetime"}
SETS = ("smokes", "city")


def write(tmp_path, people=PEOPLE, more="", k=2, outside=("income",)):
    columns = "".join(
        f'[columns.{name}]\nrole = "{"insensitive" if name in outside else "quasi_identifier"}"\n'
        f'kind = "{KINDS.get(name, "numeric" if name in outside else "categorical")}"\n'
        for name in people.columns
    )
    guarantee = f'[[guarantees]]\nmodel = "k-anonymity"\nk = {k}\n'
    tmp_path.mkdir(exist_ok=True)
    hm.protect(people, Policy.from_toml(f"halfmask = 1\n{columns}{guarantee}{more}")).write(
        tmp_path / "out"
    )
    return tmp_path / "out"


BOUNDS = '[recoding]\nname = "ranges"\nform = "bounds"\n'
STEPS = '[recoding]\nname = "ranges"\nstep = 10\nunit = "year"\n'


@pytest.mark.parametrize("more", ["", BOUNDS, STEPS], ids=["text", "bounds", "steps"])
def test_values_fit_their_cells_and_have_the_original_types(tmp_path, more):
    out = write(tmp_path, more=more)
    cells = hm.read_release(out)
    for table in impute_release(out, m=4):
        assert table.schema == PEOPLE.schema
        assert table["income"].equals(cells["income"])
        for name in KINDS:
            assert table[name].is_between(cells[f"{name}_from"], cells[f"{name}_to"]).all()
        for name in SETS:
            both = pl.DataFrame({"value": table[name].cast(pl.String), "set": cells[name]})
            fits = (
                pl.col("set").list.contains(pl.col("value"))
                if cells[name].dtype == pl.List
                else (pl.col("set") == pl.col("value"))
            )
            assert both.select(fits.all()).item()


def test_somebody_of_each_class_has_each_end(tmp_path):
    out = write(tmp_path, PEOPLE.select("age", "income"))
    cells = hm.read_release(out)
    for table in impute_release(out, m=4):
        by_class = cells.with_columns(table["age"]).group_by("age_from", "age_to")
        ends = by_class.agg(least=pl.col("age").min(), most=pl.col("age").max())
        assert (ends["least"] == ends["age_from"]).all()
        assert (ends["most"] == ends["age_to"]).all()


def test_a_seed_gives_the_same_tables(tmp_path):
    people = pl.DataFrame({"age": list(range(20, 60))})
    out = write(tmp_path, people, k=10)
    first, again = (impute_release(out, m=2, random_state=3) for _ in range(2))
    other = impute_release(out, m=2, random_state=4)
    assert all(one.equals(two) for one, two in zip(first, again, strict=True))
    assert not first[0].equals(first[1])
    assert not first[0].equals(other[0])


def test_missing_cells_stay_and_others_of_their_class_get_values(tmp_path):
    people = pl.DataFrame({"age": [1, 2, None, None, None], "city": ["a", "b", "c", None, None]})
    out = write(tmp_path, people, k=2, outside=())
    cells = hm.read_release(out)
    table = impute_release(out, m=2)[0]
    assert table["age"].is_null().equals(cells["age_from"].is_null())
    assert table["city"].is_null().equals(cells["city"].is_null())


def test_a_column_without_values_stays_so(tmp_path):
    people = pl.DataFrame(
        {"age": [None, None], "city": ["a", "b"]}, schema_overrides={"age": pl.Int64}
    )
    [table, _] = impute_release(write(tmp_path, people, outside=()), m=2)
    assert table["age"].null_count() == 2


@pytest.mark.slow
def test_long_columns_are_thinned_and_still_fit(tmp_path):
    """900 ends are more than are tried; a range between two of these has an end of its own."""
    weights = np.random.default_rng(0).normal(70, 9, 900)
    out = write(tmp_path, pl.DataFrame({"weight": weights}))
    cells = hm.read_release(out)
    for table in impute_release(out, m=2):
        assert table["weight"].is_between(cells["weight_from"], cells["weight_to"]).all()


def test_sets_that_are_cut_short_are_missing(tmp_path):
    people = pl.DataFrame({"city": [f"city {n}" for n in range(40)], "age": range(40)})
    out = write(tmp_path, people, k=40, outside=())
    assert impute_release(out, m=2)[0]["city"].null_count() == 40


def slope(table):
    """Return the least-squares slope of y on x and its variance."""
    x, y = table["x"].to_numpy(), table["y"].to_numpy()
    there = x - x.mean()
    value = there @ y / (there @ there)
    left = y - y.mean() - value * there
    return [value], [left @ left / (len(x) - 2) / (there @ there)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_regression_covers_the_slope_of_the_original(tmp_path, seed):
    """Values that are drawn alone, without regard to y, miss it: their slope is too weak."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.gamma(2, 10, 900)).astype(np.int64)
    z = rng.gamma(2, 10, 900) + x
    people = pl.DataFrame({"x": x, "z": z.round(), "y": x + rng.normal(0, 8, 900)})
    policy = Policy.from_toml(
        'halfmask = 1\n[columns]\nx = { role = "quasi_identifier", kind = "numeric" }\n'
        'z = { role = "quasi_identifier", kind = "numeric" }\n'
        'y = { role = "insensitive", kind = "numeric" }\n'
        '[[guarantees]]\nmodel = "k-anonymity"\nk = 30\n'
    )
    hm.protect(people, policy).write(tmp_path / "out")
    raw = slope(people)[0][0]
    cells = hm.read_release(tmp_path / "out")
    alone = cells.with_columns(x=pl.Series(rng.integers(cells["x_from"], cells["x_to"] + 1)))
    assert slope(alone)[0][0] < 0.9 * raw
    tables = impute_release(tmp_path / "out")
    found = combine_estimates(*zip(*map(slope, tables), strict=True), kind="imputed")
    low, high = (each[0] for each in found.interval(0.95))
    assert low < raw < high
    assert abs(found.estimate[0] - raw) < 0.7 * (raw - slope(alone)[0][0])
    assert high - low < 0.5 * raw


def test_rubins_rules_by_hand():
    """Means 2 and 10; within 1 and 4, between 1 and 0: 1 + (1 + 1/3) * 1 = 7/3, and 4."""
    found = combine_estimates([[1, 10], [2, 10], [3, 10]], [[1, 4]] * 3, kind="imputed")
    assert found.estimate.tolist() == [2, 10]
    assert found.standard_error == pytest.approx([np.sqrt(7 / 3), 2])
    assert found.degrees_of_freedom[0] == pytest.approx(2 * (1 + 3 / 4) ** 2)
    assert found.degrees_of_freedom[1] == np.inf
    assert found.missing_information == pytest.approx([4 / 7, 0])
    # t of 6.125 degrees, 0.975: 2.4347 (scipy.stats.t.ppf).
    assert [each[0] for each in found.interval(0.95)] == pytest.approx(
        [2 - 2.4347 * np.sqrt(7 / 3), 2 + 2.4347 * np.sqrt(7 / 3)], rel=1e-3
    )


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [([[1.0]], [[1.0]]), ([[1.0], [2.0]], [[1.0]]), ([[1.0], [np.nan]], [[1.0], [1.0]]),
     ([[1.0], [2.0]], [[1.0], [-1.0]])],
    ids=["one", "shapes", "nan", "negative"],
)  # fmt: skip
def test_results_that_cannot_be_combined_are_refused(estimates, variances):
    with pytest.raises(ParameterError):
        combine_estimates(estimates, variances, kind="imputed")


def test_what_has_no_ranges_or_sets_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="centroid"):
        impute_release(write(tmp_path / "a", more='[recoding]\nname = "centroid"\n'))
    same = pl.DataFrame({"city": ["a", "a"]})
    with pytest.raises(ParameterError, match="no column with ranges"):
        impute_release(write(tmp_path / "b", same))
    policy = Policy.from_toml(
        'halfmask = 1\n[columns]\nage = { role = "quasi_identifier", kind = "numeric", '
        'mask = { name = "round", base = 10 } }\n'
    )
    hm.mask(PEOPLE.select("age"), policy).write(tmp_path / "c")
    with pytest.raises(VerificationError, match="no ranges"):
        impute_release(tmp_path / "c")
    with pytest.raises(ParameterError, match="must be the path"):
        impute_release(PEOPLE)  # type: ignore[arg-type] # on purpose
    with pytest.raises(ParameterError, match="'m'"):
        impute_release(tmp_path / "c", m=1)
