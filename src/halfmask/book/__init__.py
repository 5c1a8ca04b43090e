"""The book of what left: the next release about the same people is checked before it leaves.

Start with `ReleaseBook`, which lies in the vault. A policy names it in ``[book]``; then
:meth:`halfmask.microdata.Release.write` checks the release against all that were booked, and books
it. `BookedRelease` is one line of it.
"""

from __future__ import annotations

from halfmask.book._booked_release import BookedRelease
from halfmask.book._people import BookedRows as BookedRows
from halfmask.book._release_book import ReleaseBook
from halfmask.book.section import BookSection as BookSection

# Public names are in `__all__`; the others are for other rooms.
__all__ = ["BookedRelease", "ReleaseBook"]
