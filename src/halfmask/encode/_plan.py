"""A fitted codec: small, a value, applied batch by batch, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, KeyMismatchError, ParameterError, SchemaError
from halfmask._random import keyed_order
from halfmask._validation import integer_at_least
from halfmask.encode._codes import Codes
from halfmask.encode._receipts import row_ids
from halfmask.encode._scaling import Direction, score_without
from halfmask.encode._ticks import as_fitted, types_to_declare
from halfmask.engines import map_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from halfmask.encode._codes import Ranks
    from halfmask.encode._mix import Mix
    from halfmask.encode._scaling import NumberTarget
    from halfmask.encode._settings import CodecSettings

Column = TypeVar("Column")
# The number of a keystream has 64 bits.
_NUMBERS = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecPlan:
    """How rows are encoded, and everything that decodes them.

    Parameters
    ----------
    settings
        What was asked of the codec.
    names, dtypes
        The features at home, in the table's order, and their types.
    tokens
        The encoded columns, in the order in which they are sent, without the target.
    ranks, codes, mix
        How each feature is encoded.
    direction
        Along what frequent categories are split; ``None`` where none is.
    target
        How the target is encoded; ``None`` where there is none.
    row_key
        What orders the rows of a batch; empty where they keep their order.
    home
        All columns in the table's order, the target among them; empty in plans of 0.1.

    Guarantees
    ----------
    Applying it to a batch never looks at another batch. It holds values and keys: it belongs in a
    vault, never in a release, and its repr shows neither.
    """

    settings: CodecSettings
    names: tuple[str, ...]
    dtypes: tuple[pl.DataType, ...]
    tokens: tuple[str, ...]
    ranks: tuple[Ranks, ...]
    codes: tuple[Codes, ...]
    mix: Mix | None
    direction: Direction | None
    target: Codes | NumberTarget | None
    row_key: bytes
    home: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"CodecPlan(learner={self.settings.learner!r}, {len(self.names)} features)"

    @property
    def publishable(self) -> bool:
        """Whether the plan may be published: never, it is the key."""
        return False

    def apply(
        self, batch: pl.DataFrame, *, number: int = 0, threads: bool = True, ids: bool = False
    ) -> pl.DataFrame:
        """Return the encoded rows of a batch, with the target where the batch has it.

        Parameters
        ----------
        batch
            Rows with the fitted columns, in any order of columns.
        number
            Which batch it is: batches of one number and size are ordered alike.
        threads
            Whether columns and chunks of rows are encoded in threads of their own.
        ids
            Whether each row gets an id, in the first column.
        """
        encoded = self.encoded(batch, threads=threads)
        if ids:
            encoded = encoded.insert_column(0, row_ids(self.row_key, batch.height, number))
        order = self.order(batch.height, number)
        return encoded if order is None else encoded[order]

    def encoded(self, batch: pl.DataFrame, *, threads: bool = True) -> pl.DataFrame:
        """Return the encoded rows in the batch's own order.

        Parameters
        ----------
        batch
            A table with the fitted columns.
        threads
            Whether columns are encoded in threads.
        """
        batch = self.checked(batch)
        places = self._places(batch)
        scores = self._scores(batch, places)
        columns = _each(self.ranks, lambda it: it.encode(batch[it.name]), threads=threads)
        columns += _each(
            self.codes,
            lambda it: it.encode(places[it.name], self._score(it, scores)),
            threads=threads,
        )
        if self.mix is not None:
            columns += self.mix.encode(batch, places.get(self.mix.by), threads=threads)
        encoded = pl.DataFrame(columns).select(self.tokens)
        if self.target is not None and self.target.name in batch.columns:
            encoded = encoded.with_columns(self.encode_target(batch, scores))
        return encoded

    def plain(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the features without any key, in the order of the encoded columns.

        Parameters
        ----------
        batch
            A table with the fitted columns.
        """
        batch = self.checked(batch)
        columns = {ranks.token: batch[ranks.name] for ranks in self.ranks}
        for codes in self.codes:
            places = pl.Series(codes.name, codes.places(batch[codes.name]))
            columns[codes.token] = places.set(places < 0, None)
        if self.mix is not None:
            rows = self.mix.standard(batch)
            for place, one in enumerate(self.mix.columns):
                columns[self.mix.tokens[place]] = pl.Series(one.name, rows[:, place])
                if self.mix.flags[place]:
                    flag = batch[one.name].is_null().cast(pl.Int8)
                    columns[self.mix.flags[place]] = flag.alias(f"{one.name} is missing")
        return pl.DataFrame([columns[token] for token in self.tokens])

    def encode_target(
        self, batch: pl.DataFrame, scores: dict[str, NDArray[np.float64]] | None = None
    ) -> pl.Series:
        """Return the encoded target of a batch, in the batch's order of rows.

        Parameters
        ----------
        batch
            A table with the target, and the features if the target's codes need them.
        scores
            The scores of rows, where they are known already.
        """
        if self.target is None:
            raise SchemaError("The codec was fitted without a target.")
        if self.target.name not in batch.columns:
            raise ColumnNotFoundError.of([self.target.name], batch.columns, where="the table")
        split = isinstance(self.target, Codes) and self.target.is_split
        batch = self.checked(batch, features=split)
        column = batch[self.target.name]
        if not isinstance(self.target, Codes):
            return self.target.encode(column)
        score = None
        if self.target.is_split:
            scores = scores or self._scores(batch, self._places(batch))
            score = self._score(self.target, scores)
        return self.target.encode(self.target.places(column), score)

    def undo(
        self, encoded: pl.DataFrame, *, number: int | None = 0, threads: bool = True
    ) -> pl.DataFrame:
        """Return the rows that encoded rows stand for.

        Parameters
        ----------
        encoded
            Rows as `apply` gave them. The target may be left out.
        number
            The batch's number, to put its rows back in order; ``None`` keeps theirs.
        threads
            Whether columns and chunks of rows are decoded in threads of their own.
        """
        self._check_encoded(encoded)
        order = None if number is None else self.order(encoded.height, number)
        if order is not None:
            encoded = encoded[inverse(order)]
        coded: tuple[Ranks | Codes, ...] = (*self.ranks, *self.codes)
        decoded = _each(coded, lambda it: it.decode(encoded[it.token]), threads=threads)
        if self.mix is not None:
            decoded += self.mix.decode(encoded, self._groups(encoded), threads=threads)
        table = pl.DataFrame(decoded).select(self.names)
        if self.target is not None and self.target.token in encoded.columns:
            table = table.with_columns(self.target.decode(encoded[self.target.token]))
        return table.select(name for name in self.home or table.columns if name in table.columns)

    def unseen(self, encoded: pl.DataFrame) -> dict[str, int]:
        """Return how many cells of each column hold the code of categories never seen.

        Parameters
        ----------
        encoded
            Encoded rows.
        """
        counts = {
            codes.name: int((encoded[codes.token] == codes.reserved).sum())
            for codes in self.codes
            if codes.reserved >= 0
        }
        return {name: count for name, count in counts.items() if count}

    def order(self, n_rows: int, number: int) -> NDArray[np.int64] | None:
        """Return the order in which rows are sent; ``None`` where they keep theirs.

        Parameters
        ----------
        n_rows
            The number of rows of the batch.
        number
            The batch's number, which gives each batch an order of its own.

        Raises
        ------
        ParameterError
            If the batch's number is none of 64 bits.
        """
        integer_at_least(0, owner="Codec", batch=number)
        if number >= _NUMBERS:
            raise ParameterError("The 'batch' parameter of Codec has more than 64 bits.")
        return keyed_order(n_rows, key=self.row_key, stream=number) if self.row_key else None

    def checked(self, batch: pl.DataFrame, *, features: bool = True) -> pl.DataFrame:
        """Return the batch with the fitted types; see `as_fitted`.

        Parameters
        ----------
        batch
            The rows.
        features
            Whether they must have all features.

        Raises
        ------
        ColumnNotFoundError, SchemaError
            If it lacks a column or has other ones, or a value is none of its column's fitted type.
        """
        missing = [name for name in self.names if features and name not in batch.columns]
        if missing:
            raise ColumnNotFoundError.of(missing, batch.columns, where="the table")
        known = {*self.names, self.target.name if self.target is not None else ""}
        more = [name for name in batch.columns if name not in known]
        if more:
            raise SchemaError(
                f"The codec was not fitted to these columns: {', '.join(map(repr, more))}.",
                hint="Leave them out, or fit a codec to them.",
            )
        other = [
            as_fitted(batch[name], dtype)
            for name, dtype in self.schema.items()
            if batch.schema.get(name, dtype) != dtype
        ]
        return batch.with_columns(other) if other else batch

    def to_declare(
        self,
        found: Mapping[str, pl.DataType],
        *,
        format: str | None,  # noqa: A002 # the word for it
    ) -> dict[str, pl.DataType]:
        """Return the types to read a file's columns with so that none loses what it was.

        Parameters
        ----------
        found
            The types that the file's columns were read with.
        format
            The file's format, such as ``"csv"``; ``None`` for a frame.
        """
        return types_to_declare(found, self.schema, format=format)

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The fitted columns and their types, the target's among them."""
        schema = dict(zip(self.names, self.dtypes, strict=True))
        return schema if self.target is None else {**schema, self.target.name: self.target.dtype}

    def _check_encoded(self, encoded: pl.DataFrame) -> None:
        absent = [name for name in self.tokens if name not in encoded.columns]
        if len(absent) == len(self.tokens):
            raise KeyMismatchError(
                f"None of the {len(absent)} encoded columns of this codec is in the table.",
                hint="It was made by another codec, or by a fit with another secret or other rows.",
            )
        if absent:
            raise SchemaError(
                f"{len(absent)} of {len(self.tokens)} encoded columns are not in the table.",
                hint="Decode all of them: each may hold a part of each value.",
            )
        target = "" if self.target is None else self.target.token
        foreign = [
            name
            for name in (*self.tokens, target)
            if name in encoded.columns
            and not encoded.schema[name].is_numeric()
            and encoded[name].null_count() < encoded.height
        ]
        if foreign:
            raise SchemaError(
                f"{len(foreign)} encoded columns hold no numbers.",
                hint="Decode the encoded columns unchanged.",
            )

    def _places(self, batch: pl.DataFrame) -> dict[str, NDArray[np.int64]]:
        return {codes.name: codes.places(batch[codes.name]) for codes in self.codes}

    def _scores(
        self, batch: pl.DataFrame, places: Mapping[str, NDArray[np.int64]]
    ) -> dict[str, NDArray[np.float64]]:
        return {} if self.direction is None else self.direction.scores(batch, places)

    def _score(
        self, codes: Codes, scores: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64] | None:
        return score_without(scores, codes.name) if codes.is_split else None

    def _groups(self, encoded: pl.DataFrame) -> NDArray[np.int64] | None:
        if self.mix is None or not self.mix.by:
            return None
        codes = next(codes for codes in self.codes if codes.name == self.mix.by)
        return codes.decoded(encoded[codes.token])


def _each(
    columns: Iterable[Column], function: Callable[[Column], pl.Series], *, threads: bool
) -> list[pl.Series]:
    """Return the function of each column, made in threads or not."""
    return list(map_in_order(columns, function) if threads else map(function, columns))


def inverse(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order that undoes another."""
    undone = np.empty_like(order)
    undone[order] = np.arange(len(order))
    return undone
