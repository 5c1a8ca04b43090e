"""The claims of any output of a policy, so that a manifest can be compared with the policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims import EventGuarantees
from halfmask.events.report._fields import released_fields
from halfmask.events.running._claims import guarantee_claim
from halfmask.events.stages._aggregation import Aggregation

if TYPE_CHECKING:
    from halfmask.claims.event_claims import EventClaim
    from halfmask.events.policy._policy import EventPolicy


def guarantees_of(policy: EventPolicy) -> EventGuarantees:
    """Return what the manifest of any run of a policy has, whatever the run met.

    Parameters
    ----------
    policy
        Which: as you were given it by whom you trust.

    Returns
    -------
    EventPromises
        What a manifest is held against by `verify_release`.

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
    >>> expected = guarantees_of(policy)
    >>> expected.release, [it.steps for it in expected.fields]
    ('orders-2014', [('.country',)])
    """
    if policy.aggregates:
        claims: tuple[EventClaim, ...] = Aggregation(policy).claims().claims
    else:
        claims = tuple(guarantee_claim(policy, it, least=None) for it in policy.guarantees)
    return EventGuarantees(
        policy_sha256=policy.sha256,
        release=policy.release,
        fields=released_fields(policy),
        claims=claims,
    )
