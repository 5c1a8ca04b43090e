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
    from halfmask.release._exporting import check_export as check_export
    from halfmask.release._exporting import export_release
    from halfmask.release._imputing import impute_release
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
    "export_release",
    "html_page",
    "impute_release",
    "publish_beside",
    "read_release",
]

_WHERE = {
    "check_export": "_exporting",
    "export_release": "_exporting",
    "impute_release": "_imputing",
    "read_release": "_reading",
}


def __getattr__(name: str) -> object:
    """Import what receivers read with when it is asked for: makers of releases need none of it."""
    if name not in _WHERE:
        raise AttributeError(f"module 'halfmask.release' has no attribute {name!r}")
    return getattr(importlib.import_module(f"halfmask.release.{_WHERE[name]}"), name)
