"""The kind `database`: the tables of a schema copied through masks, whole or not at all."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ParameterError
from halfmask._random import key_or_fresh
from halfmask.claims import (
    MANIFEST_NAME,
    WEAKNESSES,
    Claim,
    CopiedMask,
    CopiedRows,
    DatabaseDetails,
)
from halfmask.claims.manifest import DATABASE
from halfmask.data import DatabaseUrl
from halfmask.data.io.atomic import check_new_folder
from halfmask.databases._checking import check_copy
from halfmask.databases._copying import CopyKeys, MaskFault, copy_table, mask_faults
from halfmask.databases._faults import raise_all
from halfmask.databases._plan import plan_of
from halfmask.databases._postgres_source import PostgresSource
from halfmask.databases._postgres_target import PostgresTarget, postgres_type
from halfmask.databases._protect import MaskedDatabase
from halfmask.databases._sqlite import sqlite_type
from halfmask.databases._sqlite_source import SqliteSource
from halfmask.databases._sqlite_target import SqliteTarget
from halfmask.databases._subset import check_references, kept_rows
from halfmask.masks.pseudonym import pseudonym_key
from halfmask.microdata.mask_section import stated_parameters
from halfmask.release import Release, ReleaseKind, RowFiles, TableBlock, TextBlock, html_page
from halfmask.release.briefing import Briefing, named
from halfmask.release.page import checked_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halfmask._progress import Progress
    from halfmask.claims import Manifest
    from halfmask.claims.claim import Json
    from halfmask.databases._checking import TableCount
    from halfmask.databases._plan import CopyPlan
    from halfmask.databases._policy import DatabasePolicy
    from halfmask.databases._schema import SourceDatabase, TableSchema, TargetDatabase
    from halfmask.databases._written import TypeName
    from halfmask.masks import Mask, TableMask
    from halfmask.release import Inputs, WriteJob
    from halfmask.verifier import CheckedRelease

_REPORT: Final = "report folder"
_LEAD: Final = (
    "The target was read again before it was committed.",
    "Each table has the rows of the source, or of its subset. Each foreign key leads to a row.",
    "Columns without a mask have the cells of the source. No token of text is one of them.",
    "Masks are no privacy model: nothing here says how hard it is to recognise a person.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseToCopy:
    """A database that is read once its copy is written, and then what was copied of it."""

    url: DatabaseUrl = field(repr=False)
    keys: CopyKeys
    plan: CopyPlan | None = None


def make(table: object, policy: DatabasePolicy, inputs: Inputs) -> Release[MaskedDatabase]:
    """Take the URL of a database; nothing is read before the copy is written."""
    if not isinstance(table, str):
        raise ParameterError(
            "By a policy of a database, its URL is protected, as text. "
            f"Got a {type(table).__name__}.",
            hint="Give postgresql://host/database?schema=name or sqlite:///path.",
        )
    vault_key = None if inputs.vault is None else pseudonym_key(inputs.vault)
    keys = CopyKeys(key=key_or_fresh(inputs.key), vault_key=vault_key)
    return Release(
        kind=KIND,
        policy=policy,
        claims=(),
        rows={},
        facts=MaskedDatabase(),
        source=DatabaseToCopy(url=DatabaseUrl.parse(table), keys=keys),
        copies=0,
    )


@contextmanager
def files(release: Release[MaskedDatabase], job: WriteJob) -> Iterator[RowFiles]:
    """Copy the tables into the target; it is committed when the report is complete."""
    given: DatabaseToCopy = release.source
    policy: DatabasePolicy = release.policy
    target, progress = DatabaseUrl.parse(str(job.out)), job.progress
    _check_urls(given.url, target)
    folder = f"{target.name}.report" if job.report is None else job.report
    check_new_folder(folder, overwrite=job.overwrite, marker=MANIFEST_NAME, what=_REPORT)
    if _place(target) == (str(Path(folder).resolve()), ""):
        raise ParameterError(
            "The report folder has the path of the copy.", hint="Give the report another name."
        )
    with ExitStack() as stack:
        progress("reading the schema")
        base, typed = open_source(given.url)
        stack.enter_context(closing(base))
        plan = plan_of(policy, _read_cell_types(base, policy), typed, base.others())
        progress("checking references")
        check_references(base, plan.foreign_keys)
        lists = _list_kept_rows(base, policy, plan, given.keys.key)
        made = _open_target(target, base, overwrite=job.overwrite)
        stack.enter_context(closing(made))
        counts = tuple(_copy_tables(base, made, plan, lists, given.keys, progress))
        counted = MaskedDatabase(
            tables=counts, n_references=len(plan.foreign_keys), left_out=plan.left_out
        )
        copied = replace(
            release,
            claims=tuple(_claims(plan, counted)),
            rows={"out": counted.n_rows},
            facts=counted,
            source=replace(given, plan=plan),
        )
        yield RowFiles(write=None, release=copied, folder=folder, commit=made.commit)


def _claims(plan: CopyPlan, counted: MaskedDatabase) -> Iterator[Claim]:
    """Yield what was counted in the copy: rows, references, and cells that are the source's."""
    for each in counted.tables:
        yield _counted_claim("rows-of-table", {"table": each.name}, rows=each.n_rows)
    for key in plan.foreign_keys:
        mine: dict[str, Json] = {"table": key.table, "columns": list(key.columns)}
        its: dict[str, Json] = {"parent": key.parent, "parent_columns": list(key.parent_columns)}
        yield _counted_claim("references-hold", {**mine, **its})
    for table in plan.tables:
        kept: list[Json] = [it.name for it in table.copied if it.name not in table.masked]
        if kept:
            yield _counted_claim("unchanged-cells", {"table": table.name, "columns": kept})


