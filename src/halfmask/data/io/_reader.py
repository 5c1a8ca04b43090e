"""What a table is read through, and readers around it: lists as texts, texts in one spelling."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, get_args, runtime_checkable

import polars as pl

from halfmask._errors import DataError, ParameterError
from halfmask.data._declarations import mark_missing

if TYPE_CHECKING:
    from halfmask.data.io.places import Place


class Reader(Protocol):
    """What a format has to know of a table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def dtypes(self) -> dict[str, pl.DataType]:
        """The type of each column, the same in every frame."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def orders(self) -> dict[str, tuple[str, ...]]:
        """The categories, in order, of each column whose type has an order."""

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames of any size, bounded by ``n_rows`` or by bytes.

        Parameters
        ----------
        columns
            The columns to read.
        n_rows
            The most rows of a frame.
        """


@runtime_checkable
class DivisibleReader(Reader, Protocol):
    """A reader whose rows can be read in parts, by any process that sees the files."""

    @property
    def raw_rows(self) -> int | None:
        """The rows of the files; ``None`` if they can only be read from the start."""

    @property
    def places(self) -> Sequence[Place]:
        """The files that the rows are in."""

    @property
    def first_row(self) -> int:
        """The number that the first row has in the whole table, as this reader counts them."""

    def part(self, rows: range) -> DivisibleReader:
        """Return a reader of some rows."""


def divisible(reader: Reader) -> DivisibleReader | None:
    """Return a reader if its rows can be read in parts."""
    found = isinstance(reader, DivisibleReader) and reader.raw_rows is not None
    return reader if found and isinstance(reader, DivisibleReader) else None


class ReaderAround:
    """What readers around another one share: a part of them is around a part of it.

    A reader that drops rows extends `part`.
    """

    _reader: Reader
    n_rows: int
    first_row: int = 0

    @property
    def made(self) -> frozenset[str]:
        """The names of the columns that are made of others while the rows are read."""
        return getattr(self._reader, "made", frozenset())

    @property
    def raw_rows(self) -> int | None:
        """The rows of the files; ``None`` if they can only be read from the start."""
        below = divisible(self._reader)
        return None if below is None else below.raw_rows

    @property
    def places(self) -> Sequence[Place]:
        """The files that the rows are in."""
        below = divisible(self._reader)
        return () if below is None else below.places

    def part(self, rows: range) -> Self:
        """Return a reader of some rows; see `DivisibleReader`."""
        below = divisible(self._reader)
        if below is None:
            raise TypeError("These rows can only be read from the start.")
        found = copy.copy(self)
        found._reader = inner = below.part(rows)  # noqa: SLF001 # of its own class
        found.n_rows, found.first_row = inner.n_rows, inner.first_row
        return found


class SelectedReader(ReaderAround):
    """Some columns of a table, seen as a table to read."""

    def __init__(self, reader: Reader, columns: Sequence[str]) -> None:
        self._reader = reader
        self.columns = tuple(columns)
        self.dtypes = {name: reader.dtypes[name] for name in columns}
        self.n_rows = reader.n_rows
        self.orders = {name: order for name, order in reader.orders.items() if name in columns}

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        yield from self._reader.frames(columns, n_rows)


def check_lists(lists: Mapping[str, str]) -> None:
    """Raise unless each column of lists has a separator."""
    for name, separator in lists.items():
        if not isinstance(separator, str) or not separator:  # type: ignore[redundant-expr] # any caller's
            raise ParameterError(
                f"The separator of the lists of column {name!r} must be a text that isn't empty.",
                hint='Write lists={"bought": "|"}.',
            )


def joined_lists(frame: pl.DataFrame, lists: Mapping[str, str]) -> pl.DataFrame:
    """Return the frame with columns of lists as texts.

    Examples
    --------
    >>> frame = pl.DataFrame({"bought": [["milk", "bread"], [], None]})
    >>> joined_lists(frame, {"bought": "|"})["bought"].to_list()
    ['bread|milk', '', None]
    """
    made = [
        (_sort_items if frame.schema[name] == pl.String else _join_items)(frame[name], separator)
        for name, separator in lists.items()
        if name in frame.columns
        and (frame.schema[name] == pl.String or _is_list(frame.schema[name]))
    ]
    return frame.with_columns(made) if made else frame


class SetReader(ReaderAround):
    """A table whose columns of lists are texts in which each item stands once, in order."""

    def __init__(self, reader: Reader, lists: Mapping[str, str]) -> None:
        self._reader, self._lists = reader, dict(lists)
        self.columns, self.dtypes = reader.columns, reader.dtypes
        self.n_rows, self.orders = reader.n_rows, reader.orders

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        for frame in self._reader.frames(columns, n_rows):
            yield joined_lists(frame, self._lists)


