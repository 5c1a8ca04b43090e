"""Where a series stands: the next step, and what it looks back at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from halfmask._errors import KeyMismatchError
from halfmask.encode._archive import Archive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesState:
    """Behind which rows the next ones are encoded, decoded or forecast.

    A state is as secret as the rows are: it holds the last of them. Keep it in a vault.

    Parameters
    ----------
    codec
        Which fitted codec it is of.
    next
        The next step of each entity, counted from the codec's first time.
    history
        What each entity's columns look back at, entity by entity.
    """

    codec: str
    next: tuple[int, ...]
    history: tuple[NDArray[np.float64], ...]

    def __repr__(self) -> str:
        return f"SeriesState({len(self.next)} entities)"

    @property
    def publishable(self) -> bool:
        """Whether it may be published: never."""
        return False

    def check(self, codec: str) -> None:
        """Raise unless this is a state of the codec.

        Parameters
        ----------
        codec
            The identity of the codec.
        """
        if self.codec != codec:
            raise KeyMismatchError(
                "The state is of another codec.",
                hint="Take start_, state_ or after(...) of the codec that encoded the rows.",
            )

    def to_bytes(self) -> bytes:
        """Return it as bytes, to be sealed in a vault."""
        return _ARCHIVE.write(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the state that `to_bytes` wrote.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If these are no such bytes, or of another version.
        """
        state = _ARCHIVE.read(data)
        if not isinstance(state, cls):
            raise _ARCHIVE.unreadable()
        return state


_ARCHIVE = Archive(
    label="halfmask series state",
    version=1,
    kinds={"SeriesState": SeriesState},
    what="state of a series",
)
