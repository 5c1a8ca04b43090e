"""What a release tells the book of releases, and what the book says before it leaves.

The book is a room above this one, and kinds of release are above the book: they meet here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from halfmask.claims import Manifest


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)  # it has raw values
class LeavingRows:
    """The released rows: whose each is, its class, and what is sensitive of it.

    ``whose`` has the raw columns that say whose row it is. Where no column names the person, it has
    columns that others may know, and ``matched`` is true: the check is weaker then. ``drawn`` has
    the columns that a mask randomises, each with a digest of its draws: nobody gets a second draw
    where two releases have the same.
    """

    whose: pl.DataFrame
    classes: NDArray[np.int64]
    sensitive: pl.DataFrame
    matched: bool = False
    drawn: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Leaving:
    """What the book keeps of a release besides its manifest.

    ``rows`` is missing where nobody has rows in it, ``keeps_files`` is for tables, whose cells the
    next audit needs, and ``plan`` is what a later release may reuse.
    """

    rows: LeavingRows | None = None
    keeps_files: bool = False
    plan: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Departure:
    """A release that was checked against the book and isn't refused.

    ``sentences`` say on its page what was found, ``weaknesses`` what isn't protected. ``book``
    takes the manifest and the folder, right before the folder gets its name.
    """

    sentences: Sequence[str]
    weaknesses: Sequence[str]
    book: Callable[[Manifest, Path], object]


class Booking(Protocol):
    """How one release is booked: in which book, for whom, and above which floor."""

    @property
    def section(self) -> Any:  # noqa: ANN401 # a BookSection, whose room imports this one
        """What the owner wants: ``[book]`` of the policy."""

    def reused(self) -> bytes | None:
        """Return the plan of the earlier release that is to be reused, if one is named."""

    def waiting(self, rows: LeavingRows) -> NDArray[np.bool_]:
        """Return which rows must wait so that the floor holds; none if nobody may be left out."""

    def earlier_files(self) -> AbstractContextManager[Sequence[Path]]:
        """Yield folders with the tables that were released before."""

    def leaving(self, release: Any, out: str | Path) -> AbstractContextManager[Departure]:  # noqa: ANN401
        """Check a release, and yield how it is booked; raise where it is refused.

        Nobody else books while the context is open. When it ends well, the release has left.
        """
