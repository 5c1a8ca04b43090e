"""Verify a release of synthetic rows: its files, and the rules that every row keeps.

Start with :func:`check_synthetic`. It shares no code with what drew the rows.
"""

from __future__ import annotations

from halfmask.verifier.synthetic._synthetic_release import check_synthetic

__all__ = ["check_synthetic"]
