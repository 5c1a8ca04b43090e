"""The envelope of a release: what a job hands over, written, verified, and only then named.

Start with `Release` and `ReleaseKind`: a room for a new kind adds one by `add_kind`, and a check
for each model of its claims to `halfmask.verifier`. A job without a policy hands a `Product` to
`publish`. A stream writes its output itself, and calls `publish_beside`.
"""

from __future__ import annotations

from halfmask.release._kinds import add_kind, kind_named
from halfmask.release._product import Product
from halfmask.release._publishing import Published, publish, publish_beside, publish_verified
from halfmask.release.page import BarsBlock, PicturesBlock, TableBlock, TextBlock, html_page
from halfmask.release.release import (
    Inputs,
    Release,
    ReleaseKind,
    RowFiles,
    WriteJob,
)

__all__ = [
    "BarsBlock",
    "Inputs",
    "PicturesBlock",
    "Product",
    "Published",
    "Release",
    "ReleaseKind",
    "RowFiles",
    "TableBlock",
    "TextBlock",
    "WriteJob",
    "add_kind",
    "html_page",
    "kind_named",
    "publish",
    "publish_beside",
    "publish_verified",
]
