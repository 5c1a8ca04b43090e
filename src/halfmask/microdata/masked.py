"""The kind `masked`: rows behind masks alone, without classes."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError, SchemaError
from halfmask._random import key_or_fresh
from halfmask.assess.masking import arms, compare_masked
from halfmask.claims import MaskedDetails, RowsRead, StatedMask, released_columns_claim
from halfmask.claims.claim import weakness_sentence
from halfmask.claims.manifest import MASKED
from halfmask.data import frame_given, open_table
from halfmask.data.io.formats import is_object_address
from halfmask.data.io.object_folder import shared_folder
from halfmask.engines import LocalEngine
from halfmask.masks import ClaimingMask, TableMask
from halfmask.microdata._claims import drop_infinite
from halfmask.microdata._class_fit import redraw
from halfmask.microdata._masked_rows import MaskedRows, changed, draws_of, released_columns
from halfmask.microdata._moved_places import assess_moved
from halfmask.microdata._policy_checks import whose_columns, with_hierarchies
from halfmask.microdata._reporting import counted_in_words, suppressed_in_words
from halfmask.microdata._writing import write_parts
from halfmask.microdata.mask_section import stated_parameters
from halfmask.microdata.opening import behind_masks
from halfmask.release import Release, ReleaseKind, RowFiles, TableBlock, TextBlock
from halfmask.release.booking import Leaving, LeavingRows
from halfmask.release.briefing import ATTACK, Briefing, named
from halfmask.release.meanings import meanings
from halfmask.release.page import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask._progress import Progress
    from halfmask.assess.masking import MaskingAssessment, PlaceAssessment
    from halfmask.claims import Claim
    from halfmask.claims.claim import Json
    from halfmask.microdata._policy import Policy
    from halfmask.release import Inputs, WriteJob
    from halfmask.release.page import AnyBlock
    from halfmask.release.release import ShownTable

#: Risk and utility are measured on so many rows, about.
ASSESSED_ROWS = 100_000
#: With fewer rows an attack tells nothing.
LEAST_ROWS = 20
#: What `MaskingAssessment.to_dict` has of risk; the rest is of utility.
RISK = frozenset(
    {"key_columns", "linkage", "linked_people", "linked_rows", "interval_disclosure", "uniqueness"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskFacts:
    """What attacks found; ``None`` for a table of few rows, or if only tokens are released.

    Also of the points that masks moved, each pair of columns.
    """

    assessment: MaskingAssessment | None
    places: tuple[PlaceAssessment, ...] = ()


def make(table: object, policy: Policy, inputs: Inputs) -> Release[MaskFacts]:
    """Put masks before a table, and measure risk and utility."""
    engine, progress = inputs.engine or LocalEngine(), inputs.progress
    key = key_or_fresh(inputs.key)
    source = open_table(table, options=policy.read_options())
    schema = policy.schema()
    schema.check(source.columns)
    masks = with_hierarchies(policy.table_masks, schema)
    progress("masking")
    behind = behind_masks(source, policy, masks, inputs, key=key, engine=engine)
    rows = MaskedRows(policy=policy, table=behind, n_in=source.n_rows, key=key, engine=engine)
    if not rows.columns:
        raise SchemaError("Every column is an identifier, so nothing would be released.")
    progress("measuring risk and utility")
    assessment = None if inputs.unmeasured else _assess(rows, progress)
    places: tuple[PlaceAssessment, ...] = ()
    if rows.n_out >= LEAST_ROWS and not inputs.unmeasured:
        places = tuple(
            assess_moved(rows, share=min(1.0, ASSESSED_ROWS / rows.n_out), least=LEAST_ROWS)
        )
    if inputs.strict:
        _check_strict(rows, assessment, places)
    return Release(
        kind=KIND,
        policy=policy,
        claims=tuple(_claims(rows)),
        rows={"in": rows.n_in, "out": rows.n_out},
        facts=MaskFacts(assessment=assessment, places=places),
        source=rows,
        original=frame_given(table),
    )


@contextmanager
def files(release: Release[MaskFacts], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how files are written."""
    shared = shared_folder(str(job.out)) if is_object_address(job.out) else None
    yield RowFiles(
        write=lambda folder: write_parts(
            release.source.shuffled(), folder, job.progress, shared=shared
        )
    )


def details(release: Release[MaskFacts]) -> Mapping[str, Json]:
    """Return columns, techniques, risk and utility."""
    rows: MaskedRows = release.source
    facts = _published(release)
    measured = facts.assessment
    numbers = {} if measured is None else drop_infinite(measured.to_dict())
    places = [drop_infinite(it.to_dict()) for it in facts.places]
    return MaskedDetails(
        rows=RowsRead(n_in=rows.n_in, n_out=rows.n_out),
        columns=tuple(released_columns(rows)),
        masks=tuple(_stated_masks(rows)),
        risk={name: it for name, it in numbers.items() if name in RISK}
        | _of_places(places, ("columns", "risks", "attacks")),
        utility={name: it for name, it in numbers.items() if name not in RISK}
        | _of_places(places, ("columns", "utility"))
        | _of_suppressed(_suppressed_cells(release)),
    ).to_details()


