"""The kind `microdata`: rows in classes that keep the guarantees of a policy."""

from __future__ import annotations

import re
import tempfile
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ColumnWarning, PolicyError
from halfmask._foreign import need
from halfmask._random import key_or_fresh
from halfmask.anonymize import MAX_ROWS, Protection, Summary
from halfmask.anonymize.reusing import open_plan
from halfmask.claims.manifest import MICRODATA
from halfmask.data import frame_given, open_table
from halfmask.data.io.formats import is_object_address
from halfmask.data.io.object_folder import shared_folder
from halfmask.description.proposal import repeated_identifiers
from halfmask.engines import LocalEngine
from halfmask.microdata._claims import (
    class_details,
    class_weaknesses,
    make_claims,
    merged_classes,
    released_guarantees,
    with_people,
    write_supports,
)
from halfmask.microdata._class_fit import fit_classes, redraw, summarize_table
from halfmask.microdata._class_measures import cell_extents, class_measures, label_counts
from halfmask.microdata._classed_rows import ClassedRows
from halfmask.microdata._detail_kept import detail_kept
from halfmask.microdata._learning import LEARNING_ROWS, learn
from halfmask.microdata._leaving_rows import fit_leaving, leaving, read_rows
from halfmask.microdata._outlined_places import generalized_places, outlined_places
from halfmask.microdata._person_file import PersonFile, check_person_file
from halfmask.microdata._report import render_report
from halfmask.microdata._reporting import report_facts
from halfmask.microdata._writing import write_parts
from halfmask.microdata.evaluation import (
    SEARCH_ROWS,
    ClassFacts,
    check_strict,
    evaluate_risk,
    evaluate_utility,
    released_columns_risk,
)
from halfmask.microdata.opening import (
    behind_masks,
    population_of,
    protection_of,
    schema_on,
)
from halfmask.release import Release, ReleaseKind, RowFiles
from halfmask.release.briefing import ATTACK, Briefing, named
from halfmask.release.meanings import stated_parameters
from halfmask.release.page import percent
from halfmask.verifier import VerifyInputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from halfmask.assess.utility import ModelUtility
    from halfmask.claims import DataFile, Manifest
    from halfmask.data import Schema, Source
    from halfmask.guarantees import Classes, Guarantee
    from halfmask.microdata._class_fit import ProtectionFit
    from halfmask.microdata._policy import Policy
    from halfmask.microdata.evaluation import ReleaseUtility
    from halfmask.release import Inputs, WriteJob
    from halfmask.release.release import ShownTable
    from halfmask.verifier import CheckedRelease

#: Parameters that the sentences of guarantees name by these letters.
_LETTERS: Final = {"k", "l", "m", "c", "t", "alpha", "beta", "delta"}


