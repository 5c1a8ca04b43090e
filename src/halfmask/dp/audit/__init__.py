"""Audits: lower bounds of epsilon from what a mechanism did, to compare with what it claims.

Start with :func:`audit_neighbours`, which runs a mechanism on two neighbouring tables, and
:func:`audit_canaries`, which takes one run with rows that were planted at random. An audit can
refute a claim. It can't prove one.
"""

from __future__ import annotations

from halfmask.dp.audit._lower_bounds import AuditedEpsilon, audit_canaries, audit_neighbours

__all__ = ["AuditedEpsilon", "audit_canaries", "audit_neighbours"]
