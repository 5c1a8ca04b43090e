"""Manifest and page of a copied database: what was counted, and what it doesn't protect from."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from halfmask.claims import REPORT_NAME, WEAKNESSES, Manifest, write_manifest
from halfmask.claims._manifest import DATABASE
from halfmask.microdata._mask_section import stated_parameters
from halfmask.release import TableBlock, TextBlock, html_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halfmask.claims._claim import Json
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


def _place(item: tuple[tuple[str, str], Mask]) -> tuple[str, str]:
    return item[0]


def write_report(
    folder: Path, policy: DatabasePolicy, plan: CopyPlan, counts: Sequence[TableCount]
) -> None:
    """Write ``manifest.json`` and ``report.html`` of a copy into a folder."""
    used: list[tuple[str, str, Mask | TableMask]] = [
        (table, column, mask) for (table, column), mask in sorted(plan.masks.items(), key=_place)
    ]
    used += [(it.name, ", ".join(mask.columns), mask) for it in plan.tables for mask in it.masks]
    weaknesses = sorted({word for _, _, mask in used for word in mask.weaknesses})
    said = tuple(f"{word}: {WEAKNESSES[word]}" for word in weaknesses)
    columns: list[Json] = [
        {
            "table": table,
            "column": column,
            "mask": mask.name,
            "parameters": stated_parameters(mask),
            "linked": (table, column) in plan.domains,
        }
        for table, column, mask in used
    ]
    manifest = Manifest(
        kind=DATABASE,
        created=dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        software={"halfmask": version("halfmask")},
        policy_sha256=policy.sha256,
        files=(),
        claims=(),
        weaknesses=said,
        details={
            "tables": [{"name": it.name, "rows": it.n_rows} for it in counts],
            "masks": columns,
            "foreign_keys": len(plan.foreign_keys),
            "left_out": list(plan.left_out),
            "subset": None if policy.subset is None else policy.subset.table,
        },
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
