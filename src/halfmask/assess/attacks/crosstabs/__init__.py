"""Tables of counts and sums: hidden cells that are computed, and records that are inferred.

Attack a :class:`~halfmask.assess.attacks.CrosstabTarget`:

- :class:`Differencing`: cells by subtraction, with what was published before;
- :class:`HiddenCells`: cells by the middle of their feasibility intervals;
- :class:`RecordInference`: a category of single records, by a few published aggregates.
"""

from __future__ import annotations

from halfmask.assess.attacks.crosstabs._hidden_cells import Differencing, HiddenCells
from halfmask.assess.attacks.crosstabs._record_inference import RecordInference

__all__ = ["ATTACKS", "Differencing", "HiddenCells", "RecordInference"]

#: The attacks on tables of counts and sums.
ATTACKS = (Differencing, HiddenCells, RecordInference)