def make(table: object, policy: Policy, inputs: Inputs) -> Release[ClassFacts]:
    """Find classes that keep the guarantees, and measure what they cost."""
    need("numba", "scipy", "sklearn", "threadpoolctl")
    engine, key = inputs.engine or LocalEngine(), key_or_fresh(inputs.key)
    opened = open_table(table, options=policy.read_options())
    policy.schema().check(opened.columns)
    behind = behind_masks(opened, policy, policy.table_masks, inputs, key=key, engine=engine)
    source, unmasked = behind.masked, behind.unmasked
    schema = schema_on(policy, source)
    _warn_of_repeated(policy, source)
    people = population_of(inputs.population, policy, schema, source)
    protection = _reusing(protection_of(policy, schema, people), inputs)
    summary, sample, searched = _summarize_and_sample(source, policy, protection, key, inputs)
    fit_rows = partial(fit_classes, source, protection, summary, engine, inputs.progress)
    if inputs.book is None or not inputs.book.section.leave_out:
        fit, n_waiting = fit_rows(), 0
    else:
        rows = read_rows(policy, behind, schema, protection.guarantees, inputs.book.section)
        fit, n_waiting = fit_leaving(inputs.book, rows, fit_rows)
    released, class_of_cell = merged_classes(fit.plan, fit.counts.classes)
    placed = protection.placed_people(fit.plan)
    released = with_people(released, class_of_cell, placed, fit.counts)
    quasi_identifiers = fit.plan.released_columns(schema.quasi_identifiers)
    places = outlined_places(policy, fit.plan, fit.counts, quasi_identifiers)
    classed_rows = ClassedRows(
        policy=policy,
        schema=schema,
        table=behind,
        plan=fit.plan,
        guarantees=released_guarantees(fit.plan.guarantees, released),
        cells=fit.cells,
        n_in=source.n_rows,
        n_out=released.rows,
        key=key,
        engine=engine,
        mask_counts=behind.counts,
        suppressed=behind.suppressed,
        persons=fit.persons,
        people=None if placed is None or people is None else people.people,
        trees={} if placed is None else placed.trees,
        n_waiting=n_waiting,
        places=tuple(places),
    )
    inputs.progress("measuring risk and utility")
    columns = released_columns_risk(classed_rows, released, class_of_cell, sample=searched)
    if inputs.strict:
        check_strict(columns)
    return Release(
        kind=KIND,
        policy=policy,
        claims=(
            *make_claims(fit.plan.guarantees, released, quasi_identifiers),
            *places.values(),
        ),
        rows=classed_rows.counts,
        facts=ClassFacts(
            risk=evaluate_risk(
                fit.raw,
                released,
                rows=_distinct_rows(summary.rows, policy, schema),
                plan=fit.plan,
                extents=cell_extents(fit.plan, fit.counts),
                class_of_cell=class_of_cell,
                columns=columns,
                population=None if people is None else people.people,
            ),
            utility=_measure_utility(
                fit, released, protection, classed_rows, unmasked, (sample, searched)
            ),
        ),
        source=classed_rows,
        original=frame_given(table),
    )


def _reusing(protection: Protection, inputs: Inputs) -> Protection:
    """Take the classes of the earlier release that the book names, if it names one."""
    sealed = None if inputs.book is None else inputs.book.reused()
    return protection if sealed is None else replace(protection, reused=open_plan(sealed))


def _summarize_and_sample(
    source: Source,
    policy: Policy,
    protection: Protection,
    key: bytes,
    inputs: Inputs,
) -> tuple[Summary, pl.DataFrame, pl.DataFrame]:
    """Return the table's summary, a sample to compare models on, and one to search columns in."""
    found = summarize_table(
        source,
        protection,
        sampled=source.n_rows > MAX_ROWS,
        key=key,
        shares=(_learning_share(source, protection), min(1.0, SEARCH_ROWS / source.n_rows)),
        engine=inputs.engine or LocalEngine(),
        progress=inputs.progress,
    )
    _check_relaxed_cuts(policy, found.summary)
    compared, searched = found.samples
    return found.summary, compared, searched


def _measure_utility(
    fit: ProtectionFit,
    released: Classes,
    protection: Protection,
    classed_rows: ClassedRows,
    unmasked: Source,
    samples: tuple[pl.DataFrame, pl.DataFrame],
) -> ReleaseUtility:
    """Measure how much detail is kept, the classes, and the accuracy of models on a sample."""
    compared, searched = samples
    schema, suppressed = classed_rows.schema, classed_rows.n_in - classed_rows.n_out
    label = next((name for name in schema.label if name not in schema.quasi_identifiers), None)
    return evaluate_utility(
        fit.plan,
        released,
        raw_counts=fit.raw_counts,
        counts=fit.counts,
        detail=lambda loss: detail_kept(loss, protection, released, sample=searched),
        measures=class_measures(
            fit.plan,
            fit.counts,
            suppressed=suppressed,
            raw_sizes=fit.raw_released,
            labels=label_counts(classed_rows, label),
        ),
        suppressed=suppressed,
        model=_compare_models(compared, protection, classed_rows, unmasked, label),
        label=label,
        places=tuple(generalized_places(classed_rows.policy, fit.plan, fit.counts)),
    )


