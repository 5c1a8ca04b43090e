"""Verify a release of synthetic rows: its files, and the rules that every row keeps.

It shares no code with what drew the rows.
"""

from __future__ import annotations

__all__: list[str] = []
