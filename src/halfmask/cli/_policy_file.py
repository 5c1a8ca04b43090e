"""What commands that propose a policy share: where it goes, and which sets single out."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ReleaseError
from halfmask.cli._console import listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from halfmask.data import ReadOptions, SinglingOut

#: Sets that are shown unless more is asked for.
FEW_SETS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFile:
    """Where a proposed policy goes."""

    out: str | None = option(
        "--out -o POLICY", "Write the proposed policy to this file, with comments; - prints it."
    )
    overwrite: bool = flag("--overwrite", "Replace POLICY if it exists.")

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
    from halfmask.data import atomic_file  # noqa: PLC0415 # polars takes half a second

    with atomic_file(where, overwrite=overwrite) as file:
        file.write(content)


#: The options of reading that a policy repeats, where one was given.
_READING: Final = (
    "missing",
    "delimiter",
    "encoding",
    "header",
    "skip_rows",
    "comment",
    "column_names",
    "sheet",
    "table",
)


def with_reading(text: str, options: ReadOptions) -> str:
    """Return a proposed policy with how the table was read, so that protect reads it alike."""
    import tomlkit  # noqa: PLC0415 - only where a policy is written

    usual = type(options)()
    section: dict[str, object] = {}
    for key in _READING:
        value = getattr(options, key)
        if value != getattr(usual, key):
            section[key] = list(value) if isinstance(value, tuple) else value
    if not section:
        return text
    written = tomlkit.dumps({"input": section})
    if "\n[input]\n" in text:
        return text.replace("\n[input]\n", f"\n{written}", 1)
    head, version, rest = text.partition("\nhalfmask = 1\n")
    return f"{head}{version}\n{written}{rest}"


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
