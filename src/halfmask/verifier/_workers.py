"""Workers: what the verifier asks of an engine, whose code it doesn't share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Piece = TypeVar("_Piece")
_Found = TypeVar("_Found")


class Workers(Protocol):
    """Calls functions of the verifier elsewhere; every engine of `halfmask.engines` does."""

    def map(
        self, batches: Iterable[_Piece], apply: Callable[[_Piece], _Found], /
    ) -> Iterator[_Found]:
        """Yield the function of each piece, in their order."""

    def fold(
        self,
        batches: Iterable[_Piece],
        summarize: Callable[[_Piece], _Found],
        merge: Callable[[_Found, _Found], _Found],
        /,
    ) -> _Found:
        """Return what was found in all pieces, joined in their order."""
