"""The vault of the tests of events."""

from __future__ import annotations

from events.conftest import vault  # type: ignore[import-not-found] # beside, not in a package

__all__ = ["vault"]
