"""A protected table as a product: its files, claims and weaknesses, and a page of its own."""

from __future__ import annotations

import platform
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from halfmask._errors import VerificationError
from halfmask._progress import Progress, silent
from halfmask.claims._table_manifest import (
    MICRODATA,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    table_details,
)
from halfmask.claims._table_reader import table_manifest
from halfmask.claims._weaknesses import weakness_sentence
from halfmask.data._object_folder import shared_folder
from halfmask.engines import LocalEngine
from halfmask.masks import TableMask
from halfmask.microdata._claims import supports
from halfmask.microdata._finite_numbers import finite
from halfmask.microdata._mask_section import stated_masks, stated_parameters
from halfmask.microdata._person_file import PersonFile, check_person_file
from halfmask.microdata._report import render_report
from halfmask.microdata._reporting import report_facts
from halfmask.microdata._writing import write_parts
from halfmask.release import Product, publish_verified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.claims import ClassClaim, DataFile, Manifest
    from halfmask.data._object_store import ObjectFolder
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._prepared import Prepared
    from halfmask.microdata._release import Release
    from halfmask.verifier._verify import AnyVerification
    from halfmask.verifier.tables import Verification


def write_release(
    release: Release,
    out: str | Path,
    *,
    overwrite: bool,
    progress: Progress | None,
    persons: str | Path | None,
) -> Release:
    """Write a release; see :meth:`halfmask.microdata.Release.write`."""
    whose = None if release.prepared.persons is None else PersonFile()
    if persons is not None:
        check_person_file(Path(persons), Path(out), whose, overwrite=overwrite)
    # Looking for a folder for temporary files writes one: not where the disk may be full.
    with nullcontext("") if whose is None else tempfile.TemporaryDirectory() as aside:
        manifest, verification = publish_verified(
            _product(release, progress or silent, whose, Path(aside), shared_folder(out)),
            out,
            overwrite=overwrite,
            progress=progress,
        )
    if persons is not None and whose is not None:
        whose.write(Path(persons), manifest.files, overwrite=overwrite)
    return replace(
        release,
        manifest=table_manifest(manifest),
        verification=cast("Verification", verification),  # as of every table
    )


def _product(
    release: Release,
    progress: Progress,
    whose: PersonFile | None,
    aside: Path,
    shared: ObjectFolder | None,
) -> Product:
    prepared, linked = release.prepared, release.risk.linked
    columns = _columns(prepared)
    _check_stated(prepared.policy, columns, release.claims)

    def write(folder: Path) -> Sequence[DataFile]:
        files = write_parts(
            prepared,
            folder,
            progress,
            aside=None if whose is None else whose.add,
            shared=shared,
        )
        _write_support(prepared, folder)
        return files

    def page(manifest: Manifest, verification: AnyVerification) -> str:
        return render_report(report_facts(release, manifest, cast("Verification", verification)))

    def evidence(files: Sequence[DataFile]) -> dict[str, Any]:
        # Workers that wrote the files see them.
        # The files of a release for an object store are verified here, where their copies are.
        elsewhere = (
            prepared.is_divided and not isinstance(prepared.engine, LocalEngine) and shared is None
        )
        where: dict[str, Any] = {"engine": prepared.engine} if elsewhere else {}
        if whose is not None:
            whose.write(aside / "persons.parquet", files)
            return {"persons": aside / "persons.parquet", **where}
        if prepared.people is not None:
            return {"population": prepared.people, "hierarchies": prepared.trees, **where}
        return where

    return Product(
        kind=MICRODATA,
        policy_sha256=prepared.policy.sha256,
        write=write,
        claims=lambda _files: [claim.stated() for claim in release.claims],
        weaknesses=[*_weaknesses(prepared), *([] if linked is None else [linked.sentence])],
        details=_details(release, columns),
        software={"python": platform.python_version(), "polars": version("polars")},
        page=page,
        evidence=evidence,
    )


