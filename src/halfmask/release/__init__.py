"""The envelope of a release: what a job hands over, written, verified, and only then named.

Start with `Product` and `publish`. A room for a new kind of release makes a `Product`, and adds a
check for each model of its claims to `halfmask.verifier`. A stream writes its output itself, and
calls `publish_beside`.
"""

from __future__ import annotations

from halfmask.release._page import BarsBlock, PicturesBlock, TableBlock, TextBlock, html_page
from halfmask.release._product import Product
from halfmask.release._publishing import Published, publish, publish_beside, publish_verified

__all__ = [
    "BarsBlock",
    "PicturesBlock",
    "Product",
    "Published",
    "TableBlock",
    "TextBlock",
    "html_page",
    "publish",
    "publish_beside",
    "publish_verified",
]
