"""Geomasks: points that are moved, and what they have in common."""

from __future__ import annotations
