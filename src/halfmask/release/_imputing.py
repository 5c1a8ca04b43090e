"""``impute_release``: completed tables of a release."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, VerificationError
from halfmask._validation import integer_at_least
from halfmask.claims.manifest import MICRODATA
from halfmask.release._completing import CellDraws, CellsOfColumn
from halfmask.release._reading import ReadColumn, read_columns
from halfmask.verifier.tables.labels import ROOT, read_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.release._completing import Floats

#: More values of a column of numbers than these are thinned out.
_MOST_VALUES: Final = 400
#: A column without cells helps by its most frequent values.
_MOST_LEVELS, _LEAST_SHARE = 20, 0.01
_DRAWN: Final = frozenset({"ranges", None, "level"})


def impute_release(
    release: str | PathLike[str], *, m: int = 20, random_state: int = 0
) -> list[pl.DataFrame]:
    """Draw tables of single values that fit the ranges and sets of a release.

    Parameters
    ----------
    release
        The folder of a release of classes that are written as ranges and sets.
    m
        How many tables, at least 2.
    random_state
        The seed: on one machine, the same release and seed give the same tables.

    Returns
    -------
    list of polars.DataFrame
        Tables with the columns and types of the original. Run an analysis on each of them, and
        give the results to `halfmask.combine_estimates`.

    Raises
    ------
    VerificationError
        If the folder isn't a release of classes, or a file isn't the one that the manifest names.
    ParameterError
        If a parameter is invalid, a column is written as a representative or centroid of its
        class, or no column has ranges or sets.

    See Also
    --------
    halfmask.combine_estimates : One estimate from those of all tables.
    read_release : The ranges and sets themselves.

    Notes
    -----
    **Guarantees.** Each value lies in the range or set that the release states for its row. The
    tables hold nothing that the release doesn't: a drawn value isn't the value of a person.

    **Edge cases.** Each column is drawn given all others by an additive model. Effects that it
    lacks, such as interactions within classes, are too weak in the tables. A missing cell and a
    set that is cut short are missing; a cell with ``or missing`` gets a value; a suppressed one
    (``*``) gets any value of its column. A node of a hierarchy stays a text. How often intervals
    cover the coefficient of the original table is in docs/how-to/read-a-release.md.

    The method is fully conditional specification (van Buuren, 2007) in which draws keep to their
    cells, with a bootstrap of classes (Rubin, 1981).

    Examples
    --------
    >>> import tempfile, polars as pl, halfmask as hm
    >>> people = pl.DataFrame({"age": [30, 31, 40, 44]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = hm.protect(people, quasi_identifiers=["age"], k=2).write(f"{folder}/out")
    ...     tables = hm.impute_release(f"{folder}/out", m=2)
    >>> [sorted(table["age"]) for table in tables]
    [[30, 31, 40, 44], [30, 31, 40, 44]]
    """
    integer_at_least(2, owner="impute_release", m=m)
    integer_at_least(0, owner="impute_release", random_state=random_state)
    kind, rows, columns = read_columns(release, owner="impute_release")
    if kind != MICRODATA:
        raise VerificationError(
            f"A release of the kind {kind!r} has no ranges or sets.",
            hint="Read it with read_release.",
        )
    for column in columns:
        if column.recoding not in _DRAWN:
            raise ParameterError(
                f"Column {column.name!r} is written as a {column.recoding} of its class, which "
                "doesn't say what values the class has.",
                hint='Ask the owner for the recoding "ranges".',
            )
    # Classes in ascending order: the draws go through them in one pass.
    names = [it.name for it in columns if it.role == "quasi_identifier"]
    names += [it.upper for it in columns if it.upper is not None]
    ranks = rows.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int64)
    order = np.argsort(ranks, kind="stable")
    rows = rows[order]
    cells = {it.result: _cells_of(it, rows) for it in columns if it.recoding == "ranges"}
    if not any(len(it.of_column.free) for it in cells.values()):
        raise ParameterError(
            "The release has no column with ranges or sets.", hint="Read it with read_release."
        )
    others = [_features(rows[it.name]) for it in columns if it.recoding != "ranges"]
    draws = CellDraws(
        [it.of_column for it in cells.values()],
        np.concatenate([np.zeros((len(order), 0)), *others], axis=1),
        ranks[order] - 1,
        np.random.default_rng(random_state),
    )
    back = np.argsort(order)
    found = []
    for _ in draws.tables(m):
        made = [
            cells[it.result].drawn(it.result) if it.result in cells else rows[it.name]
            for it in columns
        ]
        found.append(pl.DataFrame(made)[back])
    return found


@dataclass(frozen=True, slots=True)
class _Cells:
    """A column of ranges or sets: what is drawn for it, its values, and which rows have none."""

    of_column: CellsOfColumn
    values: pl.Series
    missing: pl.Series

    def drawn(self, name: str) -> pl.Series:
        it = self.of_column
        at = it.drawn if len(it.free) else it.allowed.argmax(axis=1)[it.cell]
        return self.values.gather(at).alias(name).set(self.missing, None)


def _cells_of(column: ReadColumn, rows: pl.DataFrame) -> _Cells:
    """Return the cells of a column; a missing cell is like the first, and stays missing."""
    written = rows.select(pl.col(it) for it in (column.name, column.upper) if it is not None)
    labels = written.unique(maintain_order=True)
    numbered = labels.with_row_index("_cell")
    keys = labels.columns
    cell = written.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
    at = cell["_cell"].to_numpy().astype(np.int64)
    absent = labels[keys[0]].is_null().to_numpy()
    if column.is_ordered:
        low, high = column.ends(labels)
        allowed, values = _ranges(low, high, absent)
        numbers = values.to_physical().cast(pl.Float64).to_numpy()
    else:
        allowed, values, absent = _sets(labels[keys[0]].cast(pl.String))
        values, numbers = column.typed(values), None
    return _Cells(
        CellsOfColumn(
            allowed=allowed,
            cell=at,
            numbers=numbers,
            has_ends=column.is_ordered and not column.is_open,
        ),
        values,
        pl.Series(absent[at]),
    )


def _ranges(
    low: pl.Series, high: pl.Series, absent: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], pl.Series]:
    """Return the values of a column of numbers or moments, and which of them each range has.

    A suppressed cell has no ends: it has all values.
    """
    ends = pl.concat([low, high]).drop_nulls().unique().sort()
    if ends.is_empty():
        return np.ones((len(low), 1), dtype=np.bool_), pl.Series([0]).cast(ends.dtype)
    least, most = ends.to_physical()[0], ends.to_physical()[-1]
    if (ends.dtype.is_integer() or ends.dtype == pl.Date) and most - least < _MOST_VALUES:
        values = pl.Series(range(least, most + 1)).cast(ends.to_physical().dtype).cast(ends.dtype)
    else:
        places = np.linspace(0, len(ends) - 1, min(len(ends), _MOST_VALUES))
        values = ends.gather(places.round().astype(np.int64))
        # A range between two of these has its own end.
        after = values.search_sorted(high.fill_null(ends[-1]), "right")
        none = values.search_sorted(low.fill_null(ends[0]), "left") == after
        values = pl.concat([values, low.filter(none)]).unique().sort()
    line, first, last = (it.to_physical().cast(pl.Float64) for it in (values, low, high))
    allowed = line.to_numpy() >= first.fill_null(-np.inf).to_numpy()[:, None]
    allowed &= line.to_numpy() <= last.fill_null(np.inf).to_numpy()[:, None]
    allowed[absent] = np.arange(len(line)) == len(line) // 2
    return allowed, values


def _sets(labels: pl.Series) -> tuple[NDArray[np.bool_], pl.Series, NDArray[np.bool_]]:
    """Return the values of a column of categories, which of them each set has, and what has none.

    A set that is cut short has none: its members aren't named.
    """
    read = [None if text in {None, ROOT} else read_label(text) for text in labels]
    whole = [it if it is not None and it.is_whole else None for it in read]
    members = sorted({part for it in whole if it is not None for part in it.parts}) or [""]
    place = {member: number for number, member in enumerate(members)}
    allowed = np.zeros((len(read), len(members)), dtype=np.bool_)
    for row, it in enumerate(whole):
        if it is not None:
            allowed[row, [place[part] for part in it.parts]] = True
    allowed[(labels == ROOT).fill_null(value=False).to_numpy()] = True
    absent = np.asarray(~allowed.any(axis=1), dtype=np.bool_)
    allowed[absent, 0] = True
    return allowed, pl.Series(members, dtype=pl.String), absent


def _features(written: pl.Series) -> Floats:
    """Return what a column without cells says of the others."""
    if written.dtype.is_numeric() or written.dtype.is_temporal():
        numbers = written.to_physical().cast(pl.Float64)
        absent = numbers.is_null().to_numpy()
        there = numbers.fill_null(numbers.mean()).fill_null(0.0).to_numpy()
        scaled = np.clip((there - there.mean()) / (there.std() or 1.0), -4.0, 4.0)
        return np.stack([scaled, scaled**2, *([absent.astype(float)] if absent.any() else [])], 1)
    counts = written.cast(pl.String).fill_null("").value_counts(sort=True)
    often = counts.filter(pl.col("count") >= _LEAST_SHARE * len(written))[1 : _MOST_LEVELS + 1]
    texts = written.cast(pl.String).fill_null("")
    found = [(texts == level).to_numpy().astype(float) for level in often[:, 0]]
    return np.stack(found, axis=1) if found else np.zeros((len(written), 0))
