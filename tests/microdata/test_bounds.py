"""Ranges as two columns: in the data, the claims, the manifest, the report, and on disk."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask import Anonymizer, KAnonymity, Ranges, verify
from halfmask._errors import ParameterError, PolicyError, SchemaError
from halfmask.microdata import Policy, protect

ROWS = 400


def _table() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    days = rng.integers(0, 3_000, ROWS)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "born": pl.Series([date(1990, 1, 1)] * ROWS).dt.offset_by(
                pl.Series([f"{it}d" for it in days])
            ),
            "town": rng.choice(list("abcd"), ROWS).tolist(),
            "pay": rng.normal(40, 9, ROWS).round(2),
        }
    )


def _policy(*, form: str = "bounds", fmt: str = "parquet", **age: Any) -> Policy:
    return Policy(
        halfmask=1,
        columns={
            "age": {"role": "quasi_identifier", "kind": "numeric", **age},
            "born": {"role": "quasi_identifier", "kind": "datetime"},
            "town": {"role": "quasi_identifier", "kind": "categorical"},
            "pay": {"role": "insensitive", "kind": "numeric"},
        },
        guarantees=[{"model": "k-anonymity", "k": 5}],
        recoding={"name": "ranges", "form": form},
        output={"format": fmt},
    )


def test_bounds_say_what_texts_say():
    key = bytes(32)
    texts = protect(_table(), _policy(form="text"), key=key).data
    bounds = protect(_table(), _policy(), key=key).data

    assert bounds.columns == ["age_from", "age_to", "born_from", "born_to", "town", "pay"]
    assert bounds.dtypes[:4] == [pl.Int64, pl.Int64, pl.Date, pl.Date]
    for name in ("age", "born"):
        low, high = bounds[f"{name}_from"], bounds[f"{name}_to"]
        assert (low <= high).all()
        said = pl.select(
            pl.when(low == high)
            .then(low.cast(pl.String))
            .otherwise(pl.format("[{}, {}]", low, high))
        ).to_series()
        assert said.to_list() == texts[name].to_list()


@pytest.mark.parametrize("fmt", ["parquet", "csv", "jsonl"])
def test_a_release_is_verified_with_its_bounds(tmp_path, fmt):
    release = protect(_table(), _policy(fmt=fmt)).write(tmp_path / "out")
    verification = verify(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    columns = manifest["details"]["columns"]

    assert verification.holds
    known = ("age_from", "age_to", "born_from", "born_to", "town")
    assert release.claims[0].quasi_identifiers == known
    assert manifest["claims"][0]["about"]["quasi_identifiers"] == list(known)
    assert release.claims[0].evidence.achieved >= 5
    assert [each.get("bound_of") for each in columns] == ["age", "age", "born", "born", None, None]
    assert "age_from and age_to" in (tmp_path / "out" / "report.html").read_text()


def test_the_classes_on_disk_are_those_of_a_plain_count(tmp_path):
    protect(_table(), _policy()).write(tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out" / "data" / "*.parquet")

    sizes = rows.group_by("age_from", "age_to", "born_from", "born_to", "town").len()["len"]

    assert min(sizes.to_list()) >= 5
    assert sizes.sum() == ROWS


def _rewrite(folder: Path, rows: pl.DataFrame) -> None:
    """Replace the data file, and the hash that the manifest states of it."""
    stated = json.loads((folder / "manifest.json").read_text())
    path = folder / stated["files"][0]["name"]
    rows.write_parquet(path)
    stated["files"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    stated["files"][0]["bytes"] = path.stat().st_size
    (folder / "manifest.json").write_text(json.dumps(stated))


def test_the_verifier_finds_bounds_that_are_no_range(tmp_path):
    """All classes with their ends exchanged are the same classes: k says nothing of it."""
    protect(_table(), _policy()).write(tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out" / "data" / "*.parquet")
    _rewrite(tmp_path / "out", rows)
    assert verify(tmp_path / "out").holds

    _rewrite(tmp_path / "out", rows.with_columns(age_from="age_to", age_to="age_from"))

    found = verify(tmp_path / "out")
    assert all(claim.holds for claim in found.claims)
    assert not found.holds
    assert any("'age' are no range" in each for each in found.problems)


def test_the_verifier_finds_a_bound_without_its_other_end(tmp_path):
    protect(_table(), _policy()).write(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    stated = json.loads(path.read_text())
    del stated["details"]["columns"][1]["bound_of"]
    path.write_text(json.dumps(stated))

    found = verify(tmp_path / "out")

    assert not found.holds
    assert any("two released columns" in each for each in found.problems)


def test_missing_and_values_in_one_class_are_refused():
    rows = _table().with_columns(
        age=pl.when(pl.int_range(ROWS) % 3 == 0).then(None).otherwise("age")
    )
    few = rows.with_columns(born=pl.lit(date(1990, 1, 1)), town=pl.lit("a")).head(8)

    with pytest.raises(SchemaError, match="missing cells and values"):
        protect(few, _policy())
    suppressing = protect(few.head(20), _policy(missing="suppress"))
    assert suppressing.data["age_from"].null_count() == 0


def test_a_class_of_missing_cells_has_no_bounds():
    rows = _table().with_columns(
        age=pl.when(pl.int_range(ROWS) < 200).then(None).otherwise("age"),
        born=pl.lit(date(1990, 1, 1)),
        town=pl.lit("a"),
    )
    data = protect(rows, _policy()).data

    assert data["age_from"].null_count() == data["age_to"].null_count() == 200
    assert data.filter(pl.col("age_from").is_null() != pl.col("age_to").is_null()).is_empty()


def test_a_name_that_is_taken_is_refused():
    rows = _table().with_columns(age_to=pl.lit(1))
    policy = _policy()
    text = policy.to_toml() + '\n[columns.age_to]\nrole = "insensitive"\nkind = "numeric"\n'

    with pytest.raises(SchemaError, match="'age_to'"):
        protect(rows, Policy.from_toml(text))


def test_one_column_alone_can_have_bounds():
    policy = _policy(form="text", recoding={"name": "ranges", "form": "bounds"})
    names = protect(_table(), policy).data.columns

    assert names == ["age_from", "age_to", "born", "town", "pay"]


def test_forms_that_dont_exist_and_estimators_are_refused():
    with pytest.raises(ParameterError, match="form"):
        Ranges(form="sides")  # type: ignore[arg-type] # as it says
    with pytest.raises(PolicyError, match="form"):
        _policy(form="sides")
    with pytest.raises(ParameterError, match="two"):
        Anonymizer(guarantees=[KAnonymity(k=2)], recoding=Ranges(form="bounds")).fit(
            np.zeros((4, 1))
        )


def _rounded(form: str, fmt: str = "parquet") -> Policy:
    text = _policy(form=form, fmt=fmt).to_toml()
    if form == "text":
        text += '\n[recoding]\nname = "ranges"\n'
    return Policy.from_toml(
        text.replace('name = "ranges"', 'name = "ranges"\nstep = 5\nunit = "month"')
    )


@pytest.mark.parametrize("form", ["text", "bounds"])
@pytest.mark.parametrize("fmt", ["parquet", "csv"])
def test_rounded_ends_are_verified_and_stated(tmp_path, form, fmt):
    release = protect(_table(), _rounded(form, fmt)).write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    stated = {
        each.get("bound_of") or each["name"]: each.get("range_step")
        for each in manifest["details"]["columns"]
    }

    assert verify(tmp_path / "out").holds
    assert stated == {"age": 5, "born": "month", "town": None, "pay": None}
    assert not any("range-ends" in each or "ends of" in each for each in manifest["weaknesses"])
    assert "start of a month" in (tmp_path / "out" / "report.html").read_text()
    # One piece isn't an exact value: it has lost detail.
    assert release.utility.loss.columns["age"].loss > 0


def test_rounded_bounds_hold_each_row():
    """Without shuffling: the cells of rows and what is written for them."""
    release = protect(_table(), _rounded("bounds"))
    plan, rows = release.source.plan, _table()
    assert release.source.cells is not None
    written = pl.DataFrame(plan.written_for(pl.Series(release.source.cells)))

    for name in ("age", "born"):
        low, high = written[f"{name}_from"], written[f"{name}_to"]
        assert ((low <= rows[name]) & (rows[name] < high)).all()
    assert (written["age_from"] % 5 == 0).all()
    assert (written["born_to"].dt.day() == 1).all()


def test_raw_risk_is_that_of_raw_rows():
    """Rounded ends must not make the table look less risky than it was."""
    key = bytes(32)
    plain = protect(_table(), _policy(), key=key).risk
    rounded = protect(_table(), _rounded("bounds"), key=key).risk

    assert rounded.before.to_dict() == plain.before.to_dict()


def test_tables_that_are_too_large_for_memory_have_bounds_too(tmp_path, monkeypatch):
    """Cells are grown from a sample; all rows find their piece again by the plan."""
    for name in ("halfmask.data.io._source._MAX_ROWS", "halfmask.anonymize._summary.MAX_ROWS"):
        monkeypatch.setattr(name, 150)
    monkeypatch.setattr("halfmask.microdata._classes.MAX_ROWS", 150)

    release = protect(_table(), _rounded("bounds")).write(tmp_path / "out")
    rows = pl.read_parquet(tmp_path / "out" / "data" / "*.parquet")

    assert release.source.cells is None
    assert verify(tmp_path / "out").holds
    assert (rows["age_from"] % 5 == 0).all()
    assert (rows["age_from"] < rows["age_to"]).all()
    assert rows.height == ROWS