def _counted_claim(model: str, about: Mapping[str, Json], **parameters: int) -> Claim:
    return Claim(model=model, parameters=parameters, about=about, basis="counted", evidence={})


def weaknesses(release: Release[MaskedDatabase]) -> list[str]:
    """Name what the masks don't protect from."""
    words = {word for _, _, mask in _used_masks(release) for word in mask.weaknesses}
    return [f"{word}: {WEAKNESSES[word]}" for word in sorted(words)]


def details(release: Release[MaskedDatabase]) -> Mapping[str, Json]:
    """Return tables and masks, and what the copy lacks."""
    counted, subset = release.facts, release.policy.subset
    plan = _plan(release)
    return DatabaseDetails(
        tables=tuple(CopiedRows(name=it.name, rows=it.n_rows) for it in counted.tables),
        masks=tuple(
            CopiedMask(
                table=table,
                column=column,
                mask=mask.name,
                parameters=stated_parameters(mask),
                linked=(table, column) in plan.domains,
            )
            for table, column, mask in _used_masks(release)
        ),
        foreign_keys=counted.n_references,
        left_out=counted.left_out,
        subset=None if subset is None else subset.table,
    ).to_details()


def page(release: Release[MaskedDatabase], manifest: Manifest, verification: CheckedRelease) -> str:
    """Return the report: what was counted as the copy was made, which the folder doesn't hold."""
    del verification  # it saw neither source nor copy
    counted = release.facts
    summary, record = release.opening(manifest)
    return html_page(
        "A masked database",
        (
            *summary,
            TextBlock(title="What was counted", sentences=_LEAD),
            TableBlock(
                title="Tables",
                columns=("table", "rows", "columns", "with masks"),
                rows=[
                    (it.name, f"{it.n_rows:,}", str(it.n_columns), str(it.n_masked))
                    for it in counted.tables
                ],
            ),
            TableBlock(
                title="Masks",
                columns=("table", "column", "mask"),
                rows=[(table, column, mask.name) for table, column, mask in _used_masks(release)],
            ),
            TextBlock(
                title="What the copy lacks", sentences=counted.left_out or ("Nothing else.",)
            ),
            TextBlock(
                title="What it doesn't protect from",
                sentences=manifest.weaknesses or ("See above.",),
            ),
            *checked_blocks(release.checked),
            *record,
        ),
    )


def _plan(release: Release[MaskedDatabase]) -> CopyPlan:
    plan: CopyPlan = release.source.plan
    return plan


def _used_masks(release: Release[MaskedDatabase]) -> list[tuple[str, str, Mask | TableMask]]:
    """Return each mask with its table and its columns, those of several in one text."""
    plan = _plan(release)
    used: list[tuple[str, str, Mask | TableMask]] = [
        (table, column, plan.masks[table, column]) for table, column in sorted(plan.masks)
    ]
    return used + [
        (it.name, ", ".join(mask.columns), mask) for it in plan.tables for mask in it.masks
    ]


