"""Where a batch goes, and where it stands in its stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.trainer.client._batching import rebatched
from halfmask.trainer.client.content_key import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halfmask.hashing import HashedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlace:
    """Where a batch goes, and where it stands in its stream."""

    model: str
    stream: str
    number: int
    first_row: int

    def key(self, rows: HashedRows) -> bytes:
        """Return the batch's key."""
        return content_key(rows, stream=self.stream, model=self.model, first_row=self.first_row)


def placed(
    batches: Iterable[HashedRows], *, model: str, stream: str, n_rows: int
) -> Iterator[tuple[BatchPlace, HashedRows]]:
    """Yield batches of one size, each with its place."""
    first_row = 0
    for number, rows in enumerate(rebatched(batches, n_rows)):
        yield BatchPlace(model=model, stream=stream, number=number, first_row=first_row), rows
        first_row += len(rows)