def _sort_items(texts: pl.Series, separator: str) -> pl.Series:
    return _join_sets(texts.str.split(separator).list.set_difference([""]), separator)


def _join_sets(sets: pl.Series, separator: str) -> pl.Series:
    return sets.list.unique().list.sort().list.join(separator)


def _is_list(dtype: pl.DataType) -> bool:
    if not isinstance(dtype, pl.List | pl.Array):
        return False
    inner = dtype.inner
    return not (inner() if isinstance(inner, type) else inner).is_nested()


def _join_items(cells: pl.Series, separator: str) -> pl.Series:
    lists = cells.cast(pl.List(pl.String))
    items = lists.explode(empty_as_null=False).drop_nulls()
    broken = int((items.str.contains(separator, literal=True) | (items == "")).sum())
    if broken:
        raise DataError(
            f"Column {cells.name!r} has {broken} items of lists that are empty or hold the "
            "separator.",
            hint="Choose another separator under lists.",
        )
    return _join_sets(lists.list.drop_nulls(), separator)


#: A step that unifies spellings: outer spaces, Unicode form C, case.
Normalization: TypeAlias = Literal["trim", "nfc", "casefold"]
STEPS: tuple[Normalization, ...] = get_args(Normalization)


def check_steps(column: str, steps: object) -> tuple[Normalization, ...]:
    """Return the steps for a column in the order they are done, or raise a `ParameterError`."""
    given = list(steps) if isinstance(steps, Sequence) and not isinstance(steps, str) else [None]
    if any(step not in STEPS for step in given):
        raise ParameterError(
            f"The normalization of column {column!r} must be a list of {', '.join(STEPS)}.",
            hint='Write normalize = ["trim", "casefold"].',
        )
    return tuple(step for step in STEPS if step in given)


def normalized(texts: pl.Series, steps: Sequence[Normalization]) -> pl.Series:
    """Return texts in one spelling.

    Examples
    --------
    >>> normalized(pl.Series(["Flu", "flu ", None]), ["trim", "casefold"]).to_list()
    ['flu', 'flu', None]
    """
    different = texts.drop_nulls().unique()
    one = [_respell(text, steps) for text in different]
    return texts.replace_strict(different, pl.Series(one, dtype=pl.String), default=None).alias(
        texts.name
    )


def _respell(text: str, steps: Sequence[Normalization]) -> str:
    if "trim" in steps:
        text = text.strip()
    if "casefold" in steps:
        text = text.casefold()
    # Last: folded characters may compose again.
    return unicodedata.normalize("NFC", text) if "nfc" in steps else text


def spellings(texts: pl.Series, steps: Sequence[Normalization] = STEPS) -> int:
    """Return how many fewer different values there are once texts have one spelling."""
    different = texts.drop_nulls().unique()
    return different.len() - normalized(different, steps).n_unique()


def steps_needed(texts: pl.Series) -> tuple[Normalization, ...]:
    """Return the fewest steps that unify all spellings; empty if none is needed."""
    needed, found = STEPS, spellings(texts)
    if not found:
        return ()
    for step in STEPS:
        fewer = tuple(it for it in needed if it != step)
        if spellings(texts, fewer) == found:
            needed = fewer
    return needed


class NormalizedReader(ReaderAround):
    """A table whose columns of text are read in one spelling."""

    def __init__(
        self,
        reader: Reader,
        steps: Mapping[str, Sequence[Normalization]],
        missing: tuple[str, ...],
    ) -> None:
        self._reader, self._steps, self._missing = reader, dict(steps), missing
        self.columns = reader.columns
        self.dtypes = reader.dtypes
        self.n_rows = reader.n_rows
        self.orders = {
            name: self._normalize_order(name, order) for name, order in reader.orders.items()
        }

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        for frame in self._reader.frames(columns, n_rows):
            yield frame.with_columns(
                self._normalize(frame[name])
                for name in frame.columns
                if name in self._steps and frame[name].dtype == pl.String
            )

    def _normalize(self, texts: pl.Series) -> pl.Series:
        steps = self._steps[texts.name]
        plain = normalized(texts, [step for step in steps if step != "casefold"])
        plain = mark_missing(plain.to_frame(), self._missing).to_series()
        return normalized(plain, steps)

    def _normalize_order(self, name: str, order: tuple[str, ...]) -> tuple[str, ...]:
        if name not in self._steps:
            return order
        texts = normalized(pl.Series(order, dtype=pl.String), self._steps[name])
        return tuple(dict.fromkeys(texts))
