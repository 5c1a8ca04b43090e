"""A release of tables opened for its checks: what its files and its manifest say together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import VerificationError
from halfmask.claims.crosstab_manifest import (
    ADDITIVE,
    EARLIER_TABLES,
    HIDDEN_INTERVALS,
    PRIVATE_COUNTS,
    STATE,
    VALUE,
    TablesDetails,
)
from halfmask.claims.manifest import folder_of, released_file
from halfmask.verifier.crosstabs._reading import SPELLING, codes_of, crossed_fault, read_cells
from halfmask.verifier.crosstabs._ready import ReadyTables
from halfmask.verifier.crosstabs._system import CodeTree, TableCells, join_cells
from halfmask.verifier.crosstabs._tabulation import CellTally, Microdata
from halfmask.verifier.tables.part import READ_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from halfmask.claims import Manifest
    from halfmask.claims.crosstab_manifest import StatedTable
    from halfmask.verifier.checks import ReleasedFiles


@dataclass(frozen=True)
class Opened:
    """The tables of a release, and its originals where the owner handed them over."""

    details: TablesDetails
    trees: Mapping[str, CodeTree]
    frames: Mapping[str, pl.DataFrame]
    #: The cells of each measure.
    cells: Mapping[str | None, TableCells]
    originals: object
    #: Half a unit of the last decimal, where values were rounded before they were summed up.
    within: float

    @cached_property
    def tallies(self) -> Mapping[str | None, CellTally]:
        """The true cells of each measure."""
        if self.details.ready is not None:
            ready = ReadyTables(self.originals, self.details, self.trees)
            return {measure: ready.tally(cells) for measure, cells in self.cells.items()}
        rows = Microdata(self.originals, self.details, self.trees)
        return {
            measure: rows.tally(cells, self.tables_of(measure))
            for measure, cells in self.cells.items()
        }

    def tables_of(self, measure: str | None) -> list[StatedTable]:
        """Return the tables of a measure."""
        return [each for each in self.details.tables if each.measure == measure]


def open_release(path: Path, manifest: Manifest, originals: object = None) -> Opened:
    """Open the tables of a release; raise if a file or the manifest contradicts the manifest."""
    details = TablesDetails.of(manifest)
    _check_names(details, manifest)
    trees = {each.name: CodeTree(each) for each in details.dimensions}
    formats = {each.name: each.format for each in manifest.files}
    frames = {}
    for number, table in enumerate(details.tables, start=1):
        file = released_file(folder_of(path), table.file)
        if file is None:
            raise VerificationError(f"The file of table {number} isn't there.")
        try:
            frames[table.name] = read_cells(file, formats[table.file], table)
        except VerificationError as error:
            raise VerificationError(f"The file of table {number} can't be read: {error}") from None
        except READ_ERRORS:  # their messages quote cells
            raise VerificationError(f"The file of table {number} can't be read.") from None
    measures = dict.fromkeys(each.measure for each in details.tables)
    cells = {
        measure: join_cells(
            measure,
            [(each, frames[each.name]) for each in details.tables if each.measure == measure],
            trees,
        )
        for measure in measures
    }
    return Opened(details, trees, frames, cells, originals, _within(manifest, cells))


def _within(manifest: Manifest, cells: Mapping[str | None, TableCells]) -> float:
    """Return by how much a value may be rounded; all must be rounded so."""
    said = [it.parameters.get("within", 0.0) for it in manifest.claims if it.model == ADDITIVE]
    within = max((each for each in said if isinstance(each, int | float)), default=0.0)
    if within <= 0:
        return 0.0
    for each in cells.values():
        units = each.value[~each.hidden] / (2 * within)
        if (np.abs(units - np.rint(units)) > SPELLING * np.maximum(np.abs(units), 1)).any():
            raise VerificationError("Values have more decimals than the manifest states.")
    return float(within)


def _check_names(details: TablesDetails, manifest: Manifest) -> None:
    """Refuse names that occur twice or nowhere, and files that no table has."""
    dimensions = [each.name for each in details.dimensions]
    tables = [each.name for each in details.tables]
    files = [each.file for each in details.tables]
    files += [each.crossed for each in details.tables if each.crossed is not None]
    for names, what in ((dimensions, "dimension"), (tables, "table"), (files, "file")):
        if len({*names}) < len(names):
            raise VerificationError(f"The manifest states a {what} twice.")
    if not tables or sorted(files) != sorted(each.name for each in manifest.files):
        raise VerificationError("The data files aren't those of the tables.")
    used = {name for each in details.tables for name in each.dimensions}
    if used != {*dimensions}:
        raise VerificationError("The dimensions aren't those of the tables.")
    if any(each.negative and each.measure is None for each in details.tables):
        raise VerificationError("A table of counts can't have values below 0.")
    for each in details.tables:
        own = [*each.dimensions, VALUE, *each.derived, STATE]
        if len({*own}) < len(own):
            raise VerificationError("A table has two columns of one name.")


def problems_of(files: ReleasedFiles) -> list[str]:
    """Open the tables; say where they, their cross tables and the manifest don't agree."""
    manifest = files.manifest
    try:
        found = open_release(files.path, manifest, files.given.originals)
    except VerificationError as error:
        return [str(error)]
    files.table = found
    return [
        *_crossed_problems(files, found),
        *_value_problems(manifest, found),
        *_derived_problems(found),
        *_lacking(manifest, found),
    ]