def suppressed_of(release: Release[MaskFacts]) -> str | None:
    """Return how many cells of each column masks made missing, in words; ``None`` if none can."""
    cells = _suppressed_cells(release)
    return suppressed_in_words(cells, release.rows["out"]) if cells else None


def _suppressed_cells(release: Release[MaskFacts]) -> Mapping[str, int]:
    """Return how many cells of each released column masks made missing; of none if accounted."""
    rows: MaskedRows = release.source
    if any(it.basis == "accounted" for it in release.claims):
        return {}
    return {
        name: rows.table.suppressed[name] for name in rows.columns if name in rows.table.suppressed
    }


def _of_suppressed(cells: Mapping[str, int]) -> dict[str, Json]:
    return {"suppressed_cells": dict(cells)} if cells else {}


def _published(release: Release[MaskFacts]) -> MaskFacts:
    """Return what is measured, unless a guarantee holds for all that attackers know.

    Exact measures of the original rows aren't part of its arithmetic: only the owner gets them.
    """
    accounted = any(it.basis == "accounted" for it in release.claims)
    return MaskFacts(assessment=None) if accounted else release.facts


def _of_places(places: list[dict[str, Json]], names: Sequence[str]) -> dict[str, Json]:
    found: list[Json] = [{name: each[name] for name in names} for each in places]
    return {"places": found} if found else {}


def shown(release: Release[MaskFacts]) -> ShownTable:
    """Return each claim with its columns."""
    claims = [(it.sentence(), ", ".join(map(str, _columns_of(it)))) for it in release.claims]
    said = [f"Rows: {release.rows['in']:,} read."]
    if (suppressed := suppressed_of(release)) is not None:
        said.append(suppressed)
    return ("claim", "columns"), claims, said


def _claims(rows: MaskedRows) -> Iterator[Claim]:
    yield released_columns_claim(released_columns(rows), rows.n_out)
    for each, columns in changed(rows):
        if isinstance(each, ClaimingMask):
            yield from each.claims(columns, rows.read)


def _check_strict(
    rows: MaskedRows, assessment: MaskingAssessment | None, places: Sequence[PlaceAssessment]
) -> None:
    """Raise if people are found again, or it can't be known."""
    if assessment is None and _matchable_columns(rows):
        raise GuaranteeNotMetError(
            f"The release has {rows.n_out} rows. With fewer than {LEAST_ROWS}, attacks tell "
            "nothing, and strict asks for one that is resisted."
        )
    for each in (assessment, *places):
        if each is not None and each.warning is not None:
            raise GuaranteeNotMetError(
                each.warning, hint="Mask more columns, or mask them more coarsely."
            )


def _matchable_columns(rows: MaskedRows) -> list[str]:
    """Return the released columns of which an attacker with a person's values knows something."""
    return [
        name
        for name in rows.columns
        if all(each.is_matchable for each in rows.policy.masks_of(name))
    ]


def _columns_of(claim: Claim) -> Sequence[object]:
    columns = claim.about.get("columns")
    return columns if isinstance(columns, list) else []


def _assess(rows: MaskedRows, progress: Progress) -> MaskingAssessment | None:
    """Measure risk and utility on rows of which both states are known."""
    policy = rows.policy
    compared = _matchable_columns(rows)
    if rows.n_out < LEAST_ROWS or not compared:
        return None
    share = min(1.0, ASSESSED_ROWS / rows.n_out)
    before, after = (
        redraw(source, compared, share=share, engine=rows.engine)
        for source in (rows.table.unmasked, rows.table.masked)
    )
    known = [name for name in compared if policy.columns[name].role == "quasi_identifier"]
    label = next((name for name in compared if policy.columns[name].label), None)
    codes = [
        name
        for name in compared
        if policy.columns[name].kind == "categorical" and before.schema[name].is_numeric()
    ]
    return compare_masked(
        before,
        after,
        columns=compared,
        key_columns=known,
        target=label,
        categories=codes,
        weights=policy.sampling_weights,
        progress=progress,
    )


def _stated_masks(rows: MaskedRows) -> list[StatedMask]:
    """Return the techniques in the order in which they were applied."""
    own = [
        StatedMask(name=each.name, columns=(name,), parameters=stated_parameters(each))
        for name, each in rows.policy.masks.items()
    ]
    more = [
        StatedMask(
            name=each.name,
            columns=each.columns if isinstance(each, TableMask) else (),
            parameters={
                name: it
                for name, it in stated_parameters(each).items()
                if name != "columns" or not isinstance(each, TableMask)
            },
        )
        for each in rows.policy.table_masks
    ]
    return own + more


def weaknesses(release: Release[MaskFacts]) -> list[str]:
    """Name what the techniques don't protect from."""
    rows: MaskedRows = release.source
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


