"""Options of the commands of events: the policy, the vault, the stream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, required
from halfmask.cli._vault_lock import LockOptions  # noqa: TC001 # typer reads it

POLICY = argument("POLICY", "The policy, a TOML file without secrets.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamVault:
    """What is secret, and what is known of a stream: a vault, its lock, and a name."""

    vault: str = required(
        "--vault VAULT", "The vault with the secret, the secret tables and the state of the stream."
    )
    stream: str | None = option(
        "--stream NAME", "The stream's name in the vault. The default is the policy's release."
    )
    lock: LockOptions


def check_apart(out: str, *inputs: str) -> None:
    """Refuse an output that is one of the inputs, or lies in a folder that is one.

    With ``--overwrite`` it would take the place of what can't be made again.
    """
    if out == "-":
        return
    for given in inputs:
        if given == "-" or not Path(given).exists():
            continue
        if Path(out).exists() and Path(given).samefile(out):
            raise UsageError(
                "What is to be written is what is read.", hint="Give OUT a name of its own."
            )
        if Path(given).is_dir() and Path(given).resolve() in Path(out).resolve().parents:
            raise UsageError(
                "What is to be written lies in the folder that is read.",
                hint="Give OUT a place outside of it: all files there are input.",
            )
