"""What every engine does: apply a function to each batch, or fold summaries of batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Batch = TypeVar("Batch")
#: What becomes of one batch: a summary, or a batch that a plan was applied to.
Part = TypeVar("Part")


class Engine(Protocol):
    """Runs functions of single batches: in threads here, or on other machines.

    Guarantees
    ----------
    Every engine gives the same results in the same order, and merges the same pairs. Batches are
    read one by one in the caller's thread, and a bounded number of them is held at once. The first
    error, in the order of the batches, is raised once; no later batch is read then.

    Functions must be defined in a module (or be a ``functools.partial`` of one that is), hold
    no open file, and may run more than once for the same batch.
    """

    @property
    def is_confidential(self) -> bool:
        """Whether nobody on a network can read what is sent to workers."""

    def map(self, batches: Iterable[Batch], apply: Callable[[Batch], Part], /) -> Iterator[Part]:
        """Yield the function of each batch, in the order of the batches.

        Parameters
        ----------
        batches
            The batches, read one by one.
        apply
            The function of a batch.
        """

    def fold(
        self,
        batches: Iterable[Batch],
        summarize: Callable[[Batch], Part],
        merge: Callable[[Part, Part], Part],
        /,
    ) -> Part:
        """Return the merged summaries of all batches; ``merge`` must be associative.

        Parameters
        ----------
        batches
            The batches, read one by one.
        summarize
            The function that makes a batch a summary.
        merge
            The function that adds up two summaries.

        Raises
        ------
        DataError
            If there is no batch.
        """
