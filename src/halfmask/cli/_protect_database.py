"""``halfmask protect`` of a database: from URL to URL by a policy of its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfmask.cli import _rooms as rooms
from halfmask.cli._console import console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._show_release import checked_of, show_checked

if TYPE_CHECKING:
    from halfmask.cli._book import BookOptions
    from halfmask.cli._options import SayingOptions
    from halfmask.cli._policy_file import PolicyFile
    from halfmask.cli._tables import HeaderOptions


def is_whole_database(table: str, head: HeaderOptions) -> bool:
    """Return whether TABLE is the URL of a database, and no table of it is named."""
    if "://" not in table or head.of_database is not None:
        return False
    return (
        rooms.data.is_database_url(table)
        and rooms.data.io.database_url.DatabaseUrl.parse(table).table is None
    )


def check_database_options(
    policy: str | None, target: str | None, unused: Sequence[object]
) -> None:
    """Refuse options that mean nothing for a database, and a database without its words."""
    if policy is None or target is None:
        raise UsageError(
            "TABLE is a whole database: POLICY and OUT are missing.",
            hint="Give the URL of the new schema or file as OUT; or name one table, as in "
            "?table=NAME.",
        )
    if any(unused):
        raise UsageError(
            "TABLE is a whole database: its options are --key-file, --vault, --book, "
            "--report, --overwrite, --json.",
            hint="Write rules for columns into POLICY; or name one table, as in ?table=NAME.",
        )


def copy_database(
    source: str,
    policy: str,
    target: str,
    report: str | None,
    key: bytes | None,
    vault: rooms.vault.Vault | None,
    booked: BookOptions,
    saying: SayingOptions,
    *,
    overwrite: bool,
) -> int:
    """Copy a database through masks, and say what was counted."""
    folder = report or f"{rooms.data.io.database_url.DatabaseUrl.parse(target).name}.report"
    wanted = rooms.databases.DatabasePolicy.load(policy)
    with saying.stages() as stages:
        release = rooms.microdata.protect_to(
            source,
            wanted,
            target,
            report=folder,
            key=key,
            vault=vault,
            overwrite=overwrite,
            progress=stages,
            book=booked.open(wanted, vault),
        )
    copied: rooms.databases.MaskedDatabase = release.facts
    facts = {"report": folder, **_as_dict(copied), **checked_of(release)}
    return saying.say(
        facts, lambda: _show(copied, folder), lambda: show_checked(release, console())
    )


def propose(source: str, policy: PolicyFile, saying: SayingOptions) -> int:
    """Write a policy that names each table and column of a database."""
    text = rooms.databases.propose_database_policy(source)
    told = [f"The policy is in {printable(str(policy.out))}: edit it."]
    if policy.out is None:
        told = list(map(printable, text.splitlines()))
    else:
        policy.write(text)
    return saying.say({"policy": policy.out, "text": text}, *(told if policy.out != "-" else ()))


def _as_dict(copied: rooms.databases.MaskedDatabase) -> dict[str, object]:
    return {
        "tables": {it.name: {"rows": it.n_rows, "masked": it.n_masked} for it in copied.tables},
        "foreign_keys": copied.n_references,
        "left_out": list(copied.left_out),
    }


def _show(copied: rooms.databases.MaskedDatabase, folder: str) -> None:
    out = console()
    table = listing("table", "rows", "columns", "with masks")
    for it in copied.tables:
        table.add_row(printable(it.name), f"{it.n_rows:,}", str(it.n_columns), str(it.n_masked))
    out.print(table)
    out.print(f"All {copied.n_references} foreign keys lead to rows of the copy.")
    if copied.left_out:
        out.print("The copy lacks:")
        for each in copied.left_out:
            out.print(f"  {printable(each)}")
    out.print(f"Manifest and report: {printable(folder)}")
    out.print(f"Owner's page: {printable(folder.rstrip('/'))}.owner.html", soft_wrap=True)
