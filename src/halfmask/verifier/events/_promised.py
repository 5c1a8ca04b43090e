"""Hold a manifest against what a policy promises, key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.claims import GuaranteeClaim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.claims import EventPromises
    from halfmask.claims._events_manifest import EventClaim

__all__ = ["differences", "promise_of"]


def differences(said: EventPromises, promised: EventPromises) -> Iterator[str]:
    """Yield a sentence for each thing in which a manifest isn't what a policy promises."""
    if (said.policy_sha256, said.release) != (promised.policy_sha256, promised.release):
        yield "The manifest names another policy than the one that was given."
    if said.fields != promised.fields:
        yield "The fields of the manifest aren't those that the policy writes."
    if said.claims != promised.claims:
        yield "The claims of the manifest aren't those that the policy makes."


def promise_of(claim: EventClaim) -> str:
    """Return in words what a claim promises of the lines: how many, and of which fields.

    Examples
    --------
    >>> promise_of(GuaranteeClaim(
    ...     model="k-m", k=5, m=2, fields=(("group", "[]", "ref"),), unit="event", fails="field"
    ... ))
    'k = 5, m = 2 of group[].ref'
    """
    if isinstance(claim, GuaranteeClaim):
        m = "" if claim.m is None else f", m = {claim.m}"
        return f"k = {claim.k}{m} of {', '.join(map(_field, claim.fields))}"
    least = [
        f"{count} {word}"
        for count, word in ((claim.least_events, "events"), (claim.least_entities, "entities"))
        if count is not None
    ]
    return f"{' and '.join(least)} by {', '.join((claim.window, *claim.by))}"


def _field(steps: Sequence[str]) -> str:
    return "".join(step if step == "[]" else f".{step}" for step in steps).removeprefix(".")