def _crossed_problems(files: ReleasedFiles, opened: Opened) -> Iterator[str]:
    across = {each.name: each for each in opened.details.dimensions}
    for number, table in enumerate(opened.details.tables, start=1):
        if table.crossed is None:
            continue
        file = released_file(folder_of(files.path), table.crossed)
        fault = "isn't there" if file is None else "has no dimension to go down"
        if file is not None and len(table.dimensions) > 1:
            try:
                last = across[table.dimensions[-1]]
                fault = crossed_fault(file, table, last, opened.frames[table.name])
            except READ_ERRORS:
                fault = "can't be read"
        if fault:
            yield f"The cross table of table {number} {fault}."


def _value_problems(manifest: Manifest, opened: Opened) -> Iterator[str]:
    """Say which values can't be: noise alone gives a count below 0, and weights a broken one."""
    is_noisy = any(each.model == PRIVATE_COUNTS for each in manifest.claims)
    for cells in opened.cells.values():
        shown = cells.value[~cells.hidden]
        if not cells.negative and not is_noisy and (shown < 0).any():
            yield "A table that can't have values below 0 has some."
        if cells.measure is None and opened.details.weight is None and (shown % 1 != 0).any():
            yield "A table of counts has values that aren't whole."


def _derived_problems(opened: Opened) -> Iterator[str]:
    """Say where a derived statistic isn't that of published cells, or tells of a hidden one."""
    for number, table in enumerate(opened.details.tables, start=1):
        frame = opened.frames[table.name]
        for name in table.derived:
            by = _total(opened, table) if name == "share" else _counts(opened, table)
            if by is None:
                yield f"Table {number} has means, and the release has no counts of its cells."
                continue
            expected = np.divide(
                frame[VALUE].fill_null(np.nan).to_numpy(),
                by,
                out=np.full(frame.height, np.nan),
                where=by != 0,
            )
            shown = frame[name].fill_null(np.nan).to_numpy()
            if not np.allclose(shown, expected, rtol=SPELLING, atol=0, equal_nan=True):
                yield f"Table {number} has statistics that aren't those of its published cells."


def _total(opened: Opened, table: StatedTable) -> np.ndarray | None:
    """Return the published total of a table for each cell; NaN where it is hidden."""
    frame = opened.frames[table.name]
    totals = [
        pl.col(column) == opened.trees[name].codes[opened.trees[name].total]
        for column, name in zip(codes_of(table), table.dimensions, strict=True)
    ]
    found = frame.filter(*totals)[VALUE] if totals else frame[VALUE]
    return np.full(frame.height, found.fill_null(np.nan).item() if len(found) else 0.0)


def _counts(opened: Opened, table: StatedTable) -> np.ndarray | None:
    """Return the published count of each cell of a table; NaN where it is hidden."""
    for other in opened.tables_of(None):
        if {*other.dimensions} != {*table.dimensions}:
            continue
        column = dict(zip(other.dimensions, codes_of(other), strict=True))
        own = [pl.lit(0).alias("all"), *map(pl.col, codes_of(table))]
        same = [
            pl.col(column[name]).alias(code)
            for name, code in zip(table.dimensions, codes_of(table), strict=True)
        ]
        counts = opened.frames[other.name].select(
            pl.lit(0).alias("all"), *same, pl.col(VALUE).fill_null(np.nan)
        )
        frame = opened.frames[table.name].select(own)
        both = frame.join(counts, on=frame.columns, how="left", maintain_order="left")
        return both[VALUE].fill_null(0.0).to_numpy()
    return None


def _lacking(manifest: Manifest, opened: Opened) -> Iterator[str]:
    """Say which claims the manifest lacks: hidden cells need one, and earlier releases, too."""
    models: dict[str, list[object]] = {}
    for each in manifest.claims:
        models.setdefault(each.model, []).append(each.about.get("measure"))
    for measure, cells in opened.cells.items():
        if cells.hidden.any() and measure not in models.get(HIDDEN_INTERVALS, []):
            yield "The manifest doesn't claim the intervals of hidden cells of each measure."
    if opened.details.earlier and EARLIER_TABLES not in models:
        yield "The manifest names earlier releases, and claims nothing about them."
