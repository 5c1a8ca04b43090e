"""protect_database: a schema copied through its masks, whole or not at all."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import ParameterError
from halfmask._progress import Progress, silent
from halfmask._random import check_key, fresh_key
from halfmask.claims import MANIFEST_NAME
from halfmask.data import DatabaseUrl, atomic_folder
from halfmask.databases._checking import check_copy
from halfmask.databases._copying import CopyKeys, MaskFault, copy_table, mask_faults
from halfmask.databases._faults import raise_all
from halfmask.databases._plan import plan_of
from halfmask.databases._postgres_source import PostgresSource
from halfmask.databases._postgres_target import PostgresTarget, postgres_type
from halfmask.databases._report import write_report
from halfmask.databases._sqlite import sqlite_type
from halfmask.databases._sqlite_source import SqliteSource
from halfmask.databases._sqlite_target import SqliteTarget
from halfmask.databases._subset import check_references, kept_rows
from halfmask.masks.pseudonym import pseudonym_key

if TYPE_CHECKING:
    from halfmask.databases._checking import TableCount
    from halfmask.databases._plan import CopyPlan
    from halfmask.databases._policy import DatabasePolicy
    from halfmask.databases._schema import SourceDatabase, TableSchema, TargetDatabase
    from halfmask.databases._written import TypeName
    from halfmask.vault import Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedDatabase:
    """A database that was copied through masks.

    Attributes
    ----------
    tables
        What was counted of each table in the target.
    n_references
        How many foreign keys lead to a row in each row of the copy.
    left_out
        Sentences: what the copy lacks besides dropped tables and columns.
    """

    tables: tuple[TableCount, ...]
    n_references: int
    left_out: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """The number of rows of all tables."""
        return sum(it.n_rows for it in self.tables)


def protect_database(
    source: str,
    policy: DatabasePolicy,
    target: str,
    *,
    report: str | Path,
    key: bytes | None = None,
    vault: Vault | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> MaskedDatabase:
    """Copy the tables of a schema through masks into a new schema, database or file.

    Parameters
    ----------
    source
        ``postgresql://host/database?schema=name`` or ``sqlite:///path``.
    policy
        What becomes of each column of each table.
    target
        The same kind of URL: a schema that doesn't exist or is empty, or a file that doesn't exist.
    report
        The folder to make for ``manifest.json`` and ``report.html``.
    key
        32 secret bytes: equal values get equal tokens under one key. By default fresh ones.
    vault
        The vault with the key of pseudonyms whose scope is ``"vault"``.
    overwrite
        Whether an earlier copy by halfmask may be replaced, and its report.
    progress
        Called with what is being done and how far it is.

    Returns
    -------
    MaskedDatabase
        What was counted in the target.

    Raises
    ------
    PolicyError
        If the policy doesn't name a table or a column, or its rules contradict foreign keys.
    SchemaError
        If a table can't be copied, or a mask doesn't support its column.
    DataError
        If a foreign key of the source leads nowhere, or a database refuses or goes away.
    VerificationError
        If the target isn't what was to be written.
    ReleaseError
        If the target or the report exists and may not be replaced, or others' views need it.

    See Also
    --------
    halfmask.protect : A release of one table.

    Notes
    -----
    **Guarantees.** The source is read in one snapshot. The target is written in one transaction,
    and read again before it ends; after any error it is unchanged. Columns that foreign keys link
    share one key. Memory holds a few batches of rows, and 8 bytes for each value of a column of
    tokens.

    **Edge cases.** Views, triggers, functions, rights and comments aren't copied. Checks of masked
    columns are left out, and named in the report.

    Examples
    --------
    >>> import contextlib, pathlib, sqlite3, tempfile
    >>> from halfmask.databases import DatabasePolicy
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name)
    >>> with contextlib.closing(sqlite3.connect(path / "shop.db")) as base, base:
    ...     _ = base.execute("create table people (name text, town text)")
    ...     _ = base.execute("insert into people values ('Ann', 'Bree')")
    >>> policy = DatabasePolicy.from_toml('''
    ... halfmask-database = 1
    ... [tables.people.columns]
    ... name = { mask = { name = "token" } }
    ... town = "keep"
    ... ''')
    >>> protect_database(
    ...     f"sqlite:///{path}/shop.db", policy, f"sqlite:///{path}/masked.db",
    ...     report=path / "report",
    ... ).n_rows
    1
    >>> folder.cleanup()
    """
    progress = progress or silent
    key = fresh_key() if key is None else key
    check_key(key)
    keys = CopyKeys(key=key, vault_key=None if vault is None else pseudonym_key(vault))
    urls = DatabaseUrl.parse(source), DatabaseUrl.parse(target)
    _check_urls(*urls)
    with ExitStack() as stack:
        folder = stack.enter_context(
            atomic_folder(report, overwrite=overwrite, marker=MANIFEST_NAME, what="report folder")
        )
        progress("reading the schema")
        base, typed = open_source(urls[0])
        stack.enter_context(closing(base))
        plan = plan_of(policy, _looked_at(base, policy), typed, base.others())
        progress("checking references")
        check_references(base, plan.foreign_keys)
        lists = _lists(base, policy, plan, key)
        made = _target(urls[1], base, overwrite=overwrite)
        stack.enter_context(closing(made))
        counts = _copied(base, made, plan, lists, keys, progress)
        write_report(folder, policy, plan, counts)
        made.commit()
    progress("done", 1.0)
    return MaskedDatabase(
        tables=tuple(counts), n_references=len(plan.foreign_keys), left_out=plan.left_out
    )


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


def _target(url: DatabaseUrl, source: SourceDatabase, *, overwrite: bool) -> TargetDatabase:
    if isinstance(source, PostgresSource):
        return PostgresTarget(url, source, overwrite=overwrite)
    return SqliteTarget(url, overwrite=overwrite)


def _looked_at(source: SourceDatabase, policy: DatabasePolicy) -> list[TableSchema]:
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


def _lists(
    source: SourceDatabase, policy: DatabasePolicy, plan: CopyPlan, key: bytes
) -> dict[str, str]:
    """Return the temporary tables that list the rows of a subset; none without a subset."""
    if policy.subset is None:
        return {}
    names = [it.name for it in plan.tables]
    return kept_rows(source, policy.subset, names, plan.foreign_keys, key)


def _copied(
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
