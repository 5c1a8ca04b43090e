"""Manifest and page of a copied database: what was counted, and what it doesn't protect from."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from halfmask.claims import (
    REPORT_NAME,
    WEAKNESSES,
    Claim,
    CopiedMask,
    CopiedRows,
    DatabaseDetails,
    Manifest,
    write_manifest,
)
from halfmask.microdata.mask_section import stated_parameters
from halfmask.release import TableBlock, TextBlock, html_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from halfmask.databases._checking import TableCount
    from halfmask.databases._plan import CopyPlan
    from halfmask.databases._policy import DatabasePolicy
    from halfmask.masks import Mask, TableMask

_LEAD = (
    "The target was read again before it was committed.",
    "Each table has the rows of the source, or of its subset. Each foreign key leads to a row.",
    "Columns without a mask have the cells of the source. No token of text is one of them.",
    "Masks are no privacy model: nothing here says how hard it is to recognise a person.",
)


def write_report(
    folder: Path, policy: DatabasePolicy, plan: CopyPlan, counts: Sequence[TableCount]
) -> None:
    """Write ``manifest.json`` and ``report.html`` of a copy into a folder."""
    used: list[tuple[str, str, Mask | TableMask]] = [
        (table, column, plan.masks[table, column]) for table, column in sorted(plan.masks)
    ]
    used += [(it.name, ", ".join(mask.columns), mask) for it in plan.tables for mask in it.masks]
    weaknesses = sorted({word for _, _, mask in used for word in mask.weaknesses})
    said = tuple(f"{word}: {WEAKNESSES[word]}" for word in weaknesses)
    manifest = Manifest(
        kind=DatabaseDetails.kind,
        created=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        software={"halfmask": version("halfmask")},
        policy_sha256=policy.sha256,
        files=(),
        claims=tuple(_claims(plan, counts)),
        weaknesses=said,
        details=DatabaseDetails(
            tables=tuple(CopiedRows(name=it.name, rows=it.n_rows) for it in counts),
            masks=tuple(
                CopiedMask(
                    table=table,
                    column=column,
                    mask=mask.name,
                    parameters=stated_parameters(mask),
                    linked=(table, column) in plan.domains,
                )
                for table, column, mask in used
            ),
            foreign_keys=len(plan.foreign_keys),
            left_out=plan.left_out,
            subset=None if policy.subset is None else policy.subset.table,
        ).to_details(),
    )
    page = html_page(
        "A masked database",
        (
            TextBlock(title="What was counted", sentences=_LEAD),
            TableBlock(
                title="Tables",
                columns=("table", "rows", "columns", "with masks"),
                rows=[
                    (it.name, f"{it.n_rows:,}", str(it.n_columns), str(it.n_masked))
                    for it in counts
                ],
            ),
            TableBlock(
                title="Masks",
                columns=("table", "column", "mask"),
                rows=[(table, column, mask.name) for table, column, mask in used],
            ),
            TextBlock(title="What the copy lacks", sentences=plan.left_out or ("Nothing else.",)),
            TextBlock(title="What it doesn't protect from", sentences=said or ("See above.",)),
        ),
    )
    raw = page.encode()
    (folder / REPORT_NAME).write_bytes(raw)
    digest = hashlib.sha256(raw).hexdigest()
    write_manifest(replace(manifest, report_sha256=digest), folder)


def _claims(plan: CopyPlan, counts: Sequence[TableCount]) -> Iterator[Claim]:
    """Yield what was counted in the copy: rows, references, and cells that are the source's."""
    for each in counts:
        yield _counted("rows-of-table", {"table": each.name}, rows=each.n_rows)
    for key in plan.foreign_keys:
        mine = {"table": key.table, "columns": list(key.columns)}
        its = {"parent": key.parent, "parent_columns": list(key.parent_columns)}
        yield _counted("references-hold", {**mine, **its})
    for table in plan.tables:
        kept = [it.name for it in table.copied if it.name not in table.masked]
        if kept:
            yield _counted("unchanged-cells", {"table": table.name, "columns": kept})


def _counted(model: str, about: Mapping[str, Any], **parameters: int) -> Claim:
    return Claim(model=model, parameters=parameters, about=about, basis="counted", evidence={})
