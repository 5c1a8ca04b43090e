"""Files and manifests of tables that contradict themselves or each other never verify."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress

import polars as pl
import pytest

import halfmask
from verifier.crosstabs.table_releases import (  # type: ignore[import-not-found] # beside
    Table,
    cells_of,
    change,
    claim,
    flat,
    intervals,
    release,
)

ROW, COLUMN = flat("row", "r1", "r2", "=r3"), flat("column", "c1", "c2")
INNER = {
    ("r1", "c1"): 4,
    ("r1", "c2"): 7,
    ("r2", "c1"): 6,
    ("r2", "c2"): 8,
    ("=r3", "c1"): 2,
    ("=r3", "c2"): 9,
}
SQUARE = {("r1", "c1"), ("r1", "c2"), ("r2", "c1"), ("r2", "c2")}
CLAIMS = [intervals(8, 4), claim("additive", equations=2)]


def table(hidden=SQUARE):
    return Table("t", (ROW, COLUMN), cells_of(INNER, (ROW, COLUMN)), hidden)


def make(folder, form="csv"):
    one = table()
    one.file_format = form
    return release(folder, [one], CLAIMS)


def holds(folder):
    return halfmask.verify(folder).holds


@pytest.mark.parametrize("form", ["csv", "parquet", "excel"])
def test_each_format(tmp_path, form):
    found = halfmask.verify(make(tmp_path / "a", form))
    assert found.holds, found.sentences()


def test_texts_that_a_spreadsheet_would_run(tmp_path):
    folder = make(tmp_path / "a")
    for path in (folder / "data").iterdir():
        path.write_text(path.read_text().replace("=r3", "'=r3"))
    change(folder)
    assert holds(folder)


LINES = {
    "a value of a hidden cell": ("r1,c1,,hidden", "r1,c1,4.0,hidden"),
    "no value of a published cell": ("Total,c1,12.0,published", "Total,c1,,published"),
    "another state": ("r1,c1,,hidden", "r1,c1,,secondary"),
    "a state in capitals": ("r1,c1,,hidden", "r1,c1,,Hidden"),
    "a cell twice": ("r1,c1,,hidden", "r1,c1,,hidden\nr1,c1,,hidden"),
    "a code that isn't known": ("r1,c1,,hidden", "r9,c1,,hidden"),
    "another published value": ("Total,c1,12.0,published", "Total,c1,13.0,published"),
    "a published cell of the square": ("r1,c1,,hidden", "r1,c1,4.0,published"),
    "a hidden total": ("Total,c1,12.0,published", "Total,c1,,hidden"),
    "a line less": ("r1,c1,,hidden\n", ""),
    "no number": ("Total,c1,12.0,published", "Total,c1,twelve,published"),
    "an infinite number": ("Total,c1,12.0,published", "Total,c1,inf,published"),
    "a number in hexadecimal": ("Total,c1,12.0,published", "Total,c1,0xc,published"),
    "a number that isn't one": ("Total,c1,12.0,published", "Total,c1,NaN,published"),
    "a fraction of a person": ("Total,c1,12.0,published", "Total,c1,12.5,published"),
    "a value below 0": ("Total,c1,12.0,published", "Total,c1,-12.0,published"),
    "a blank before a code": ("r1,c1,,hidden", " r1,c1,,hidden"),
    "other columns": ("row,column,value,state", "column,row,value,state"),
    "one column more": ("row,column,value,state", "row,column,value,state,why"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_changed_long_table(tmp_path, name):
    folder, (old, new) = make(tmp_path / "a"), LINES[name]
    path = folder / "data" / "t.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    rows = text.replace(old, new).count("\n") - 1
    change(folder, lambda said: said["files"][0].update(rows=rows))
    assert not holds(folder)


CROSSED = {
    "a hidden cell shown": ("r1,11,x,x", "r1,11,4,x"),
    "another value": ("Total,36,12,24", "Total,36,12,25"),
    "a published cell hidden": ("Total,36,12,24", "Total,36,12,x"),
    "a row less": ("r1,11,x,x\n", ""),
    "a row twice": ("r1,11,x,x", "r1,11,x,x\nr1,11,x,x"),
    "a row of no code": ("r1,11,x,x", "r1,11,x,x\nr9,1,1,0"),
    "a column of no code": ("row,Total,c1,c2", "row,Total,c1,c9"),
    "a column twice": ("row,Total,c1,c2", "row,Total,c1,c1"),
    "a cell left empty": ("r1,11,x,x", "r1,11,,x"),
    "text": ("Total,36,12,24", "Total,36,12,many"),
}


@pytest.mark.parametrize("name", CROSSED)
def test_a_changed_cross_table(tmp_path, name):
    folder, (old, new) = make(tmp_path / "a"), CROSSED[name]
    path = folder / "data" / "t-crossed.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    rows = text.replace(old, new).count("\n") - 1
    change(folder, lambda said: said["files"][1].update(rows=rows))
    assert not holds(folder)


def test_an_unchanged_release_holds_after_it_is_hashed_again(tmp_path):
    folder = make(tmp_path / "a")
    change(folder)
    assert holds(folder)


def details(said):
    return said["details"]


def of_row(said):
    return details(said)["dimensions"][0]


MANIFESTS = {
    "no dimension": lambda said: details(said).update(dimensions=details(said)["dimensions"][:1]),
    "a dimension twice": lambda said: details(said)["dimensions"].append(of_row(said)),
    "a code twice": lambda said: of_row(said)["codes"].append("r1"),
    "a code less": lambda said: of_row(said)["codes"].remove("r1"),
    "a part of a sum less": lambda said: of_row(said)["sums"][0]["parts"].remove("r1"),
    "a part twice": lambda said: of_row(said)["sums"][0]["parts"].append("r1"),
    "no parts": lambda said: of_row(said)["sums"][0].update(parts=[]),
    "another total": lambda said: of_row(said).update(total="r1"),
    "a total that isn't a code": lambda said: of_row(said).update(total="all"),
    "a cyclic sum": lambda said: of_row(said)["sums"].append({"total": "r1", "parts": ["Total"]}),
    "a sum of itself": lambda said: of_row(said)["sums"].append({"total": "r1", "parts": ["r1"]}),
    "a sum that disagrees": lambda said: of_row(said)["sums"].append(
        {"total": "Total", "parts": ["r1", "r2"]}
    ),
    "more sums than hold": lambda said: of_row(said)["sums"].append(
        {"total": "r1", "parts": ["r2"]}
    ),
    "no sums": lambda said: of_row(said).update(sums=[]),
    "no tables": lambda said: details(said).update(tables=[]),
    "a table twice": lambda said: details(said)["tables"].append(details(said)["tables"][0]),
    "another dimension": lambda said: details(said)["tables"][0].update(dimensions=["row", "x"]),
    "one dimension twice": lambda said: details(said)["tables"][0].update(dimensions=["row"] * 2),
    "fewer dimensions": lambda said: details(said)["tables"][0].update(dimensions=["row"]),
    "another file": lambda said: details(said)["tables"][0].update(file="data/x.csv"),
    "a file outside": lambda said: details(said)["tables"][0].update(file="../t.csv"),
    "files swapped": lambda said: details(said)["tables"][0].update(
        file="data/t-crossed.csv", crossed="data/t.csv"
    ),
    "no cross table": lambda said: details(said)["tables"][0].update(crossed=None),
    "another measure": lambda said: details(said)["tables"][0].update(measure="turnover"),
    "a statistic": lambda said: details(said)["tables"][0].update(derived=["mean"]),
    "an unknown statistic": lambda said: details(said)["tables"][0].update(derived=["median"]),
    "unknown zeros": lambda said: details(said).update(zeros="hidden"),
    "an unknown key": lambda said: details(said).update(more=1),
    "an earlier release": lambda said: details(said).update(earlier=["0" * 64]),
    "no claim of intervals": lambda said: said.update(claims=said["claims"][1:]),
    "no claims": lambda said: said.update(claims=[]),
    "another kind": lambda said: said.update(kind="masked"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_changed_manifest(tmp_path, name):
    folder = make(tmp_path / "a")
    change(folder, MANIFESTS[name])
    with suppress(halfmask.VerificationError):  # it can't be read
        assert not holds(folder)


def test_huge_sums_are_bounded(tmp_path):
    folder = make(tmp_path / "a")
    codes = [f"z{number}" for number in range(3000)]

    def many(said):
        of_row(said)["codes"] += codes
        of_row(said)["sums"][0]["parts"] += codes

    change(folder, many)
    assert holds(folder)  # nobody is in them


def derived(folder, name, values, more=(), **changes):
    one, counts = table(), table()
    one.name, one.measure, counts.name = "sums", "turnover", "counts"
    one.cells = {cell: 10.0 * n for cell, n in one.cells.items()}
    one.derived = {name: {cell: values(one, cell) for cell in one.cells} | dict(more)}
    counts.hidden = changes.get("counts", SQUARE)
    shown = [intervals(0.1, 4, measure="turnover")]
    shown += [intervals(1, len(counts.hidden))] if counts.hidden else []
    return release(folder, [one, counts], shown)


def test_means_and_shares(tmp_path):
    def mean(one, cell):
        return None if cell in one.hidden else 10.0

    def share(one, cell):
        return None if cell in one.hidden else one.cells[cell] / one.cells["Total", "Total"]

    assert holds(derived(tmp_path / "a", "mean", mean))
    assert holds(derived(tmp_path / "b", "share", share))
    assert not holds(derived(tmp_path / "c", "mean", mean, {("r1", "c1"): 10.0}))
    assert not holds(derived(tmp_path / "d", "share", share, {("r1", "c1"): 0.1}))
    assert not holds(derived(tmp_path / "e", "mean", mean, {("Total", "c1"): 11.0}))
    hidden = {*SQUARE, ("Total", "c1"), ("=r3", "c1")}
    assert not holds(derived(tmp_path / "f", "mean", mean, counts=hidden))


def test_a_mean_without_counts(tmp_path):
    one = table(())
    one.measure, one.derived = "turnover", {"mean": {}}
    assert not holds(release(tmp_path / "a", [one], [claim("additive", equations=2)]))


def rewritten(path, name, old, new):
    with zipfile.ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    if name in parts:
        assert old in parts[name]
    parts[name] = parts.get(name, b"").replace(old, new) or new
    with zipfile.ZipFile(path, "w") as archive:
        for each, raw in parts.items():
            archive.writestr(each, raw)


WORKBOOKS = {
    "a second sheet": ("xl/worksheets/sheet2.xml", b"", b"<worksheet/>"),
    "a comment": ("xl/comments1.xml", b"", b"<comments/>"),
    "a formula": ("xl/worksheets/sheet1.xml", b"<v>12</v>", b"<f>6*2</f><v>12</v>"),
    "a text that is not shown": ("xl/sharedStrings.xml", b"</sst>", b"<si><t>4</t></si></sst>"),
    "a truth value": ("xl/worksheets/sheet1.xml", b'"><v>12</v>', b'" t="b"><v>1</v>'),
    "entities": ("xl/sharedStrings.xml", b"?>", b'?><!DOCTYPE x [<!ENTITY y "z">]>'),
    "broken XML": ("xl/worksheets/sheet1.xml", b"</sheetData>", b""),
    "another value": ("xl/worksheets/sheet1.xml", b"<v>12</v>", b"<v>13</v>"),
}


@pytest.mark.parametrize("name", WORKBOOKS)
def test_a_workbook_with_more_than_its_cells(tmp_path, name):
    folder = make(tmp_path / "a", "excel")
    rewritten(folder / "data" / "t.xlsx", *WORKBOOKS[name])
    change(folder)
    assert not holds(folder)


def test_a_cell_of_tables_that_differ(tmp_path):
    one, two = (
        table(()),
        Table("two", (ROW,), {("Total",): 36, ("r1",): 11, ("r2",): 14, ("=r3",): 11}),
    )
    claims = [claim("additive", equations=1)]
    assert holds(release(tmp_path / "a", [one, two], claims))
    two.cells["r1",] = 12
    assert not holds(release(tmp_path / "b", [one, two], claims))
    two.cells["r1",] = 11
    del two.cells["r1",]
    assert not holds(release(tmp_path / "c", [one, two], claims))


def test_types_of_parquet(tmp_path):
    folder = make(tmp_path / "a", "parquet")
    path = folder / "data" / "t.parquet"
    frame = pl.read_parquet(path)
    for changed in (
        frame.with_columns(pl.col("value").cast(pl.String)),
        frame.with_columns(pl.col("value").fill_null(float("nan"))),
        frame.with_columns(pl.col("row").cast(pl.Categorical)),
        frame.with_columns(pl.col("state") == "hidden"),
    ):
        changed.write_parquet(path)
        change(folder)
        found = halfmask.verify(folder)
        assert not found.holds or changed["value"].dtype == pl.String


def test_what_is_said_has_no_value(tmp_path):
    folder = make(tmp_path / "a")
    path = folder / "data" / "t.csv"
    path.write_text(path.read_text().replace("r1,c1,,hidden", "secret,c1,4711,hidden"))
    change(folder)
    said = json.dumps(halfmask.verify(folder).to_dict())
    assert "secret" not in said
    assert "4711" not in said
