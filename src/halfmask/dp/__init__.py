"""Differential privacy: noise, accounting, and what is built on them.

Start with :mod:`halfmask.dp.noise`, whose mechanisms add noise and name the event that they cost,
and :mod:`halfmask.dp.accounting`, which composes events to one epsilon.

The neighbouring relation is "one row is added or removed" throughout, unless a docstring states
another one.
"""

from __future__ import annotations
