"""Kinds of release, and the check of each model that they claim: one registry for ours and others.

A kind says how its claims are counted: one by one, by the checks of `CHECKS`, or in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from halfmask._errors import ParameterError
from halfmask._validation import one_of
from halfmask.claims import Claim
from halfmask.claims.claim import BASES, Basis
from halfmask.claims.manifest import (
    DATABASE,
    EVENTS,
    MASKED,
    MICRODATA,
    PRIVACY_LEDGER,
    PRIVATE_ANSWER,
    PRIVATE_MICRODATA,
    PRIVATE_MODEL,
    SYNTHETIC,
    TABLES,
    folder_of,
    released_file,
)

if TYPE_CHECKING:
    import os

    from halfmask.claims import EventGuarantees, Manifest
    from halfmask.verifier._result import CheckedRelease
    from halfmask.verifier._workers import Workers


#: A folder with a file for each column, such as ``town.csv``; or a file, or its rows, by column.
HierarchyFiles: TypeAlias = "str | os.PathLike[str] | Mapping[str, object]"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyInputs:
    """What the owner of a release hands the verifier besides; see `halfmask.verify`.

    Parameters
    ----------
    persons, population, hierarchies, originals, copy, earlier, engine
        As of `halfmask.verify`.
    required
        What a policy guarantees of an output of events: the manifest must claim it.
    """

    persons: str | Path | None = None
    population: object = None
    hierarchies: HierarchyFiles | None = None
    originals: object = None
    copy: str | Path | None = None
    earlier: Sequence[str | Path] | None = None
    engine: Workers | None = None
    required: EventGuarantees | None = None

    def given(self) -> list[str]:
        """Return the names of the inputs that are there."""
        return [each.name for each in fields(self) if getattr(self, each.name) is not None]


#: Each input in words.
IN_WORDS: Final[Mapping[str, str]] = {
    "persons": "file of persons",
    "population": "population",
    "hierarchies": "hierarchies",
    "originals": "original rows",
    "copy": "copied database",
    "earlier": "earlier releases",
    "engine": "engine",
    "required": "policy of events",
}


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


class ReleasedFiles(tuple[Path, ...]):  # noqa: SLOT001 # a tuple has no room for slots
    """The data files of a release, in the manifest's order, and what goes with them."""

    #: Where the manifest is.
    path: Path
    manifest: Manifest
    #: What the owner handed over besides.
    given: VerifyInputs
    #: All files as one table, a polars.LazyFrame, where the kind opens them so.
    table: Any

    def __new__(cls, path: Path, manifest: Manifest, given: VerifyInputs) -> Self:
        """Return the files that are there of those that a manifest names."""
        there = (released_file(folder_of(path), each.name) for each in manifest.files)
        found = super().__new__(cls, (each for each in there if each is not None))
        found.path, found.manifest, found.given, found.table = path, manifest, given, None
        return found


#: A check takes a claim and the data files that it is about, in the manifest's order.
ReleaseCheck: TypeAlias = Callable[[Claim, ReleasedFiles], ClaimCount]
#: The basis of what a check finds, and the check.
Check: TypeAlias = tuple[Basis, ReleaseCheck]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedKind:
    """How releases of one kind are verified."""

    checks: Mapping[str, Check] = field(default_factory=dict)
    #: What of `VerifyInputs` they are checked against.
    inputs: frozenset[str] = frozenset()
    #: The inputs that a model can't be checked without.
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Says what is wrong besides the files and the claims, and opens what checks count in.
    problems: Callable[[ReleasedFiles], list[str]] = lambda _files: []
    #: Whether its folder has data files; a copied database is elsewhere.
    has_files: bool = True
    #: Verifies everything in one pass, where claims aren't counted one by one.
    whole: Callable[[ReleasedFiles], CheckedRelease] | None = None


#: Where each kind of ours says how it is verified: read when it is first asked for.
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    MICRODATA: ("tables._verify", "KIND"),
    MASKED: ("masked._masked_release", "KIND"),
    SYNTHETIC: ("synthetic._synthetic_release", "KIND"),
    PRIVATE_MICRODATA: ("safepub._safepub_release", "KIND"),
    PRIVATE_MODEL: ("_privacy_check", "KIND"),
    PRIVATE_ANSWER: ("_answer_check", "KIND"),
    PRIVACY_LEDGER: ("_privacy_check", "LEDGER_KIND"),
    EVENTS: ("events._release", "KIND"),
    DATABASE: ("_database_check", "KIND"),
    TABLES: ("crosstabs._release", "KIND"),
}
#: The checks that were added, by kind of release and model of claim. A model that has none here or
#: in its kind, or is claimed on another basis, fails its release.
CHECKS: dict[tuple[str, str], Check] = {}


def kind_of(name: str) -> VerifiedKind:
    """Return how releases of a kind are verified."""
    if name not in KINDS:
        return VerifiedKind()
    module, called = KINDS[name]
    kind: VerifiedKind = getattr(import_module(f"halfmask.verifier.{module}"), called)
    return kind


def check_of(kind: str, model: str) -> Check | None:
    """Return the check of a model for a kind of release, or None where it has none."""
    return kind_of(kind).checks.get(model) or CHECKS.get((kind, model))


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
        ``"stated"``, which nothing bears out; or the claims of the kind are counted in one pass, as
        those of protected tables and events are.
    """
    one_of(tuple(it for it in BASES if it != "stated"), owner="add_check", basis=basis)
    if kind_of(kind).whole is not None:
        raise ParameterError(
            f"Claims of the kind {kind!r} are counted in one pass, not one by one.",
            hint="For a model of tables call halfmask.verifier.tables.register_check.",
        )
    if check_of(kind, model) is not None:
        raise ParameterError("This model has a check already, and checks can't be replaced.")
    CHECKS[kind, model] = basis, check
