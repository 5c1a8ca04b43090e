"""The result of a recount: of each claim, in words, whether it holds and what could be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halfmask.claims import GuaranteeClaim
from halfmask.claims.manifest import EVENTS
from halfmask.verifier._result import CheckedClaim, CheckedRelease

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.claims import EventGuarantees
    from halfmask.claims.claim import Json
    from halfmask.claims.event_claims import EventClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(CheckedClaim):
    """One claim about lines, recounted.

    Parameters
    ----------
    claim, holds, sentence, found, checked, cure
        As of `halfmask.verifier.CheckedClaim`.
    called
        Which: its kind, and number or name.
    counted
        What was counted: ``entities``, the claim itself; ``sessions`` or ``events``, at least one
        for each entity; ``cells``, the numbers in the lines; ``nothing``, if the lines don't say
        what is needed. Then only the manifest states it.
    least
        The smallest count that was found; None where there was nothing to count.
    failures
        How many classes, sets or cells had fewer than claimed.
    guarantee
        What is claimed, in words: how many at least, and for which fields. It comes from the
        claims, so a name in it may be any text.
    windows
        In how many windows that was counted; None of cells, which say their window.
    stated
        The smallest count that the run states as evidence; None if it states none.
    problem
        Why the evidence is false, in a sentence; empty if it isn't.
    unverified
        Which number of the claim or its evidence the lines can't confirm; empty if they can.
    """

    sentence: str = ""
    called: str
    counted: Literal["entities", "sessions", "events", "cells", "nothing"]
    least: int | None
    failures: int
    guarantee: str
    windows: int | None = None
    stated: int | None = None
    problem: str = ""
    unverified: str = ""

    def __post_init__(self) -> None:
        said = f"{self.called}: {self.guarantee}."
        if not self.holds:
            said = f"The claim {self.called!r} doesn't hold. {self.problem}".rstrip()
        object.__setattr__(self, "sentence", said)

    def to_dict(self) -> dict[str, Json]:
        """Return the check as a JSON object."""
        found: dict[str, Json] = {
            "windows": self.windows,
            "counted": self.counted,
            "least": self.least,
            "failures": self.failures,
        }
        return {
            **super(Check, self).to_dict(),
            "found": found,
            # As versions before 0.3 had it.
            "claim": self.called,
            "guarantee": self.guarantee,
            **found,
            "stated": self.stated,
            "problem": self.problem or None,
            "unverified": self.unverified or None,
        }


def lines_checked(checks: Sequence[Check], lines: int) -> CheckedRelease:
    """Return what was found of lines, whatever files they are in."""
    return CheckedRelease(
        kind=EVENTS, claims=tuple(checks), rows=lines, problems=(), weaknesses=(), of_lines=True
    )


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
