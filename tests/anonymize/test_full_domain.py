"""Full-domain generalization: ARX's optima, brute force over small tables, and bad input."""

from __future__ import annotations

import importlib.util
import json
import sys
import tomllib
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import GuaranteeNotMetError, ParameterError
from halfmask.anonymize import (
    Anonymizer,
    Centroid,
    FullDomain,
    LatticePartition,
    Level,
    Mondrian,
    Protection,
    Ranges,
    Representative,
)
from halfmask.anonymize.lattice import (
    ClassificationMetric,
    NonUniformEntropy,
    PrecomputedEntropy,
)
from halfmask.data import Column, Hierarchy, Schema, read_hierarchy
from halfmask.guarantees import (
    GUARANTEES,
    Classes,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    guarantee_from,
)
from halfmask.microdata import Policy


def examples() -> dict[str, str]:
    """Return an example of each model, as the page of models has it."""
    script = Path(__file__).parents[2] / "tools" / "models_page.py"
    spec = importlib.util.spec_from_file_location("models_page", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["models_page"] = module
    spec.loader.exec_module(module)
    return {name: line.example for name, line in module.LINES.items()}


EXAMPLES = examples()

AGES = Hierarchy.from_rows(
    [(str(n), f"{n // 2 * 2}-{n // 2 * 2 + 1}", "young" if n < 4 else "old") for n in range(8)],
    column="age",
)
TOWNS = Hierarchy.from_rows(
    [("Lyon", "France"), ("Nice", "France"), ("Rome", "Italy"), ("Bari", "Italy")], column="town"
)


def people(seed: int, n: int = 40, *, missing: bool = False) -> pl.DataFrame:
    """Draw a table with a column of each kind."""
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": draw.integers(0, 8, n),
            "town": draw.choice(["Lyon", "Nice", "Rome", "Bari"], n),
            "sex": draw.choice(["f", "m"], n),
            "disease": draw.choice(["flu", "cold", "asthma", "acne"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "stage": draw.integers(1, 5, n),
        }
    )
    if not missing:
        return frame
    gaps = pl.Series(draw.random(n) < 0.2)
    return frame.with_columns(
        pl.when(~gaps).then("age").alias("age"), pl.when(~gaps.reverse()).then("sex").alias("sex")
    )


def schema_of(frame: pl.DataFrame) -> Schema:
    return Schema(
        tuple(
            Column(
                name=name,
                role="sensitive" if name in ("disease", "stage") else "quasi_identifier",
                kind="numeric" if frame[name].dtype.is_numeric() else "categorical",
                hierarchy={"age": AGES, "town": TOWNS}.get(name),
            )
            for name in frame.columns
        )
    )


def protection_of(frame: pl.DataFrame, *guarantees, share: float = 0.0, **settings) -> Protection:
    return Protection(
        schema=schema_of(frame),
        guarantees=guarantees,
        method=settings.pop("method", FullDomain()),
        recoding=settings.pop("recoding", Level()),
        max_suppression_fraction=share,
        **settings,
    )


def fitted_of(frame: pl.DataFrame, *guarantees, **settings):
    protection = protection_of(frame, *guarantees, **settings)
    plan, fitted = protection.plan(protection.fit(protection.summarize(frame)))
    assert isinstance(fitted.partition, LatticePartition)
    return plan, fitted


def written(frame: pl.DataFrame, levels: tuple[int, ...]) -> pl.DataFrame:
    """Write a table at some levels, without a word of the code that is tested."""
    age, town, sex = levels
    ages = AGES.labels(age)
    towns = {leaf: TOWNS.labels(town)[place] for place, leaf in enumerate(TOWNS.leaves)}
    of_age = {int(leaf): ages[place] for place, leaf in enumerate(AGES.leaves)}
    rows = [
        {
            "age": "*" if age == 3 else of_age.get(row["age"]),
            "town": towns.get(row["town"]),
            "sex": "*" if sex else row["sex"],
            "disease": row["disease"],
            "stage": row["stage"],
        }
        for row in frame.iter_rows(named=True)
    ]
    texts = dict.fromkeys(("age", "town", "sex", "disease"), pl.String)
    return pl.DataFrame(rows, schema={**texts, "stage": pl.Int64})


def released(frame: pl.DataFrame, guarantees, most: int) -> pl.DataFrame | None:
    """Return the rows that are released: classes that miss a guarantee are left out one by one."""
    names = ["age", "town", "sex"]
    absolute = [each for each in guarantees if not each.relative]
    relative = [each for each in guarantees if each.relative and not each.of_table]
    of_table = [each for each in guarantees if each.of_table]
    rows, asked = frame, absolute
    while True:
        groups = [part for _, part in rows.group_by(names, maintain_order=True)]
        number = np.repeat(np.arange(len(groups)), [part.height for part in groups])
        stacked = pl.concat(groups)
        sensitive = {}
        for name in ("disease", "stage"):
            order = sorted(frame[name].unique().to_list())
            sensitive[name] = (np.array([order.index(it) for it in stacked[name]]), len(order))
        classes = Classes.from_codes(number, len(groups), sensitive)
        labels = pl.concat([part[:1].select(names) for part in groups])
        numbers = [labels[name].rank("dense").fill_null(0) for name in names]
        classes = replace(classes, written=np.stack(numbers, axis=1).astype(np.int64))
        failing = {int(place) for each in asked for place in each.judge(classes).failing}
        if asked is of_table:
            failing = fewest(classes, of_table)
        kept = [part for place, part in enumerate(groups) if place not in failing]
        rows = pl.concat([frame[:0], *kept])
        if frame.height - rows.height > most or not rows.height:
            return None
        if not failing and asked is of_table:
            return rows
        asked = relative if failing or asked is absolute else of_table


def fewest(classes: Classes, guarantees) -> set[int]:
    """Return the smallest classes without which guarantees of the whole table hold."""
    order = np.argsort(classes.sizes, kind="stable")
    for n in range(classes.n_classes):
        if all(each.judge(classes.without(order[:n])).holds for each in guarantees):
            return set(order[:n].tolist())
    return set(range(classes.n_classes))


def loss_of(frame: pl.DataFrame, rows: pl.DataFrame, levels: tuple[int, ...]) -> float:
    """Count the mean share of other values that a cell could stand for."""
    values = {"age": AGES, "town": TOWNS}
    total = 3.0 * (frame.height - rows.height)
    for name, level in zip(("age", "town", "sex"), levels, strict=True):
        n = frame[name].n_unique()
        whole = written(frame, levels)[name]
        below = {
            label: frame.filter(whole.eq_missing(label))[name].n_unique()
            for label in whole.unique().to_list()
        }
        assert level == 0 or name in values or list(below) == ["*"]
        total += sum((below[cell] - 1) / max(1, n - 1) for cell in rows[name].to_list())
    return total / 3 / frame.height


def best_of(frame: pl.DataFrame, guarantees, share: float) -> float | None:
    found = []
    for levels in product(range(4), range(3), range(2)):
        rows = released(written(frame, levels), guarantees, int(share * frame.height))
        if rows is not None:
            found.append(loss_of(frame, rows, levels))
    return min(found, default=None)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("k", "share", "loss", "levels"),
    [
        (5, 0.04, 255559.85455731067, (1, 0, 1, 1, 3, 2, 2, 0, 1)),
        (100, 0.04, 379417.3460570988, (1, 1, 1, 1, 3, 2, 2, 1, 1)),
        (5, 0.0, 407289.5388925293, (1, 2, 1, 1, 3, 2, 2, 1, 1)),
        (100, 0.0, 453196.8932458743, (0, 4, 1, 1, 3, 2, 2, 1, 1)),
    ],
)
def test_optima_on_adult_are_those_of_arx(shared_data, k, share, loss, levels):
    # ARX's TestAnonymizationKAnonymity: its loss and levels, for its precomputed entropy.
    frame = pl.read_csv(
        shared_data / "arx" / "adult_arx_30162.csv", separator=";", infer_schema=False
    )
    folder = shared_data / "adult_hierarchies"
    columns = [
        Column(
            name=name,
            role="quasi_identifier",
            kind="categorical",
            hierarchy=read_hierarchy(folder / f"adult_hierarchy_{name}.csv", column=name),
        )
        for name in frame.columns
    ]
    protection = Protection(
        schema=Schema(tuple(columns)),
        guarantees=(KAnonymity(k=k),),
        method=FullDomain(objective=PrecomputedEntropy()),
        recoding=Level(),
        max_suppression_fraction=share,
    )
    fitted = protection.fit(protection.summarize(frame))
    partition = fitted.partition
    assert isinstance(partition, LatticePartition)
    assert partition.levels == levels
    assert partition.facts.optimal
    assert entropy_of(frame, columns, levels) == pytest.approx(loss, rel=1e-12)
    kept = frame.filter(pl.Series(fitted.cell_of_row >= 0))
    assert frame.height - kept.height <= share * frame.height
    cells = pl.DataFrame(
        [nodes_of(kept, column, level) for column, level in zip(columns, levels, strict=True)]
    )
    assert cells.group_by(cells.columns).len()["len"].min() >= k


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "share", "loss", "levels"),
    [
        (5, 0.04, 1764006.4033760305, (2, 4, 0, 1, 0, 4, 4, 4)),
        (100, 0.04, 1994002.8308631124, (3, 4, 1, 1, 0, 4, 4, 4)),
        (5, 0.0, 2445878.424834677, (4, 4, 1, 1, 1, 4, 4, 4)),
        (100, 0.0, 2517471.5816586106, (5, 4, 1, 0, 1, 4, 4, 4)),
    ],
)
def test_optima_on_cup_are_those_of_arx(shared_data, k, share, loss, levels):
    # The same test of ARX: its entropy that counts suppressed rows.
    frame = pl.read_csv(shared_data / "arx" / "cup.csv", separator=";", infer_schema=False)
    folder = shared_data / "arx" / "hierarchies"
    columns = []
    for name in frame.columns:
        path = next(folder.glob(f"cup_hierarchy_{name}.csv*"))
        rows = pl.read_csv(path, separator=";", has_header=False, infer_schema=False)
        held = rows.filter(pl.col(rows.columns[0]).is_in(frame[name].unique().implode()))
        columns.append(
            Column(
                name=name,
                role="quasi_identifier",
                kind="categorical",
                hierarchy=Hierarchy.from_levels(held, column=name),
            )
        )
    protection = Protection(
        schema=Schema(tuple(columns)),
        guarantees=(KAnonymity(k=k),),
        method=FullDomain(objective=NonUniformEntropy()),
        recoding=Level(),
        max_suppression_fraction=share,
    )
    fitted = protection.fit(protection.summarize(frame))
    assert isinstance(fitted.partition, LatticePartition)
    assert fitted.partition.levels == levels
    gone = frame.filter(pl.Series(fitted.cell_of_row < 0))
    unsaid = sum(bits_of(nodes_of(gone, *each)) for each in zip(columns, levels, strict=True))
    assert entropy_of(frame, columns, levels) + unsaid == pytest.approx(loss, rel=1e-12)


