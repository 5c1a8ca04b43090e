"""protect_database: the short form of `protect` for a database, written at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.microdata import protect

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.databases._checking import TableCount
    from halfmask.databases._policy import DatabasePolicy
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

    tables: tuple[TableCount, ...] = ()
    n_references: int = 0
    left_out: tuple[str, ...] = ()

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
        With ``overwrite``, also those of an earlier copy.
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
    tokens. Readers of an earlier copy in PostgreSQL see it until the new one takes its place, and
    wait only for that. Their rights on its tables stay.

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
    release = protect(source, policy, key=key, vault=vault)
    written = release.write(target, report=report, overwrite=overwrite, progress=progress)
    counted: MaskedDatabase = written.facts
    return counted
