"""Releases of masks alone: the claims of techniques, counted again from the files.

`MASK_CHECKS` has the check of each model. A check reads the released table alone: it knows no
technique and imports none.
"""

from __future__ import annotations

from halfmask.verifier.masked._masked_release import MASK_CHECKS, MaskCheck

__all__ = ["MASK_CHECKS", "MaskCheck"]
