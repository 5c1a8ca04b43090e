"""synthesize: from a table and a policy to a verified release of synthetic rows."""

from __future__ import annotations

import datetime as dt
import functools
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import halfmask
from halfmask import (
    DataError,
    GuaranteeNotMetError,
    ParameterError,
    Policy,
    PolicyError,
    VerificationError,
)
from halfmask.microdata import synthetic as _synthetic
from halfmask.microdata._synthetic_claims import synthetic_claims
from halfmask.synth._column_model import TreeModel

KEY = bytes(range(32))
COLUMNS = """
halfmask = 1
[columns.name]
role = "identifier"
[columns.age]
role = "quasi_identifier"
kind = "numeric"
[columns.town]
role = "quasi_identifier"
kind = "categorical"
[columns.wage]
role = "insensitive"
kind = "numeric"
[columns.bonus]
role = "insensitive"
kind = "numeric"
[columns.total]
role = "insensitive"
kind = "numeric"
[columns.ill]
role = "sensitive"
kind = "categorical"
label = true
[synthesis]
"""


def people(n: int = 400, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    wage, bonus = rng.integers(10, 60, n) * 100 + age, rng.integers(0, 9, n) * 50
    return pl.DataFrame(
        {
            "name": [f"canary-{i}" for i in range(n)],
            "age": age,
            "town": rng.choice(["Lyon", "Nice", "Rome"], n),
            "wage": wage,
            "bonus": bonus,
            "total": wage + bonus,
            "ill": np.where(rng.random(n) < age / 100, "yes", "no"),
        }
    )


def policy(text: str) -> Policy:
    return Policy.from_toml(COLUMNS + text)


@functools.cache
def made(kind: str) -> Any:
    """Return the release of one kind of `people()`: many tests look at the same one."""
    return halfmask.synthesize(people(), policy(KINDS[kind]), key=KEY)


SUM = 'rules = [{ rule = "sum-of", total = "total", parts = ["wage", "bonus"] }]'
KINDS = {
    "full": f'kind = "full"\nrows = 300\n{SUM}',
    "copies": 'kind = "full"\ncopies = 3',
    "partial": 'kind = "partial"\ncolumns = ["wage", "bonus", "total"]\n' + SUM,
    "risky cells": 'kind = "partial"\ncolumns = ["age", "town"]\nclass_size_below = 3',
    "hybrid": 'kind = "hybrid"\noriginal_share = 0.3',
    "groups": 'kind = "hybrid"\nk = 5',
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_written_and_verified(tmp_path, kind):
    release = made(kind)
    written = release.write(tmp_path / "out")
    full = 'kind = "full"' in KINDS[kind]
    found = halfmask.verify(tmp_path / "out", originals=people() if full else None)
    assert found.holds, found.problems
    assert written.verification is not None
    parts = sorted((tmp_path / "out" / "data").iterdir())
    rows = pl.concat([pl.read_parquet(path) for path in parts])
    assert rows.columns == people().drop("name").columns
    assert rows.height == release.rows["out"]
    texts = [path.read_text() for path in (tmp_path / "out").glob("*.*")]
    assert not any("canary" in text for text in texts)
    if "sum-of" in KINDS[kind]:
        assert (rows["wage"] + rows["bonus"] == rows["total"]).all()
    if kind == "copies":
        names = [f"copy-{number:03d}-part-00000.parquet" for number in (1, 2, 3)]
        assert [path.name for path in parts] == names
        first, second = (pl.read_parquet(path).sort("wage", "age") for path in parts[:2])
        assert not first.equals(second)


def test_the_report_and_the_manifest_show_what_was_measured(tmp_path):
    made("full").write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "density-membership" in page
    assert "Tables of columns" in page
    assert page.count('<svg class="chart"') == 7  # six columns, and what they say of each other
    assert "No bar shows fewer than 5 original rows" in page
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["kind"] == "synthetic"
    assert manifest["details"]["rows"] == {"in": 400, "learnt": 360, "control": 40, "out": 300}
    assert len(manifest["details"]["risk"]["attacks"]) >= 5
    assert any("learnt" in each or "models of people" in each for each in manifest["weaknesses"])


def test_partial_keeps_the_other_columns_and_rows_that_are_many():
    wages = made("partial")
    kept = ["age", "town", "ill"]
    learnt = wages.source.learnt
    assert_frame_equal(wages.data.select(kept).sort(kept), learnt.select(kept).sort(kept))
    some = made("risky cells")
    learnt, drawn = some.source.learnt, some.source.copies[0]
    sizes = learnt.select(pl.len().over("age", "town")).to_series()
    assert_frame_equal(drawn.filter(sizes >= 3), learnt.filter(sizes >= 3))
    assert not drawn.filter(sizes < 3).equals(learnt.filter(sizes < 3))


@pytest.mark.slow
def test_same_key_same_rows_and_another_key_others():
    unattacked = policy("control_fraction = 0\n" + KINDS["full"])
    one, again, other = (
        halfmask.synthesize(people(), unattacked, key=key) for key in (KEY, KEY, bytes(32))
    )
    assert_frame_equal(one.data, again.data)
    assert not one.data.equals(other.data)


def test_a_model_that_copies_rows_is_fitted_with_larger_leaves(tmp_path, monkeypatch):
    """Leaves of one row give back rows of the table; the error asked to raise min_leaf."""
    # Trees that are trusted in each cut; others stop above cuts of noise, and copy few rows.
    monkeypatch.setattr(TreeModel, "distrust", 0.0)
    wide = people(400).with_columns(
        **{f"x{i}": np.random.default_rng(i).integers(0, 9, 400) for i in range(8)}
    )
    section = '[columns.x{}]\nrole = "insensitive"\nkind = "categorical"\n'
    more = "".join(map(section.format, range(8)))
    text = COLUMNS.replace("[synthesis]", more + "[synthesis]")
    copying = Policy.from_toml(text + 'kind = "full"\nmin_leaf = 1')
    release = halfmask.synthesize(wide, copying, key=KEY).write(tmp_path / "out")
    assert release.source.leaves[0] >= 4
    assert release.claims[-1].evidence["copied_of_few"] == 0
    assert "least leaf" in (tmp_path / "out" / "report.html").read_text()


def test_rows_of_one_person_are_no_more_frequent_than_by_chance():
    """Seven columns of which leaves of 20 rows give back more rows than chance does."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 2_000)
    table = pl.DataFrame(
        {f"x{i}": np.where(rng.random(2_000) < 0.6, kind * i, i + 1) for i in range(1, 8)}
    ).cast(pl.String)
    section = '[columns.{}]\nrole = "insensitive"\nkind = "categorical"\n'
    text = "halfmask = 1\n" + "".join(map(section.format, table.columns))
    text += '[synthesis]\nkind = "full"\ncontrol_fraction = 0'
    release = halfmask.synthesize(table, Policy.from_toml(text))
    evidence = next(it for it in release.claims if it.model == "copied-rows").evidence
    copied = int(str(evidence["copied"])) / int(str(evidence["rows"]))
    assert copied < int(str(evidence["repeated"])) / 2_000 + 0.06


def test_pandas_in_pandas_out():
    pandas = pytest.importorskip("pandas")
    unattacked = policy("control_fraction = 0\n" + KINDS["full"])
    release = halfmask.synthesize(people().to_pandas(), unattacked, key=KEY)
    assert isinstance(release.data, pandas.DataFrame)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "lacks the key 'kind'"),
        ('kind = "partial"', "lacks the key 'columns'"),
        ('kind = "full"\ncolumns = ["age"]', r"no key 'columns'[^']*goes with partial"),
        ('kind = "hybrid"', "lacks the key 'original_share'(.|\n)*'k' in its place"),
        (
            'kind = "hybrid"\nk = 5\noriginal_share = 0.5',
            r"no key 'original_share'[^']*goes with hybrid",
        ),
        ('kind = "hybrid"\nk = 5\nmin_leaf = 3', r"no key 'min_leaf'[^']*goes with full"),
        (
            'kind = "hybrid"\nk = 5\n' + SUM,
            r"no key 'rules'[^']*goes with full without epsilon or partial",
        ),
        ('kind = "partial"\ncolumns = ["name"]', "an identifier"),
        ('kind = "partial"\ncolumns = ["agee"]', "agee"),
        ('kind = "full"\nmin_leaf = 0', "min_leaf"),
        ('kind = "full"\nrules = [{ rule = "sum" }]', "rule"),
        ('kind = "full"\n[method]\nname = "mondrian"', "goes with no guarantees"),
        ('kind = "full"\n[[guarantees]]\nmodel = "k-anonymity"\nk = 5', "goes with no guarantees"),
    ],
)
def test_policies_that_say_what_cannot_be_are_refused(text, fault):
    with pytest.raises(PolicyError, match=fault):
        policy(text)


def test_protect_knows_the_kind_and_the_short_forms_refuse_others():
    made = halfmask.protect(people(), policy(KINDS["full"]), key=KEY)
    assert made.data.equals(halfmask.synthesize(people(), policy(KINDS["full"]), key=KEY).data)
    a_vault = SimpleNamespace(secret=None)
    with pytest.raises(ParameterError, match="'vault' parameter of protect doesn't go with"):
        halfmask.protect(people(), policy(KINDS["full"]), vault=a_vault)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="synthesis"):
        halfmask.mask(people(), policy(KINDS["full"]))
    with pytest.raises(PolicyError, match="no \\[synthesis\\]"):
        halfmask.synthesize(
            people(),
            Policy.from_toml(
                COLUMNS.replace("[synthesis]", '[[guarantees]]\nmodel = "k-anonymity"\nk = 2')
            ),
        )
    with pytest.raises(ParameterError, match="must be a Policy"):
        halfmask.synthesize(people(), "policy.toml")  # type: ignore[arg-type] # tested


def test_no_rows_broken_rules_and_groups_that_cannot_be():
    with pytest.raises(DataError, match="no rows"):
        halfmask.synthesize(people().clear(), policy(KINDS["full"]))
    broken = people().with_columns(total=pl.col("total") + 1)
    with pytest.raises(DataError, match="break the rule"):
        halfmask.synthesize(broken, policy(KINDS["full"]))
    with pytest.raises(GuaranteeNotMetError, match="Groups of 5"):
        halfmask.synthesize(people(4), policy(KINDS["groups"]))


def test_few_rows_learn_from_all_and_measure_no_attack():
    release = halfmask.synthesize(people(60), policy('kind = "full"'), key=KEY)
    assert release.rows == {"in": 60, "learnt": 60, "control": 0, "out": 60}
    assert release.assessment.findings == ()


def of_shape(shape: str) -> pl.DataFrame:
    """Return an honest table, most of them of rows of which no two are equal."""
    rng, n = np.random.default_rng(0), 400
    some = pl.DataFrame({"w": rng.choice(["sun", "rain", "snow"], n)})
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(n)]
    grid = pl.DataFrame({"n": range(1024)}).select(
        (pl.col("n") // 4**i % 4).cast(pl.String).alias(f"q{i}") for i in range(5)
    )
    tables = {
        "evenly spaced": some.with_columns(
            x=pl.Series([round(i * 0.1, 1) for i in range(n)]),
            z=pl.Series(rng.choice(["a", "b"], n)),
        ),
        "whole numbers": pl.DataFrame({"x": rng.permutation(n)}),
        "a function of them": pl.DataFrame({"x": range(n), "f": [f"{i // 8}" for i in range(n)]}),
        "days": some.with_columns(day=pl.Series(days)),
        "days with none": some.with_columns(
            day=pl.Series([None if i % 9 == 0 else day for i, day in enumerate(days)])
        ),
        "years of firms": some.with_columns(
            firm=pl.Series([f"f{i // 8}" for i in range(n)]),
            year=pl.Series([2000 + i % 8 for i in range(n)]),
        ),
        "ages": some.with_columns(
            age=pl.Series(rng.integers(18, 90, n)), sex=pl.Series(rng.choice(["f", "m"], n))
        ),
        "amounts": some.with_columns(x=pl.Series(np.exp(rng.normal(7, 1, n)).round(2))),
        "few rows": pl.DataFrame({"a": rng.choice(["a", "b"], n), "b": rng.choice(["c", "d"], n)}),
        "many columns": pl.DataFrame({f"x{i}": rng.choice(list("abcdefgh"), n) for i in range(7)}),
        "different rows": grid.sample(600, seed=1),
        "all rows": grid.sample(900, seed=1),
    }
    return tables[shape]


def shape_policy(table: pl.DataFrame, more: str = "") -> Policy:
    section = '[columns.{}]\nrole = "insensitive"\nkind = "{}"\n'
    kinds = {
        name: "numeric" if it.is_numeric() else "datetime" if it.is_temporal() else "categorical"
        for name, it in table.schema.items()
    }
    columns = "".join(section.format(*each) for each in kinds.items())
    return Policy.from_toml(f'halfmask = 1\n{columns}[synthesis]\nkind = "full"\n{more}')


SHAPES = (
    *("evenly spaced", "whole numbers", "a function of them", "days", "days with none"),
    *("years of firms", "ages", "amounts", "few rows", "many columns", "different rows"),
)


@pytest.mark.parametrize("model", ["trees", "forest"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_honest_table_is_released_whatever_the_key(tmp_path, monkeypatch, shape, model):
    """Evenly spaced numbers were refused under some keys: by chance 0 rows would be equal."""
    monkeypatch.setattr(_synthetic, "_assess", lambda _: None)
    table = of_shape(shape)
    wanted = shape_policy(table, f'model = "{model}"')
    for key in range(4):
        release = halfmask.synthesize(table, wanted, key=bytes([key]) * 32)
        assert release.write(tmp_path / "out", overwrite=True).written[1].holds
        if model == "trees":  # the luck of the draw isn't cut to pass: most rows are drawn once
            assert release.source.left_out[0] < table.height * 2
    assert halfmask.verify(tmp_path / "out", originals=table).holds


@pytest.mark.parametrize(
    ("shape", "share"),
    [
        ("amounts", 0.01),
        ("many columns", 0.01),
        ("ages", 0.2),
        ("different rows", 0.05),
        ("years of firms", 0.2),
        ("evenly spaced", 0.15),
        ("days", 0.2),
    ],
)
def test_copied_rows_are_refused_whatever_the_key(tmp_path, monkeypatch, shape, share):
    """Three rows of 400, or one of twenty; more where as many equal original rows by chance."""
    monkeypatch.setattr(_synthetic, "_assess", lambda _: None)
    table = of_shape(shape)
    for key in range(4):
        release = halfmask.synthesize(table, shape_policy(table), key=bytes([key]) * 32)
        rows = release.source
        n = max(3, round(rows.n_out * share))
        leak = table.filter(table.is_unique()).sample(n, seed=key)
        rows = replace(rows, copies=(pl.concat([leak, rows.copies[0][n:]]),))
        leaking = replace(release, source=rows, claims=synthetic_claims(rows))
        with pytest.raises(VerificationError, match=r"copied-rows: .* by chance .* would"):
            leaking.write(tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_table_of_nearly_all_rows_is_refused_whatever_the_key(tmp_path, monkeypatch):
    """Any row that is drawn is somebody's, so it isn't luck; and the cure that is named works."""
    monkeypatch.setattr(_synthetic, "_assess", lambda _: None)
    table = of_shape("all rows")
    for key in range(4):
        release = halfmask.synthesize(table, shape_policy(table), key=bytes([key]) * 32)
        with pytest.raises(VerificationError, match=r"copied-rows: .* by chance 0 would") as raised:
            release.write(tmp_path / "out")
        assert "leave out columns" in str(raised.value.hint)
    less = table.drop("q0")
    halfmask.synthesize(less, shape_policy(less), key=KEY).write(tmp_path / "out")


def survey(n: int = 1_500) -> pl.DataFrame:
    """Return a table in which about a sixth of the rows equal another one by chance."""
    rng = np.random.default_rng(1)
    age = np.clip(rng.normal(47, 18, n), 18, 90).astype(int)
    school = np.minimum(3, (rng.random(n) * 4 * (1.2 - age / 150)).astype(int))
    income = np.round(np.exp(rng.normal(6.5 + 0.4 * school, 0.6, n)) / 1_000) * 1_000
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": age // 3 * 3,
            "school": school,
            "income": np.where(rng.random(n) < 0.3, 0, income),
            "abroad": np.where(rng.random(n) < 0.97, 0, rng.integers(1, 25, n)),
        }
    )


def survey_policy(more: str) -> Policy:
    section = '[columns.{}]\nrole = "insensitive"\nkind = "{}"\n'
    kinds = {"sex": "categorical", "school": "categorical"}
    columns = [section.format(it, kinds.get(it, "numeric")) for it in survey().columns]
    return Policy.from_toml(f"halfmask = 1\n{''.join(columns)}[synthesis]\n{more}")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["trees", "forest"])
def test_each_copy_of_an_honest_survey_is_at_chance_whatever_the_key(tmp_path, monkeypatch, model):
    """Six of eight keys were refused, or one copy of three had half again as many as chance."""
    monkeypatch.setattr(_synthetic, "_assess", lambda _: None)
    wanted = survey_policy(f'kind = "full"\nmodel = "{model}"\ncopies = 3')
    for key in range(4):
        release = halfmask.synthesize(survey(), wanted, key=bytes([key]) * 32)
        release = release.write(tmp_path / "out", overwrite=True)
        found = [it for it in release.written[1].claims if it.claim.model == "copied-rows"]
        assert [it.claim.parameters for it in found] == [{"copy": 1}, {"copy": 2}, {"copy": 3}]
        assert len(release.source.left_out) == 3
        for each in found:
            assert each.holds
            assert "rows equal one that at most 5 people have; by chance" in each.sentence
            counts = {name: int(str(it)) for name, it in each.found.items()}
            drawn = counts["copied_of_few"] / counts["rows"]
            assert abs(drawn - counts["repeated_of_few"] / counts["original_rows"]) < 0.05
    assert (tmp_path / "out" / "report.html").read_text().count("by chance") >= 1


@pytest.mark.slow
def test_rows_that_many_people_have_are_nobodys(tmp_path):
    """A rare category isn't written, so that all drawn rows equal rows of many people."""
    n = 2_000
    table = pl.DataFrame(
        {
            "town": ["Lyon", "Nice"] * (n // 2 - 30) + [f"rare {i}" for i in range(60)],
            "sex": ["f", "f", "m", "m"] * (n // 4),
        }
    )
    section = '[columns.{}]\nrole = "insensitive"\nkind = "categorical"\n'
    text = "halfmask = 1\n" + "".join(map(section.format, table.columns))
    wanted = Policy.from_toml(text + '[synthesis]\nkind = "full"')
    release = halfmask.synthesize(table, wanted, key=KEY).write(tmp_path / "out")
    evidence = release.claims[-1].evidence
    assert evidence["copied"] == evidence["rows"]
    assert (evidence["copied_of_few"], evidence["repeated_of_few"]) == (0, 0)


@pytest.mark.parametrize("more", ["control_fraction = 0", ""])
def test_without_rows_set_aside_it_is_said_that_nothing_was_attacked(tmp_path, more):
    """The report said that attacks were compared on 0 rows, and there were none."""
    release = halfmask.synthesize(people(150), policy(f'kind = "full"\n{more}'), key=KEY)
    release.write(tmp_path / "out")
    words = "No attack was run: 0 rows were set aside, and attacks are compared on 20 at least."
    assert release.assessment.not_attacked.startswith(words)
    page = (tmp_path / "out" / "report.html").read_text()
    assert words in page
    assert "attacks are compared on them" not in page
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["details"]["risk"]["not_attacked"].startswith(words)
    assert made("full").assessment.findings


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["partial", "risky cells"])
def test_partial_rows_state_whom_their_unchanged_cells_single_out(tmp_path, kind):
    """A naive count: of rows that were changed the kept cells, of others all."""
    release = made(kind).write(tmp_path / "out")
    learnt = release.source.learnt.to_dicts()
    drawn = ["wage", "bonus", "total"] if kind == "partial" else ["age", "town"]
    points = [(row["age"], row["town"]) for row in learnt]
    alone = 0
    for row, point in zip(learnt, points, strict=True):
        is_drawn = kind == "partial" or points.count(point) < 3
        real = [name for name in row if not (is_drawn and name in drawn)]
        alone += sum(all(other[it] == row[it] for it in real) for other in learnt) == 1
    assert alone > 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["details"]["risk"]["unique_unchanged"] == alone
    sentence = f"{alone:,} of 360 rows are the only ones with their cells that"
    assert sentence in (tmp_path / "out" / "report.html").read_text()
