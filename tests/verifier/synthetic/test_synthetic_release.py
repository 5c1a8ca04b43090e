"""The verifier of synthetic rows: it passes what holds and fails what was changed."""

from __future__ import annotations

import functools
import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import halfmask
from halfmask import Policy
from halfmask.verifier import CheckedRelease

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = """
halfmask = 1
[columns.start]
role = "quasi_identifier"
kind = "numeric"
[columns.end]
role = "insensitive"
kind = "numeric"
[columns.town]
role = "quasi_identifier"
kind = "categorical"
[columns.land]
role = "insensitive"
kind = "categorical"
[columns.wage]
role = "insensitive"
kind = "numeric"
[columns.more]
role = "insensitive"
kind = "numeric"
[columns.sum]
role = "insensitive"
kind = "numeric"
[output]
format = "FORMAT"
[synthesis]
kind = "full"
rules = [
  { rule = "at-most", low = "start", high = "end" },
  { rule = "fixed-combinations", columns = ["town", "land"] },
  { rule = "sum-of", total = "sum", parts = ["wage", "more"] },
]
"""

#: The number of a row.
ROW = pl.int_range(pl.len())


def table(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    town = rng.choice(["Lyon", "Nice", "Rome"], n)
    start, wage, more = rng.integers(0, 99, n), rng.integers(0, 99, n), rng.integers(0, 9, n)
    return pl.DataFrame(
        {
            "start": start,
            "end": start + rng.integers(0, 9, n),
            "town": town,
            "land": np.where(town == "Rome", "Italy", "France"),
            "wage": wage,
            "more": more,
            "sum": wage + more,
        }
    )


def checked(out: Path) -> CheckedRelease:
    found = halfmask.verify(out)
    assert isinstance(found, CheckedRelease)
    return found


def written(folder: Path, form: str = "parquet") -> Path:
    policy = Policy.from_toml(TEXT.replace("FORMAT", form))
    halfmask.synthesize(table(), policy, key=bytes(32)).write(folder / "out")
    return folder / "out"


def restated(out: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest."""
    manifest = json.loads((out / "manifest.json").read_text())
    change(manifest)
    (out / "manifest.json").write_text(json.dumps(manifest))


def rewritten(out: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the rows, and everything that the manifest says of the file."""
    path = next((out / "data").iterdir())
    rows = change(pl.read_parquet(path))
    rows.write_parquet(path)

    def state(manifest: dict[str, Any]) -> None:
        file = manifest["files"][0]
        file["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        for key in ("bytes", "n_bytes"):
            if key in file:
                file[key] = path.stat().st_size

    restated(out, state)


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow", "jsonl"])
def test_a_release_holds_in_each_format(tmp_path, form):
    found = checked(written(tmp_path, form))
    assert found.holds, [*found.problems, *(it.sentence for it in found.claims)]
    assert {each.claim.model for each in found.claims} == {
        "released-columns",
        "at-most",
        "fixed-combinations",
        "sum-of",
        "copied-rows",
    }


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("at-most", pl.when(ROW == 0).then(-1).otherwise(pl.col("end")).alias("end")),
        ("sum-of", (pl.col("sum") + (ROW == 5)).alias("sum")),
        (
            "fixed-combinations",
            pl.when(ROW == 3).then(pl.lit("Spain")).otherwise(pl.col("land")).alias("land"),
        ),
    ],
)
def test_one_row_that_breaks_a_rule_is_found(tmp_path, model, change):
    out = written(tmp_path)
    rewritten(out, lambda rows: rows)
    assert halfmask.verify(out).holds  # the power of it: written anew without a change it holds
    name = change.meta.output_name()
    rewritten(out, lambda rows: rows.with_columns(change.cast(rows.schema[name])))
    found = checked(out)
    assert not found.holds
    assert [each.claim.model for each in found.claims if not each.holds] == [model]


def of(manifest: dict[str, Any], model: str) -> dict[str, Any]:
    claim: dict[str, Any] = next(it for it in manifest["claims"] if it["model"] == model)
    return claim


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it["claims"].remove(of(it, "at-most")),
        lambda it: it["claims"].remove(of(it, "copied-rows")),
        lambda it: it["claims"].remove(of(it, "released-columns")),
        lambda it: of(it, "copied-rows")["evidence"].update(copied=300),
        lambda it: of(it, "copied-rows")["evidence"].update(control_rows=0, control_copied=0),
        lambda it: of(it, "copied-rows")["evidence"].pop("copied"),
        lambda it: of(it, "copied-rows").update(basis="counted"),
        lambda it: of(it, "fixed-combinations")["evidence"].update(combinations=1),
        lambda it: of(it, "sum-of")["about"].update(columns=["sum", "wage"]),
        lambda it: of(it, "at-most").update(model="at-least"),
        lambda it: it["details"]["rows"].update(out=7),
        lambda it: it["details"]["rows"].update(control=7),
        lambda it: it["details"]["columns"][0].update(role="identifier"),
        lambda it: it["details"]["columns"][0].update(dtype="String"),
        lambda it: it["details"]["columns"].pop(),
    ],
)
def test_a_manifest_that_states_something_else_does_not_hold(tmp_path, change):
    out = written(tmp_path)
    restated(out, change)
    assert not halfmask.verify(out).holds


def test_groups_of_a_hybrid_are_counted_again_by_arithmetic(tmp_path):
    text = TEXT.replace("FORMAT", "parquet").partition("[synthesis]")[0]
    policy = Policy.from_toml(text + '[synthesis]\nkind = "hybrid"\nk = 4')
    halfmask.synthesize(table(), policy, key=bytes(32)).write(tmp_path / "out")
    assert halfmask.verify(tmp_path / "out").holds
    for changes in ({"smallest": 3}, {"groups": 400}, {"rows": 7}):
        out = tmp_path / "again"
        halfmask.synthesize(table(), policy, key=bytes(32)).write(out, overwrite=True)
        restated(out, functools.partial(_change_groups, changes))
        assert not halfmask.verify(out).holds


def _change_groups(changes: dict[str, int], manifest: dict[str, Any]) -> None:
    of(manifest, "hybrid-groups")["evidence"].update(changes)
