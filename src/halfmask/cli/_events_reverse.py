"""``halfmask events reverse``: turn pseudonyms of released events back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from halfmask.cli._codecs import check_streams
from halfmask.cli._console import console, say_json
from halfmask.cli._events_options import POLICY, StreamVault, check_apart
from halfmask.cli._option_groups import argument, spreads_groups
from halfmask.cli._options import OVERWRITE, SayingOptions

if TYPE_CHECKING:
    from halfmask.events import Reversed


@spreads_groups
def reverse(
    policy: str = POLICY,
    released: str = argument(
        "RELEASED", "Released events: a file or folder of JSON lines, or - for standard input."
    ),
    out: str = argument(
        "OUT", "The file for the original values. Keep it confidential. - for standard output."
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
    from halfmask.events import EventPolicy, reverse_events  # noqa: PLC0415 # half a second
    from halfmask.events.streams import open_sink, open_source  # noqa: PLC0415 # the same

    before = os.umask(0o077)
    try:
        with saying.stages() as stages:
            done = reverse_events(
                EventPolicy.load(policy),
                open_source(released),
                open_sink(out, overwrite=overwrite),
                vault=vault,
                stream=place.stream,
                progress=stages,
            )
    finally:
        os.umask(before)
    if saying.as_json:
        say_json({"ok": True, **_reversed(done)})
    else:
        turned, unknown = sum(done.values.values()), sum(done.unknown.values())
        console(stderr=True).print(
            f"Turned back {turned:,} values of {done.events:,} events; "
            f"{unknown:,} aren't known to the vault.",
            soft_wrap=True,
        )
    return 0


def _reversed(done: Reversed) -> dict[str, object]:
    return {
        "events": done.events,
        "rules": list(done.rules),
        "values": {str(rule): count for rule, count in done.values.items()},
        "unknown": {str(rule): count for rule, count in done.unknown.items()},
    }
