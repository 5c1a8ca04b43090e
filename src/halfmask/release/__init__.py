"""The envelope of a release: what a job hands over, written, verified, and only then named.

Start with `Release` and `ReleaseKind`: a room for a new kind adds one by `add_kind`, and a check
for each model of its claims to `halfmask.verifier`. A stream writes its output itself, and calls
`publish_beside`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from halfmask.release._kinds import add_kind
from halfmask.release._kinds import kind_named as kind_named
from halfmask.release._publishing import Published, publish_beside
from halfmask.release.briefing import Briefing
from halfmask.release.page import BarsBlock, PicturesBlock, TableBlock, TextBlock, html_page
from halfmask.release.release import Inputs, Release, ReleaseKind
from halfmask.release.row_files import RowFiles, WriteJob

if TYPE_CHECKING:
    from halfmask.release._reading import read_release

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "BarsBlock",
    "Briefing",
    "Inputs",
    "PicturesBlock",
    "Published",
    "Release",
    "ReleaseKind",
    "RowFiles",
    "TableBlock",
    "TextBlock",
    "WriteJob",
    "add_kind",
    "html_page",
    "publish_beside",
    "read_release",
]


def __getattr__(name: str) -> object:
    """Import what receivers read with when it is asked for: makers of releases need none of it."""
    if name != "read_release":
        raise AttributeError(f"module 'halfmask.release' has no attribute {name!r}")
    return importlib.import_module("halfmask.release._reading").read_release