def bits_of(values: pl.Series) -> float:
    """Count the bits that say which value each row has, if only the counts are known."""
    counts = values.value_counts()["count"].to_numpy()
    return float(counts @ np.log2(len(values) / counts)) if len(values) else 0.0


def nodes_of(frame: pl.DataFrame, column: Column, level: int) -> pl.Series:
    assert isinstance(column.hierarchy, Hierarchy)
    return column.hierarchy.generalize(frame[column.name], level)


def entropy_of(frame, columns, levels) -> float:
    total = 0.0
    for column, level in zip(columns, levels, strict=True):
        raw = frame[column.name]
        node = nodes_of(frame, column, level).alias("node")
        counted = pl.DataFrame([raw.alias("raw"), node]).with_columns(
            a=pl.len().over("raw"), b=pl.len().over("node")
        )
        total += float(np.log2(counted["b"] / counted["a"]).sum())
    return total


def models() -> list[str]:
    return [name for name, kind in sorted(GUARANTEES.items()) if not kind.needs_population]


def model(name: str):
    given = tomllib.loads(f"it = {{ {EXAMPLES[name]} }}")["it"]
    return guarantee_from(name, given)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("share", [0.0, 0.15])
@pytest.mark.parametrize("name", models())
def test_each_model_finds_what_brute_force_finds(name, share):
    guarantee = model(name)
    for seed in range(3):
        frame = people(seed, missing=seed == 2)
        least = best_of(frame, [guarantee], share)
        if least is None:
            with pytest.raises(GuaranteeNotMetError, match="keeps the guarantees"):
                fitted_of(frame, guarantee, share=share)
            continue
        plan, fitted = fitted_of(frame, guarantee, share=share)
        table = plan.apply(frame, cells=fitted.cell_of_row)
        assert loss_of(frame, table, fitted.partition.levels) == pytest.approx(least)
        expected = released(
            written(frame, fitted.partition.levels), [guarantee], int(share * frame.height)
        )
        assert expected is not None
        assert table.sort(table.columns).equals(expected.sort(table.columns))


