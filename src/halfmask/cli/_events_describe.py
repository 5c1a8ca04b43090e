"""``halfmask events describe``: propose a policy for a stream of events, and say why."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from halfmask.cli._claims import some
from halfmask.cli._console import console, listing, printable, say_json
from halfmask.cli._events_run import check_apart
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import SayingOptions
from halfmask.cli._policy_file import PolicyFile, show_sets
from halfmask.cli._progress import compilation_announced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.text import Text

    from halfmask.events.description import EventsDescription, FieldProposal

KIND_STYLES = {
    "identifier": "red",
    "quasi-identifier": "yellow",
    "free-text": "red",
    "mixed": "yellow",
    "time": "magenta",
}
#: Longer ones no policy takes.
LONGEST_RELEASE = 1_000
MOST_EVENTS = 100_000


@spreads_groups
def describe(
    where: str = argument(
        "INPUT: Events: a file of JSON lines (plain, gzip, zstd), Parquet or Arrow, a folder of "
        "them, or - for standard input."
    ),
    *,
    policy: PolicyFile,
    release: str | None = option(
        "--release NAME: The name of the release in the policy. Keys are derived from it, so "
        "pseudonyms of other releases can't be joined to these. Without it, write the name into "
        "POLICY."
    ),
    rows: int = option(
        "--sample EVENTS: Number of events to examine, from the beginning.", MOST_EVENTS, min=1
    ),
    saying: SayingOptions,
) -> int:
    """Propose a rule for each field, with the reason.

    It shows the kind of each path of INPUT, the likely fields of time, session and entity, and
    what singles events out. It shows no value. With --out it writes the proposal as a policy.
    Edit the policy, then give it to halfmask events run. Fields without a rule are dropped.
    """
    policy.check(as_json=saying.as_json)
    _check_release(release)
    check_apart(policy.out or "-", where)
    from halfmask.events.description import describe_events  # noqa: PLC0415 # numba is slow

    with compilation_announced(console(stderr=True)):
        found = describe_events(_lines(where), max_events=rows)
    if policy.out is not None:
        policy.write(found.policy_toml(release=release))
    if saying.as_json:
        say_json({"ok": True, "policy": policy.out, **found.to_dict()})
    elif policy.out != "-":
        screen = console()
        _show(found, screen, verbose=saying.verbose)
        _show_next(policy.out, screen, named=release is not None)
    return 0


def _check_release(release: str | None) -> None:
    if release is None:
        return
    if not release.isprintable() or not 0 < len(release) <= LONGEST_RELEASE:
        raise UsageError("--release wants a word of letters that can be shown.")


def _lines(where: str) -> Iterator[bytes]:
    from halfmask.events.streams import open_source  # noqa: PLC0415 # numba is slow

    for chunk in open_source(where).chunks(None, threading.Event()):
        if not chunk.oversized:
            yield chunk.data


def _show(found: EventsDescription, out: Console, *, verbose: bool) -> None:
    first = "" if found.whole else ", the first ones"
    out.print(
        f"{some(found.events, 'event')}{first}; {some(len(found.fields), 'path')}\n", style="bold"
    )
    table = listing("path", "kind", "proposed", "why")
    table.columns[0].overflow = table.columns[3].overflow = "fold"
    for each in found.fields:
        table.add_row(printable(each.path), _kind(each), _rule(each), _why(each, verbose=verbose))
    out.print(table)
    for role, path in found.stream.items():
        out.print(f"The {role} is taken from {printable(path)}.", soft_wrap=True)
    for reason, count in found.refused.items():
        out.print(f"{count:,} lines are no events: {reason}.")
    out.print(
        f"\nIn all fields but identifiers and free text, {found.share_unique:.1%} of the events "
        "are unique.",
        style="bold",
    )
    title = "So many are unique on these alone (of [] all values of an event together):"
    show_sets(found.singling_out, out, title, of="paths", verbose=verbose)


def _kind(proposal: FieldProposal) -> Text:
    from rich.text import Text  # noqa: PLC0415 # --help needs none

    doubt = "" if proposal.certain else " ?"
    return Text(proposal.kind + doubt, style=KIND_STYLES.get(proposal.kind, ""))


def _rule(proposal: FieldProposal) -> str:
    if proposal.rule is None:
        return "left out"
    more = (proposal.rule.get(key) for key in ("every", "scope"))
    return " ".join([str(proposal.rule["do"]), *(str(it) for it in more if it)])


def _why(proposal: FieldProposal, *, verbose: bool) -> str:
    return printable(" ".join(proposal.reasons) if verbose else proposal.reasons[0])


def _show_next(out: str | None, screen: Console, *, named: bool) -> None:
    screen.print(
        "\nA ? is a guess on the careful side. A field that points at people may have been missed: "
        "look at each."
    )
    if out is None:
        screen.print("Next: halfmask events describe INPUT --out policy.toml, and edit it.")
    else:
        screen.print(
            f"The policy is in {printable(out)}: {'' if named else 'name its release, '}edit it, "
            "then halfmask events run.",
            soft_wrap=True,
        )
