"""Tables of counts and sums: protected as one system, and audited in full before they leave.

Start with `crosstab`, which makes and protects one table. `TablesPolicy` says which tables are
made and what is sensitive in them, and `halfmask.protect` makes a release by it.
"""

from __future__ import annotations

from halfmask.crosstabs._arrays import along as along
from halfmask.crosstabs._arrays import covers_of as covers_of
from halfmask.crosstabs._arrays import inner_places as inner_places
from halfmask.crosstabs._audit import propagated as propagated
from halfmask.crosstabs._cells import CellSystem as CellSystem
from halfmask.crosstabs._cells import build_equations as build_equations
from halfmask.crosstabs._changes import CrosstabChange as CrosstabChange
from halfmask.crosstabs._changes import crosstab_change as crosstab_change
from halfmask.crosstabs._crosstab import crosstab
from halfmask.crosstabs._dimension import CodeSum as CodeSum
from halfmask.crosstabs._dimension import Dimension
from halfmask.crosstabs._hierarchies import read_hrc
from halfmask.crosstabs._pattern import PublishedCells as PublishedCells
from halfmask.crosstabs._policy import TablesPolicy
from halfmask.crosstabs._release import read_originals as read_originals

# Public names are in `__all__`; the others are for other rooms.
__all__ = ["Dimension", "TablesPolicy", "crosstab", "read_hrc"]