@pytest.mark.slow
def test_the_tables_of_brute_force_make_most_models_suppress():
    """The tables of the test above aren't too easy: most models suppress rows of them."""
    suppressing = set()
    for name in models():
        for seed in range(3):
            frame = people(seed, missing=seed == 2)
            for levels in product(range(4), range(3), range(2)):
                rows = released(written(frame, levels), [model(name)], int(0.15 * frame.height))
                if rows is not None and rows.height < frame.height:
                    suppressing.add(name)
    assert len(suppressing) > 0.6 * len(models())


@pytest.mark.slow
def test_several_guarantees_on_two_columns_find_what_brute_force_finds():
    guarantees = [
        KAnonymity(k=3),
        DistinctLDiversity(l=2, column="disease"),
        EntropyLDiversity(l=1.9, column="stage"),
    ]
    for seed in range(3):
        frame = people(seed, 60)
        plan, fitted = fitted_of(frame, *guarantees, share=0.1)
        table = plan.apply(frame, cells=fitted.cell_of_row)
        assert loss_of(frame, table, fitted.partition.levels) == pytest.approx(
            best_of(frame, guarantees, 0.1)
        )


def test_rows_find_their_class_again_and_others_find_none():
    frame = people(1, 60)
    plan, fitted = fitted_of(frame, KAnonymity(k=3), share=0.1)
    assert (fitted.cell_of_row < 0).any()
    assert np.array_equal(plan.cells(frame), fitted.cell_of_row)
    alien = frame[:1].with_columns(town=pl.lit("Oslo"))
    assert plan.cells(alien).tolist() == [-1]


