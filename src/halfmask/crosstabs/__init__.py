"""Tables of counts and sums: protected as one system, and audited in full before they leave.

Start with `TablesPolicy`, which says which tables are made and what is sensitive in them, and
`halfmask.protect`, which makes the release.
"""

from __future__ import annotations

from halfmask.crosstabs._dimension import CodeSum, Dimension
from halfmask.crosstabs._policy import TablesPolicy

__all__ = ["CodeSum", "Dimension", "TablesPolicy"]
