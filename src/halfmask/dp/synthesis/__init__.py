"""Synthetic rows under a budget: noisy tables of counts, a model that fits them, rows from it.

Start with :class:`PrivateSynthesizer`. What a column may hold is declared by :class:`NumberDomain`
or :class:`CategoryDomain`, never read off the data.
"""

from __future__ import annotations

from halfmask.dp.synthesis._adaptive_tables import epsilon_of_rho, rho_of
from halfmask.dp.synthesis.declared_domain import CategoryDomain, NumberDomain
from halfmask.dp.synthesis.private_synthesizer import PrivateSynthesizer

__all__ = ["CategoryDomain", "NumberDomain", "PrivateSynthesizer", "epsilon_of_rho", "rho_of"]