def test_a_release_on_disk_is_verified_and_says_how_it_was_found(tmp_path):
    frame = people(3, 80).with_columns(name=pl.lit("x"))
    policy = Policy.from_toml(
        """
        halfmask = 1
        columns.name = { role = "identifier" }
        columns.sex = { role = "quasi_identifier", kind = "categorical" }
        columns.age.role = "quasi_identifier"
        columns.age.kind = "numeric"
        columns.age.hierarchy = { intervals = [2, 4] }
        columns.town.role = "quasi_identifier"
        columns.town.kind = "categorical"
        columns.town.hierarchy = { prefix = [1] }
        columns.disease = { role = "sensitive", kind = "categorical" }
        columns.stage = { role = "insensitive", kind = "numeric" }
        guarantees = [
            { model = "k-anonymity", k = 4 },
            { model = "t-closeness", t = 0.5, column = "disease" },
        ]
        method = { name = "full-domain", objective = "discernibility" }
        suppression = { max_fraction = 0.1 }
        """
    )
    release = halfmask.protect(frame, policy).write(tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    method = json.loads((tmp_path / "out" / "manifest.json").read_text())["details"]["method"]
    assert method["objective"]["name"] == "discernibility"
    assert list(method["levels"]) == list(release.source.plan.quasi_identifiers)
    assert (method["optimal"], method["nodes"]) == (True, 24)
    assert 0 < method["nodes_judged"] <= 24
    report = (tmp_path / "out" / "report.html").read_text()
    assert "of 24 combinations of levels were judged, and no other loses less" in report
    assert f"level {method['levels']['age']} of 3" in report


def test_nothing_holds_says_which_and_what_was_reached():
    with pytest.raises(GuaranteeNotMetError) as caught:
        fitted_of(people(0), KAnonymity(k=41), share=0.5)
    message = str(caught.value)
    assert "KAnonymity(k=41) reaches 40, and 40 of 40 rows miss it" in message
    assert "'age' 3 of 3, 'town' 2 of 2, 'sex' 1 of 1" in message
    assert "At most 20 rows may be suppressed" in message


def test_a_table_of_one_value_keeps_it():
    frame = people(0)[:1].select(pl.all().repeat_by(30).explode())
    _, fitted = fitted_of(frame, KAnonymity(k=5))
    assert fitted.partition.levels == (0, 0, 0)
    assert fitted.partition.sizes.tolist() == [30]


def test_a_root_stands_for_missing_cells_and_lower_levels_keep_them_apart():
    frame = people(2, 200, missing=True)
    plan, fitted = fitted_of(frame, KAnonymity(k=2), share=0.05)
    table = plan.apply(frame, cells=fitted.cell_of_row)
    assert table["age"].null_count() > 0
    plan, fitted = fitted_of(frame, KAnonymity(k=150))
    table = plan.apply(frame)
    assert table.select("age", "town", "sex").unique().rows() == [("*", "*", "*")]


def test_a_column_without_any_value_is_released(tmp_path):
    frame = pl.DataFrame({"age": pl.Series([None] * 8, dtype=pl.Int64), "sex": ["f", "m"] * 4})
    policy = Policy.from_toml(
        """
        halfmask = 1
        columns.age = { role = "quasi_identifier", kind = "numeric" }
        columns.sex = { role = "quasi_identifier", kind = "categorical" }
        guarantees = [{ model = "k-anonymity", k = 5 }]
        method = { name = "full-domain", objective = "height" }
        """
    )
    release = halfmask.protect(frame, policy).write(tmp_path / "out")
    assert release.data.unique().rows() == [(None, "*")]
    policy = Policy.from_toml(policy.to_toml().replace("height", "discernibility"))
    assert set(halfmask.protect(frame, policy).data["sex"]) == {"*"}


def test_only_recodings_that_write_the_classes_are_taken():
    frame = people(0)
    for recoding in (Ranges(), Representative()):
        with pytest.raises(ParameterError, match="writes one level of a column in every row"):
            protection_of(frame, KAnonymity(k=2), recoding=recoding)
    with pytest.raises(ParameterError, match="'town'"):
        protection_of(frame, KAnonymity(k=2), column_recodings={"town": Ranges()})
    protection_of(frame, KAnonymity(k=2), recoding=Centroid())


def test_an_anonymizer_writes_the_middle_of_each_class():
    frame = people(4, 60).select("age", "town", "sex")
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=3)],
        method=FullDomain(objective=NonUniformEntropy()),
        hierarchies={"age": AGES, "town": TOWNS},
        max_suppression_fraction=0.1,
    )
    written_rows = anonymizer.fit_transform(frame)
    sizes = written_rows.drop_nulls().group_by(pl.all()).len()["len"]
    assert sizes.min() >= 3
    assert all(judgement.holds for judgement in anonymizer.judgements_)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_person_counts_once_where_a_person_is_the_unit(share):
    frame = people(7, 80).with_columns(who=pl.Series([n // 4 for n in range(80)]))
    columns = (*schema_of(frame.drop("who")).columns,
               Column(name="who", role="identifier", kind="text"))  # fmt: skip
    protection = replace(
        protection_of(frame.drop("who"), KAnonymity(k=6), share=share),
        schema=Schema(columns),
        person="who",
    )
    plan, fitted = protection.plan(protection.fit(protection.summarize(frame)))
    names = ["age", "town", "sex"]
    table = plan.apply(frame, cells=fitted.cell_of_row)
    counted = table.group_by(names).agg(pl.col("who").n_unique())
    assert counted["who"].to_numpy().min() >= 6
    losses = []
    for levels in product(range(4), range(3), range(2)):
        rows = written(frame, levels).with_columns(frame["who"])
        kept = rows.filter(pl.col("who").n_unique().over(names) >= 6)
        if kept.height >= (1 - share) * frame.height:
            losses.append(loss_of(frame, kept, levels))
    partition = fitted.partition
    assert isinstance(partition, LatticePartition)
    assert loss_of(frame, table, partition.levels) == pytest.approx(min(losses))


def test_levels_stay_between_the_least_and_the_greatest():
    frame = people(5, 80)

    def between(**levels):
        schema = Schema(
            tuple(
                replace(column, **levels) if column.name == "age" else column
                for column in schema_of(frame).columns
            )
        )
        protection = replace(protection_of(frame, KAnonymity(k=3), share=0.05), schema=schema)
        return protection.fit(protection.summarize(frame)).partition

    assert between(least_level=2, greatest_level=2).levels[0] == 2
    assert between(least_level=3).levels[0] == 3
    assert between(greatest_level=1).levels[0] <= 1
    with pytest.raises(ParameterError, match="levels 0 to 3"):
        between(least_level=4)
    with pytest.raises(ParameterError, match="various levels"):
        replace(protection_of(frame, KAnonymity(k=3)), method=Mondrian(), schema=Schema(
            tuple(replace(column, least_level=1) for column in schema_of(frame).columns)
        ))  # fmt: skip


def test_a_label_guides_the_levels_that_keep_it():
    frame = people(6, 80).with_columns(income=pl.Series(["a", "b"] * 40))
    frame = frame.with_columns(sex=pl.col("income").replace({"a": "f", "b": "m"}))
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=10)],
        method=FullDomain(objective=ClassificationMetric()),
        hierarchies={"age": AGES, "town": TOWNS},
        recoding=Level(),
    )
    table = anonymizer.fit_transform(frame.select("age", "town", "sex"), frame["income"])
    assert set(table["sex"]) == {"f", "m"}
    with pytest.raises(ParameterError, match="different values"):
        anonymizer.fit(frame.select("age", "town", "sex"), np.random.default_rng(0).random(80))
    with pytest.raises(ParameterError, match="requires y"):
        anonymizer.fit(frame.select("age", "town", "sex"))


