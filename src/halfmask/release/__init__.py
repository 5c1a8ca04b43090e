"""The envelope of a release: what a job hands over, written, verified, and only then named.

Start with `Product` and `publish`. A room for a new kind of release makes a `Product`, and adds a
check for each model of its claims to `halfmask.verifier`.
"""

from __future__ import annotations

from halfmask.release._page import BarsBlock, TableBlock, TextBlock
from halfmask.release._product import Product
from halfmask.release._publishing import publish, publish_verified

__all__ = ["BarsBlock", "Product", "TableBlock", "TextBlock", "publish", "publish_verified"]