def _check_stated(
    policy: Policy, columns: Sequence[ReleasedColumn], claims: Sequence[ClassClaim]
) -> None:
    """Raise unless the manifest will state all of the owner's roles and guarantees.

    The verifier believes what the manifest says a column is and what it claims.
    """
    roles = {
        name: column.role for name, column in policy.columns.items() if column.role != "identifier"
    }
    stated = {column.bound_of or column.name: column.role for column in columns}
    asked = [
        (each.named, each.about, {k: v for k, v in each.parameters.items() if v is not None})
        for each in policy.guarantee_sections
    ]
    claimed = [(claim.model, claim.column, dict(claim.parameters)) for claim in claims]
    known = {column.name for column in columns if column.role == "quasi_identifier"}
    unit = "row" if policy.person is None else "person"
    if (
        roles != stated
        or asked != claimed
        or any(set(claim.quasi_identifiers) != known for claim in claims)
        or any(claim.unit != unit for claim in claims)
    ):
        raise VerificationError(
            "The release doesn't state the roles and guarantees of its policy.",
            hint="This is a fault of halfmask, not of yours: please report it.",
        )


def _write_support(prepared: Prepared, folder: Path) -> None:
    for support in supports(prepared.guarantees):
        path = folder / support.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(support.text, encoding="utf-8", newline="")


def _details(release: Release, columns: Sequence[ReleasedColumn]) -> dict[str, Any]:
    prepared = release.prepared
    return table_details(
        rows=RowCounts(
            n_in=prepared.n_in,
            n_out=prepared.n_out,
            n_suppressed=prepared.n_in - prepared.n_out,
        ),
        support=[
            SupportFile(name=each.name, column=each.column, sha256=each.sha256)
            for each in supports(prepared.guarantees)
        ],
        columns=columns,
        row_masks=[
            {"name": mask.name, **stated_parameters(mask)}
            for mask in prepared.policy.table_masks
            if not isinstance(mask, TableMask)
        ],
        method={
            **prepared.policy.method.model_dump(mode="json", exclude_none=True),
            **prepared.plan.partition.details(prepared.plan.quasi_identifiers),
        },
        risk=finite(release.risk.to_dict()),
        utility=finite(release.utility.to_dict()),
    )


def _columns(prepared: Prepared) -> list[ReleasedColumn]:
    known = prepared.plan.quasi_identifiers
    written = {series.name: series for series in prepared.plan.released}
    columns = []
    for name in prepared.columns:
        column = prepared.schema[name]
        mask, parameters = stated_masks(prepared.policy.masks_of(name))
        for released in prepared.plan.released_columns([name]):
            dtype = written[released].dtype if name in known else prepared.source.dtypes[name]
            columns.append(
                ReleasedColumn(
                    name=released,
                    role=column.role,
                    kind=column.kind,
                    recoding=prepared.plan.written_as(name).name if name in known else None,
                    dtype=str(dtype),
                    mask=mask,
                    mask_parameters=parameters,
                    bound_of=None if released == name else name,
                    range_step=_range_step(prepared, name),
                )
            )
    return columns


def _range_step(prepared: Prepared, name: str) -> float | str | None:
    """Return what the ends of a column's ranges are multiples of, where they aren't values."""
    grid = next((it.grid for it in prepared.plan.codings if it.column.name == name), None)
    if grid is None:
        return None
    return grid.unit if prepared.source.dtypes[name].is_temporal() else grid.step


def _weaknesses(prepared: Prepared) -> list[str]:
    """Name the weaknesses of the guarantees in this release."""
    plan = prepared.plan
    named = [word for name in plan.quasi_identifiers for word in plan.weaknesses_of(name)]
    judged = {guarantee.column for guarantee in prepared.guarantees if guarantee.column}
    if any(name not in judged for name in prepared.schema.sensitive) or not judged:
        named.append("no-diversity")
    # What a guarantee says of a sensitive column is about its class, not about its own values.
    if prepared.schema.insensitive or prepared.schema.sensitive:
        named.append("other-columns")
    named += [word for guarantee in prepared.guarantees for word in guarantee.weaknesses]
    named += ["background-knowledge", "minimality", "one-release"]
    policy = prepared.policy
    masks = (*policy.masks.values(), *policy.table_masks)
    named += [word for mask in masks for word in mask.weaknesses]
    return [weakness_sentence(name) for name in dict.fromkeys(named)]
