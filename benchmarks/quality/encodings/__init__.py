"""The sections of `encoding.py`, one bar or family of bars a file.

Each has ``measure(*, quick, seed)``, which returns bars by name (value, goal, holds) and, under
``"tables"``, what it shows for people as Markdown.
"""

from __future__ import annotations
