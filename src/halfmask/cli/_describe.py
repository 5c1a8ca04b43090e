"""``halfmask describe`` and ``events describe``: propose a policy, and say why."""

from __future__ import annotations

import threading
from itertools import groupby
from typing import TYPE_CHECKING

from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._console import compilation_announced, console, listing, printable, say_json
from halfmask.cli._events_run import check_apart
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._policy_file import PolicyFile, show_sets
from halfmask.cli._protect_database import is_whole_database, propose
from halfmask.cli._tables import FormOptions

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from halfmask.description import Description, Proposal
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
def describe_events(
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
    if release is not None and not (release.isprintable() and 0 < len(release) <= LONGEST_RELEASE):
        raise UsageError("--release wants a word of letters that can be shown.")
    check_apart(policy.out or "-", where)
    with compilation_announced(console(stderr=True)):
        chunks = rooms.events.streams.open_source(where).chunks(None, threading.Event())
        lines = (chunk.data for chunk in chunks if not chunk.oversized)
        found = rooms.events.description.describe_events(lines, max_events=rows)
    if policy.out is not None:
        policy.write(found.policy_toml(release=release))
    if saying.as_json:
        say_json({"ok": True, "policy": policy.out, **found.to_dict()})
    elif policy.out != "-":
        screen = console()
        _show_events(found, screen, verbose=saying.verbose)
        edit = "edit it" if release else "name its release, edit it"
        then = f"{edit}, then halfmask events run."
        _show_next(policy.out, screen, "field", "events describe INPUT", then)
    return 0


def _show_events(found: EventsDescription, out: Console, *, verbose: bool) -> None:
    first = "" if found.whole else ", the first ones"
    out.print(
        f"{some(found.events, 'event')}{first}; {some(len(found.fields), 'path')}\n", style="bold"
    )
    table = listing("path", "kind", "proposed", "why")
    for each in found.fields:
        table.add_row(
            printable(each.path),
            _sure(each, each.kind, KIND_STYLES.get(each.kind, "")),
            _rule_of_field(each),
            printable(" ".join(each.reasons) if verbose else each.reasons[0]),
        )
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


def _rule_of_field(proposal: FieldProposal) -> str:
    if proposal.rule is None:
        return "left out"
    more = (proposal.rule.get(key) for key in ("every", "scope"))
    return " ".join([str(proposal.rule["do"]), *(str(it) for it in more if it)])


def _sure(proposal: Proposal | FieldProposal, word: str, style: str) -> Text:
    """Return a word of a proposal, which a ? says to be a guess."""
    from rich.text import Text  # noqa: PLC0415 # --help needs none

    return Text(word + ("" if proposal.certain else " ?"), style=style)


def _show_next(out: str | None, screen: Console, what: str, command: str, then: str) -> None:
    screen.print(
        f"\nA ? is a guess on the careful side. A {what} that points at people may have been "
        "missed: look at each."
    )
    if out is None:
        screen.print(f"Next: halfmask {command} --out policy.toml, and edit it.")
    else:
        screen.print(f"The policy is in {printable(out)}: {then}", soft_wrap=True)


ROLE_STYLES = {
    "identifier": "red",
    "quasi_identifier": "yellow",
    "sensitive": "magenta",
    "insensitive": "green",
}
#: So many columns with the same proposal are shown as one line.
MANY_ALIKE = 4
#: Letters of a column's name that keep room for the reason on 80 columns.
WIDEST_NAME = 22
SHORTEST_REASON = 12
#: Blanks between the columns of a listing.
GAP = 3
#: From this share of unique rows on, the line about unchanged columns is a warning.
MANY_UNIQUE = 0.05


def show_description(found: Description, out: Console, *, verbose: bool) -> None:
    """Show role, kind and reason of each column, and which columns single people out.

    Columns of which the same is proposed for the same reason are one line, named after the first;
    `verbose` gives each column its own, with all reasons and counts.
    """
    looked = "" if found.rows == found.rows_looked_at else f", {found.rows_looked_at:,} looked at"
    out.print(
        f"{some(found.rows, 'row')}{looked}, {some(len(found.proposals), 'column')}\n", style="bold"
    )
    if verbose:
        _show_each(found, out)
    else:
        _show_folded(found, out)
    out.print(
        f"\nOn the quasi-identifiers together {found.share_unique:.1%} of the rows are unique.",
        style="bold",
    )
    out.print(
        "On the sensitive and insensitive columns, which are released unchanged: "
        f"{found.share_unique_unchanged:.1%}.",
        style="yellow" if found.share_unique_unchanged >= MANY_UNIQUE else None,
    )
    for place in found.places:
        first, second = map(printable, place.columns)
        out.print(
            f"{first} and {second} hold points: {place.share_unique:.1%} of the rows have one of "
            f"their own. In the policy they are the column {printable(place.place)}.",
            *place.notes,
            style="yellow",
            soft_wrap=True,
        )
    person = rooms.description.proposal.proposed_person(found.proposals)
    if person is not None:
        out.print(
            f"The values of the identifier {printable(person.name)} repeat: if it says whose row "
            "it is, write it into the policy as person, so that guarantees count people.",
            style="yellow",
            soft_wrap=True,
        )
    sets = sorted(found.singling_out, key=lambda it: (len(it.columns), -it.share_unique))
    show_sets(sets, out, "So many are unique on these alone:", of="columns", verbose=verbose)


def _show_folded(found: Description, out: Console) -> None:
    groups = _alike(found.proposals)
    names = [_named(alike) for alike in groups]
    roles = [_role(alike[0]) for alike in groups]
    kinds = [alike[0].kind for alike in groups]
    taken = (min(max(map(len, each)), WIDEST_NAME) + GAP for each in (names, roles, kinds))
    room = max(out.width - sum(taken), SHORTEST_REASON)
    table = listing("column", "role", "kind", "why")
    table.columns[0].max_width = WIDEST_NAME
    for alike, name, role, kind in zip(groups, names, roles, kinds, strict=True):
        table.add_row(name, role, kind, _shortened(printable(alike[0].brief), room))
    out.print(table)
    folded = len(found.proposals) - len(groups)
    if folded:
        out.print(f"\n{folded} columns are folded; --verbose and the policy name each.")


def _named(alike: list[Proposal]) -> str:
    more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
    name = printable(alike[0].name)
    return _shortened(name, WIDEST_NAME - len(more)) + more if more else name


def _alike(proposals: tuple[Proposal, ...]) -> list[list[Proposal]]:
    """Return the proposals in groups: many with the same proposal, and each other by itself.

    A group stands where its first column does.
    """

    def alike(each: Proposal) -> tuple[str, str, bool, str]:
        return (each.role, each.kind, each.certain, each.brief)

    place = {each.name: i for i, each in enumerate(proposals)}
    groups = [list(group) for _, group in groupby(sorted(proposals, key=alike), key=alike)]
    parts = [
        part
        for group in groups
        for part in ([group] if len(group) >= MANY_ALIKE else [[each] for each in group])
    ]
    return sorted(parts, key=lambda part: place[part[0].name])


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _show_each(found: Description, out: Console) -> None:
    """Show a column, and under it why: a cell of a table would break the reasons into bits."""
    for each in found.proposals:
        out.print(f"{printable(each.name)}: ", _role(each), f", {each.kind}", sep="")
        evidence = each.evidence
        counted = (
            f"{some(int(evidence['distinct']), 'different value')}, "
            f"{evidence['missing_share']:.1%} missing, "
            f"{evidence['share_unique']:.1%} of the rows with a value of their own."
        )
        out.print(f"  {printable(' '.join((*each.reasons, counted)))}", soft_wrap=True)


def _role(proposal: Proposal) -> Text:
    return _sure(proposal, proposal.role.replace("_", "-"), ROLE_STYLES[proposal.role])


@spreads_groups
def describe(
    table: str = TABLE,
    *,
    policy: PolicyFile,
    missing: list[str] | None = option(
        "--missing TEXT: A text that marks a missing cell, such as ?; may be given more than once."
    ),
    form: FormOptions,
    sample: int | None = option(
        "--sample ROWS: Number of rows to examine, drawn at random.", min=1
    ),
    saying: SayingOptions,
) -> int:
    """Propose a role and a kind for each column, with the reason.

    It also shows which columns together single people out. It shows no cell of the table. With
    --out it writes the proposal as a policy file. Edit this file, then give it to halfmask
    protect.

    For a database, TABLE is a URL without a table. The proposed policy names each table and
    column: keys become tokens, other columns are dropped.
    """
    policy.check(as_json=saying.as_json)
    if is_whole_database(table, form.head):
        return propose(table, policy, saying)
    options = form.options(missing)
    found = rooms.description.describe(
        rooms.data.open_table(table, format=form.format, options=options), sample=sample
    )
    if policy.out is not None:
        text = found.policy_toml()
        policy.write(rooms.description.reading_section.with_reading(text, options))
    if saying.as_json:
        say_json({"ok": True, "policy": policy.out, **_as_dict(found)})
    elif policy.out != "-":
        screen = console()
        show_description(found, screen, verbose=saying.verbose)
        then = "edit it, then halfmask protect TABLE POLICY OUT."
        _show_next(policy.out, screen, "column", "describe TABLE", then)
        if policy.out is not None:
            screen.print("What each guarantee costs: halfmask explore TABLE POLICY.")
    return 0


def _as_dict(found: Description) -> dict[str, object]:
    names = ("rows", "rows_looked_at", "share_unique", "share_unique_unchanged")
    proposed = ("name", "role", "kind", "certain")
    return {
        **{name: getattr(found, name) for name in names},
        "columns": [
            {name: getattr(each, name) for name in proposed}
            | {"reasons": list(each.reasons), "evidence": dict(each.evidence)}
            for each in found.proposals
        ],
        "places": [each.to_dict() for each in found.places],
        "singling_out": [
            {"columns": list(each.columns), "share_unique": each.share_unique}
            for each in found.singling_out
        ],
    }
