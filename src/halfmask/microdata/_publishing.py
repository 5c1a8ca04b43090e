"""Publish a release: write it beside, count it again from disk, report, and give it its name."""

from __future__ import annotations

import datetime as dt
import platform
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from halfmask._errors import VerificationError
from halfmask._progress import Progress, silent
from halfmask.claims._manifest import MANIFEST_NAME, REPORT_NAME, write_manifest
from halfmask.claims._table_manifest import ReleasedColumn, RowCounts, SupportFile, TableManifest
from halfmask.claims._weaknesses import weakness_sentence
from halfmask.data import atomic_folder
from halfmask.microdata._claims import supports
from halfmask.microdata._report import render_report
from halfmask.microdata._reporting import report_facts
from halfmask.microdata._writing import file_sha256, write_parts
from halfmask.verifier.tables import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from halfmask.claims._manifest import DataFile
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._prepared import Prepared
    from halfmask.microdata._release import Release

__all__ = ["publish"]


def publish(
    release: Release, out: str | Path, *, overwrite: bool, progress: Progress | None
) -> Release:
    """Write a release; see :meth:`halfmask.microdata.Release.write`."""
    told = progress or silent
    prepared = release.prepared
    with atomic_folder(out, overwrite=overwrite, marker=MANIFEST_NAME) as folder:
        told("writing", 0.0)
        files = write_parts(prepared, folder, told)
        manifest = _manifest(release, files, _write_support(prepared, folder))
        _check_promised(prepared.policy, manifest)
        write_manifest(manifest, folder)
        told("verifying on disk")
        verification = verify(folder)
        verification.raise_if_broken()
        told("reporting")
        written = replace(release, manifest=manifest, verification=verification)
        page = render_report(report_facts(written, manifest, verification))
        (folder / REPORT_NAME).write_text(page, encoding="utf-8", newline="")
        # The page shows what was verified, so its hash can come into the manifest only now.
        manifest = replace(manifest, report_sha256=file_sha256(folder / REPORT_NAME))
        write_manifest(manifest, folder)
        written = replace(written, manifest=manifest)
    told("done", 1.0)
    return written


def _check_promised(policy: Policy, manifest: TableManifest) -> None:
    """Raise unless the manifest states the owner's roles and promises, all of them.

    The verifier believes what the manifest says a column is and what it claims.
    """
    roles = {name: said.role for name, said in policy.columns.items() if said.role != "identifier"}
    stated = {column.name: column.role for column in manifest.columns}
    promised = [(said.named, said.about, said.parameters) for said in policy.promises]
    claimed = [(claim.model, claim.column, dict(claim.parameters)) for claim in manifest.claims]
    known = {name for name, role in roles.items() if role == "quasi_identifier"}
    if (
        roles != stated
        or promised != claimed
        or any(set(claim.quasi_identifiers) != known for claim in manifest.claims)
    ):
        raise VerificationError(
            "The release doesn't state the roles and promises of its policy.",
            hint="This is a fault of halfmask, not of yours: please report it.",
        )


def _write_support(prepared: Prepared, folder: Path) -> tuple[SupportFile, ...]:
    files = []
    for support in supports(prepared.guarantees):
        path = folder / support.name
        path.parent.mkdir(exist_ok=True)
        path.write_text(support.text, encoding="utf-8", newline="")
        files.append(
            SupportFile(name=support.name, column=support.column, sha256=file_sha256(path))
        )
    return tuple(files)


def _manifest(
    release: Release, files: tuple[DataFile, ...], support: tuple[SupportFile, ...]
) -> TableManifest:
    prepared = release.prepared
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    return TableManifest(
        created=now.isoformat().replace("+00:00", "Z"),
        software={
            "halfmask": version("halfmask"),
            "python": platform.python_version(),
            "polars": version("polars"),
        },
        policy_sha256=prepared.policy.sha256,
        rows=RowCounts(
            n_in=prepared.n_in,
            n_out=prepared.n_out,
            n_suppressed=prepared.n_in - prepared.n_out,
        ),
        files=files,
        support=support,
        columns=tuple(_columns(prepared)),
        method=_method(prepared),
        claims=release.claims,
        weaknesses=tuple(_weaknesses(prepared)),
        risk=_plain(release.risk.to_dict()),
        utility=_plain(release.utility.to_dict()),
    )


def _columns(prepared: Prepared) -> list[ReleasedColumn]:
    masks = prepared.policy.masks
    written = dict(zip(prepared.plan.quasi_identifiers, prepared.plan.written, strict=True))
    columns = []
    for name in prepared.columns:
        column = prepared.schema[name]
        dtype = written[name].dtype if name in written else prepared.source.dtypes[name]
        columns.append(
            ReleasedColumn(
                name=name,
                role=column.role,
                kind=column.kind,
                recoding=prepared.plan.recoding_of(name).name if name in written else None,
                dtype=str(dtype),
                mask=masks[name].name if name in masks else None,
            )
        )
    return columns


def _method(prepared: Prepared) -> dict[str, Any]:
    said: dict[str, Any] = prepared.policy.method.model_dump(mode="json")
    return said


def _weaknesses(prepared: Prepared) -> list[str]:
    """Name what the promised models don't stop in this release."""
    plan = prepared.plan
    named = [word for name in plan.quasi_identifiers for word in plan.recoding_of(name).weaknesses]
    judged = {guarantee.column for guarantee in prepared.guarantees if guarantee.column}
    if any(name not in judged for name in prepared.schema.sensitive) or not judged:
        named.append("no-diversity")
    # What a guarantee says of a sensitive column is about its class, not about its own values.
    if prepared.schema.insensitive or prepared.schema.sensitive:
        named.append("other-columns")
    named += ["background-knowledge", "minimality", "one-release"]
    named += [word for mask in prepared.policy.masks.values() for word in mask.weaknesses]
    return [weakness_sentence(name) for name in dict.fromkeys(named)]


def _plain(values: Mapping[str, object]) -> dict[str, Any]:
    """Return numbers as JSON has them: an infinite one, or none, is null."""

    def walk(value: object) -> Any:  # noqa: ANN401 # JSON
        if isinstance(value, dict):
            return {str(name): walk(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [walk(each) for each in value]
        if isinstance(value, float) and value - value != 0:
            return None
        return value

    return {name: walk(value) for name, value in values.items()}