def _compare_models(
    sample: pl.DataFrame,
    protection: Protection,
    classed_rows: ClassedRows,
    unmasked: Source,
    label: str | None,
) -> ModelUtility | None:
    """Compare a model of released rows with one of raw rows; None without a label or rows."""
    if label is None or not sample.height:
        return None
    features = [name for name in classed_rows.columns if name not in classed_rows.schema.label]
    # Tokens stay in both arms: a new name for each value changes nothing of what can be learnt.
    masks_of = classed_rows.policy.masks_of
    masked = [
        name
        for name in (*features, label)
        if masks_of(name) and all(mask.is_matchable for mask in masks_of(name))
    ]
    raw = (
        redraw(
            unmasked,
            masked,
            share=_learning_share(unmasked, protection),
            engine=classed_rows.engine,
        )
        if masked
        else None
    )
    return learn(sample, protection, features=features, label=label, unmasked=raw)


def _learning_share(source: Source, protection: Protection) -> float:
    return min(1.0, LEARNING_ROWS / source.n_rows) if protection.schema.label else 0.0


def _distinct_rows(rows: pl.DataFrame, policy: Policy, schema: Schema) -> pl.DataFrame:
    """Return a row for each person and combination of quasi-identifiers, where people have many."""
    if policy.person is None:
        return rows
    return rows.unique([*schema.quasi_identifiers, policy.person])


def _warn_of_repeated(policy: Policy, source: Source) -> None:
    """Warn of identifiers whose values repeat where no person is named: guarantees count rows."""
    if policy.person is not None:
        return
    names = [name for name, column in policy.columns.items() if column.role == "identifier"]
    for name, (distinct, rows) in repeated_identifiers(source, names).items():
        warnings.warn(
            ColumnWarning(
                f"The identifier {name!r} has {distinct:,} different values in {rows:,} rows, and "
                "guarantees count rows: rows of one person pass as different people. If it says "
                "whose row it is, name it as person."
            ),
            stacklevel=5,
        )


def _check_relaxed_cuts(policy: Policy, summary: Summary) -> None:
    """Raise for relaxed Mondrian on a sample: it separates equal rows, and no plan can."""
    if not summary.complete and getattr(policy.method, "strict", True) is False:
        raise PolicyError(
            f"Relaxed Mondrian needs the table in memory; it has {summary.n_rows} rows.",
            hint="Use strict Mondrian, or Guided.",
        )


