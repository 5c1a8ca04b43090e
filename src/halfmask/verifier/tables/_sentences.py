"""What was found, in words: column names, parameters and counts, never a cell's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from halfmask.claims._table_manifest import ClassClaim, TableManifest
    from halfmask.verifier.tables._findings import Finding
    from halfmask.verifier.tables._verification import ColumnSetCheck


def sentence_of(claim: ClassClaim, finding: Finding) -> str:
    """Return one sentence that says whether a claim holds, what was counted, and why not."""
    parameters = ", ".join(f"{name} = {value}" for name, value in claim.parameters.items())
    about = "" if claim.column is None else f" of column {claim.column!r}"
    about += " in persons" if claim.unit == "person" else ""
    verdict = "does not hold" if finding.reasons else "holds"
    if finding.unchecked is not None and not finding.reasons:
        verdict = "is not checked"
    sentence = (
        f"{claim.model} with {parameters}{about} over {len(claim.quasi_identifiers)} "
        f"quasi-identifiers {verdict}"
    )
    if finding.counted is not None:
        what = f"the worst of {finding.classes} classes reaches"
        if finding.of_table:
            what = f"the table of {finding.classes} classes reaches"
        sentence += f": {what} {finding.counted:.6g}"
        if claim.basis == "estimated":
            sentence += " by a model of the population"
        if finding.wildcard != finding.counted:
            sentence += f", and {finding.wildcard:.6g} with missing cells as wildcards"
    if finding.reasons:
        sentence += f" ({'; '.join(finding.reasons)})"
    elif finding.unchecked is not None:
        sentence += f" ({finding.unchecked})"
    return f"{sentence}."


def weaknesses_of(
    manifest: TableManifest, missing: Collection[str], *, unchanged: ColumnSetCheck | None = None
) -> tuple[str, ...]:
    """Name what no claim protects from."""
    diverse = {claim.column for claim in manifest.claims}
    sensitive = _names(manifest, "sensitive")
    unclaimed = [name for name in sensitive if name not in diverse]
    uncounted = _names(manifest, "insensitive")
    visible = [each.name for each in manifest.columns if each.name in missing]
    sentences = []
    if unclaimed:
        sentences.append(
            f"No claim bounds what a class reveals of the sensitive columns {_listed(unclaimed)}."
        )
    if unchanged is not None:
        masks = {it.name for it in manifest.columns if it.mask} & set(unchanged.columns)
        treated = "released unchanged or masked" if masks else "released unchanged"
        sentences.append(
            f"The {len(unchanged.columns)} columns that are {treated} are in no class: "
            f"{unchanged.unique:,} of {manifest.rows.n_out:,} rows are unique on them, and "
            f"{unchanged.under_k:,} are in classes under k = {unchanged.k}."
        )
    elif uncounted:
        sentences.append(
            f"The columns {_listed(uncounted)} are released as insensitive: nobody counted whether "
            "they single people out."
        )
    counted = set() if unchanged is None else set(unchanged.columns)
    masked = [it.name for it in manifest.columns if it.mask and it.name not in counted]
    if masked and unchanged is not None:
        sentences.append(
            f"The columns {_listed(masked)} have a mask by the manifest: nobody counted whether "
            "they single people out."
        )
    models = [claim.model for claim in manifest.claims if claim.basis == "estimated"]
    if models:
        sentences.append(
            f"The claims {_listed(models)} are estimates for the population: they hold as far as "
            "the rows were drawn from it at random and the model of the estimate fits."
        )
    if visible:
        sentences.append(f"nulls-visible: which cells are missing shows in {_listed(visible)}.")
    with_missing = [name for name in visible if name in sensitive]
    if with_missing:
        sentences.append(
            f"A missing cell counts as a value of its own in the sensitive columns "
            f"{_listed(with_missing)}; an attacker who knows the value can exclude it."
        )
    return tuple(sentences)


def _names(manifest: TableManifest, role: str) -> list[str]:
    return [each.name for each in manifest.columns if each.role == role]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
