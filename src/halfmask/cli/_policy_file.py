"""What commands that propose a policy share: where it goes, and which sets single out."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from halfmask._errors import ReleaseError
from halfmask.cli import _rooms as rooms
from halfmask.cli._console import listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, items_of, option
from halfmask.cli._tables import FormOptions, HeaderOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from halfmask.description import SinglingOut

#: How names of columns are given in one option.
COLUMNS = "COLUMN,COLUMN,..."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenColumns:
    """Columns and levels in the place of a policy."""

    heading: ClassVar = "Without POLICY"
    quasi_identifiers: str | None = option(
        f"--quasi-identifiers {COLUMNS}: Every column that an attacker could know."
    )
    sensitive: str | None = option(
        f"--sensitive {COLUMNS}: Columns whose values nobody may learn about a person."
    )
    label: str | None = option("--label COLUMN: The column that a model will predict.")
    k: int | None = option("-k ROWS: The k of k-anonymity.", min=2)
    l: int | None = option(
        "-l VALUES: The l of distinct l-diversity, for each column of "
        "--sensitive. The default is what halfmask describe proposes, at least 2.",
        min=2,
    )
    person: str | None = option(
        "--person COLUMN: The identifier that says whose row it is. Guarantees "
        "then count each person once."
    )
    hierarchies: str | None = option(
        "--hierarchies DIR: A folder of hierarchies of quasi-identifiers, as in "
        "DIR/age.csv. A / in the name of a column is %2F in that of its file."
    )
    method: str | None = option(
        "--method NAME: How classes are found: mondrian, guided, mdav or "
        "full-domain. By default mondrian, and guided with --label."
    )
    suppression: float | None = option(
        "--suppression SHARE: The share of rows, 0 to 1, that may be left out. By default 0.02."
    )
    missing: list[str] | None = option(
        "--missing TEXT: A text that marks a missing cell, such as ?; may be given more than once."
    )

    @property
    def given(self) -> bool:
        """Whether any of it was given."""
        return any(it is not None for it in astuple(self))

    def make(self, table: str, head: HeaderOptions, *, folder: Path) -> rooms.microdata.MadePolicy:
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
        options = FormOptions(head=head).options(self.missing)
        made = rooms.microdata.make_policy(
            rooms.data.open_table(table, options=options),
            quasi_identifiers=items_of(self.quasi_identifiers, "A name of --quasi-identifiers"),
            sensitive=items_of(self.sensitive, "A name of --sensitive") if self.sensitive else (),
            label=self.label,
            k=self.k,
            l=self.l,
            person=self.person,
            hierarchies=self.hierarchies,
            method=self.method,
            suppression=self.suppression,
            folder=folder,
        )
        return made.with_text(rooms.description.reading_section.with_reading(made.text, options))

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


def show_decisions(made: rooms.microdata.MadePolicy, where: Path, out: Console) -> None:
    """Show what becomes of columns that nobody named, and where the policy lies."""
    if made.decisions:
        out.print("\nColumns that no option names", style="bold")
        table = listing("", "")
        for what, names in made.decisions.items():
            table.add_row(what, printable(", ".join(names)))
        out.print(table)
    out.print(
        f"\nPolicy   {printable(str(where))}, which isn't part of the release", soft_wrap=True
    )


#: Sets that are shown unless more is asked for.
FEW_SETS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """Where a proposed policy goes."""

    heading: ClassVar = "The proposed policy"
    out: str | None = option(
        "--out -o POLICY: Write the proposed policy to this file, with comments; - prints it."
    )
    overwrite: bool = flag("--overwrite: Replace POLICY if it exists.")

    def check(self, *, as_json: bool) -> None:
        """Refuse what can't end well, before a long look."""
        if self.out == "-" and as_json:
            raise UsageError("--json and --out - both want standard output.", hint="Choose one.")
        if self.out not in {None, "-"} and os.path.lexists(str(self.out)) and not self.overwrite:
            # An edited policy must not be lost to a second look at the data.
            raise ReleaseError(
                "The file for the policy exists already.",
                hint="Give another name, or --overwrite if what is in it may go.",
            )

    @contextmanager
    def kept_if_done(self, text: str) -> Iterator[None]:
        """Write a policy to its file first; put back what was there if the block fails.

        So no release lies without the policy that made it, whatever ends the process.
        """
        where = Path(str(self.out))
        before = where.read_bytes() if where.is_file() else None
        self.write(text)
        try:
            yield
        except BaseException:
            if before is None:
                where.unlink(missing_ok=True)
            else:
                _write(where, before, overwrite=True)
            raise

    def write(self, text: str) -> None:
        """Write a policy, or show it."""
        if self.out == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        _write(Path(str(self.out)), text.encode("utf-8"), overwrite=self.overwrite)


def _write(where: Path, content: bytes, *, overwrite: bool) -> None:
    with rooms.data.atomic_file(where, overwrite=overwrite) as file:
        file.write(content)


def show_sets(
    sets: Sequence[SinglingOut], out: Console, title: str, *, of: str, verbose: bool
) -> None:
    """Show which sets of columns or paths single out, the first few unless it is verbose."""
    if not sets:
        return
    shown = sets if verbose else sets[:FEW_SETS]
    out.print(title)
    table = listing("", "")
    table.columns[0].justify = "right"
    for each in shown:
        table.add_row(f"  {each.share_unique:.1%}", printable(", ".join(each.columns)))
    out.print(table)
    if len(sets) > len(shown):
        left = len(sets) - len(shown)
        out.print(f"  and {left} more sets of {of}, with --verbose", style="dim")
