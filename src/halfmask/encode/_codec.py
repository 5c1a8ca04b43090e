"""The codec: encodes rows for training elsewhere, and decodes the predictions."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask._foreign import need
from halfmask.data import like, to_polars
from halfmask.encode._claims import claims_of, weaknesses_of
from halfmask.encode._codes import Codes
from halfmask.encode._plan_bytes import plan_to_bytes, read_codec
from halfmask.encode._planning import Planning
from halfmask.encode._predictions import (
    average_siblings,
    by_row,
    come_home,
    sibling_rows,
    warn_of_unseen,
)
from halfmask.encode._receipts import ROW_ID, EncodingReceipt, digest_of, known_number
from halfmask.encode._settings import CodecSettings, Roles
from halfmask.encode._summary import FitSummary
from halfmask.engines import LocalEngine
from halfmask.vault import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from halfmask.data import Schema
    from halfmask.encode._plan import CodecPlan
    from halfmask.encode._receipts import Number
    from halfmask.encode._settings import (
        Learner,
        LearnerClaim,
        Missing,
        OutOfRange,
        Precision,
        Rows,
        Task,
        Unseen,
        Weakness,
    )


@dataclass(kw_only=True, eq=False)
class Codec:
    """A reversible encoding of a table, made for a kind of learner.

    Encoded rows are plain columns of numbers that any framework trains on. :attr:`weaknesses` lists
    what stays visible. :attr:`claims` lists the learners whose predictions equal those of plain
    training (training without encoding).

    Parameters
    ----------
    learner
        ``"trees"`` sends ranks; ``"distances"`` rotates numeric columns (orthogonal matrix);
        ``"linear"`` multiplies them by an invertible matrix of condition at most 100;
        ``"networks"`` rotates them, and maps them non-linearly if ``strength`` is above 0.
    secret
        All keys are derived from it and from the fitted rows: the same secret and rows give the
        same plan. By default it is a fresh one that isn't kept.
    name
        Codecs of one secret and different names share no name, code, matrix or order.
    missing
        ``"visible"``: missing cells stay missing; with a matrix, a column of flags marks them.
        ``"hidden"``: they are coded like values, except in the target.
    unseen
        What to do with a category that the fit didn't see: ``"error"``, or ``"reserve"``: one code
        for all of them, which decodes to a missing cell.
    out_of_range
        ``"extrapolate"`` or ``"error"`` for numbers beyond those of the fit.
    rows
        ``"keyed"`` shuffles the rows of a batch, by the secret, the batch's number and its size.
        ``"kept"`` keeps their order.
    strength
        0 to 4: how strong the keyed non-linear map of ``"networks"`` is. Above 0 no learner keeps
        its predictions exactly.
    by
        A categorical feature; each of its values gets its own matrix.
    split
        Whether frequent categories are split into several codes of about equal frequency.
    min_sibling_rows
        How many fitted rows each of those codes has at least.
    precision
        ``"cell"``: each float comes back to 1e-12 of itself, or is refused. ``"column"``: to 1e-12
        of the largest magnitude of its column, so small values lose digits. Ranks are exact.

    See Also
    --------
    halfmask.encode.SeriesCodec : For time series.
    halfmask.hashing.KeyedHasher : One way, for a trainer that learns online.

    Guarantees
    ----------
    ``decode(encode(rows))`` returns equal integers, booleans, dates, times, decimals, 32-bit
    floats, whole numbers and categories. Other floats have a relative error of at most 1e-12 (0 for
    trees). A value that can't be decoded is refused by `encode`, or by `decode` if it is a tree's
    number that the fit didn't see. Encoded rows hold no name, category or text of the table.
    Nothing else is guaranteed: an attacker decodes rows from as many known rows as
    :attr:`weaknesses` states.

    Edge cases
    ----------
    NaN is missing, infinity is refused. Minus zero comes back as zero. Columns may come in another
    order and go back in the fitted one; a missing, additional or retyped column is an error. A
    table without rows is encoded to one, and can't be fitted.

    Sources: Zak, "Anonymizing datasets for machine learning": ``P = D_p(M'(E_a(A)))``.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"age": [41, 17, 30], "town": ["Bree", "Dale", "Bree"]})
    >>> codec = Codec(learner="trees").fit(rows)
    >>> encoded = codec.encode(rows)
    >>> encoded.dtypes, "age" in encoded.columns
    ([Int64, Int64], False)
    >>> codec.decode(encoded).equals(rows)
    True

    A target is encoded too, and predictions for encoded rows are decoded on your machine:

    >>> codec = Codec(learner="linear", missing="hidden", rows="kept", name="pay")
    >>> people = pl.DataFrame({"age": [41.0, 17.0, 30.0], "pay": [3.5, 1.0, 2.5]})
    >>> codec = codec.fit(people, target="pay")
    >>> sent = codec.encode_target(people)
    >>> codec.decode_predictions(sent.to_series()).round(9).to_list()
    [3.5, 1.0, 2.5]
    """

    learner: Learner
    secret: Secret | None = field(default=None, repr=False)
    name: str = "codec"
    missing: Missing = "visible"
    unseen: Unseen = "error"
    out_of_range: OutOfRange = "extrapolate"
    rows: Rows = "keyed"
    strength: float = 0.0
    by: str | None = None
    split: bool = False
    min_sibling_rows: int = 30
    precision: Precision = "cell"
    _fitted: CodecPlan | None = field(default=None, init=False, repr=False)
    _receipts: dict[EncodingReceipt, None] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        given = {it.name: getattr(self, it.name) for it in fields(CodecSettings)}
        self._settings = CodecSettings(**{**given, "by": self.by or ""})

    def fit(
        self,
        table: object,
        *,
        target: str | None = None,
        task: Task | None = None,
        schema: Schema | None = None,
    ) -> Self:
        """Learn the columns of a table, and make the plan.

        Parameters
        ----------
        table
            A frame of polars, pandas or pyarrow.
        target
            The column that is to be predicted.
        task
            ``"classification"`` or ``"regression"``; is required for a target of integers.
        schema
            What is declared about the columns. Without one, numbers and dates are numeric, and
            texts and truth values are categories.

        Raises
        ------
        SchemaError
            If a column can't be encoded: text of a schema, identifiers, infinite floats, numbers
            that no matrix could give back.

        Warns
        -----
        ColumnWarning
            If a column of text is nearly all numbers, dates or times, and no schema says what it
            is.
        """
        return self.fit_batches([table], target=target, task=task, schema=schema)

    def fit_batches(
        self,
        batches: Iterable[object],
        *,
        target: str | None = None,
        task: Task | None = None,
        schema: Schema | None = None,
    ) -> Self:
        """Fit as `fit` does, to a table that comes in batches.

        Parameters
        ----------
        batches
            Frames with the same columns, each read once.
        target, task, schema
            As of `fit`.
        """
        known = () if schema is None else schema.names
        frames: Iterator[pl.DataFrame] = map(to_polars, batches)
        first = next(frames, None)
        if first is None:
            raise SchemaError("There is no batch to fit a codec to.")
        roles = self._roles(first.schema, schema=schema, target=target, task=task)
        # An iterator that has ended lets its batch go; a list wouldn't.
        frames = chain(iter([first]), frames)
        del first
        summarize = partial(FitSummary.of, roles=roles, settings=self._settings, known=known)
        # One worker: polars uses all processors, and more would hold more batches.
        return self._planned(roles, LocalEngine(1).fold(frames, summarize, FitSummary.__add__))

    def _roles(
        self,
        dtypes: Mapping[str, pl.DataType],
        *,
        schema: Schema | None,
        target: str | None,
        task: Task | None,
    ) -> Roles:
        """Return the roles of columns; say before they are read what isn't installed."""
        need("numba", "scipy", "threadpoolctl")
        return Roles.of(dtypes, schema=schema, target=target, task=task)

    def _planned(self, roles: Roles, seen: FitSummary) -> Self:
        """Make the plan of what was seen of all rows, and warn of texts that are nearly numbers."""
        seen.watch.warn()
        secret = self.secret or Secret.fresh()
        planning = Planning(seen.summary, roles=roles, settings=self._settings, secret=secret)
        self._fitted = planning.plan()
        self._receipts = {}
        return self

    def encode(self, table: object, *, batch: int = 0, ids: bool = False) -> Any:  # noqa: ANN401 # the caller's library
        """Return the encoded rows, with the encoded target last where the table has it.

        Parameters
        ----------
        table
            Rows with the fitted features, in any order of columns.
        batch
            A number of the caller's, 0 to 2**64 - 1, for `decode` and `decode_predictions`, too:
            batches of the same number and size are ordered alike.
        ids
            Whether to put a column ``row_id`` first, for predictions of some rows or in another
            order. It is no feature: leave it out of training, and send it back with predictions.

        Returns
        -------
        A frame of the table's own library.

        Raises
        ------
        SchemaError
            If columns or types aren't those of the fit, a category was never seen, or a cell would
            not come back equal.
        """
        frame = to_polars(table)
        encoded = self.plan_.apply(frame, number=batch, ids=ids)
        digest = digest_of(encoded, self.plan_.tokens)
        self.remember(
            EncodingReceipt(first=batch, rows=(frame.height,), digests=(digest,), ids=ids)
        )
        return like(encoded, table)

    def encode_target(self, table: object, *, batch: int = 0) -> Any:  # noqa: ANN401 # as above
        """Return the encoded target alone, its rows in the order of `encode`'s.

        Parameters
        ----------
        table, batch
            As of `encode`.
        """
        frame = to_polars(table)
        column = self.plan_.encode_target(frame)
        order = self.plan_.order(frame.height, batch)
        self.remember(EncodingReceipt(first=batch, rows=(frame.height,)))
        return like((column if order is None else column[order]).to_frame(), table)

    def plain(self, table: object, *, batch: int = 0) -> Any:  # noqa: ANN401 # as above
        """Return the rows that a learner would get without encoding, to compare.

        Numeric columns are raw for trees, and standardised for other learners; categories
        are numbered in their order. Columns and rows stand in the order in which `encode` sends
        them, so that a learner breaks ties alike.

        Parameters
        ----------
        table, batch
            As of `encode`.

        Guarantees
        ----------
        Where :attr:`claims` say ``"exact"``, a learner trained on this predicts what the same
        learner, trained on `encode`'s rows and decoded, predicts.
        """
        frame = to_polars(table)
        plain = self.plan_.plain(frame)
        order = self.plan_.order(frame.height, batch)
        return like(plain if order is None else plain[order], table)

    def decode(self, encoded: object, *, batch: Number = "auto") -> Any:  # noqa: ANN401 # as above
        """Return the rows that encoded rows stand for, in their original order.

        Parameters
        ----------
        encoded
            What `encode` gave, with or without the target; other columns are left out.
        batch
            The number that `encode` took. ``"auto"`` takes it from `receipts_`, and 0 where there
            is none. ``None`` leaves rows in the order that they have.

        Raises
        ------
        KeyMismatchError
            If they have no column of this codec.
        SchemaError, DataError
            If columns or codes aren't those that this codec gave.

        Warns
        -----
        ColumnWarning
            If cells held categories that weren't there at the fit; they are missing.
        """
        frame = to_polars(encoded)
        tokens = self.plan_.tokens
        known = self._receipts and set(tokens) <= set(frame.columns)
        digest = digest_of(frame, tokens) if known else ""
        try:
            number = self._number(batch, "rows", frame.height, digest)
        except DataError:
            self.plan_.undo(frame, number=None)  # a damaged cell says more than a strange table
            raise
        rows = self.plan_.undo(frame, number=number)
        warn_of_unseen(self.plan_.unseen(frame))
        return like(rows, encoded)

    def decode_predictions(
        self,
        predictions: Any,  # noqa: ANN401 # arrays and frames
        *,
        batch: Number = "auto",
        rows: int | None = None,
    ) -> Any:  # noqa: ANN401 # as above
        """Return predictions as a model of the raw rows would have made them.

        Parameters
        ----------
        predictions
            For classes the predicted codes, or probabilities with a column for each code in
            ascending order; for a regression numbers. An array, a polars Series, or a frame, which
            may have the column ``row_id`` that `encode` sent.
        batch
            The number that `encode` took. ``"auto"`` takes it from `receipts_`. ``None`` leaves the
            rows in the order that they have.
        rows
            How many rows were encoded. Required with a ``batch`` of which there is no receipt.

        Returns
        -------
        Of a NumPy array, an array: classes, probabilities with a column for each of
        ``classes_``, or numbers. Of a polars Series, a Series; of a frame, a frame of its
        library. Probabilities of the codes of one split class are added up. Predictions with
        ``row_id`` come in the original order, after a column ``row``: the original place of each
        row, from 0.

        Raises
        ------
        DataError
            If there are other codes, or another number of columns, than the codec gave; if columns
            are named by codes that don't ascend; if no encoded table or several have as many rows,
            or there aren't ``rows``; if ids are not all of one table.

        Edge cases
        ----------
        Predictions without ids carry no key: those of another codec's model, or of shuffled rows,
        decode to wrong answers where their codes and number fit.
        """
        if not isinstance(predictions, np.ndarray | pl.Series | list):
            frame = to_polars(predictions)
            if ROW_ID in frame.columns:
                return like(by_row(self.plan_, frame, self.receipts_), predictions)
        number_of = partial(self._number, batch, "predictions", wanted=rows)
        return come_home(self.plan_, predictions, number_of=number_of)

    def encode_siblings(
        self, table: object, column: str, *, batch: int = 0
    ) -> tuple[Any, NDArray[np.float64]]:
        """Return each row once for every code of its value in a split column.

        The model elsewhere answers for all siblings, and `combine_siblings` makes one answer of
        them: the mean by the siblings' shares, which is what the model would know of the whole
        category.

        Parameters
        ----------
        table
            Rows as `encode` takes them.
        column
            A feature that was split.
        batch
            The batch's number.

        Returns
        -------
        encoded, shares
            A frame of the table's library, and an array (rows, 2) for `combine_siblings`: the
            number of the original row, and the share of its sibling.
        """
        frame = to_polars(table)
        encoded, shares = sibling_rows(self.plan_, frame, column)
        order = self.plan_.order(encoded.height, batch)
        if order is not None:
            encoded, shares = encoded[order], shares[order]
        return like(encoded, table), shares

    def combine_siblings(self, predictions: Any, shares: Any) -> Any:  # noqa: ANN401 # arrays
        """Return one decoded prediction for each row: the mean over its siblings.

        Parameters
        ----------
        predictions
            Numbers or probabilities that were predicted for `encode_siblings`' rows, as an array.
        shares
            What `encode_siblings` gave.
        """
        return average_siblings(self.plan_.target, np.asarray(predictions), np.asarray(shares))

    @property
    def classes_(self) -> list[Any]:
        """The target's original classes, in the order of decoded probabilities."""
        target = self.plan_.target
        if not isinstance(target, Codes):
            raise SchemaError("The codec was fitted to no target of classes.")
        return target.values.to_list()

    @property
    def target_name_(self) -> str:
        """What the target is called where it is encoded."""
        target = self.plan_.target
        if target is None:
            raise SchemaError("The codec was fitted without a target.")
        return target.token

    @property
    def receipts_(self) -> tuple[EncodingReceipt, ...]:
        """The receipts of encoded tables, by which `decode` finds the order of rows.

        `to_bytes` keeps those of tables that were encoded before it. A codec that was sealed
        earlier doesn't have them: give it those of files (``FileCount.receipt``) by `remember`.
        """
        return tuple(self._receipts)

    def remember(self, *receipts: EncodingReceipt) -> None:
        """Add receipts of tables that this codec encoded, in this process or another one.

        Parameters
        ----------
        receipts
            What `encode_file` and the like returned.
        """
        self._receipts.update(dict.fromkeys(receipts))

    def _number(
        self,
        batch: Number,
        what: Literal["rows", "predictions"],
        rows: int,
        digest: str = "",
        wanted: int | None = None,
    ) -> int | None:
        if wanted is not None and wanted != rows:
            raise DataError(f"There are {rows:,} {what} where {wanted:,} rows were encoded.")
        if batch is not None and batch != "auto":
            self.plan_.order(0, batch)  # refuses what is no number
        if not self.plan_.row_key:
            return None  # rows keep their order
        known = [it for it in self._receipts if len(it.rows) == 1]
        counted = wanted is not None
        return known_number(known, batch, rows=rows, what=what, digest=digest, counted=counted)

    @property
    def claims(self) -> tuple[LearnerClaim, ...]:
        """For which learners predictions equal those of plain training, and when."""
        return claims_of(self.plan_)

    @property
    def weaknesses(self) -> tuple[Weakness, ...]:
        """The weaknesses of the encoding, and how many known rows undo it."""
        return weaknesses_of(self.plan_)

    @property
    def publishable(self) -> bool:
        """Whether the codec may be published: never, it is the key."""
        return False

    def to_bytes(self) -> bytes:
        """Return plan, settings and receipts as bytes, to be sealed in a vault.

        The secret isn't in them: what has to be decoded needs the plan alone. Seal the codec again
        after it encoded a table, so that the table's receipt is in the vault.
        """
        return plan_to_bytes(self.plan_, self.receipts_)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the fitted codec that `to_bytes` gave, without the secret.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If these are no such bytes, or of another version.
        """
        plan, receipts = read_codec(data)
        parameters = {it.name: getattr(plan.settings, it.name) for it in fields(plan.settings)}
        codec = cls(**{**parameters, "by": plan.settings.by or None})
        codec._fitted = plan
        codec.remember(*receipts)
        return codec

    @property
    def plan_(self) -> CodecPlan:
        """The fitted plan. It is the key: keep it on your machine."""
        if self._fitted is None:
            raise ParameterError("The codec isn't fitted.", hint="Call fit first.")
        return self._fitted
