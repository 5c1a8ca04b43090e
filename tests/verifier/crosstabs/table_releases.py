"""Releases of tables of counts and sums, made by hand: values in, a folder out."""

from __future__ import annotations

import csv
import hashlib
import json
from itertools import product

import polars as pl
import xlsxwriter

from halfmask.claims import Claim, DataFile, Manifest, write_manifest
from halfmask.claims.crosstab_manifest import (
    StatedDimension,
    StatedSum,
    StatedTable,
    TablesDetails,
)

FORMATS = {"csv": "csv", "parquet": "parquet", "excel": "xlsx"}


def flat(name, *codes, **more):
    """A dimension whose total is the sum of all other codes."""
    sums = (StatedSum(total="Total", parts=codes),)
    return StatedDimension(name=name, total="Total", codes=("Total", *codes), sums=sums, **more)


def tree(name, groups, **more):
    """A dimension of groups of codes."""
    sums = [StatedSum(total="Total", parts=tuple(groups))]
    sums += [StatedSum(total=each, parts=tuple(parts)) for each, parts in groups.items()]
    codes = ["Total", *groups, *(part for parts in groups.values() for part in parts)]
    return StatedDimension(name=name, total="Total", codes=tuple(codes), sums=tuple(sums), **more)


def covered(dimension, code):
    """The codes at the bottom that a code covers."""
    parts = [each.parts for each in dimension.sums if each.total == code]
    if not parts:
        return {code}
    return set().union(*(covered(dimension, part) for part in parts[0]))


def cells_of(inner, dimensions):
    """All cells of a table by their codes, from its inner cells; those of nobody are left out."""
    found = {}
    for codes in product(*(each.codes for each in dimensions)):
        under = [covered(each, code) for each, code in zip(dimensions, codes, strict=True)]
        values = [
            value
            for place, value in inner.items()
            if all(code in it for code, it in zip(place, under, strict=True))
        ]
        if values:
            found[codes] = sum(values)
    return found


class Table:
    """One table: its true cells, and which of them are hidden."""

    def __init__(self, name, dimensions, cells, hidden=(), *, measure=None, negative=False):
        self.name, self.dimensions, self.cells = name, tuple(dimensions), dict(cells)
        self.hidden, self.measure, self.negative = set(hidden), measure, negative
        self.derived = {}  # by name, the values by codes
        self.file_format = "csv"
        self.crossed = len(dimensions) > 1

    @property
    def file(self):
        return f"data/{self.name}.{FORMATS[self.file_format]}"

    @property
    def crossed_file(self):
        return f"data/{self.name}-crossed.csv" if self.crossed else None

    def stated(self):
        return StatedTable(
            name=self.name,
            file=self.file,
            crossed=self.crossed_file,
            dimensions=tuple(each.name for each in self.dimensions),
            measure=self.measure,
            negative=self.negative,
            derived=tuple(self.derived),
        )

    def frame(self):
        columns = {
            each.name: [codes[at] for codes in self.cells]
            for at, each in enumerate(self.dimensions)
        }
        columns["value"] = [
            None if codes in self.hidden else float(value) for codes, value in self.cells.items()
        ]
        for name, values in self.derived.items():
            columns[name] = [values.get(codes) for codes in self.cells]
        columns["state"] = [
            "hidden" if codes in self.hidden else "published" for codes in self.cells
        ]
        dtypes = dict.fromkeys(("value", *self.derived), pl.Float64)
        return pl.DataFrame(columns, schema_overrides=dtypes)

    def lines(self):
        across = [
            code for code in self.dimensions[-1].codes if any(it[-1] == code for it in self.cells)
        ]
        yield [*(each.name for each in self.dimensions[:-1]), *across]
        for down in dict.fromkeys(codes[:-1] for codes in self.cells):
            shown = (
                "x" if (*down, code) in self.hidden else f"{self.cells.get((*down, code), 0):g}"
                for code in across
            )
            yield [*down, *shown]


def write_workbook(frame, path):
    book = xlsxwriter.Workbook(str(path), {"in_memory": True})
    sheet = book.add_worksheet("cells")
    for at, name in enumerate(frame.columns):
        sheet.write_string(0, at, name)
        for row, value in enumerate(frame[name].to_list(), 1):
            if value is not None:
                write = sheet.write_string if isinstance(value, str) else sheet.write_number
                write(row, at, value)
    sheet.autofilter(0, 0, frame.height, frame.width - 1)
    book.close()


def write_long(table, path):
    frame = table.frame()
    if table.file_format == "csv":
        frame.write_csv(path)
    elif table.file_format == "parquet":
        frame.write_parquet(path)
    else:
        write_workbook(frame, path)


def claim(model, parameters=None, *, about=None, basis="counted", **evidence):
    """A claim of a release of tables."""
    return Claim(
        model=model,
        parameters=parameters or {},
        about=about or {},
        basis=basis,
        evidence=evidence,
    )


def intervals(least, hidden, *, measure=None, narrowest=None):
    """The claim about the intervals of hidden cells."""
    name = "least_width" if measure is None else "least_share"
    return claim(
        "hidden-intervals",
        {name: least},
        about={"measure": measure},
        hidden=hidden,
        narrowest=least if narrowest is None else narrowest,
    )


def protected(rules, *, sensitive, singletons="exact", hidden_sums="on"):
    """The claim about sensitive cells."""
    return claim(
        "protected-cells",
        {"singletons": singletons, "hidden_sums": hidden_sums},
        about={"rules": list(rules)},
        sensitive=sensitive,
    )


def release(folder, tables, claims, **details):
    """Write a release; its folder is returned."""
    (folder / "data").mkdir(parents=True)
    for table in tables:
        write_long(table, folder / table.file)
        if table.crossed:
            with (folder / table.crossed_file).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(table.lines())
    dimensions = {each.name: each for table in tables for each in table.dimensions}
    stated = TablesDetails(
        method={"method": "suppression"},
        dimensions=tuple(dimensions.values()),
        tables=tuple(each.stated() for each in tables),
        zeros=details.pop("zeros", "published"),
        **details,
    )
    files = []
    for table in tables:
        files.append((table.file, table.file_format, len(table.cells)))
        if table.crossed:
            files.append((table.crossed_file, "csv", len(list(table.lines())) - 1))
    manifest = Manifest(
        kind="tables",
        created="2026-11-21T09:00:00Z",
        software={"halfmask": "0.4.0"},
        policy_sha256="0" * 64,
        files=tuple(
            DataFile(name=name, format=form, n_rows=rows, **hashed(folder / name))
            for name, form, rows in files
        ),
        claims=tuple(claims),
        details=stated.to_details(),
    )
    write_manifest(manifest, folder)
    return folder


def hashed(path):
    raw = path.read_bytes()
    return {"sha256": hashlib.sha256(raw).hexdigest(), "n_bytes": len(raw)}


def change(folder, how=dict):
    """Change the manifest, and let it state the files as they are."""
    path = folder / "manifest.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    for file in said["files"]:
        found = hashed(folder / file["name"])
        file |= {"sha256": found["sha256"], "bytes": found["n_bytes"]}
    how(said)
    path.write_text(json.dumps(said), encoding="utf-8")
