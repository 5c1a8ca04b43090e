"""Differential privacy: noise, accounting, and what is built on them.

Start with :mod:`halfmask.dp.ledger`, which keeps the budget of a table, and
:mod:`halfmask.dp.queries`, which answers questions under it. :mod:`halfmask.dp.synthesis` draws
synthetic rows, and :mod:`halfmask.dp.safepub` releases rows of people. :mod:`halfmask.dp.noise` has
the mechanisms, which name the event that they cost; :mod:`halfmask.dp.accounting` composes events
to one epsilon.

The neighbouring relation is "one row is added or removed" throughout, unless a docstring states
another one.
"""

from __future__ import annotations
