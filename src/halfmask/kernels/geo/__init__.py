"""Loops over points in space: the nearest ones, and the people within a distance."""

from __future__ import annotations

__all__: list[str] = []
