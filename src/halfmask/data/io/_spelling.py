"""Spellings of one value made one: blanks around a text, capitals, and forms of Unicode."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import polars as pl

from halfmask._errors import ParameterError
from halfmask.data._casts import mark_missing
from halfmask.data.io._reader import ReaderAround

if TYPE_CHECKING:
    from halfmask.data.io._reader import Reader

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
    one = [_one_spelling(text, steps) for text in different]
    return texts.replace_strict(different, pl.Series(one, dtype=pl.String), default=None).alias(
        texts.name
    )


def _one_spelling(text: str, steps: Sequence[Normalization]) -> str:
    if "trim" in steps:
        text = text.strip()
    if "casefold" in steps:
        text = text.casefold()
    # Last: folded characters may compose again.
    return unicodedata.normalize("NFC", text) if "nfc" in steps else text


def spellings(texts: pl.Series, steps: Sequence[Normalization] = STEPS) -> int:
    """Return how many fewer different values there are once texts have one spelling.

    Parameters
    ----------
    texts
        The values of a column.
    steps
        The steps that unify them.
    """
    different = texts.drop_nulls().unique()
    return different.len() - normalized(different, steps).n_unique()


def steps_needed(texts: pl.Series) -> tuple[Normalization, ...]:
    """Return the fewest steps that unify all spellings; empty if none is needed.

    Parameters
    ----------
    texts
        The values of a column.
    """
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
        self.orders = {name: self._ordered(name, order) for name, order in reader.orders.items()}

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames, as the table below does."""
        for frame in self._reader.frames(columns, n_rows):
            yield frame.with_columns(
                self._column(frame[name])
                for name in frame.columns
                if name in self._steps and frame[name].dtype == pl.String
            )

    def _column(self, texts: pl.Series) -> pl.Series:
        steps = self._steps[texts.name]
        plain = normalized(texts, [step for step in steps if step != "casefold"])
        plain = mark_missing(plain.to_frame(), self._missing).to_series()
        return normalized(plain, steps)

    def _ordered(self, name: str, order: tuple[str, ...]) -> tuple[str, ...]:
        if name not in self._steps:
            return order
        texts = normalized(pl.Series(order, dtype=pl.String), self._steps[name])
        return tuple(dict.fromkeys(texts))
