"""``halfmask events``: describe, run and verify streams of events."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._console import listing, printable
from halfmask.cli._describe import describe_events
from halfmask.cli._events_run import POLICY, StreamVault, check_apart, run
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import OVERWRITE, SayingOptions, command_group
from halfmask.cli._stored import check_streams
from halfmask.cli._vault import LockOptions  # typer reads it
from halfmask.cli._verify import verify_events

#: `halfmask.events.TableKind`, here again: importing that room costs half a second.
KindWord: TypeAlias = Literal["recode", "recode-many", "shift", "scale", "names"]

table = command_group("table", "Store secret tables for event policies in a vault.")


VAULT = required("--vault VAULT: The vault with the secret tables.")


@table.command("set")
@spreads_groups
def set_(
    name: str = argument("NAME: The table's name in policies: table = NAME."),
    file: str = argument("FILE: The table, a TOML or CSV file by its ending."),
    *,
    vault: str = VAULT,
    lock: LockOptions,
    kind: KindWord | None = option("--kind: The kind of a CSV table. A TOML file states it."),
    overwrite: bool = flag("--overwrite: Replace an existing table of this name."),
    saying: SayingOptions,
) -> int:
    """Store the secret table in FILE in the vault, as NAME.

    FILE stays where it is. Remove it, or protect it like the vault.
    """
    opened = lock.open(vault)
    found = rooms.events.SecretTable.load(file, kind=kind)
    found.seal(opened, rooms.events.table_entry(name), overwrite=overwrite)
    return saying.say(
        {"table": name, "kind": found.kind, "entries": len(found)},
        f"The vault holds the table {printable(name)}: {found.kind}, {len(found):,} entries.",
        stderr=True,
    )


@table.command("list")
@spreads_groups
def list_(*, vault: str = VAULT, lock: LockOptions, saying: SayingOptions) -> int:
    """List the secret tables of a vault: names, kinds and numbers of entries."""
    opened = lock.open(vault)
    before = rooms.events.table_entry("")
    names = [name.removeprefix(before) for name in opened.names() if name.startswith(before)]
    load = rooms.events.SecretTable.unseal
    found = {name: load(opened, f"{before}{name}") for name in names}
    tables = [
        {"table": name, "kind": each.kind, "entries": len(each)} for name, each in found.items()
    ]
    shown = listing("table", "kind", "entries", right=("entries",))
    for name, each in found.items():
        shown.add_row(printable(name), each.kind, f"{len(each):,}")
    return saying.say({"tables": tables}, shown)


@spreads_groups
def reverse(
    policy: str = POLICY,
    released: str = argument(
        "RELEASED: Released events: a file or folder of JSON lines, or - for standard input."
    ),
    out: str = argument(
        "OUT: The file for the original values. Keep it confidential. - for standard output."
    ),
    *,
    overwrite: bool = OVERWRITE,
    place: StreamVault,
    saying: SayingOptions,
) -> int:
    """Reverse the pseudonyms of RELEASED.

    It reverses tokens, sequence numbers over the stream, and values of one-to-one secret tables.
    Other values stay as released. OUT has the mode 0600.
    """
    check_streams(released, out, place.lock, as_json=saying.as_json)
    check_apart(out, policy, released)
    vault = place.lock.open(place.vault)
    wanted, source = (
        rooms.events.EventPolicy.load(policy),
        rooms.events.streams.open_source(released),
    )
    before = os.umask(0o077)
    try:
        with saying.stages() as stages:
            done = rooms.events.reverse_events(
                wanted,
                source,
                rooms.events.streams.open_sink(out, overwrite=overwrite),
                vault=vault,
                stream=place.stream,
                progress=stages,
            )
    finally:
        os.umask(before)
    turned, unknown = sum(done.values.values()), sum(done.unknown.values())
    values, without = (
        {str(rule): count for rule, count in each.items()} for each in (done.values, done.unknown)
    )
    facts = {"events": done.events, "rules": list(done.rules)}
    return saying.say(
        {**facts, "values": values, "unknown": without},
        f"Turned back {some(turned, 'value')} of {some(done.events, 'event')}; "
        f"{unknown:,} aren't known to the vault.",
        stderr=True,
    )


events = command_group("events", "Release a stream of nested events by a policy.")
events.command("describe")(describe_events)
events.command("run")(run)
events.command("verify")(verify_events)
events.command("reverse")(reverse)
events.add_typer(table)
