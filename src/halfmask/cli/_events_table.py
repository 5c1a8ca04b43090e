"""``halfmask events table``: keep secret tables of events in a vault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from halfmask.cli._console import console, listing, printable, say_json
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import SayingOptions, command_group
from halfmask.cli._vault_lock import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    from halfmask.vault import Vault

#: `halfmask.events.TableKind`, here again: importing that room costs half a second.
KindWord: TypeAlias = Literal["recode", "recode-many", "shift", "scale", "names"]

table = command_group("table", "Store secret tables for event policies in a vault.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesVault:
    """The vault of secret tables, and its lock."""

    vault: str = required("--vault VAULT", "The vault with the secret tables.")
    lock: LockOptions

    def open(self) -> Vault:
        """Open the vault."""
        return self.lock.open(self.vault)


@table.command("set")
@spreads_groups
def set_(
    name: str = argument("NAME", "The table's name in policies: table = NAME."),
    file: str = argument("FILE", "The table, a TOML or CSV file by its ending."),
    *,
    place: TablesVault,
    kind: KindWord | None = option("--kind", "The kind of a CSV table. A TOML file states it."),
    overwrite: bool = flag("--overwrite", "Replace an existing table of this name."),
    saying: SayingOptions,
) -> int:
    """Store the secret table in FILE in the vault, as NAME.

    FILE stays where it is. Remove it, or protect it like the vault.
    """
    vault = place.open()
    from halfmask.events import SecretTable, table_entry  # noqa: PLC0415 # half a second

    found = SecretTable.load(file, kind=kind)
    found.seal(vault, table_entry(name), overwrite=overwrite)
    if saying.as_json:
        say_json({"ok": True, "table": name, "kind": found.kind, "entries": len(found)})
    else:
        console(stderr=True).print(
            f"The vault holds the table {printable(name)}: {found.kind}, {len(found):,} entries.",
            soft_wrap=True,
        )
    return 0


@table.command("list")
@spreads_groups
def list_(
    *,
    place: TablesVault,
    saying: SayingOptions,
) -> int:
    """List the secret tables of a vault: names, kinds and numbers of entries."""
    vault = place.open()
    from halfmask.events import SecretTable, table_entry  # noqa: PLC0415 # half a second

    before = table_entry("")
    names = [name.removeprefix(before) for name in vault.names() if name.startswith(before)]
    found = {name: SecretTable.unseal(vault, table_entry(name)) for name in names}
    if saying.as_json:
        tables = [
            {"table": name, "kind": each.kind, "entries": len(each)} for name, each in found.items()
        ]
        say_json({"ok": True, "tables": tables})
        return 0
    shown = listing("table", "kind", "entries", right=("entries",))
    for name, each in found.items():
        shown.add_row(printable(name), each.kind, f"{len(each):,}")
    console().print(shown)
    return 0
