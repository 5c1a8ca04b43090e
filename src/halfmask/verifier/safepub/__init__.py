"""Rows under differential privacy by sampling and suppression: the arithmetic, and k, again."""

from __future__ import annotations

__all__: list[str] = []