def test_another_method_refuses_what_is_not_monotone():
    class Odd(KAnonymity):
        monotone = False

    frame = people(0)
    with pytest.raises(ParameterError, match="full-domain"):
        protection_of(frame, Odd(k=2), method=Mondrian())
    with pytest.raises(ParameterError, match="keeps classes apart"):
        protection_of(frame, Odd(k=2), recoding=Centroid())
    assert fitted_of(frame, Odd(k=2), share=0.1)[1].partition.facts.optimal


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "loss"},
        {"search": "fast"},
        {"steps": 0},
        {"seconds": 0.0},
        {"seed": -1},
    ],
)
def test_settings_are_checked(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        FullDomain(**settings)


@pytest.mark.parametrize("rare", [29, 57, 58])
def test_a_share_of_rows_that_may_be_suppressed_is_exact(rare: int):
    """.29 of 100 rows are 29 of them, in binary 28.999999999999996: then all would become ``*``."""
    table = pl.DataFrame({"town": ["a"] * (100 - rare) + [f"b{n}" for n in range(rare)]})
    anonymizer = Anonymizer(
        guarantees=[KAnonymity(k=2)],
        method=FullDomain(),
        recoding=Level(),
        max_suppression_fraction=rare / 100,
    )

    found = anonymizer.fit_transform(table)["town"]

    assert found.drop_nulls().to_list() == ["a"] * (100 - rare)
