"""Compare a manifest with what a policy guarantees, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims import GuaranteeClaim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.claims import EventGuarantees
    from halfmask.claims.event_claims import EventClaim


def differences(stated: EventGuarantees, required: EventGuarantees) -> Iterator[str]:
    """Yield a sentence for each difference between a manifest and its policy."""
    if (stated.policy_sha256, stated.release) != (required.policy_sha256, required.release):
        yield "The manifest names another policy than the one that was given."
    if stated.fields != required.fields:
        yield "The fields of the manifest aren't those that the policy writes."
    if stated.claims != required.claims:
        yield "The claims of the manifest aren't those that the policy makes."


def claim_text(claim: EventClaim) -> str:
    """Return a claim in words: how many at least, and of which fields.

    Examples
    --------
    >>> claim_text(GuaranteeClaim(
    ...     model="k-m", k=5, m=2, fields=(("group", "[]", "ref"),), unit="event", fails="field"
    ... ))
    'k = 5, m = 2 of group[].ref'
    """
    if isinstance(claim, GuaranteeClaim):
        m = "" if claim.m is None else f", m = {claim.m}"
        return f"k = {claim.k}{m} of {', '.join(map(_field, claim.fields))}"
    least = [
        f"{count} {word}"
        for count, word in ((claim.min_events, "events"), (claim.min_entities, "entities"))
        if count is not None
    ]
    return f"{' and '.join(least)} by {', '.join((claim.window, *claim.by))}"


def _field(steps: Sequence[str]) -> str:
    return "".join(step if step == "[]" else f".{step}" for step in steps).removeprefix(".")
