"""``read_release``: the rows of a release with their types, as a receiver computes with them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import polars as pl
import polars.selectors as cs

from halfmask._errors import ParameterError, VerificationError
from halfmask._validation import integer_at_least, one_of
from halfmask.claims import read_manifest
from halfmask.claims.manifest import MICRODATA, Manifest, folder_of, manifest_path, released_file
from halfmask.data import ReadOptions, open_table
from halfmask.data.io.formats import TEXT_FORMATS
from halfmask.verifier.tables.labels import ROOT, Label, read_label
from halfmask.verifier.tables.part import READ_ERRORS, open_part

if TYPE_CHECKING:
    from halfmask.claims import DataFile

Ranges: TypeAlias = Literal["bounds", "midpoints", "text"]
Sets: TypeAlias = Literal["lists", "text"]

_NAMED: Final = {
    **{str(kind): kind for kind in (pl.String, pl.Boolean, pl.Date, pl.Time, pl.Float32)},
    **{str(kind): kind for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float64)},
    **{str(kind): kind for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
}
_MOMENT: Final = re.compile(r"Datetime\(time_unit='(\w+)', time_zone=(?:None|'([\w/+-]+)')\)")


def read_release(
    release: str | PathLike[str],
    *,
    ranges: Ranges = "bounds",
    sets: Sets = "lists",
    copy: int = 0,
) -> pl.DataFrame:
    """Read the rows of a release with the types that they had in the original table.

    Parameters
    ----------
    release
        The folder of a release of rows: classes, masks, synthetic or private rows.
    ranges
        ``"bounds"`` writes the range ``[17, 25]`` of the column ``age`` as two columns,
        ``age_from`` and ``age_to``, both included; ``"midpoints"`` as one number; ``"text"``
        leaves it.
    sets
        ``"lists"`` writes the set ``{a, b}`` as a list; ``"text"`` leaves it.
    copy
        Which of several synthetic tables to read, from 0.

    Returns
    -------
    polars.DataFrame
        The rows in the order of the files. A suppressed cell is missing.

    Raises
    ------
    VerificationError
        If the folder isn't a release of rows, or a file isn't the one that the manifest names.
    ParameterError
        If a parameter is invalid, or the release has no such copy.

    See Also
    --------
    halfmask.verify : Counts again what the release claims; do it first.

    Notes
    -----
    **Guarantees.** The bytes of each file have the hash that the manifest states. A cell that
    can't be read as its type is an error.

    **Edge cases.** A midpoint is not a value of a person: regressions on midpoints are biased, see
    docs/how-to/read-a-release.md. The upper end of a range of rounded ends isn't included: for
    whole numbers ``age_to`` is one less; for other numbers and times it is the end itself. ``or
    missing`` next to a range or set is dropped: some people of the class have no value. A set that
    is cut short is missing, since not all of its members are named. A column of nodes of a
    hierarchy stays text.

    Examples
    --------
    >>> import tempfile, polars as pl, halfmask as hm
    >>> people = pl.DataFrame({"age": [30, 31, 40, 44], "sex": ["f", "m", "f", "m"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = hm.protect(people, quasi_identifiers=["age", "sex"], k=2)
    ...     _ = release.write(f"{folder}/out")
    ...     hm.read_release(f"{folder}/out").columns
    ['age_from', 'age_to', 'sex']
    """
    one_of(("bounds", "midpoints", "text"), owner="read_release", ranges=ranges)
    one_of(("lists", "text"), owner="read_release", sets=sets)
    integer_at_least(0, owner="read_release", copy=copy)
    kind, rows, columns = read_columns(
        release, owner="read_release", copy=copy, paired=ranges == "midpoints"
    )
    if kind != MICRODATA:
        return rows
    made: list[pl.Series] = []
    for column in columns:
        made += column.read(rows, ranges, sets)
    return pl.DataFrame(made)


def read_columns(
    release: object, *, owner: str, copy: int = 0, paired: bool = True
) -> tuple[str, pl.DataFrame, list[ReadColumn]]:
    """Return the kind of a release, the cells of its files, and its columns.

    ``paired`` makes one column of two columns of ends.
    """
    if not isinstance(release, str | PathLike):
        raise ParameterError(
            f"The 'release' parameter of {owner} must be the path of a release. "
            f"Got a value of type {type(release).__name__}."
        )
    where = Path(release)
    manifest = read_manifest(where)
    folder = folder_of(manifest_path(where))
    columns = _columns_of(manifest)
    files = _files_of(manifest, copy)
    rows = pl.concat([_read_file(folder, each, columns) for each in files])
    return manifest.kind, rows, _paired(columns, paired=paired)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn:
    """A column as the manifest states it, and the column of its upper ends where there is one."""

    name: str
    role: str
    kind: str
    recoding: str | None
    dtype: pl.DataType
    original: pl.DataType
    bound_of: str | None
    is_open: bool
    is_upper: bool = False
    upper: str | None = None

    @property
    def result(self) -> str:
        """The name of the original column."""
        return self.name if self.bound_of is None else self.bound_of

    @property
    def is_ordered(self) -> bool:
        """Whether it has ranges of numbers or moments; others have sets."""
        return self.kind in {"numeric", "datetime"} and self.original != pl.String

    def read(self, rows: pl.DataFrame, ranges: Ranges, sets: Sets) -> list[pl.Series]:
        """Return the column, or both of its bounds, in the type of the original."""
        if self.upper is not None:  # two columns of ends, read as one number
            return [_middles(*self.ends(rows)).alias(self.result)]
        written = rows[self.name]
        if self.is_upper:
            return [self._last(written)]
        as_text = self.is_ordered and ranges == "text"
        if self.recoding != "ranges" or written.dtype != pl.String or as_text:
            return [written]
        if not self.is_ordered:
            return [self._read_sets(written, sets)]
        low, high = self.ends(rows)
        if ranges == "midpoints":
            return [_middles(low, high).alias(self.name)]
        return [low.alias(f"{self.name}_from"), high.alias(f"{self.name}_to")]

    def ends(self, rows: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Return the least and the greatest value of each range; missing where it is suppressed."""
        written = rows[self.name]
        if written.dtype != pl.String:
            return written, written if self.upper is None else self._last(rows[self.upper])
        low = self.typed(_mapped(written, lambda it: it.parts[0]))
        high = self.typed(_mapped(written, lambda it: it.parts[-1]))
        is_open = _mapped(written, lambda it: "yes" if it.form == "open range" else None)
        ends = pl.DataFrame([high.alias("all"), self._last(high).alias("open")])
        is_open = is_open.is_not_null()
        return low, ends.select(pl.when(is_open).then("open").otherwise("all").alias("to"))["to"]

    def _last(self, high: pl.Series) -> pl.Series:
        """Return the greatest value below an end that isn't included, where there is one."""
        if not self.is_open or not high.dtype.is_integer():
            return high
        return high - 1

    def typed(self, texts: pl.Series) -> pl.Series:
        """Return what texts spell in the type of the original; one that doesn't fit raises."""
        kind = self.original
        try:
            if kind == pl.Date:
                return texts.str.to_date("%Y-%m-%d")
            if isinstance(kind, pl.Datetime):
                plain = texts.str.to_datetime(time_unit=kind.time_unit, time_zone=kind.time_zone)
                return plain.cast(kind)
            return texts == "true" if kind == pl.Boolean else texts.cast(kind)
        except pl.exceptions.PolarsError:
            raise VerificationError(
                f"A range of the column {self.name!r} can't be read as its original type.",
                hint="Read the release with ranges='text'.",
            ) from None

    def _read_sets(self, written: pl.Series, sets: Sets) -> pl.Series:
        if sets == "text":
            return written
        labels = written.unique().drop_nulls().to_list()
        read = {text: read_label(text) for text in labels if text != ROOT}
        if all(len(it.parts) == 1 for it in read.values()):
            found = [it.parts[0] for it in read.values()]
            return written.replace_strict(list(read), found, default=None, return_dtype=pl.String)
        members = pl.Series(
            [list(it.parts) if it.is_whole else None for it in read.values()],
            dtype=pl.List(pl.String),
        )
        known = pl.DataFrame({"text": list(read), self.name: members}, schema_overrides=_TEXTS)
        joined = (
            written.alias("text")
            .to_frame()
            .join(known, on="text", how="left", maintain_order="left")
        )
        return joined[self.name]


_TEXTS: Final = {"text": pl.String}


def _mapped(written: pl.Series, part: Callable[[Label], str | None]) -> pl.Series:
    """Return a part of each label; missing where the cell is suppressed."""
    labels = [text for text in written.unique().drop_nulls().to_list() if text != ROOT]
    parts = [part(read_label(text)) for text in labels]
    return written.replace_strict(labels, parts, default=None, return_dtype=pl.String)


def _middles(low: pl.Series, high: pl.Series) -> pl.Series:
    """Return the middle of each range: a number, or a moment."""
    if low.dtype.is_temporal():
        moments = pl.Datetime("us", getattr(low.dtype, "time_zone", None))
        first = low.cast(moments)
        return first + (high.cast(moments) - first) / 2
    first = low.cast(pl.Float64)
    return first + (high.cast(pl.Float64) - first) / 2


def _columns_of(manifest: Manifest) -> list[ReadColumn]:
    stated = manifest.details.get("columns")
    found = [it for it in stated if isinstance(it, Mapping)] if isinstance(stated, Sequence) else []
    if not found:
        raise VerificationError(
            f"A release of the kind {manifest.kind!r} has no rows of people.",
            hint="Its files are read as the documentation of its kind says.",
        )
    return [_column_of(it) for it in found]


def _column_of(stated: Mapping[str, Any]) -> ReadColumn:
    dtype = _dtype_named(stated["dtype"])
    kind = str(stated.get("kind", "text"))
    original = stated.get("original")
    if original is None and kind == "numeric" and dtype == pl.String:
        original = "Float64"  # a release of a version that didn't state it
    return ReadColumn(
        name=str(stated["name"]),
        role=str(stated.get("role", "")),
        kind=kind,
        recoding=stated.get("recoding"),
        dtype=dtype,
        original=dtype if original is None else _dtype_named(original),
        bound_of=stated.get("bound_of"),
        is_open=stated.get("range_step") is not None,
    )


def _dtype_named(name: str) -> pl.DataType:
    """Return the type that polars calls by a name; types of categories are read as text."""
    moment = _MOMENT.fullmatch(name)
    if moment is not None:
        unit: Any = moment[1]
        return pl.Datetime(unit, moment[2])
    return _NAMED.get(name, pl.String)()


def _paired(columns: Sequence[ReadColumn], *, paired: bool) -> list[ReadColumn]:
    """Return the columns to make: two of ends are one where they are paired."""
    made: list[ReadColumn] = []
    for column in columns:
        if not made or column.bound_of is None or made[-1].bound_of != column.bound_of:
            made.append(column)
        elif paired:
            made[-1] = replace(made[-1], upper=column.name)
        else:
            made.append(replace(column, is_upper=True))
    return made


def _files_of(manifest: Manifest, copy: int) -> list[DataFile]:
    """Return the parts of one of the tables of a release."""
    tables: dict[str, list[DataFile]] = {}
    for file in manifest.files:
        tables.setdefault(file.name.rpartition("-")[0], []).append(file)
    if copy >= len(tables):
        raise ParameterError(
            f"The release has no copy {copy}: it has {len(tables)}.", hint="The first is copy=0."
        )
    return list(tables.values())[copy]


def _read_file(folder: Path, file: DataFile, columns: Sequence[ReadColumn]) -> pl.DataFrame:
    path = released_file(folder, file.name)
    if path is None:
        raise VerificationError("A file that the manifest names isn't there.")
    with path.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
            raise VerificationError(
                "A file of the release isn't the one that the manifest names.",
                hint="Get the release again; halfmask verify says what else differs.",
            )
    if file.format in {"parquet", "arrow"}:  # as `verify` reads them: with polars alone
        try:
            rows = open_part(path, file.format).collect()
        except READ_ERRORS:
            raise VerificationError(f"A file of the release isn't {file.format}.") from None
        return rows.with_columns(cs.by_dtype(pl.Categorical, pl.Enum).cast(pl.String))
    types: dict[str, pl.DataType] = {}
    if file.format in TEXT_FORMATS:
        types = {each.name: each.dtype for each in columns}
    source = open_table(path, options=ReadOptions(dtypes=types))
    return pl.concat(source.batches())
