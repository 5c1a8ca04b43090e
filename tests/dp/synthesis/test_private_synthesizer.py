"""PrivateSynthesizer: what is spent is the budget, and the data says nothing of the domain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from halfmask import BudgetError, ColumnNotFoundError, ParameterError, SchemaError
from halfmask.dp.accounting import ExponentialEvent, GaussianEvent
from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit
from halfmask.dp.noise import GaussianMechanism
from halfmask.dp.synthesis import (
    CategoryDomain,
    NumberDomain,
    PrivateSynthesizer,
    _adaptive_tables,
    rho_of,
)
from halfmask.dp.synthesis._adaptive_tables import AdaptiveTables
from halfmask.dp.synthesis.private_synthesizer import fit_booked

if TYPE_CHECKING:
    from halfmask.dp.synthesis._graphical_model import NoisyTable

pytest.importorskip("opendp")

DOMAIN = {
    "age": NumberDomain(edges=(0, 30, 60, 100), whole=True),
    "town": CategoryDomain(values=("Lyon", "Nice", "Rome"), missing=True),
    "ill": CategoryDomain(values=(False, True)),
    "wage": NumberDomain(edges=(0, 1_000, 5_000), atoms=(0,), whole=False, missing=True),
}


def people(n: int = 2_000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n)
    wage = np.where(age > 60, 0.0, rng.random(n) * 5_000)
    return pl.DataFrame(
        {
            "age": age,
            "town": [("Lyon", "Nice", "Rome", None)[i] for i in rng.integers(0, 4, n)],
            "ill": rng.random(n) < age / 100,
            "wage": wage,
            "name": [f"canary-{i}" for i in range(n)],
        }
    )


def fitted(**changes: object) -> PrivateSynthesizer:
    settings = {"domain": DOMAIN, "epsilon": 1.0, "delta": 1e-6, "random_state": 0} | changes
    return PrivateSynthesizer(**settings)  # type: ignore[arg-type] # mixed


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("cells", "domain"),
    [
        ([40_000.0, None], NumberDomain(edges=(0, 50_000), whole=False)),
        ([40_000.0, float("nan")], NumberDomain(edges=(0, 50_000), atoms=(0,), whole=True)),
        ([7, None], NumberDomain(edges=(5, 50), whole=True)),
        (["canary-no", None], CategoryDomain(values=("canary-no", "canary-yes"))),
        (["canary-no", "canary-maybe"], CategoryDomain(values=("canary-no", "canary-yes"))),
        ([True, None], CategoryDomain(values=(True, False))),
        ([1, 3], CategoryDomain(values=(1, 2))),
        (pl.Series(["a", None], dtype=pl.Categorical), CategoryDomain(values=("a", "b"))),
    ],
)
def test_cells_that_no_domain_declares_are_an_error_before_anything_is_booked(cells, domain):
    """They became the first edge or category: a mean of 37,606 for 41,681, without a word."""
    column = pl.Series(cells)
    table = pl.DataFrame({"x": column.extend_constant(cells[0], 78), "y": [1, 2] * 40})
    table = pl.concat([table, *[table[1:2]] * 19])
    asked = {"x": domain, "y": NumberDomain(edges=(0, 3), whole=True)}
    model = PrivateSynthesizer(domain=asked, epsilon=1.0, delta=1e-6)
    booked = []
    with pytest.raises(SchemaError, match=r"'x'.*missing") as raised:
        fit_booked(model, table, lambda: booked.append(1))
    assert not booked
    assert "canary" not in str(raised.value)
    asked["x"] = replace(domain, missing=True)
    model.set_params(domain=asked, epsilon=50.0).fit(table)
    drawn = model.sample(1_000)["x"]
    assert abs(drawn.null_count() / 1_000 - 0.2) < 0.1  # 20 of 99 rows


@pytest.mark.slow
def test_rows_are_of_the_domain_and_what_belongs_together_stays_together():
    model = fitted(epsilon=3.0).fit(people())
    drawn = model.sample()
    assert drawn.columns == list(DOMAIN)
    assert abs(drawn.height - 2_000) < 50
    assert drawn.schema["age"] == pl.Int64
    assert drawn["age"].is_between(0, 100).all()
    assert set(drawn["town"]) == {"Lyon", "Nice", "Rome", None}
    shares = [
        drawn.filter(pl.col("age").is_between(*ends, closed="left"))["ill"].mean()
        for ends in ((0, 30), (60, 100))
    ]
    assert shares[1] - shares[0] > 0.3
    assert (drawn.filter(pl.col("age") >= 61)["wage"] == 0).mean() > 0.8
    assert model.sample(50).equals(model.sample(50))


def rho_spent(model: PrivateSynthesizer) -> float:
    spent = 0.0
    for event in model.events_:
        if isinstance(event, GaussianEvent):
            spent += 1 / (2 * event.noise_multiplier**2)
        else:
            assert isinstance(event, ExponentialEvent)
            spent += event.epsilon**2 / 8
    return spent


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 1e-9)])
def test_what_is_spent_is_the_budget(epsilon, delta):
    model = fitted(epsilon=epsilon, delta=delta).fit(people(300))
    spent = rho_spent(model)
    assert spent == pytest.approx(rho_of(epsilon, delta=delta), rel=1e-9)
    assert spent <= model.rho_ * (1 + 1e-9)


def spread_of_noise(max_rows: int = 1) -> float:
    """Return the standard deviation of the first tables' noise, in what their events state.

    It is the noise of one row's share: all rows of a unit may lie in one cell.
    """
    codes = np.stack([np.arange(4_000) % 40, np.arange(4_000) % 50])
    rounds = AdaptiveTables(
        codes=codes,
        shape=(40, 50),
        rho=0.01,
        degree=1,
        cells=10_000,
        steps=1,
        rng=np.random.default_rng(0),
        max_rows=max_rows,
    )
    found = []
    tables: dict[tuple[int, ...], NoisyTable] = {}
    events: list[Any] = []
    for _ in range(20):
        for i, size in enumerate((40, 50)):
            tables.clear()
            rounds._measure((i,), 30.0, tables, events)
            assert tables[(i,)].scale == 30.0 * max_rows
            share = events[-1].noise_multiplier * max_rows
            found.append((tables[(i,)].counts - 4_000 / size) / share)
    return float(np.concatenate(found).std())


def test_noise_is_as_large_as_its_event_states(monkeypatch):
    """1,800 draws: a third too little noise is 20 standard errors away."""
    assert abs(spread_of_noise() - 1) < 0.1
    assert abs(spread_of_noise(max_rows=5) - 1) < 0.1
    weaker = GaussianMechanism.release

    def too_little(self, vector):
        return np.asarray(vector) + (weaker(self, vector) - np.asarray(vector)) * 2 / 3

    monkeypatch.setattr(GaussianMechanism, "release", too_little)
    assert abs(spread_of_noise() - 1) > 0.2


@pytest.mark.slow
def test_the_data_says_nothing_of_the_domain():
    odd = people(500).with_columns(
        town=pl.lit("canary-town"), age=pl.lit(10_000), wage=pl.lit(math.inf)
    )
    drawn = fitted().fit(odd).sample(300)
    assert drawn.schema == fitted().fit(people(500)).sample(300).schema
    assert "canary-town" not in set(drawn["town"])
    assert drawn["age"].max() <= 100
    few = fitted().fit(people(500)[:0])
    assert few.sample(10).height == 10
    assert fitted().fit(people(1)).n_rows_ >= 1


def test_what_is_wrong_is_named_without_a_value():
    with pytest.raises(ColumnNotFoundError, match="'wage'"):
        fitted().fit(people(10).drop("wage"))
    with pytest.raises(SchemaError, match="'age' is declared in bins") as raised:
        fitted().fit(people(10).with_columns(age=pl.col("name")))
    assert "canary" not in str(raised.value)
    with pytest.raises(SchemaError, match="'ill' holds String"):
        fitted().fit(people(10).with_columns(ill=pl.col("name")))
    for changes in ({"epsilon": 0.0}, {"epsilon": math.inf}, {"delta": 0.0}, {"degree": 5}):
        with pytest.raises(ParameterError, match=next(iter(changes))):
            fitted(**changes).fit(people(10))
    with pytest.raises(ParameterError, match="domain"):
        fitted(domain={}).fit(people(10))


@pytest.mark.parametrize(
    "make",
    [
        lambda: NumberDomain(edges=(0,), whole=True),
        lambda: NumberDomain(edges=(1, 0), whole=True),
        lambda: NumberDomain(edges=(0, math.inf), whole=True),
        lambda: NumberDomain(edges=(0, 1), atoms=(0, 0), whole=True),
        lambda: CategoryDomain(values=()),
        lambda: CategoryDomain(values=("a", "a")),
        lambda: CategoryDomain(values=("a", 1)),  # type: ignore[arg-type] # tested
    ],
)
def test_domains_that_are_none_are_refused(make):
    with pytest.raises(ParameterError):
        make()


@pytest.mark.slow
def test_a_ledger_is_charged_before_a_row_is_counted(tmp_path):
    table = people(300)
    ledger = PrivacyLedger.create(
        tmp_path / "vault", table, dataset="people", epsilon=1.5, delta=1e-5
    )
    fitted(ledger=ledger).fit(table)
    assert [it.purpose for it in ledger.charges] == ["synthetic rows"]
    with pytest.raises(BudgetError):
        fitted(ledger=ledger).fit(table)
    assert len(ledger.charges) == 1


@pytest.mark.parametrize("max_rows", [1, 4])
def test_the_sensitivity_of_a_choice_is_reached_by_the_rows_of_a_unit(monkeypatch, max_rows):
    """Whatever a unit's rows are: no score moves by more, and some score moves by as much."""
    asked: list[float] = []
    scores: list[list[float]] = []

    def choose(given, *, sensitivity, **_):
        scores.append(list(given))
        asked.append(sensitivity)
        return 0

    monkeypatch.setattr(_adaptive_tables, "choose", choose)
    monkeypatch.setattr(GaussianMechanism, "release", lambda _, vector: np.asarray(vector) * 0.0)
    rows = np.zeros((2, 50), dtype=np.int64)
    for codes in (rows, np.concatenate([rows, np.zeros((2, max_rows), dtype=np.int64)], axis=1)):
        AdaptiveTables(
            codes=codes,
            shape=(2, 2),
            rho=1e-3,
            degree=2,
            cells=100,
            steps=1,
            rng=np.random.default_rng(0),
            max_rows=max_rows,
        ).measured()
    first, second = scores[0], scores[len(scores) // 2]
    moved = np.abs(np.array(first) - np.array(second)).max()
    assert set(asked) == {2.0 * max_rows}
    assert moved == pytest.approx(asked[0], rel=0.05)


@pytest.mark.slow
def test_persons_cost_the_same_and_count_with_at_most_so_many_rows():
    others = people(400)
    many = pl.concat([people(1).with_columns(name=pl.lit("canary-x"))] * 2_000)
    model = fitted(epsilon=8.0, person="name", max_rows=5).fit(pl.concat([others, many]))
    assert abs(model.n_rows_ - 405) < 800
    assert "name" not in model.sample(5).columns
    assert rho_spent(model) == pytest.approx(rho_of(8.0, delta=1e-6), rel=1e-9)


@pytest.mark.slow
def test_persons_need_a_ledger_of_persons(tmp_path):
    table, unit = people(300), PrivacyUnit(person="name", max_rows=3)
    settled: dict[str, Any] = {"epsilon": 1.5, "delta": 1e-5}
    rows = PrivacyLedger.create(tmp_path / "vault", table, dataset="rows", **settled)
    persons = PrivacyLedger.create(tmp_path / "vault", table, dataset="x", unit=unit, **settled)
    with pytest.raises(ParameterError, match="protects single rows, and the release all rows"):
        fitted(ledger=rows, person="name").fit(table)
    with pytest.raises(ParameterError, match="of one 'name', and the release single rows"):
        fitted(ledger=persons).fit(table)
    fitted(ledger=persons, person="name").fit(table)
    assert [len(it.charges) for it in (rows, persons)] == [0, 1]
    with pytest.raises(ParameterError, match="is dropped"):
        fitted(person="ill").fit(table)
    with pytest.raises(ParameterError, match="no column names them"):
        fitted(max_rows=2).fit(table)
