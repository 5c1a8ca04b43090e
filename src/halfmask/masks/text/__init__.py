"""Personal details in free text: searched for, counted by type, and replaced.

Start with :class:`TextRedaction`, a mask of a table. :func:`count_details` counts what a sample of
a column holds, for proposals. :class:`DetailSearch` searches single texts.

A new type of detail is a `DetailPattern` with its check, and a line in ``_search.py``.
"""

from __future__ import annotations

from halfmask.masks.text._names import KnownNames
from halfmask.masks.text._search import (
    DETAIL_TYPES,
    USUAL_TYPES,
    Detail,
    DetailSearch,
    count_details,
)
from halfmask.masks.text.redaction import TextRedaction

__all__ = [
    "DETAIL_TYPES",
    "USUAL_TYPES",
    "Detail",
    "DetailSearch",
    "KnownNames",
    "TextRedaction",
    "count_details",
]
