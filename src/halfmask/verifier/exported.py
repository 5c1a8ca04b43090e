"""A file of SPSS, Stata or Excel against the release that it was exported from, cell by cell."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from halfmask._errors import ParameterError, VerificationError
from halfmask._foreign import need
from halfmask.claims.manifest import folder_of, manifest_path, released_file
from halfmask.verifier._workbook import read_workbook
from halfmask.verifier.tables.part import FORMULA_NAME, READ_ERRORS, open_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import DataFile, Manifest

_ENDINGS: Final = (".sav", ".dta", ".xlsx")
#: What a cell of a class has that holds no information.
_SUPPRESSED: Final = "*"
_EXCEL: Final = dt.datetime(1899, 12, 30)  # noqa: DTZ001 # Excel knows no time zones
_LAST_DAY: Final = 2_900_000
#: Excel and Stata count milliseconds.
_NEAR: Final = dt.timedelta(microseconds=1_000)


class _Column(NamedTuple):
    """A column of the file, and the labels of its values."""

    name: str
    values: Sequence[Any]
    labels: dict[Any, str]


def export_faults(release: Path, manifest: Manifest, file: str | Path) -> list[str]:
    """Return in what a file differs from the rows of a release; from one of several tables."""
    path = Path(file)
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(
            "The file to compare with the release has another format.",
            hint="Give one that ends in .sav, .dta or .xlsx.",
        )
    columns, extra = _read(path)
    if extra:
        return ["The exported file has notes, a title or declared missing values."]
    folder = folder_of(manifest_path(release))
    tables: dict[str, list[DataFile]] = {}
    for each in manifest.files:
        tables.setdefault(each.name.rpartition("-")[0], []).append(each)
    found: list[str] = []
    for files in tables.values():
        there = [(released_file(folder, each.name), each.format) for each in files]
        try:
            frames = [open_part(at, form).collect() for at, form in there if at is not None]
            rows = pl.concat(each.cast(pl.String) for each in frames)
        except (*READ_ERRORS, VerificationError):
            return ["The exported file can't be compared: a data file can't be read."]
        found = _differences(rows, columns)
        if not found:
            return []
    return found or ["The release has no rows to compare the exported file with."]


def _read(path: Path) -> tuple[list[_Column], bool]:
    """Return the columns of a file, and whether it holds more than these."""
    if path.suffix.lower() == ".xlsx":
        head, *rows = read_workbook(path)
        cells = [[*row, *[None] * (len(head) - len(row))] for row in rows]
        pairs = zip(head, zip(*cells, strict=True) if cells else [()] * len(head), strict=True)
        return [_Column(str(name), values, {}) for name, values in pairs], False
    need("pyreadstat")
    import pyreadstat  # noqa: PLC0415 # an extra

    read = pyreadstat.read_sav if path.suffix.lower() == ".sav" else pyreadstat.read_dta
    try:
        # Values that are declared missing, and Stata's .a to .z, are cells that hold something.
        cells, about = read(str(path), output_format="dict", user_missing=True)
    except Exception:  # noqa: BLE001 # what a library says of a file may quote it
        raise VerificationError("The exported file can't be read.") from None
    labels = about.variable_value_labels
    found = [_Column(name, values, labels.get(name, {})) for name, values in cells.items()]
    declared = about.missing_ranges or about.missing_user_values
    return found, bool(declared or about.notes or (about.file_label or "").strip())


def _differences(rows: pl.DataFrame, columns: list[_Column]) -> list[str]:
    """Return in what columns differ from those of the release; each is named."""
    faults, left = [], list(columns)
    for name in rows.columns:
        if not left or left[0].name not in {name, f"v_{_plain(name)}", _plain(name)}:
            return ["The exported file has other columns than the release."]
        column = left.pop(0)
        if left and left[0].name == f"{name}_label" and left[0].name not in rows.columns:
            labelled = _labelled(column, left.pop(0).values)
            if labelled is None:
                faults.append(f"The exported file has other labels of column {name!r}.")
                continue
            column = labelled
        if len(column.values) != rows.height:
            return ["The exported file has other rows than the release."]
        pairs = set(zip(rows[name].to_list(), column.values, strict=True))
        if not all(_same(text, value, column.labels.get(value)) for text, value in pairs):
            faults.append(f"The exported file has other cells in column {name!r}.")
        elif not set(column.labels) <= {value for _, value in pairs}:
            faults.append(f"The exported file has labels in column {name!r} that no cell has.")
    return faults if not left else ["The exported file has other columns than the release."]


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _labelled(codes: _Column, texts: Sequence[Any]) -> _Column | None:
    """Return a column of codes with the labels next to it; nothing if a code has two of them.

    A missing code has none, and a code that has a label has it in each row.
    """
    pairs = {*zip(codes.values, texts, strict=True), (None, None)}
    labels = {code: text for code, text in pairs if text is not None}
    return codes._replace(labels=labels) if len({code for code, _ in pairs}) == len(pairs) else None


def _same(  # noqa: PLR0911 # one for each type of cell
    text: str | None,
    value: Any,  # noqa: ANN401 # any cell
    label: str | None,
) -> bool:
    """Return whether a cell of the file is that of the release."""
    if value is None or value == "" or value != value:  # noqa: PLR0124 # not a number
        return text in {None, "", _SUPPRESSED}
    if text is None or text in {label, value}:
        return text is not None
    if isinstance(value, str):
        return text == f"'{value}" and FORMULA_NAME.match(text) is not None
    if isinstance(value, dt.date):
        whole = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        return _is_near(text, whole)
    if text in {"true", "false"}:
        return bool(value == (text == "true"))
    try:
        return bool(float(text) == value)
    except ValueError:
        return abs(value) < _LAST_DAY and _is_near(text, _EXCEL + dt.timedelta(days=value))


def _is_near(text: str, moment: dt.datetime) -> bool:
    try:
        return abs(dt.datetime.fromisoformat(text) - moment) < _NEAR
    except (ValueError, TypeError):  # no moment, or one with a zone
        return False
