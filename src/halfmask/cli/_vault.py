"""``halfmask vault``: make a vault, see what it holds, change its keys, split and destroy them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from halfmask.cli._console import console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, required, spreads_groups
from halfmask.cli._options import SayingOptions, command_group
from halfmask.cli._progress import Stages
from halfmask.cli._vault_lock import LockOptions, NewLockOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.vault import Vault

KINDS = {"passphrase": "a passphrase", "key-file": "a key file", "keyring": "the keyring"}
#: More than any part has.
PART_BYTES = 4096

vault = command_group("vault", "Keep the keys of encodings in a private folder.")

VAULT = argument("VAULT: The folder of the vault.")


@vault.command()
@spreads_groups
def create(where: str = VAULT, *, lock: LockOptions, saying: SayingOptions) -> int:
    """Make a vault with one lock.

    A missing key file is created. Without the lock or enough parts, nobody can read the vault
    again.
    """
    from halfmask.vault import Vault  # noqa: PLC0415 # --help needs none

    made_by = lock.chosen(new=True)
    with Stages(console(stderr=True), verbose=saying.verbose) as stages:
        stages("making the vault")
        made = Vault.create(where, lock=made_by)
    return _answer(made, "was made", saying)


@vault.command(name="list")
@spreads_groups
def list_(where: str = VAULT, *, lock: LockOptions, saying: SayingOptions) -> int:
    """List the entries of a vault by name.

    Each secret is shown with an id that tells it from others. No byte of a secret is shown.
    """
    opened = _opened(where, lock, verbose=saying.verbose)
    entries = [
        {
            "name": entry.name,
            "kind": entry.kind,
            "id": opened.secret(entry.name).id if entry.kind == "secret" else None,
            "bytes": entry.size,
        }
        for entry in opened.entries()
    ]
    if saying.as_json:
        return _answer(opened, "", saying, entries=entries)
    out, held = console(), "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    out.print(f"Vault {opened.id}, locked by {KINDS[opened.lock_kind]}: {held}")
    if entries:
        table = listing("name", "kind", "id", "bytes", right=("bytes",))
        for entry in entries:
            name, kind = printable(str(entry["name"])), str(entry["kind"])
            table.add_row(name, kind, str(entry["id"] or ""), f"{entry['bytes']:,}")
        out.print(table)
    return 0


@vault.command()
@spreads_groups
def rotate(
    where: str = VAULT, *, lock: LockOptions, changed: NewLockOptions, saying: SayingOptions
) -> int:
    """Make a new root key, under the same lock or another.

    All entries are sealed again. Secrets stay the same, so earlier outputs can still be decoded.
    Earlier parts no longer open the vault.
    """
    is_other = changed.check()
    opened = _opened(where, lock, verbose=saying.verbose)
    other = changed.new() if is_other else None
    with Stages(console(stderr=True), verbose=saying.verbose) as stages:
        stages("sealing everything again")
        if other is None:
            opened.rotate()
        else:
            opened.rewrap(other)
    return _answer(opened, "has a new root key", saying)


@vault.command()
@spreads_groups
def split(
    where: str = VAULT,
    *,
    parts: int = required("--parts N: Number of parts to make."),
    needed: int = required("--needed M: Number of parts that open the vault."),
    out: str = required("--out -o FOLDER: The folder to make for the parts."),
    lock: LockOptions,
    saying: SayingOptions,
) -> int:
    """Split the root key into parts.

    Any M of the N parts open the vault if its lock is lost. Fewer parts reveal nothing about the
    key. Move each part to another place, then remove the folder: together the parts are the key.
    """
    from halfmask.data import atomic_folder  # noqa: PLC0415 # --help needs none
    from halfmask.vault.private_files import write_private  # noqa: PLC0415 # the same

    if Path(out).resolve().is_relative_to(Path(where).resolve()):
        raise UsageError("Parts in the vault that they open are of no use.")
    opened = _opened(where, lock, verbose=saying.verbose)
    lines = opened.split(parts=parts, needed=needed)
    names = [f"part-{number}-of-{len(lines)}.txt" for number in range(1, len(lines) + 1)]
    with atomic_folder(out) as folder:
        folder.chmod(0o700)
        for name, line in zip(names, lines, strict=True):
            write_private(folder / name, line)
    outcome = f"was split: any {needed} of {parts} parts open it. Carry them to different places"
    return _answer(opened, outcome, saying, parts=parts, needed=needed, files=names)


@vault.command()
@spreads_groups
def join(
    where: str = VAULT,
    parts: list[str] = argument("PART...: The files of the parts."),
    *,
    lock: LockOptions,
    saying: SayingOptions,
) -> int:
    """Open a vault with its parts, and give it a new lock.

    Use this if the lock is lost. The lock options describe the new lock. Afterwards the parts no
    longer open the vault: split it again.
    """
    from halfmask.vault import Vault  # noqa: PLC0415 # --help needs none

    joined = Vault.join(where, _read_parts(parts))
    made_by = lock.chosen(new=True)
    with Stages(console(stderr=True), verbose=saying.verbose) as stages:
        stages("sealing everything again")
        joined.rewrap(made_by)
    return _answer(joined, "has a new lock and a new root key", saying)


@vault.command()
@spreads_groups
def destroy(
    where: str = VAULT,
    name: str | None = argument(
        "[NAME]: The entry to destroy. Without it, the whole vault is destroyed.", None
    ),
    *,
    yes: bool = flag("--yes: Don't ask for confirmation."),
    lock: LockOptions,
    saying: SayingOptions,
) -> int:
    """Destroy one entry, or the whole vault.

    Outputs of a destroyed secret can't be decoded any more. Copies and backups of the vault
    aren't reached. Destroy their lock, too: the key file and the parts.
    """
    opened = _opened(where, lock, verbose=saying.verbose)
    if not yes:
        _ask("Destroy the whole vault?" if name is None else "Destroy what has that name?")
    opened.destroy(name)
    outcome = "was destroyed" if name is None else "no longer holds what had that name"
    return _answer(opened, outcome, saying)


def _opened(where: str, lock: LockOptions, *, verbose: bool) -> Vault:
    from halfmask.vault import Vault  # noqa: PLC0415 # --help needs none

    chosen = lock.chosen()
    with Stages(console(stderr=True), verbose=verbose) as stages:
        stages("opening the vault")
        return Vault.open(where, lock=chosen)


def _read_parts(paths: Sequence[str]) -> list[bytes]:
    from halfmask.vault import read_private_file  # noqa: PLC0415 # --help needs none

    return [
        read_private_file(path, what=f"Part number {place} of those given", most=PART_BYTES)
        for place, path in enumerate(paths, start=1)
    ]


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("Nobody is there to be asked whether it is meant.", hint="Give --yes.")
    if not typer.confirm(question, err=True):
        raise KeyboardInterrupt


def _answer(of: Vault, outcome: str, saying: SayingOptions, **more: object) -> int:
    told = f"Vault {of.id}, locked by {KINDS[of.lock_kind]}, {outcome}."
    return saying.say({"vault": of.id, "lock": of.lock_kind, **more}, told)
