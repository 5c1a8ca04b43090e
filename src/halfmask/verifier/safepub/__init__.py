"""Rows under differential privacy by sampling and suppression: the arithmetic, and k, again."""

from __future__ import annotations

from halfmask.verifier.safepub._safepub_release import check_private_rows

__all__ = ["check_private_rows"]
