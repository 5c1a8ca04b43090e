"""``export_release``: rows of a release as a file of SPSS, Stata or Excel, with labels."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from halfmask._errors import DataError, ParameterError, ReleaseError, SchemaError
from halfmask._foreign import need
from halfmask.claims import read_manifest
from halfmask.data import atomic_file
from halfmask.data.io.file_labels import FileLabels, file_labels
from halfmask.data.io.workbook_file import write_workbook
from halfmask.release._reading import _columns_of, read_release
from halfmask.verifier.exported import export_faults
from halfmask.verifier.tables.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The formats by the end of a file's name.
EXPORTS: Final = (".sav", ".dta", ".xlsx")
#: Every whole number up to it is a number of these programs, which have floats only.
_EXACT: Final = 2**53
_MOST_INT: Final = 2**31 - 1


def export_release(
    release: str | Path,
    file: str | Path,
    *,
    labels: str | Path | None = None,
    copy: int = 0,
    overwrite: bool = False,
) -> None:
    """Write the rows of a release as a file of SPSS, Stata or Excel, with labels.

    Parameters
    ----------
    release
        The folder of a release of rows.
    file
        The file to write, next to the folder: ``.sav``, ``.dta`` or ``.xlsx``.
    labels
        The original file of SPSS, Stata or SAS: columns get its labels. A column that still has its
        values gets their codes back.
    copy
        Which of several synthetic tables to write, from 0.
    overwrite
        Whether a file of that name may be replaced.

    Raises
    ------
    ParameterError
        If the file's name ends otherwise, or there is no such copy.
    SchemaError
        If names are equal or too long in SPSS or Stata, or a column holds lists.
    ReleaseError
        If the file exists, or can't hold every cell exactly: texts with trailing blanks, whole
        numbers above 2**53, times of less than a millisecond.

    See Also
    --------
    halfmask.verify : ``also=FILE`` compares the file with the release again.

    Notes
    -----
    **Guarantees.** The verifier reads the file and finds every cell of the release in it, in the
    same order, or there is no file. It has labels only of values that it holds: no code that only
    suppressed rows had.

    **Edge cases.** A suppressed cell is missing. Ranges, sets and nodes are texts. Truth values are
    0 and 1. In SPSS and Stata, other signs in names become ``_``; the name is then the label. In
    Excel, a column with codes has its labels in a column next to it, such as ``sex_label``. All
    rows are in memory.

    Examples
    --------
    >>> import tempfile, polars as pl, halfmask as hm
    >>> people = pl.DataFrame({"age": [30, 31, 40, 44], "sex": ["f", "m", "f", "m"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = hm.protect(people, quasi_identifiers=["age", "sex"], k=2)
    ...     _ = release.write(f"{folder}/out")
    ...     hm.export_release(f"{folder}/out", f"{folder}/out.sav")
    ...     hm.verify(f"{folder}/out", also=f"{folder}/out.sav").holds
    True
    """
    where = check_export(file, overwrite=overwrite)
    rows = read_release(release, ranges="text", sets="text", copy=copy)
    manifest = read_manifest(Path(release))
    known = FileLabels({}, {}) if labels is None else file_labels(labels)
    recoded = {each.name for each in _columns_of(manifest) if each.recoding is not None}
    columns: list[pl.Series] = []
    values: dict[str, dict[Any, str]] = {}
    for column in rows.get_columns():
        name, is_text = column.name, column.dtype == pl.String
        plain = column.replace(ROOT, None) if is_text and name in recoded else column
        codes, found = _coded(_writable(plain), known.values.get(name, {}), where.suffix.lower())
        columns.append(codes)
        values |= {name: found} if found else {}
    with tempfile.TemporaryDirectory(prefix="halfmask-") as aside:
        made = Path(aside) / f"rows{where.suffix.lower()}"
        _write(pl.DataFrame(columns), made, known.columns, values)
        if faults := export_faults(Path(release), manifest, made):
            raise ReleaseError(
                f"The file can't hold every cell of the release exactly. {' '.join(faults)}",
                hint="Give the release as CSV or Parquet, or change these columns by a mask.",
            )
        with made.open("rb") as source, atomic_file(where, overwrite=overwrite) as target:
            shutil.copyfileobj(source, target)


def check_export(file: str | Path, *, overwrite: bool) -> Path:
    """Return the path of a file to export to, or raise before long work."""
    where = Path(file)
    if where.suffix.lower() not in EXPORTS:
        raise ParameterError(
            "The file to export to has another format.",
            hint="Give a name that ends in .sav, .dta or .xlsx.",
        )
    need("xlsxwriter" if where.suffix.lower() == ".xlsx" else "pyreadstat")
    if where.exists() and not overwrite:
        raise ReleaseError("The file to export to exists already.", hint="Choose another name.")
    return where


def _writable(column: pl.Series) -> pl.Series:
    """Return a column of a type that these programs have."""
    dtype = column.dtype
    if dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
        raise SchemaError(f"Column {column.name!r} holds lists or bytes, which can't be exported.")
    if dtype == pl.Boolean:
        return column.cast(pl.Int32)
    if dtype.is_integer():
        least, most = column.cast(pl.Int128).min() or 0, column.cast(pl.Int128).max() or 0
        largest = max(abs(int(least)), abs(int(most)))  # type: ignore[arg-type] # whole numbers
        if largest > _EXACT:
            raise DataError(
                f"Column {column.name!r} has whole numbers above 2**53, which are rounded there.",
                hint="Release it as text, or drop it.",
            )
        return column.cast(pl.Int32 if largest <= _MOST_INT else pl.Float64)
    if dtype.is_numeric():
        return column.cast(pl.Float64)
    is_moment = dtype == pl.Date or (dtype == pl.Datetime and not getattr(dtype, "time_zone", None))
    return column if is_moment else column.cast(pl.String)


def _coded(
    column: pl.Series, labels: Mapping[Any, str], form: str
) -> tuple[pl.Series, dict[Any, str]]:
    """Return a column with its codes, and the labels of those that it has."""
    there = set(column.drop_nulls().unique().to_list())
    numeric = all(isinstance(code, int | float) for code in labels)
    if not labels or column.dtype.is_temporal() or not (numeric or form == ".sav"):
        return column, {}
    found = column
    if column.dtype == pl.String:
        code_of = {text: code for code, text in labels.items()}
        if len(code_of) < len(labels) or not there <= code_of.keys():
            return column, {}  # generalized, or values that the file had no labels for
        codes = [code_of[text] for text in there]
        whole = numeric and all(code == int(code) and abs(code) <= _MOST_INT for code in codes)
        if form == ".dta" and not whole:
            return column, {}  # it has labels of whole numbers only
        dtype = pl.Int32() if whole else pl.Float64() if numeric else pl.String()
        found = column.replace_strict(list(there), codes, default=None, return_dtype=dtype)
        there = set(codes)
    elif not numeric or (form == ".dta" and column.dtype == pl.Float64):
        return column, {}
    as_written = int if found.dtype == pl.Int32 else float if numeric else str
    return found, {as_written(code): text for code, text in labels.items() if code in there}


def _write(
    rows: pl.DataFrame, path: Path, named: Mapping[str, str], values: dict[str, dict[Any, str]]
) -> None:
    if path.suffix == ".xlsx":
        columns = []
        for column in rows.get_columns():
            columns.append(column)
            texts = values.get(column.name, {})
            if texts and f"{column.name}_label" not in rows.columns:
                columns.append(
                    column.replace_strict(
                        list(texts), list(texts.values()), default=None, return_dtype=pl.String
                    ).alias(f"{column.name}_label")
                )
        write_workbook(pl.DataFrame(columns), path)
        return
    import pyreadstat  # noqa: PLC0415 # an extra

    plain = {name: _variable(name) for name in rows.columns}
    if len({each.lower() for each in plain.values()}) < len(plain):
        raise SchemaError("Two columns have one name in SPSS and Stata.", hint="Rename one.")
    long = [name for name, new in plain.items() if len(new) > 32 or len(new.encode()) > 64]
    if long:
        raise SchemaError(
            f"The name of column {long[0]!r} is too long for SPSS or Stata.",
            hint="Names take 32 characters, and 64 bytes.",
        )
    labels = {new: named.get(name, "" if new == name else name) for name, new in plain.items()}
    write = pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_dta
    try:
        write(
            rows.rename(plain),
            str(path),
            column_labels={new: text or None for new, text in labels.items()},
            variable_value_labels={plain[name]: texts for name, texts in values.items()},
        )
    except Exception:  # noqa: BLE001 # its message may quote a cell
        raise ReleaseError(
            f"The release can't be written as {path.suffix}.",
            hint="A column may have a name that the program has taken, such as 'by' or 'if'.",
        ) from None


def _variable(name: str) -> str:
    """Return a name that SPSS and Stata take."""
    plain = re.sub(r"\W", "_", name)
    return plain if plain[:1].isalpha() else f"v_{plain}"
