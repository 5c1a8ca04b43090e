"""The pages, in the order of the work; each is loaded when it is opened."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from halfmask.workbench._page import Page

#: The title of each page by its name; the module is ``_NAME.py`` and ends with ``PAGE``.
PAGES: Final = {
    "data": "Data",
    "columns": "Columns",
    "protect": "Protect",
    "explore": "Explore",
    "compare": "Compare",
    "attack": "Attack",
    "release": "Release",
    "questions": "Questions",
    "verify": "Verify",
}


def page_named(name: str) -> Page | None:
    """Return the page of a name, if there is one."""
    if name not in PAGES:
        return None
    page: Page = importlib.import_module(f"halfmask.workbench.pages._{name}").PAGE
    return page
