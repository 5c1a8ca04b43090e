"""``halfmask vault``: make a vault, see what it holds, change its keys, split and destroy them.

A passphrase is never a word on the command line, where every process of the machine could read it:
it is asked for at the terminal without showing it, or read from a private file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from halfmask._errors import ParameterError
from halfmask.cli import _rooms as rooms
from halfmask.cli._console import Stages, console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import SayingOptions, command_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.vault import KeyFile, Keyring, Passphrase, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymVault:
    """A vault and its lock, where a policy has pseudonyms with the scope ``"vault"``."""

    heading: ClassVar = "Vault"

    vault: str | None = option(
        '--vault VAULT: The vault with the key of pseudonyms, for masks with scope = "vault", or '
        "of record keys, for tables with cell keys, or with a book of releases. Its releases have "
        "the same pseudonyms and counts; halfmask reverse turns pseudonyms back."
    )
    vault_key_file: str | None = option(
        "--vault-key-file FILE: Use this key file as the vault's lock."
    )
    vault_passphrase_file: str | None = option(
        "--vault-passphrase-file FILE: Use the passphrase in this file as the vault's lock; - "
        "reads standard input. Without a lock option, the terminal asks for a passphrase."
    )
    vault_keyring: bool = flag("--vault-keyring: Use an entry in the system's keyring as the lock.")

    def open(self, *inputs: str) -> Vault | None:
        """Open the vault, if one is named."""
        lock = LockOptions(
            key_file=self.vault_key_file,
            passphrase_file=self.vault_passphrase_file,
            keyring=self.vault_keyring,
        )
        if self.vault is None:
            if lock:
                raise UsageError("The lock of a vault is given, and no vault.", hint="Add --vault.")
            return None
        if lock.passphrase_file in {"-"} & {*inputs}:
            raise UsageError(
                "The passphrase and an input both want standard input.", hint="Give one as a file."
            )
        return lock.open(self.vault)


_MOST_BYTES = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """The lock of a vault."""

    heading: ClassVar = "Lock of the vault"

    key_file: str | None = option(
        "--key-file FILE: Use this key file as the lock; its mode must be 0600."
    )
    passphrase_file: str | None = option(
        "--passphrase-file FILE: Use the passphrase in this file, of mode 0600, as the lock; - "
        "reads standard input. Without a lock option, the terminal asks for a passphrase."
    )
    keyring: bool = flag("--keyring: Use an entry in the system's keyring as the lock.")

    def __bool__(self) -> bool:
        return bool(self.key_file or self.passphrase_file or self.keyring)

    def open(self, vault: str) -> Vault:
        """Open a vault by the given lock."""
        return rooms.vault.Vault.open(vault, lock=self.chosen())

    def chosen(self, *, new: bool = False) -> KeyFile | Passphrase | Keyring:
        """Return the lock; a passphrase is asked for if nothing else is given.

        For what is made, a key file is made where it is missing, a passphrase asked for twice.
        """
        if sum((self.key_file is not None, self.passphrase_file is not None, self.keyring)) > 1:
            raise UsageError(
                "A vault has one lock, and more than one was given.",
                hint="Give one of --key-file, --passphrase-file and --keyring.",
            )
        if self.key_file is not None:
            there = Path(self.key_file).is_symlink() or Path(self.key_file).exists()
            make = rooms.vault.KeyFile if there or not new else rooms.vault.KeyFile.create
            return make(self.key_file)
        if self.keyring:
            return rooms.vault.Keyring()
        return _passphrase(self.passphrase_file, confirm=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLockOptions:
    """The lock that a vault is to get in place of its own."""

    heading: ClassVar = "Lock of the vault"

    new_key_file: str | None = option(
        "--new-key-file FILE: Change the lock to this key file. A missing file is created."
    )
    new_passphrase_file: str | None = option(
        "--new-passphrase-file FILE: Change the lock to the passphrase in this file."
    )
    new_passphrase: bool = flag(
        "--new-passphrase: Change the lock to a passphrase. The terminal asks for it."
    )
    new_keyring: bool = flag("--new-keyring: Change the lock to an entry in the keyring.")

    def check(self) -> bool:
        """Return whether there is a new lock; more than one is refused."""
        given = (
            self.new_key_file is not None,
            self.new_passphrase_file is not None,
            self.new_passphrase,
            self.new_keyring,
        )
        if sum(given) > 1:
            raise UsageError("A vault has one lock, and more than one new one was given.")
        return any(given)

    def new(self) -> KeyFile | Passphrase | Keyring:
        """Return the new lock, which is made where it isn't there."""
        return LockOptions(
            key_file=self.new_key_file,
            passphrase_file=self.new_passphrase_file,
            keyring=self.new_keyring,
        ).chosen(new=True)


