"""``halfmask protect``: from a table and a policy to a release that is verified on disk."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halfmask._errors import ParameterError, ReleaseError
from halfmask.cli._console import console, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._header_options import HeaderOptions  # typer reads it
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import SayingOptions, TableArgument
from halfmask.cli._summary import as_dict, show_summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.data import Source
    from halfmask.microdata import Policy

__all__ = ["protect"]

KEY_BYTES = 32

PolicyArgument = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        show_default=False,
        help="What you want, a TOML file; halfmask describe proposes one. - for standard input.",
    ),
]
OutArgument = Annotated[
    str, typer.Argument(metavar="OUT", show_default=False, help="The folder to make: the release.")
]


PopulationOption = Annotated[
    str | None,
    typer.Option(
        "--population",
        metavar="PEOPLE",
        help="A table of the people that TABLE was drawn from: the risk is then judged "
        "among them, too.",
    ),
]
KeyFileOption = Annotated[
    str | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="32 secret bytes that fix the random order in which rows leave; by default they "
        "are drawn and forgotten.",
    ),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail if columns that are released unchanged put rows into classes under k.",
    ),
]


@spreads_groups
def protect(
    table: TableArgument,
    policy: PolicyArgument,
    out: OutArgument,
    *,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier release in OUT.")
    ] = False,
    population: PopulationOption = None,
    key_file: KeyFileOption = None,
    strict: StrictOption = False,
    head: HeaderOptions,
    saying: SayingOptions,
) -> int:
    """Make a verified release of TABLE, as POLICY wants it.

    The release is a folder: the data, a manifest and a report. Every promise of the policy is
    counted again on the files that were written. If one isn't met there is no release, and the
    exit code is 1.
    """
    _check_words(table, policy, out, overwrite=overwrite)
    key = None if key_file is None else _read_key(key_file)
    from halfmask.microdata import Policy, protect_to  # noqa: PLC0415 - half a second, or more

    wanted = Policy.from_toml(_read_text()) if policy == "-" else Policy.load(policy)
    said = head.options()
    with saying.stages() as stages:
        release = protect_to(
            _opened(table, wanted, said) if said else table,
            wanted,
            out,
            overwrite=overwrite,
            key=key,
            population=population,
            strict=strict,
            progress=stages,
        )
    if saying.as_json:
        say_json({"ok": True, **as_dict(release, out)})
    else:
        show_summary(release, out, console(), verbose=saying.verbose)
    return 0


def _check_words(table: str, policy: str, out: str, *, overwrite: bool) -> None:
    """Refuse what can't end well before a long reading of the table."""
    if table == policy == "-":
        raise UsageError("TABLE and POLICY both want standard input.", hint="Give one as a file.")
    if out == "-":
        raise UsageError("A release is a folder: OUT can't be standard output.")
    if os.path.lexists(out) and not overwrite:
        raise ReleaseError(
            "OUT exists already.", hint="Choose another name, or --overwrite an earlier release."
        )
    if not Path(out).absolute().parent.is_dir():
        raise ReleaseError("The folder that OUT is to lie in isn't there.", hint="Make it first.")


def _read_key(where: str) -> bytes:
    try:
        key = Path(where).read_bytes()
    except OSError as error:
        raise ParameterError(
            f"The key file can't be read: {error.strerror or 'the system refused'}."
        ) from None
    if len(key) != KEY_BYTES:
        raise ParameterError(
            f"The key file must hold {KEY_BYTES} bytes. Got {len(key)}.",
            hint=f"Make one with: head -c {KEY_BYTES} /dev/urandom > FILE",
        )
    return key


def _read_text() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError("The policy on standard input isn't in UTF-8.") from None


def _opened(table: str, policy: Policy, said: Mapping[str, Any]) -> Source:
    """Open a table as the policy says, but for what the command line says of it."""
    from halfmask.data import open_table  # noqa: PLC0415 - polars takes half a second

    try:
        options = replace(policy.read_options(), **said)
    except ParameterError as error:
        raise UsageError(error.what, hint=error.hint) from None
    return open_table(table, options=options)
