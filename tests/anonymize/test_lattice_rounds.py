"""Local recoding in rounds: every class that is written keeps the guarantees, counted naively."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import GuaranteeNotMetError, ParameterError
from halfmask.anonymize import (
    FullDomain,
    LatticePartition,
    Level,
    Protection,
    RoundsPartition,
)
from halfmask.anonymize.lattice import Loss
from halfmask.data import Column, Hierarchy, Schema, read_hierarchy
from halfmask.guarantees import (
    AverageRisk,
    DistinctLDiversity,
    KAnonymity,
    SubsetKAnonymity,
    TCloseness,
)
from halfmask.microdata import Policy

AGE_ROWS = [(str(n), f"{n // 2 * 2}+", f"{n // 4 * 4}+", "*") for n in range(8)]
TOWN_ROWS = [("Lyon", "France"), ("Nice", "France"), ("Rome", "Italy"), ("Bari", "Italy")]
AGES = Hierarchy.from_rows(AGE_ROWS, column="age")
TOWNS = Hierarchy.from_rows(TOWN_ROWS, column="town")
#: What may be written for each value: its nodes, and the root.
NODES = {row[0]: {*row, "*"} for row in (*AGE_ROWS, *TOWN_ROWS, ("f",), ("m",))}
QUASI = ["age", "town", "sex"]


def people(seed: int, n: int = 60, *, missing: bool = False) -> pl.DataFrame:
    """Draw a table with some rare rows."""
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": np.minimum(draw.geometric(0.4, n) - 1, 7),
            "town": draw.choice(["Lyon", "Nice", "Rome", "Bari"], n, p=[0.6, 0.2, 0.15, 0.05]),
            "sex": draw.choice(["f", "m"], n, p=[0.7, 0.3]),
            "disease": draw.choice(["flu", "cold", "acne"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    gaps = pl.Series(draw.random(n) < (0.1 if missing else 0.0))
    return frame.with_columns(pl.when(~gaps).then("age").alias("age"))


def protection_of(frame: pl.DataFrame, *guarantees, rounds: int, share=0.05, gs_factor=0.25):
    schema = Schema(
        tuple(
            Column(
                name=name,
                role="quasi_identifier" if name in QUASI else "sensitive",
                kind="numeric" if frame[name].dtype.is_numeric() else "categorical",
                hierarchy={"age": AGES, "town": TOWNS}.get(name),
            )
            for name in frame.columns
        )
    )
    return Protection(
        schema=schema,
        guarantees=guarantees,
        method=FullDomain(rounds=rounds, objective=Loss(gs_factor=gs_factor)),
        recoding=Level(),
        max_suppression_fraction=share,
    )


def planned(frame: pl.DataFrame, *guarantees, **settings):
    protection = protection_of(frame, *guarantees, **settings)
    return protection.plan(protection.fit(protection.summarize(frame)))


def misses(released: pl.DataFrame, guarantee) -> bool:
    """Say whether a class of what is written misses a guarantee, by a count in plain Python."""
    classes = defaultdict(list)
    for *quasi, disease in released.select(*QUASI, "disease").rows():
        classes[tuple(quasi)].append(disease)
    whole = Counter(released["disease"])
    if isinstance(guarantee, KAnonymity):
        return min(map(len, classes.values())) < guarantee.k
    if isinstance(guarantee, DistinctLDiversity):
        return min(len(set(rows)) for rows in classes.values()) < guarantee.l
    if isinstance(guarantee, AverageRisk):
        return len(classes) / released.height > guarantee.risk
    return any(
        sum(abs(rows.count(each) / len(rows) - n / released.height) for each, n in whole.items())
        > 2 * guarantee.t + 1e-9
        for rows in classes.values()
    )


SETS = (
    (KAnonymity(k=3),),
    (KAnonymity(k=3), DistinctLDiversity(column="disease", l=2)),
    (KAnonymity(k=2), TCloseness(column="disease", t=0.4)),
    (KAnonymity(k=2), AverageRisk(risk=0.25)),
)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("guarantees", SETS, ids=["k", "l", "t", "average"])
@pytest.mark.parametrize("missing", [False, True])
def test_what_is_written_keeps_every_guarantee(guarantees, missing):
    kinds = Counter[str]()
    for seed in range(12):
        frame = people(seed, missing=missing)
        plan, fitted = planned(frame, *guarantees, rounds=4)
        kinds[type(plan.partition).__name__] += 1
        kept = fitted.cell_of_row >= 0
        written = plan.apply(frame)
        assert written.height == kept.sum() >= 0.95 * frame.height
        for guarantee in guarantees:
            assert not misses(written, guarantee)
        codes = [column.astype(np.int64) for column in fitted.codes]
        assert (plan.partition.cells_of(codes) == fitted.cell_of_row).all()
        raw = frame.filter(pl.Series(kept)).select(QUASI).rows()
        for before, after in zip(raw, written.select(QUASI).rows(), strict=True):
            for value, text in zip(before, after, strict=True):
                assert text in ({None, "*"} if value is None else NODES[str(value)])
    assert kinds["RoundsPartition"] >= 3, kinds


def test_the_count_of_this_test_has_power():
    """Raw rows miss each guarantee, and one row less of a smallest class misses k."""
    frame = people(0)
    assert all(misses(frame, guarantee) for guarantees in SETS for guarantee in guarantees)
    plan, _ = planned(frame, KAnonymity(k=3), rounds=4)
    written = plan.apply(frame)
    k = int(written.group_by(QUASI).len()["len"].min())
    smallest = written.with_row_index().filter(pl.len().over(QUASI) == k)["index"][0]
    assert misses(written.with_row_index().filter(pl.col("index") != smallest), KAnonymity(k=k))


@pytest.mark.slow
def test_classes_that_miss_a_guarantee_of_the_whole_are_dropped_in_the_end():
    """The classes of a round are held against its own rows, and then against all."""
    dropped = 0
    for seed in range(40):
        frame = people(seed)
        _, fitted = planned(
            frame, KAnonymity(k=2), TCloseness(column="disease", t=0.35), rounds=4, share=0.3
        )
        partition = fitted.partition
        if isinstance(partition, RoundsPartition):
            dropped += sum(each.n_cells for each in partition.rounds) > partition.n_cells
            assert all(judgement.holds for judgement in fitted.judge())
            assert partition.n_cells == len(partition.round_of_cell) == len(partition.sizes)
    assert dropped


def test_rounds_that_leave_too_many_rows_are_one():
    frame = people(3, 6)
    one = planned(frame, KAnonymity(k=5), rounds=1, share=0.2)[0].partition
    both = planned(frame, KAnonymity(k=5), rounds=3, share=0.2, gs_factor=0.0)[0].partition
    assert isinstance(both, LatticePartition | RoundsPartition)
    assert int(both.sizes.sum()) >= int(one.sizes.sum())
    with pytest.raises(GuaranteeNotMetError):
        planned(frame, KAnonymity(k=7), rounds=3, share=0.2)


def test_a_guarantee_that_isnt_monotone_is_refused():
    class Odd(KAnonymity):
        monotone = False

    with pytest.raises(ParameterError, match="written alike"):
        planned(people(0), Odd(k=2), rounds=2)
    with pytest.raises(ParameterError, match="a round sees only some"):
        planned(people(0), SubsetKAnonymity(k=2, m=1), rounds=2)


def test_a_release_in_rounds_is_verified_and_names_the_levels_of_each(tmp_path):
    policy = Policy.from_toml(
        """
        halfmask = 1
        columns.sex = { role = "quasi_identifier", kind = "categorical" }
        columns.age.role = "quasi_identifier"
        columns.age.kind = "numeric"
        columns.age.hierarchy = { intervals = [2, 4] }
        columns.town.role = "quasi_identifier"
        columns.town.kind = "categorical"
        columns.town.hierarchy = { prefix = [1] }
        columns.disease = { role = "sensitive", kind = "categorical" }
        guarantees = [{ model = "k-anonymity", k = 4 }]
        method = { name = "full-domain", rounds = 3 }
        suppression = { max_fraction = 0.05 }
        """
    )
    release = halfmask.protect(people(1, 200), policy).write(tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    method = json.loads((tmp_path / "out" / "manifest.json").read_text())["details"]["method"]
    rounds = method["levels_of_rounds"]
    assert method["rounds"] == 3
    assert 1 < len(rounds) <= 3
    assert sum(each["rows"] for each in rounds) == release.data.height
    assert all(set(each["levels"]) == set(QUASI) and each["optimal"] for each in rounds)
    report = (tmp_path / "out" / "report.html").read_text()
    assert f"{len(rounds)} rounds" in report
    levels = ", then ".join(str(each["levels"]["age"]) for each in rounds)
    assert f"level {levels} of 3" in report


@pytest.mark.slow
def test_rounds_lose_much_less_on_adult(shared_data):
    frame = pl.read_csv(
        shared_data / "arx" / "adult_arx_30162.csv", separator=";", infer_schema=False
    ).drop("salary-class", "native-country")
    columns = []
    for name in frame.columns:
        path = shared_data / "adult_hierarchies" / f"adult_hierarchy_{name}.csv"
        hierarchy = read_hierarchy(path, column=name)
        columns.append(
            Column(name=name, role="quasi_identifier", kind="categorical", hierarchy=hierarchy)
        )
    finest = {}
    for rounds in (1, 3):
        protection = Protection(
            schema=Schema(tuple(columns)),
            guarantees=(KAnonymity(k=10),),
            method=FullDomain(rounds=rounds, objective=Loss(gs_factor=0.25)),
            recoding=Level(),
            max_suppression_fraction=0.02,
        )
        plan, _ = protection.plan(protection.fit(protection.summarize(frame)))
        written = plan.apply(frame)
        assert written.group_by(pl.all()).len()["len"].to_numpy().min() >= 10
        assert written.height >= 0.98 * frame.height
        finest[rounds] = written.n_unique()
    assert finest[3] > 2 * finest[1]


@pytest.mark.slow
def test_rounds_count_persons_where_a_person_is_the_unit():
    kinds = Counter[str]()
    for seed in range(8):
        frame = people(seed, 90).with_columns(who=pl.Series(np.arange(90) // 3))
        protection = replace(
            protection_of(frame.drop("who"), KAnonymity(k=3), rounds=3, share=0.1), person="who"
        )
        identifier = Column(name="who", role="identifier", kind="categorical")
        schema = Schema((*protection.schema.columns, identifier))
        protection = replace(protection, schema=schema)
        plan, fitted = protection.plan(protection.fit(protection.summarize(frame)))
        kinds[type(plan.partition).__name__] += 1
        persons = frame.filter(pl.Series(fitted.cell_of_row >= 0))["who"]
        written = plan.apply(frame).select(QUASI).with_columns(who=persons)
        people_of = written.group_by(QUASI).agg(pl.col("who").n_unique())["who"].to_numpy()
        assert people_of.min() >= 3
    assert kinds["RoundsPartition"], kinds
