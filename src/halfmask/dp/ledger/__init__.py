"""The ledger: one budget for all that is answered or learnt from a table.

Start with :meth:`PrivacyLedger.create`, which sets the budget of a table, then
:meth:`PrivacyLedger.charge`, which books what a mechanism costs before it runs. Questions in
:mod:`halfmask.dp.queries` and learners charge the same ledger. :func:`release_ledger` writes all
charges with the claim that they keep to the budget.
"""

from __future__ import annotations

from halfmask.dp._weaknesses import NOISE_UNSEEN as NOISE_UNSEEN
from halfmask.dp._weaknesses import OTHER_RELEASES as OTHER_RELEASES
from halfmask.dp._weaknesses import ROWS_NOT_PERSONS as ROWS_NOT_PERSONS
from halfmask.dp.ledger._charge import AnalystShare, Charge
from halfmask.dp.ledger._privacy_ledger import PrivacyLedger
from halfmask.dp.ledger._release_ledger import release_ledger
from halfmask.dp.ledger._terms import BudgetTerms, PrivacyUnit
from halfmask.dp.ledger._terms import checked_bounds as checked_bounds
from halfmask.dp.ledger._terms import fingerprint_of as fingerprint_of
from halfmask.dp.ledger._terms import rows_of_units as rows_of_units

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "AnalystShare",
    "BudgetTerms",
    "Charge",
    "PrivacyLedger",
    "PrivacyUnit",
    "release_ledger",
]
