"""How many cells local suppression makes missing, by column: report, manifest, terminal."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask._errors import PolicyError
from halfmask.claims import read_manifest
from halfmask.cli import main
from halfmask.microdata import Policy

TEXT = """
halfmask = 1
[output]
format = "csv"
[columns]
town = { role = "quasi_identifier", kind = "categorical" }
sex = { role = "quasi_identifier", kind = "categorical" }
age = { role = "quasi_identifier", kind = "categorical" }
pay = { role = "sensitive", kind = "numeric" }
[[masks]]
name = "local-suppression"
columns = ["sex", "town", "age"]
k = 5
cost = { sex = 5.0, age = 1.1 }
"""
CLASSES = """
[[guarantees]]
model = "k-anonymity"
k = 2
[suppression]
max_fraction = 0.9
"""


def test_the_old_key_of_costs_is_refused_with_the_new_one():
    """sdcMicro's importance is read the other way round: nothing may be renamed silently."""
    with pytest.raises(PolicyError, match="has no key 'importance'") as refused:
        Policy.from_toml(TEXT.replace("cost = ", "importance = "))

    assert "It is 'cost' now" in str(refused.value)


@pytest.fixture(scope="module")
def people():
    rng, n = np.random.default_rng(3), 120
    towns: Any = ["bree", "dale", "rohan", None]
    town = rng.choice(towns, n, p=[0.5, 0.3, 0.1, 0.1])
    return pl.DataFrame(
        {
            "town": town.tolist(),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(20, 30, n),
            "pay": rng.integers(0, 1_000, n),
        }
    )


def gone(before, folder):
    """Count by other means: missing cells of the released file, less those of the table."""
    after = pl.read_csv(next(folder.rglob("*.csv")))
    names = ("town", "sex", "age")
    return {name: after[name].null_count() - before[name].null_count() for name in names}


def test_cells_are_counted_by_column(people, tmp_path):
    hm.mask(people, Policy.from_toml(TEXT), key=bytes(32)).write(tmp_path / "out")

    counted = gone(people, tmp_path / "out")
    assert all(counted[name] > 0 for name in ("age", "town"))
    assert people["town"].null_count() > 0
    details: dict[str, Any] = dict(read_manifest(tmp_path / "out").details)
    assert details["utility"]["suppressed_cells"] == counted
    assert hm.verify(tmp_path / "out").holds
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    section = page.partition("Suppressed cells")[2].partition("</table>")[0]
    cells = re.findall(r"<bdi>([^<]*)</bdi>", section)
    rows = {name: cells[cells.index(name) + 1 :][:2] for name in counted}
    assert rows == {name: [f"{n:,}", f"{n / 120:.1%}"] for name, n in counted.items()}


def test_the_terminal_says_so(people, tmp_path, capsys):
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.toml").write_text(TEXT)
    out = tmp_path / "out"
    paths = [str(tmp_path / name) for name in ("people.csv", "policy.toml")]

    assert main(["protect", *paths, "--out", str(out)]) == 0

    counted = gone(people, out)
    said = " ".join(capsys.readouterr().out.split())
    by_column = ", ".join(f"{name} {n} ({n / 120:.1%})" for name, n in counted.items())
    assert f"Suppressed cells: {sum(counted.values())}; {by_column}." in said


def test_nothing_is_said_where_no_mask_suppresses(people, tmp_path):
    text = TEXT.partition("[[masks]]")[0].replace(
        'pay = { role = "sensitive", kind = "numeric"',
        'pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 10 }',
    )

    hm.mask(people, Policy.from_toml(text), key=bytes(32)).write(tmp_path / "out")

    details: dict[str, Any] = dict(read_manifest(tmp_path / "out").details)
    assert "suppressed_cells" not in details["utility"]
    assert "Suppressed cells" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_report_of_masks_is_weighted_by_the_declared_column(people, tmp_path):
    weighed = people.with_columns(w=pl.int_range(1, 121).cast(pl.Float64))
    text = TEXT.replace("halfmask = 1", 'halfmask = 1\nsampling_weights = "w"').replace(
        "[columns]", '[columns]\nw = { role = "insensitive", kind = "numeric" }'
    )

    hm.mask(weighed, Policy.from_toml(text), key=bytes(32)).write(tmp_path / "out")

    details: dict[str, Any] = dict(read_manifest(tmp_path / "out").details)
    after = pl.read_csv(next((tmp_path / "out").rglob("*.csv")))
    shares = [frame.group_by("town").agg(pl.col("w").sum() / 7260) for frame in (weighed, after)]
    both = shares[0].join(shares[1], on="town", nulls_equal=True)
    moved = (both["w"] - both["w_right"]).abs().sum() / 2
    assert details["utility"]["columns"]["town"]["total_variation"] == pytest.approx(moved)
    assert details["utility"]["weights"] == "w"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "weighted by w" in page


def test_a_release_of_classes_says_it_by_column(people, tmp_path):
    """The mask comes before the classes; each column says what it lost."""
    release = hm.protect(people, Policy.from_toml(TEXT + CLASSES), key=bytes(32))
    release.write(tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    said = re.findall(r"([\d,]+) cells made missing", page)
    (mask,) = Policy.from_toml(TEXT).table_masks
    by_hand = mask.fit(people.select(mask.columns), bytes(32)).suppressed
    # The page has the columns twice.
    assert said == 2 * [f"{by_hand[name]:,}" for name in ("town", "sex", "age")]
