"""A release of synthetic rows: its files opened as one table, in which each claim is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halfmask.claims import SyntheticDetails
from halfmask.verifier.checks import VerifiedKind
from halfmask.verifier.masked._masked_release import in_table, open_stated
from halfmask.verifier.synthetic._copied_rows import check_copied_rows, copies_of, open_originals
from halfmask.verifier.synthetic._synthetic_checks import SYNTHETIC_CHECKS, rules_lacking

if TYPE_CHECKING:
    from halfmask.claims import Claim, Manifest
    from halfmask.verifier.checks import ReleasedFiles

#: The model whose check takes the original rows.
COPIED_ROWS: Final = "copied-rows"


def _problems(files: ReleasedFiles) -> list[str]:
    """Open the files; say where they and the manifest don't agree.

    No identifier is released, and every rule that is stated has its claim. That the rows reveal
    nothing about the people they were learnt from does not follow.
    """
    manifest = files.manifest
    stated = SyntheticDetails.of(manifest)
    if files.given.originals is not None:
        open_originals(files.given.originals, stated.columns)  # a fault in it comes first
    files.table, faults = open_stated(files.path.parent, manifest.files, stated.columns)
    return _contradictions(manifest, stated) + faults


def _contradictions(manifest: Manifest, stated: SyntheticDetails) -> list[str]:
    """Say where the manifest doesn't agree with itself, and what may not be released."""
    problems = []
    if stated.rows.n_out != sum(each.n_rows for each in manifest.files):
        problems.append("The rows out are not the rows of the data files together.")
    if stated.rows.n_in != stated.rows.n_learnt + stated.rows.n_control:
        problems.append("The rows in are not those learnt from and those set aside.")
    if not stated.rows.n_out:
        problems.append("There are no rows, so nothing is released and nothing can be counted.")
    if len({each.name for each in stated.columns}) < len(stated.columns):
        problems.append("The manifest lists a column twice.")
    problems += [
        f"Column {each.name!r} is an identifier and is released."
        for each in stated.columns
        if each.role == "identifier"
    ]
    made = [(each.model, _columns(each)) for each in manifest.claims]
    models = {each.model for each in manifest.claims}
    problems += [
        f"The manifest lacks the claim {model!r}."
        for model in ("released-columns", _due(stated))
        if model is not None and model not in models
    ]
    judged = [it.parameters.get("copy") for it in manifest.claims if it.model == COPIED_ROWS]
    if judged and None not in judged and not set(copies_of(manifest.files)) <= set(judged):
        problems.append(f"The manifest lacks the claim {COPIED_ROWS!r} of a copy.")
    return problems + rules_lacking(stated.synthesis.parameters.get("rules"), made)


def _due(stated: SyntheticDetails) -> str | None:
    """Return the model that a release of its kind must claim."""
    if stated.synthesis.parameters.get("epsilon") is not None:
        return "differential-privacy"
    if stated.synthesis.extent == "hybrid" and stated.synthesis.parameters.get("k") is not None:
        return "hybrid-groups"
    return COPIED_ROWS if stated.synthesis.extent == "full" else None


def _columns(claim: Claim) -> list[str]:
    columns = claim.about.get("columns")
    return list(map(str, columns)) if isinstance(columns, list) else []


KIND: Final = VerifiedKind(
    checks={
        **{name: (basis, in_table(check)) for name, (basis, check) in SYNTHETIC_CHECKS.items()},
        COPIED_ROWS: ("counted", check_copied_rows),
    },
    inputs=frozenset({"originals"}),
    needs={COPIED_ROWS: ("originals",)},
    problems=_problems,
)
