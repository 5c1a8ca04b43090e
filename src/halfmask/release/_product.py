"""Product: what a job hands over to be released."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.claims import Claim, DataFile, Manifest
    from halfmask.claims.claim import Json
    from halfmask.release.page import AnyBlock
    from halfmask.verifier import CheckedRelease, VerifyInputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A release as its job hands it over; it knows nothing of classes or rows.

    Parameters
    ----------
    kind
        What it is, such as ``"counts"``; the checks of its claims are found by it.
    policy_sha256
        The hash of the policy that it was made by.
    write
        Writes the files under ``data/`` of the folder that it is given; returns their names and
        formats and rows, as `DataFile` has them.
    claims
        Returns the claims, from the files that were written.
    weaknesses
        Sentences that name what the release doesn't protect from.
    blocks
        What the page shows besides the claims: texts, tables, bars.
    details
        What only this kind has in its manifest, as JSON.
    software
        Names and versions of the programs that shaped it besides halfmask.
    page
        Makes a page of its own, as HTML, in place of the one of blocks: from the manifest, which
        lacks the page's hash yet, and from what the verifier found. It is called only for a
        release that holds.
    evidence
        Returns what claims are checked against and no release holds, from the files that were
        written.
    """

    kind: str
    policy_sha256: str
    write: Callable[[Path], Sequence[DataFile]]
    claims: Callable[[Sequence[DataFile]], Sequence[Claim]]
    weaknesses: Sequence[str]
    blocks: Sequence[AnyBlock] = ()
    details: Mapping[str, Json] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    page: Callable[[Manifest, CheckedRelease], str] | None = None
    evidence: Callable[[Sequence[DataFile]], VerifyInputs] | None = None
