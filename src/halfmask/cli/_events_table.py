"""``halfmask events table``: keep secret tables of events in a vault."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import typer

from halfmask.cli._codecs import open_vault
from halfmask.cli._console import console, listing, printable, say_json
from halfmask.cli._options import (  # noqa: TC001 # typer reads annotations
    DebugOption,
    JsonOption,
    VerboseOption,
)
from halfmask.cli._vault_lock import (  # noqa: TC001 # as above
    KeyFileOption,
    KeyringOption,
    PassphraseFileOption,
)

__all__ = ["table"]

#: `halfmask.events.TableKind`, here again: importing that room costs half a second.
KindWord: TypeAlias = Literal["recode", "recode-many", "shift", "scale", "names"]

table = typer.Typer(
    name="table",
    help="Keep the secret tables that policies of events name in a vault.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

VaultOption = Annotated[
    str,
    typer.Option("--vault", metavar="VAULT", show_default=False, help="The vault that holds them."),
]


@table.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(2)


@table.command("set")
def set_(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", show_default=False, help="What policies call it: table = NAME."
        ),
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="The table: TOML or CSV, by its ending."
        ),
    ],
    *,
    vault: VaultOption,
    kind: Annotated[
        KindWord | None, typer.Option("--kind", help="What a CSV file is for; TOML says it.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a table of that name.")
    ] = False,
    key_file: KeyFileOption = None,
    passphrase_file: PassphraseFileOption = None,
    keyring: KeyringOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,  # noqa: ARG001 # there is no more to say
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """Seal the secret table in FILE under NAME.

    FILE itself stays where it is, and is as secret as the vault: remove it, or guard it as well.
    """
    opened = open_vault(vault, key_file, passphrase_file, keyring=keyring)
    from halfmask.events import SecretTable, table_entry  # noqa: PLC0415 # half a second

    found = SecretTable.load(file, kind=kind)
    found.seal(opened, table_entry(name), overwrite=overwrite)
    if as_json:
        say_json({"ok": True, "table": name, "kind": found.kind, "entries": len(found)})
    else:
        console(stderr=True).print(
            f"The vault holds the table {printable(name)}: {found.kind}, {len(found):,} entries.",
            soft_wrap=True,
        )
    return 0


@table.command("list")
def list_(
    *,
    vault: VaultOption,
    key_file: KeyFileOption = None,
    passphrase_file: PassphraseFileOption = None,
    keyring: KeyringOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,  # noqa: ARG001 # there is no more to say
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """List the secret tables of a vault: names, kinds and how many entries; never an entry."""
    opened = open_vault(vault, key_file, passphrase_file, keyring=keyring)
    from halfmask.events import SecretTable, table_entry  # noqa: PLC0415 # half a second

    before = table_entry("")
    names = [name.removeprefix(before) for name in opened.names() if name.startswith(before)]
    found = {name: SecretTable.unseal(opened, table_entry(name)) for name in names}
    if as_json:
        told = [
            {"table": name, "kind": each.kind, "entries": len(each)} for name, each in found.items()
        ]
        say_json({"ok": True, "tables": told})
        return 0
    shown = listing("table", "kind", "entries", right=("entries",))
    for name, each in found.items():
        shown.add_row(printable(name), each.kind, f"{len(each):,}")
    console().print(shown)
    return 0