def leaving(release: Release[MaskFacts]) -> Leaving:
    """Return whose rows are released, and what was drawn for them; there are no classes."""
    rows: MaskedRows = release.source
    booking = release.booking
    names, matched = whose_columns(rows.policy, None if booking is None else booking.section)
    return Leaving(
        rows=LeavingRows(
            whose=rows.table.unmasked.read(columns=names),
            classes=np.full(rows.n_out, -1),
            sensitive=pl.DataFrame(),
            matched=matched,
            drawn=draws_of(rows.policy, rows.source, rows.key),
        )
    )


def briefing(release: Release[MaskFacts]) -> Briefing:
    """Return what masks changed, and what attacks found, for the officer who signs."""
    facts, rows = _published(release), release.source
    found = [each.warning for each in (facts.assessment, *facts.places) if each is not None]
    masked = [name for name in rows.columns if rows.policy.masks_of(name)]
    none = "Masks are no privacy model: nothing bounds how hard it is to find a person."
    accounted = any(it.basis == "accounted" for it in release.claims)
    ran = "Attacks ran when it was made: see Record linkage, below."
    return Briefing(
        protected=[*([] if accounted else [none]), *meanings(release.claims)],
        lost=[f"Masks changed {named(masked)}." if masked else "No column was changed."],
        remains=[*_worst(facts.assessment), *(each for each in found if each)],
        attacked=ran if facts.assessment else "",
        attack=ATTACK,
        unpictured="Columns have numbers in place of pictures, where something was measured.",
    )


def _worst(assessment: MaskingAssessment | None) -> Iterator[str]:
    """Yield what the best record linkage found, where the warning isn't about it."""
    worst = None if assessment is None else assessment.worst_linkage
    if assessment is None or worst is None or not assessment.key_columns:
        return
    raw = worst.positive_control
    before = "" if raw is None else f"; without masks, of {percent(raw.success.value)}"
    yield (
        "The best attack that ran knew the original rows, and found the rows of "
        f"{percent(arms(worst).value)} of people{before}."
    )


def blocks(release: Release[MaskFacts]) -> list[AnyBlock]:
    """Return techniques in their order, what became of each column, and what was measured."""
    rows: MaskedRows = release.source
    facts = _published(release)
    steps = [
        [each.name, ", ".join(each.columns) or "rows", _in_words(each)]
        for each in _stated_masks(rows)
    ]
    columns = [
        [name, rows.policy.columns[name].role.replace("_", "-"), _change_in_words(rows, name)]
        for name in rows.columns
    ]
    dropped = len(rows.source.columns) - len(rows.columns)
    what = "identifier" if dropped == 1 else "identifiers"
    kept = f"{rows.n_out:,} of {rows.n_in:,} rows; {dropped} {what} dropped."
    return [
        TableBlock(title="Techniques", columns=("technique", "of", "parameters"), rows=steps),
        TableBlock(
            title="Columns", columns=("column", "role", "technique"), rows=columns, caption=kept
        ),
        *_suppressed_blocks(_suppressed_cells(release), rows.n_out),
        *_measured_blocks(rows, facts.assessment),
        *(block for each in facts.places for block in (*_warned(each.warning), *each.blocks())),
    ]


def _suppressed_blocks(cells: Mapping[str, int], n_rows: int) -> Sequence[AnyBlock]:
    """Return how many cells of each column local suppression made missing."""
    if not cells:
        return ()
    counted = [[name, f"{n:,}", f"{n / n_rows:.1%}"] for name, n in cells.items()]
    return (
        TableBlock(
            title="Suppressed cells",
            columns=("column", "cells", "share of rows"),
            rows=counted,
            caption=f"{sum(cells.values()):,} cells were made missing by masks.",
        ),
    )


def _measured_blocks(rows: MaskedRows, measured: MaskingAssessment | None) -> Sequence[AnyBlock]:
    """Return what was measured, and on how many rows if not on all."""
    if measured is None:
        return ()
    warned = _warned(measured.warning)
    if measured.rows == rows.n_out:
        return (*warned, *measured.blocks())
    on = (
        f"Risk and utility were measured on {measured.rows:,} of {rows.n_out:,} rows, drawn at "
        "random. Groups have fewer rows there, so linkage is more frequent than among all rows."
    )
    return (*warned, TextBlock(title="Measured rows", sentences=[on]), *measured.blocks())


def _warned(warning: str | None) -> tuple[AnyBlock, ...]:
    return () if warning is None else (TextBlock(title="Warning", sentences=[warning]),)


def _change_in_words(rows: MaskedRows, name: str) -> str:
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


_ABOUT_CLASSES = "Leave it out, or add a guarantee: it is about classes."
KIND = ReleaseKind(
    name=MASKED,
    make=make,
    files=files,
    weaknesses=weaknesses,
    details=details,
    briefing=briefing,
    blocks=blocks,
    shown=shown,
    leaving=leaving,
    about="masks alone",
    refuses={
        "ledger": "Masks cost no budget: leave it out.",
        "persons": _ABOUT_CLASSES,
        "population": _ABOUT_CLASSES,
    },
    software=("python", "polars"),
)