def _passphrase(file: str | None, *, confirm: bool) -> Passphrase:
    words = (
        _asked(confirm=confirm)
        if file is None
        else read_secret(file, "The passphrase file", _MOST_BYTES)
    )
    try:
        return rooms.vault.Passphrase(
            words.decode().rstrip("\r\n") if isinstance(words, bytes) else words
        )
    except UnicodeDecodeError:
        raise ParameterError("The passphrase isn't text in UTF-8.") from None


def _asked(*, confirm: bool) -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            "Nobody is there to be asked for the passphrase: no terminal.",
            hint="Give --key-file, --passphrase-file or --keyring.",
        )
    given = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return str(given)


def read_secret(file: str, what: str, most: int) -> bytes:
    """Return what a private file or standard input holds."""
    if file == "-":
        return sys.stdin.buffer.read(most)
    return rooms.vault.read_private_file(file, what=what, most=most)


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
    made_by = lock.chosen(new=True)
    with Stages(console(stderr=True), verbose=saying.verbose) as stages:
        stages("making the vault")
        made = rooms.vault.Vault.create(where, lock=made_by)
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
    held = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
    table = listing("name", "kind", "id", "bytes", right=("bytes",))
    for entry in entries:
        name, kind = printable(str(entry["name"])), str(entry["kind"])
        table.add_row(name, kind, str(entry["id"] or ""), f"{entry['bytes']:,}")
    return saying.say(
        {"vault": opened.id, "lock": opened.lock_kind, "entries": entries},
        f"Vault {opened.id}, locked by {KINDS[opened.lock_kind]}: {held}",
        *([table] if entries else []),
    )


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
    if Path(out).resolve().is_relative_to(Path(where).resolve()):
        raise UsageError("Parts in the vault that they open are of no use.")
    opened = _opened(where, lock, verbose=saying.verbose)
    lines = opened.split(parts=parts, needed=needed)
    names = [f"part-{number}-of-{len(lines)}.txt" for number in range(1, len(lines) + 1)]
    with rooms.data.atomic_folder(out) as folder:
        folder.chmod(0o700)
        for name, line in zip(names, lines, strict=True):
            rooms.vault.private_files.write_private(folder / name, line)
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
    joined = rooms.vault.Vault.join(where, _read_parts(parts))
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
        confirm("Destroy the whole vault?" if name is None else "Destroy what has that name?")
    opened.destroy(name)
    outcome = "was destroyed" if name is None else "no longer holds what had that name"
    return _answer(opened, outcome, saying)


def _opened(where: str, lock: LockOptions, *, verbose: bool) -> Vault:
    chosen = lock.chosen()
    with Stages(console(stderr=True), verbose=verbose) as stages:
        stages("opening the vault")
        return rooms.vault.Vault.open(where, lock=chosen)


def _read_parts(paths: Sequence[str]) -> list[bytes]:
    read = rooms.vault.read_private_file
    return [
        read(path, what=f"Part number {place} of those given", most=PART_BYTES)
        for place, path in enumerate(paths, start=1)
    ]


def confirm(question: str) -> None:
    """Ask at the terminal whether something is meant; end the command if it isn't."""
    if not sys.stdin.isatty():
        raise UsageError("Nobody is there to be asked whether it is meant.", hint="Give --yes.")
    if not typer.confirm(question, err=True):
        raise KeyboardInterrupt


def _answer(of: Vault, outcome: str, saying: SayingOptions, **more: object) -> int:
    told = f"Vault {of.id}, locked by {KINDS[of.lock_kind]}, {outcome}."
    return saying.say({"vault": of.id, "lock": of.lock_kind, **more}, told)
