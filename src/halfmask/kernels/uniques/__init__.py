"""Loops over sets of columns: the rows that are alone on each, and the pairs that it separates."""

from __future__ import annotations

__all__: list[str] = []
