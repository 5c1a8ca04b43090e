"""Protect without a policy file: the columns and k that the command line names instead."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halfmask._errors import ReleaseError
from halfmask.cli._console import listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._policy_file import with_reading
from halfmask.cli._tables import FormOptions

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.cli._header_options import HeaderOptions
    from halfmask.microdata import MadePolicy

#: How names of columns are given in one option.
COLUMNS = "COLUMN,COLUMN,..."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenColumns:
    """Columns and levels in the place of a policy."""

    quasi_identifiers: Annotated[
        str | None,
        typer.Option(
            "--quasi-identifiers",
            metavar=COLUMNS,
            help="Without POLICY: every column that an attacker could know.",
        ),
    ] = None
    sensitive: Annotated[
        str | None,
        typer.Option(
            "--sensitive",
            metavar=COLUMNS,
            help="Without POLICY: columns whose values nobody may learn about a person.",
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Without POLICY: the column that a model will predict.",
        ),
    ] = None
    k: Annotated[
        int | None,
        typer.Option("-k", min=2, metavar="ROWS", help="Without POLICY: the k of k-anonymity."),
    ] = None
    l: Annotated[
        int | None,
        typer.Option(
            "-l",
            min=2,
            metavar="VALUES",
            help="Without POLICY: the l of distinct l-diversity, for each column of "
            "--sensitive. The default is what halfmask describe proposes, at least 2.",
        ),
    ] = None
    person: Annotated[
        str | None,
        typer.Option(
            "--person",
            metavar="COLUMN",
            help="Without POLICY: the identifier that says whose row it is. Guarantees then count "
            "each person once.",
        ),
    ] = None
    hierarchies: Annotated[
        str | None,
        typer.Option(
            "--hierarchies",
            metavar="DIR",
            help="Without POLICY: a folder of hierarchies of quasi-identifiers, as in DIR/age.csv. "
            "A / in the name of a column is %2F in that of its file.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="TEXT",
            help="Without POLICY: a text that marks a missing cell, such as ?; may be given "
            "more than once.",
        ),
    ] = None

    @property
    def given(self) -> bool:
        """Whether any of it was given."""
        columns = (
            self.quasi_identifiers,
            self.sensitive,
            self.label,
            self.person,
            self.hierarchies,
        )
        return any((*columns, self.k, self.l, self.missing))

    def make(self, table: str, head: HeaderOptions, *, folder: Path) -> MadePolicy:
        """Return the policy that follows for a table, which is read for it, to lie in a folder."""
        if table == "-":
            raise UsageError(
                "Without POLICY the table is read twice, and standard input can't be.",
                hint="Give TABLE as a file.",
            )
        if self.quasi_identifiers is None:
            raise UsageError(
                "--quasi-identifiers is missing.",
                hint="List every column that an attacker could know of a person.",
            )
        if self.k is None:
            raise UsageError(
                "-k is missing, and has no default.",
                hint="Choose k: 5 to 10 for a partner under a contract, 10 to 50 for the public.",
            )
        from halfmask.data import open_table  # noqa: PLC0415 - polars takes half a second
        from halfmask.microdata import make_policy  # noqa: PLC0415 - the same

        options = FormOptions(head=head).options(self.missing)
        made = make_policy(
            open_table(table, options=options),
            quasi_identifiers=names_of(self.quasi_identifiers),
            sensitive=names_of(self.sensitive or ""),
            label=self.label,
            k=self.k,
            l=self.l,
            person=self.person,
            hierarchies=self.hierarchies,
            folder=folder,
        )
        return made.with_text(with_reading(made.text, options))

    @staticmethod
    def policy_path(out: str, *, overwrite: bool) -> Path:
        """Return where the policy goes: next to the release, and not into it."""
        folder = Path(out)
        where = folder.with_name(f"{folder.name}.policy.toml")
        if where.exists() and not overwrite:
            raise ReleaseError(
                "The file for the policy exists already: it is called as OUT is, and .policy.toml.",
                hint="Protect by it, choose another OUT, or --overwrite it.",
            )
        return where


def show_decisions(made: MadePolicy, where: Path, out: Console) -> None:
    """Show what becomes of columns that nobody named, and where the policy lies."""
    if made.decisions:
        out.print("\nColumns that no option names", style="bold")
        table = listing("", "")
        table.columns[1].overflow = "fold"
        for what, names in made.decisions.items():
            table.add_row(what, printable(", ".join(names)))
        out.print(table)
    out.print(
        f"\nPolicy   {printable(str(where))}, which isn't part of the release", soft_wrap=True
    )


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of columns; one that holds a comma is put in quotes, as in CSV."""
    names = next(csv.reader([text]), [])
    return tuple(name.strip() for name in names if name.strip())
