"""A file that came back: which of the encoded ones it belongs to, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from halfmask._errors import DataError
from halfmask._validation import integer_at_least
from halfmask.encode._batching import batch_number, batch_rows
from halfmask.encode._receipts import digest_of, known_number

if TYPE_CHECKING:
    import polars as pl

    from halfmask.data import Source
    from halfmask.encode._codec import Codec
    from halfmask.encode._plan import CodecPlan
    from halfmask.encode._receipts import EncodingReceipt, Number


class Returned:
    """Rows or predictions of an encoded file, put in order by what is known of that file."""

    def __init__(
        self,
        codec: Codec,
        source: Source,
        number: Number,
        *,
        what: Literal["rows", "predictions"],
        counted: bool,
    ) -> None:
        plan = codec.plan_
        self._tokens = plan.tokens
        self._receipt: EncodingReceipt | None = None
        self.number: int | None = None
        if isinstance(number, int):
            integer_at_least(0, owner="a file's decoding", number=number)
            number = batch_number(number, 0)
        if not plan.row_key:
            number = None  # rows keep their order
        # A frame that was encoded in memory is a file of one batch, where it fits.
        known = [it for it in codec.receipts_ if it.file or _is_file(it, source, plan)]
        first, digest = None, ""
        if number is not None and known and set(self._tokens) <= set(source.columns):
            first = next(iter(source.batches(batch_rows(plan))))
            digest = digest_of(first, self._tokens)
        try:
            found = known_number(
                known, number, rows=source.n_rows, what=what, digest=digest, counted=counted
            )
        except DataError:
            if first is not None and what == "rows":
                plan.undo(first, number=None)  # a damaged cell says more than a strange table
            raise
        if found is None:
            return
        self.number = found // batch_number(1, 0)
        if digest:
            alike = (it for it in known if it.first == found and it.digests[:1] == (digest,))
            self._receipt = next(alike, None)

    @property
    def is_checked(self) -> bool:
        """Whether the file itself says which encoded rows it belongs to."""
        return self._receipt is not None

    def order_of(self, number: int, batch: pl.DataFrame) -> int | None:
        """Return the number by which a batch is put in order; ``None`` to keep its order."""
        if self.number is None:
            return None
        if self._receipt is not None:
            place = number - batch_number(self.number, 0)
            if digest_of(batch, self._tokens) != self._receipt.digests[place]:
                raise DataError(
                    f"Batch {place + 1} of the file differs from what was encoded.",
                    hint="Rows were changed or put in another order: leave them in the order that "
                    "they have ([[number=None|--unordered]]).",
                )
        return number


def _is_file(receipt: EncodingReceipt, source: Source, plan: CodecPlan) -> bool:
    numbered = receipt.first % batch_number(1, 0) == 0
    return numbered and receipt.height == source.n_rows <= batch_rows(plan)
