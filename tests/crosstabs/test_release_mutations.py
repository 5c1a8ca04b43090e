"""Every change of small releases that the pipeline makes: what still verifies is true."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from typing import Any

import polars as pl
import pytest
import xlsxwriter

import halfmask as hm
from halfmask.crosstabs import TablesPolicy

SIZES = {"r1 c1 g1": 2, "r1 c2 g2": 6, "r2 c1 g2": 5, "r2 c2 g1": 7, "r3 c1 g1": 8, "r3 c2 g2": 9}
PEOPLE = pl.DataFrame(
    [(*place.split(), f"{place} {at}") for place, n in SIZES.items() for at in range(n)],
    schema=["row", "column", "group", "person"],
    orient="row",
)
POLICY = """
halfmask-tables = 1
dimensions.row.codes = ["r1", "r2", "r3"]
dimensions.column.codes = ["c1", "c2"]
[output]
format = "FORMAT"
[[tables]]
name = "t"
dimensions = ["row", "column"]
"""
LINKED = """
[[tables]]
name = "u"
dimensions = ["row", "group"]
[[rules]]
rule = "minimum-frequency"
n = 3
"""
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "suppression": ("csv", LINKED, {}),
    "parquet": ("parquet", LINKED, {}),
    "excel": ("excel", LINKED, {}),
    "rounding": ("csv", '[protection]\nmethod = "rounding"\nbase = 5.0', {"key": bytes(32)}),
    "small": ("csv", '[protection]\nmethod = "small-counts"\nbase = 3', {"key": bytes(32)}),
    "cell key": (
        "csv",
        '[protection]\nmethod = "cell-key"\nmax_deviation = 3\nvariance = 1.5\nrecord = "person"',
        {"key": bytes(32)},
    ),
    "private": ("csv", '[protection]\nmethod = "differential-privacy"\nepsilon = 1.0', {}),
}
#: Fields that no check is of, and those whose changes say less than before, or another true thing.
FREE = re.compile(
    r"claims(/\d+)?$|details/(method|zeros|ready|weight|owner|tables/\d/name|dimensions/\d/name)"
    r"|claims/\d/about/rules/0/n|claims/\d/evidence/(cells|equations|sensitive|narrowest)"
    r"|claims/\d/parameters/(least_width|at_most|singletons|hidden_sums|n|base|epsilon)"
    r"|claims/0/about/(unit|neighbours)|claims/\d/about/rules/0/of"
)


@pytest.fixture(params=[*CASES])
def made(request, tmp_path):
    """Return a release, its originals, and the name of its case."""
    form, more, given = CASES[request.param]
    policy = TablesPolicy.from_toml(POLICY.replace("FORMAT", form) + more)
    hm.protect(PEOPLE, policy, **given).write(tmp_path / "r")
    originals: dict[str, Any] = {} if request.param == "private" else {"originals": PEOPLE}
    assert hm.verify(tmp_path / "r", **originals).holds
    return tmp_path / "r", originals, request.param


def holds(folder, said, originals):
    """Whether a manifest that states the files as they are is borne out."""
    for file in said.get("files", ()):
        raw = (folder / file["name"]).read_bytes()
        file |= {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
    (folder / "manifest.json").write_text(json.dumps(said), encoding="utf-8")
    try:
        return hm.verify(folder, **originals).holds
    except hm.VerificationError:
        return False


def read(path):
    if path.suffix == ".csv":
        return pl.read_csv(path, schema_overrides={"value": pl.Float64})
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_excel(path)


def write(frame, path):
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        with xlsxwriter.Workbook(path) as book:
            frame.write_excel(book, worksheet="cells")


@pytest.mark.slow
def test_each_cell_published_hidden_or_changed(made):
    folder, originals, case = made
    said = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for table in said["details"]["tables"]:
        path = folder / table["file"]
        (path.parent / "kept").write_bytes(path.read_bytes())
        frame = read(path)
        for at in range(0, frame.height, 4 if case in {"parquet", "excel"} else 1):
            is_hidden = frame["state"][at] == "hidden"
            true = count_of(frame.row(at))
            news = [(true, "published"), (true + 1, "published")] if is_hidden else []
            news += [] if is_hidden else [(frame["value"][at] + 10, "published"), (None, "hidden")]
            for value, state in news:
                other = frame.with_row_index("at").with_columns(
                    value=pl.when(pl.col("at") == at).then(value).otherwise(pl.col("value")),
                    state=pl.when(pl.col("at") == at)
                    .then(pl.lit(state))
                    .otherwise(pl.col("state")),
                )
                write(other.drop("at"), path)
                assert not holds(folder, said, originals), (case, table["name"], at, state)
        shutil.move(path.parent / "kept", path)


def count_of(line):
    """The true count of a cell, by the codes of its line."""
    codes = [code for code in line[:2] if code != "Total"]
    return float(sum(n for place, n in SIZES.items() if {*codes} <= {*place.split()}))


def leaves(said, place=()):
    """Yield the place of every value, list and object of a part of a manifest."""
    yield place
    if isinstance(said, dict | list):
        for key, each in said.items() if isinstance(said, dict) else enumerate(said):
            yield from leaves(each, (*place, key))


def changes(value):
    """Return other values than one."""
    if isinstance(value, bool) or value is None:
        return [not value, "x"]
    if isinstance(value, int | float):
        return [value + 1, value / 2 - 1]
    if isinstance(value, str):
        return [f"{value}x", ""]
    return [value[1:]] if isinstance(value, list) else [{}]


@pytest.mark.slow
def test_each_claim_and_each_field_of_details(made):
    folder, originals, case = made
    if case in {"parquet", "excel"}:
        return  # the manifest is that of the other format
    original = (folder / "manifest.json").read_text(encoding="utf-8")
    wrong = []
    for part in ("claims", "details"):
        for place in leaves(json.loads(original)[part], (part,)):
            for new in ["gone", *range(2)]:
                said = json.loads(original)
                *outer, last = place
                at = said
                for key in outer:
                    at = at[key]
                others = [each for each in changes(at[last]) if each != at[last]]
                if new == "gone":
                    del at[last]
                elif new < len(others):
                    at[last] = others[new]
                else:
                    break
                name = "/".join(map(str, place))
                if not FREE.match(name) and holds(folder, said, originals):
                    wrong.append((case, name, new))
    assert wrong == []
