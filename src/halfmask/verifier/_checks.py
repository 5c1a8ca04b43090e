"""CHECKS: how claims of kinds of release that are added are verified, by model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from halfmask._errors import ParameterError
from halfmask._validation import one_of
from halfmask.claims import Claim
from halfmask.claims._claim import BASES, Basis
from halfmask.claims._events_manifest import EVENTS
from halfmask.claims._manifest import PRIVATE_MICRODATA
from halfmask.claims._masked_manifest import MASKED
from halfmask.claims._synthetic_manifest import SYNTHETIC
from halfmask.claims._table_manifest import MICRODATA


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCount:
    """What a check found of one claim.

    Parameters
    ----------
    holds
        Whether the files meet the claim, and its evidence isn't better than the counts.
    found
        The numbers that the check counted or computed, by name.
    words
        The same in a sentence, which the claim's own lacks.
    cure
        What helps where the claim doesn't hold; empty: to make the release again.
    """

    holds: bool
    found: Mapping[str, float | int]
    words: str = ""
    cure: str = ""


#: A check takes a claim and the data files that it is about, in the manifest's order.
ReleaseCheck: TypeAlias = Callable[[Claim, tuple[Path, ...]], ClaimCount]

#: All checks, by kind of release and model of claim, each with the basis of what it finds. A model
#: that isn't here, or is claimed on another basis, fails its release.
CHECKS: dict[tuple[str, str], tuple[Basis, ReleaseCheck]] = {}


def add_check(kind: str, model: str, check: ReleaseCheck, *, basis: Basis) -> None:
    """Register the check of a model, for one kind of release.

    Parameters
    ----------
    kind, model
        `Manifest.kind` and `Claim.model`.
    check
        Reads the files on its own: it must share no code that counts with what made them.
    basis
        `Claim.basis` that it can bear out: what was measured is never verified as counted.

    Raises
    ------
    ParameterError
        If the model has a check already, because nobody may replace one; the basis is none, or
        ``"stated"``, which nothing bears out; or the kind is that of tables, masked tables or
        events.
    """
    one_of(tuple(it for it in BASES if it != "stated"), owner="add_check", basis=basis)
    if kind in {MICRODATA, EVENTS}:
        raise ParameterError(
            f"Claims of the kind {kind!r} are counted in one pass, not one by one.",
            hint="For a model of tables call halfmask.verifier.tables.register_check.",
        )
    if kind in {MASKED, SYNTHETIC, PRIVATE_MICRODATA}:
        raise ParameterError(
            f"Claims of the kind {kind!r} belong to the techniques that halfmask has.",
            hint="Give your releases a kind of their own.",
        )
    if (kind, model) in CHECKS:
        raise ParameterError("This model has a check already, and checks can't be replaced.")
    CHECKS[kind, model] = basis, check