@contextmanager
def files(release: Release[ClassFacts], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how files are written, and the file of persons, which only the verifier reads."""
    classed_rows: ClassedRows = release.source
    person_file = None if classed_rows.persons is None else PersonFile()
    if job.persons is not None:
        check_person_file(Path(job.persons), Path(job.out), person_file, overwrite=job.overwrite)
    shared = shared_folder(str(job.out)) if is_object_address(job.out) else None
    done: list[DataFile] = []

    def write(folder: Path) -> Sequence[DataFile]:
        note_persons = None if person_file is None else person_file.add
        done.extend(
            write_parts(
                classed_rows.shuffled(), folder, job.progress, aside=note_persons, shared=shared
            )
        )
        write_supports(classed_rows, folder)
        return done

    # `tempfile` tests a folder by writing a file into it, which fails where the disk is full.
    with nullcontext("") if person_file is None else tempfile.TemporaryDirectory() as temporary:
        persons = Path(temporary, "persons.parquet")

        def evidence(files: Sequence[DataFile]) -> VerifyInputs:
            # Workers of a cluster verify the files that they wrote into a folder that all see.
            # Files for an object store have copies in a folder of this process: it verifies them.
            is_here = isinstance(classed_rows.engine, LocalEngine) or shared is not None
            if person_file is not None:
                person_file.write(persons, files)
            return VerifyInputs(
                persons=None if person_file is None else persons,
                population=classed_rows.people,
                hierarchies=None if classed_rows.people is None else classed_rows.trees,
                engine=None if is_here or not classed_rows.is_divided else classed_rows.engine,
            )

        yield RowFiles(write=write, evidence=evidence)
    if job.persons is not None and person_file is not None:
        person_file.write(Path(job.persons), done, overwrite=job.overwrite)


def weaknesses(release: Release[ClassFacts]) -> list[str]:
    """Name what the guarantees don't cover, and rows that other tables link."""
    linked = release.facts.risk.linked
    return [*class_weaknesses(release.source), *([] if linked is None else [linked.sentence])]


def details(release: Release[ClassFacts]) -> dict[str, Any]:
    """Return columns, method, risk and utility; refuse to state less than the owner wants."""
    return class_details(release.source, release.claims, release.facts)


def briefing(release: Release[ClassFacts]) -> Briefing:
    """Say who is in classes, what they lost and what an attacker finds, for the officer."""
    risk, utility, schema = release.facts.risk, release.facts.utility, release.source.schema
    before, after = (percent(it.prosecutor.highest.value) for it in (risk.before, risk.after))
    judged = {it.column for it in release.source.guarantees}
    bare = [name for name in schema.sensitive if name not in judged]
    finds = f"finds the row with a chance of {after} at most; before, of {before}."
    knows = "all quasi-identifiers of a person and no other column"
    remains = [f"An attacker who knows {knows} {finds}"]
    remains += [f"No guarantee covers what is sensitive in {named(bare)}."] if bare else []
    remains += [risk.columns.warning] if risk.columns.warning else []
    sought = (
        f"People whom an attacker looks for by {named(schema.quasi_identifiers)} (the "
        "quasi-identifiers). Rows that agree in all of them are a class."
    )
    return Briefing(
        protected=[
            sought,
            *map(_meaning, release.source.guarantees),
        ],
        lost=[
            utility.class_sizes.suppressed_sentence,
            f"Of the detail of the quasi-identifiers, {percent(1 - utility.loss.loss)} is kept.",
            *([] if utility.model is None else [utility.model.sentence]),
        ],
        remains=remains,
        attack=ATTACK,
    )


def _meaning(guarantee: Guarantee) -> str:
    """Return what a guarantee says of the rows, with its numbers in place of their letters."""
    given = {name: f"{it}" for name, it in guarantee.parameters.items()}
    letters = "|".join(sorted(_LETTERS & set(given))) or "(?!)"
    about = "" if guarantee.column is None else f" {guarantee.column}"
    said = guarantee.sentence.replace("k - 1", f"{guarantee.required - 1:,.0f}")
    said = re.sub(rf"\b({letters})\b(?!-)", lambda it: given[it[0]], said)
    said = said.replace("the column", f"the column{about}")
    return f"{said} ({guarantee.model}: {stated_parameters(given)})"


def page(release: Release[ClassFacts], manifest: Manifest, verification: CheckedRelease) -> str:
    """Return the report with what the verifier counted."""
    return render_report(report_facts(release, manifest, verification))


def shown(release: Release[ClassFacts]) -> ShownTable:
    """Return each guarantee with its level, and the risk before and after."""
    rows, risk = release.rows, release.facts.risk
    highest = [each.prosecutor.highest.value for each in (risk.before, risk.after)]
    reached = [
        (
            claim.model,
            ", ".join(f"{name} = {value}" for name, value in claim.parameters.items()),
            claim.column or "",
            f"{claim.evidence.achieved:g}",
            claim.evidence.classes,
        )
        for claim in release.claims
    ]
    return (
        ("guarantee", "parameters", "column", "reached", "classes"),
        reached,
        (
            f"Rows: {rows['in']:,} read, {rows['suppressed']:,} suppressed.",
            f"Highest prosecutor risk: {highest[0]:.1%} before, {highest[1]:.1%} after.",
        ),
    )


KIND = ReleaseKind(
    name=MICRODATA,
    make=make,
    files=files,
    weaknesses=weaknesses,
    details=details,
    briefing=briefing,
    page=page,
    shown=shown,
    leaving=leaving,
    about="guarantees of classes",
    refuses={"ledger": "They cost no budget: leave it out."},
    software=("python", "polars"),
)
