"""A masked table as a product: its files, claims, techniques, and what was measured."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from halfmask._progress import Progress, silent
from halfmask.claims import StatedMask, masked_details
from halfmask.claims._masked_manifest import MASKED
from halfmask.claims._weaknesses import weakness_sentence
from halfmask.data._object_folder import shared_folder
from halfmask.masks import TableMask
from halfmask.microdata._finite_numbers import finite
from halfmask.microdata._mask_section import stated_parameters
from halfmask.microdata._masked_rows import changed, released_columns
from halfmask.microdata._reporting import counted_in_words
from halfmask.microdata._writing import write_parts
from halfmask.release import Product, TableBlock, TextBlock, publish_verified

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halfmask.assess.masking import MaskingAssessment
    from halfmask.claims import Claim, DataFile, Manifest
    from halfmask.data._object_store import ObjectFolder
    from halfmask.microdata._masked_rows import MaskedRows
    from halfmask.release._page import AnyBlock
    from halfmask.verifier import CheckedRelease

#: What `MaskingAssessment.to_dict` has of risk; the rest is of utility.
RISK = frozenset(
    {"key_columns", "linkage", "linked_people", "linked_rows", "interval_disclosure", "uniqueness"}
)


def write_masked(  # what a release consists of
    rows: MaskedRows,
    claims: Sequence[Claim],
    measured: MaskingAssessment | None,
    out: str | Path,
    *,
    overwrite: bool,
    progress: Progress | None,
) -> tuple[Manifest, CheckedRelease]:
    """Write a masked table; see :meth:`halfmask.microdata.MaskedRelease.write`."""
    product = _product(rows, claims, measured, progress or silent, shared_folder(out))
    manifest, verification = publish_verified(product, out, overwrite=overwrite, progress=progress)
    return manifest, cast("CheckedRelease", verification)  # as of every masked table


def _product(
    rows: MaskedRows,
    claims: Sequence[Claim],
    measured: MaskingAssessment | None,
    progress: Progress,
    shared: ObjectFolder | None,
) -> Product:
    masks = _stated(rows)
    numbers = {} if measured is None else finite(measured.to_dict())

    def write(folder: Path) -> Sequence[DataFile]:
        return write_parts(rows, folder, progress, shared=shared)

    return Product(
        kind=MASKED,
        policy_sha256=rows.policy.sha256,
        write=write,
        claims=lambda _files: claims,
        weaknesses=_weaknesses(rows),
        blocks=[*_blocks(rows, masks), *_measured_blocks(rows, measured)],
        details=masked_details(
            n_in=rows.n_in,
            n_out=rows.n_out,
            columns=released_columns(rows),
            masks=masks,
            risk={name: it for name, it in numbers.items() if name in RISK},
            utility={name: it for name, it in numbers.items() if name not in RISK},
        ),
        software={"python": platform.python_version(), "polars": version("polars")},
    )


def _stated(rows: MaskedRows) -> list[StatedMask]:
    """Return the techniques in the order in which they were applied."""
    own = [
        StatedMask(name=each.name, columns=(name,), parameters=stated_parameters(each))
        for name, each in rows.policy.masks.items()
    ]
    more = [
        StatedMask(
            name=each.name,
            columns=each.columns if isinstance(each, TableMask) else (),
            parameters={k: v for k, v in stated_parameters(each).items() if k != "columns"},
        )
        for each in rows.policy.table_masks
    ]
    return own + more


def _weaknesses(rows: MaskedRows) -> list[str]:
    policy = rows.policy
    named = [word for each, _ in changed(rows) for word in each.weaknesses]
    named += [
        word
        for each in policy.table_masks
        if not isinstance(each, TableMask)
        for word in each.weaknesses
    ]
    named += ["no-privacy-model", "background-knowledge", "one-release"]
    if any(not policy.masks_of(name) for name in rows.columns):
        named.append("unmasked-columns")
    return [weakness_sentence(name) for name in dict.fromkeys(named)]


def _blocks(rows: MaskedRows, masks: Sequence[StatedMask]) -> list[AnyBlock]:
    """Return what was done: techniques in their order, and what became of each column."""
    steps = [[each.name, ", ".join(each.columns) or "rows", _in_words(each)] for each in masks]
    columns = [
        [name, rows.policy.columns[name].role.replace("_", "-"), _became(rows, name)]
        for name in rows.columns
    ]
    dropped = len(rows.source.columns) - len(rows.columns)
    kept = f"{rows.n_out:,} of {rows.n_in:,} rows; {dropped} identifiers dropped."
    return [
        TableBlock(title="Techniques", columns=("technique", "of", "parameters"), rows=steps),
        TableBlock(
            title="Columns", columns=("column", "role", "technique"), rows=columns, caption=kept
        ),
    ]


def _measured_blocks(rows: MaskedRows, measured: MaskingAssessment | None) -> Sequence[AnyBlock]:
    """Return what was measured, and on how many rows if not on all."""
    if measured is None:
        return ()
    warned = [TextBlock(title="Warning", sentences=[it]) for it in [measured.warning] if it]
    if measured.rows == rows.n_out:
        return (*warned, *measured.blocks())
    on = (
        f"Risk and utility were measured on {measured.rows:,} of {rows.n_out:,} rows, drawn at "
        "random. Groups have fewer rows there, so linkage is more frequent than among all rows."
    )
    return (*warned, TextBlock(title="Measured rows", sentences=[on]), *measured.blocks())


def _became(rows: MaskedRows, name: str) -> str:
    """Return the techniques of a column, and what they counted."""
    steps = ", then ".join(it.name for it in rows.policy.masks_of(name))
    if name in rows.table.counts:
        return f"{steps}; {counted_in_words(rows.table.counts[name])}"
    return steps or "released unchanged"


def _in_words(mask: StatedMask) -> str:
    """Return the parameters of a technique; tables of values stay in the policy."""
    return ", ".join(
        f"{name} = {value}"
        for name, value in mask.parameters.items()
        if not isinstance(value, dict)
    )