def _check_urls(source: DatabaseUrl, target: DatabaseUrl) -> None:
    for url, what in ((source, "source"), (target, "target")):
        if url.engine == "duckdb":
            raise ParameterError(
                f"The {what} is a DuckDB file, of which single tables are read.",
                hint="Give PostgreSQL or SQLite.",
            )
        if url.table is not None:
            raise ParameterError(
                f"The URL of the {what} names a table; all tables of a schema are copied.",
                hint="Leave 'table' out, and drop the other tables in the policy.",
            )
    if _place(source) == _place(target):
        raise ParameterError(
            "The target is the source.", hint="Give a new schema or file for the copy."
        )
    if source.engine != target.engine:
        raise ParameterError(
            f"The source is of {source.engine}, the target of {target.engine}.",
            hint="Give a target of the same engine.",
        )


def _place(url: DatabaseUrl) -> tuple[str, str]:
    if url.engine == "postgresql":
        return url.location, url.schema or "public"
    return str(Path(url.location).resolve()), ""


def open_source(url: DatabaseUrl) -> tuple[SourceDatabase, TypeName]:
    """Open a database to read, and return how its types are called."""
    if url.engine == "postgresql":
        return PostgresSource(url), postgres_type
    return SqliteSource(url), sqlite_type


def _open_target(url: DatabaseUrl, source: SourceDatabase, *, overwrite: bool) -> TargetDatabase:
    if isinstance(source, PostgresSource):
        return PostgresTarget(url, source, overwrite=overwrite)
    return SqliteTarget(url, overwrite=overwrite)


def _read_cell_types(source: SourceDatabase, policy: DatabasePolicy) -> list[TableSchema]:
    """Return the tables of a source, with what the cells of copied columns say of their types."""
    found = []
    for table in source.tables():
        section = policy.tables.get(table.name)
        if section is None or table.refused:
            found.append(table)
            continue
        columns = {name for name, rule in section.columns.items() if rule.word != "drop"}
        columns.update(*(mask.reads for mask in section.masks))
        found.append(source.looked_at(table, columns))
    return found


def _list_kept_rows(
    source: SourceDatabase, policy: DatabasePolicy, plan: CopyPlan, key: bytes
) -> dict[str, str]:
    """Return the temporary tables that list the rows of a subset; none without a subset."""
    if policy.subset is None:
        return {}
    names = [it.name for it in plan.tables]
    return kept_rows(source, policy.subset, names, plan.foreign_keys, key)


def _copy_tables(
    source: SourceDatabase,
    target: TargetDatabase,
    plan: CopyPlan,
    lists: dict[str, str],
    keys: CopyKeys,
    progress: Progress,
) -> list[TableCount]:
    """Write the target, and check it before it is committed."""
    target.create(plan.tables)
    copied = []
    for number, table in enumerate(plan.tables):
        progress("copying tables", number / len(plan.tables))
        try:
            copied.append(copy_table(source, target, table, plan, lists.get(table.name), keys))
        except MaskFault as fault:
            raise_all(mask_faults(source, plan, lists, keys))
            raise fault.error from None
    progress("making keys and indexes")
    target.finish(plan.tables)
    progress("checking the copy")
    return check_copy(source, target, copied, plan.foreign_keys, lists)


_HOW: Final = "Cells of a database go through masks: leave it out."
KIND = ReleaseKind(
    name=DATABASE,
    make=make,
    files=files,
    weaknesses=weaknesses,
    details=details,
    briefing=lambda it: Briefing(
        released=f"A copy of a database: {it.facts.n_rows:,} rows in the tables "
        f"{named([each.name for each in it.facts.tables])}.",
        protected=_LEAD[-1:],
        lost=[f"Masks changed {len(_used_masks(it)):,} columns.", *it.facts.left_out],
        remains=_LEAD[2:3],
        unpictured="Rows are in the copy, and the folder has none that pictures could show.",
    ),
    page=page,
    about="a policy of a database",
    has_report_folder=True,
    refuses={
        "population": _HOW,
        "strict": _HOW,
        "persons": _HOW,
        "ledger": "Masks cost no budget: leave it out.",
        "engine": "The tables are copied in this process.",
    },
)
