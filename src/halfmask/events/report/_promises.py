"""What a policy promises of any output of it, so that a manifest can be held against the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfmask.events.report._fields import released_fields
from halfmask.events.running._claims import guarantee_claim
from halfmask.events.stages._aggregation import Aggregation

if TYPE_CHECKING:
    from halfmask.events.policy._policy import EventPolicy

__all__ = ["promises_of"]


def promises_of(policy: EventPolicy) -> dict[str, Any]:
    """Return what the manifest of any run of a policy has, whatever the run met.

    Parameters
    ----------
    policy
        Which: as you were given it by whom you trust.

    Returns
    -------
    dict
        ``policy``, ``fields`` and ``claims`` as a manifest has them, for `verify_release`: of
        claims what is promised, without what a run counts.

    Raises
    ------
    PolicyError
        If the policy can't be run.

    Examples
    --------
    >>> from halfmask.events import EventPolicy
    >>> policy = EventPolicy.from_toml('''
    ... halfmask-events = 1
    ... release = "orders-2014"
    ... [[rule]]
    ... path = "country"
    ... do = "keep"
    ... ''')
    >>> promised = promises_of(policy)
    >>> promised["policy"]["release"], [it["field"] for it in promised["fields"]]
    ('orders-2014', ['country'])
    """
    return {
        "policy": {"sha256": policy.sha256, "release": policy.release},
        "fields": [it.to_dict() for it in released_fields(policy)],
        "claims": _claims(policy),
    }


def _claims(policy: EventPolicy) -> dict[str, Any] | None:
    if policy.aggregates:
        return Aggregation(policy).claims()
    if not policy.guarantees:
        return None
    told = [guarantee_claim(policy, section, least=None) for section in policy.guarantees]
    return {"format": "halfmask events claims", "version": 1, "guarantees": told}
