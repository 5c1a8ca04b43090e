"""Protect without a policy file: the columns and k that the command line names instead."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import ReleaseError
from halfmask.cli._comma_lists import items_of
from halfmask.cli._console import listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import option
from halfmask.cli._policy_file import with_reading
from halfmask.cli._tables import FormOptions

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.cli._tables import HeaderOptions
    from halfmask.microdata import MadePolicy

#: How names of columns are given in one option.
COLUMNS = "COLUMN,COLUMN,..."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenColumns:
    """Columns and levels in the place of a policy."""

    quasi_identifiers: str | None = option(
        f"--quasi-identifiers {COLUMNS}",
        "Without POLICY: every column that an attacker could know.",
    )
    sensitive: str | None = option(
        f"--sensitive {COLUMNS}",
        "Without POLICY: columns whose values nobody may learn about a person.",
    )
    label: str | None = option(
        "--label COLUMN", "Without POLICY: the column that a model will predict."
    )
    k: int | None = option("-k ROWS", "Without POLICY: the k of k-anonymity.", min=2)
    l: int | None = option(
        "-l VALUES",
        "Without POLICY: the l of distinct l-diversity, for each column of --sensitive. The "
        "default is what halfmask describe proposes, at least 2.",
        min=2,
    )
    person: str | None = option(
        "--person COLUMN",
        "Without POLICY: the identifier that says whose row it is. Guarantees then count each "
        "person once.",
    )
    hierarchies: str | None = option(
        "--hierarchies DIR",
        "Without POLICY: a folder of hierarchies of quasi-identifiers, as in DIR/age.csv. A / "
        "in the name of a column is %2F in that of its file.",
    )
    missing: list[str] | None = option(
        "--missing TEXT",
        "Without POLICY: a text that marks a missing cell, such as ?; may be given more than once.",
    )

    @property
    def given(self) -> bool:
        """Whether any of it was given."""
        return any(astuple(self))

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
            quasi_identifiers=items_of(self.quasi_identifiers, "A name of --quasi-identifiers"),
            sensitive=items_of(self.sensitive, "A name of --sensitive") if self.sensitive else (),
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
