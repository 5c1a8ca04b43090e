"""What the commands of the vault are told of locks: which kind, and where it lies.

A passphrase is never a word on the command line, where every process of the machine could read it:
it is asked for at the terminal without showing it, or read from a private file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halfmask.cli._failures import UsageError

if TYPE_CHECKING:
    from halfmask.vault import KeyFile, Keyring, Passphrase

__all__ = [
    "KeyFileOption",
    "KeyringOption",
    "NewKeyFileOption",
    "NewKeyringOption",
    "NewPassphraseFileOption",
    "NewPassphraseOption",
    "PassphraseFileOption",
    "chosen_lock",
    "new_lock",
]

_MOST_BYTES = 8192

KeyFileOption = Annotated[
    str | None,
    typer.Option("--key-file", metavar="FILE", help="The lock is this key file, of mode 0600."),
]
PassphraseFileOption = Annotated[
    str | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help="The lock is the passphrase in this file, of mode 0600; - reads standard input. "
        "Without a lock's option, the passphrase is asked for at the terminal.",
    ),
]
KeyringOption = Annotated[
    bool, typer.Option("--keyring", help="The lock is an entry in the system's keyring.")
]
NewKeyFileOption = Annotated[
    str | None,
    typer.Option(
        "--new-key-file",
        metavar="FILE",
        help="Change the lock to this key file, which is made if it isn't there.",
    ),
]
NewPassphraseFileOption = Annotated[
    str | None,
    typer.Option(
        "--new-passphrase-file", metavar="FILE", help="Change the lock to the passphrase there."
    ),
]
NewPassphraseOption = Annotated[
    bool,
    typer.Option("--new-passphrase", help="Change the lock to a passphrase, which is asked for."),
]
NewKeyringOption = Annotated[
    bool, typer.Option("--new-keyring", help="Change the lock to an entry in the keyring.")
]


def chosen_lock(
    key_file: str | None, passphrase_file: str | None, *, keyring: bool
) -> KeyFile | Passphrase | Keyring:
    """Return the lock that is there; a passphrase is asked for if nothing else is said."""
    _check_one(key_file is not None, passphrase_file is not None, keyring)
    from halfmask.vault import KeyFile, Keyring  # noqa: PLC0415 # --help needs none

    if key_file is not None:
        return KeyFile(key_file)
    if keyring:
        return Keyring()
    return _passphrase(passphrase_file, confirm=False)


def new_lock(
    key_file: str | None, passphrase_file: str | None, *, keyring: bool
) -> KeyFile | Passphrase | Keyring:
    """Return a lock for what is made: a key file is made, a passphrase is asked for twice."""
    _check_one(key_file is not None, passphrase_file is not None, keyring)
    from halfmask.vault import KeyFile, Keyring  # noqa: PLC0415 # --help needs none

    if key_file is not None:
        there = Path(key_file).is_symlink() or Path(key_file).exists()
        return KeyFile(key_file) if there else KeyFile.create(key_file)
    if keyring:
        return Keyring()
    return _passphrase(passphrase_file, confirm=True)


def _check_one(*said: bool) -> None:
    if sum(said) > 1:
        raise UsageError(
            "A vault has one lock, and more than one was given.",
            hint="Give one of --key-file, --passphrase-file and --keyring.",
        )


def _passphrase(file: str | None, *, confirm: bool) -> Passphrase:
    from halfmask._errors import ParameterError  # noqa: PLC0415 # the same as above
    from halfmask.vault import Passphrase  # noqa: PLC0415 # the same

    words = _asked(confirm=confirm) if file is None else _read(file)
    try:
        return Passphrase(words.decode().rstrip("\r\n") if isinstance(words, bytes) else words)
    except UnicodeDecodeError:
        raise ParameterError("The passphrase isn't text in UTF-8.") from None


def _asked(*, confirm: bool) -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            "Nobody is there to be asked for the passphrase: no terminal.",
            hint="Give --key-file, --passphrase-file or --keyring.",
        )
    said = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return str(said)


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read(_MOST_BYTES)
    from halfmask.vault._private_files import (  # noqa: PLC0415 # the same as above
        absolute,
        keeping,
        read_private,
    )

    with keeping("The passphrase file"):
        return read_private(absolute(file), what="The passphrase file", most=_MOST_BYTES)
