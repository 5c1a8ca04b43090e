"""A description of events as a commented policy, for the owner to edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from halfmask.claims import WEAKNESSES
from halfmask.description.policy_text import comment_of, toml_value

if TYPE_CHECKING:
    from halfmask.events.description._field_proposal import EventsDescription, FieldProposal

HEAD: Final = """\
A policy of events that halfmask proposes. It is yours now: read each line, and change what is
wrong. It has names of fields and no value. A kept field keeps its name: write name = "..." in
the rule to give it another.

What no rule names is dropped, also a field that comes later. The proposals rest on names,
on forms of values and on counting: false negatives are possible, so look at each rule."""
STREAM: Final = """\
Where the time, tenant, session and entity of an event stand: guarantees and aggregates go by it."""
ZONE: Final = "Times that don't say their zone are of this one: write which it is."
GUARANTEE: Final = """\
What must hold of the events that are released together. Uncomment it, and choose k: each value
of the path is then of events of at least k distinct entities, or it is left out.
[window]
every = "1 day"
zone = "UTC"
[[guarantee]]
kind = "distinct"
paths = [{path}]
k = 10
fails = "field\""""
NOTHING: Final = """\
No field was found that is harmless. A policy needs a rule: this one releases nothing."""


def policy_text(found: EventsDescription, *, release: str) -> str:
    """Return the commented TOML of a description; it is a valid policy as it stands."""
    rules = [it for it in found.fields if it.rule is not None]
    parts = [
        comment_of(HEAD),
        comment_of("\n".join(_findings(found))),
        f"halfmask-events = 1\nrelease = {toml_value(release)}",
        *_write_stream(found),
        *(_write_field(it) for it in found.fields),
        *([] if rules else [_write_erased(found)]),
        *_write_guarantee(found),
    ]
    return "\n\n".join(parts) + "\n"


def _findings(found: EventsDescription) -> Iterator[str]:
    first = "" if found.whole else " (the first of the stream)"
    yield f"{found.events:,} events{first} were looked at, {len(found.fields):,} paths were met."
    if found.refused:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in found.refused.items())
        yield f"Lines that are no events: {reasons}."
    yield (
        f"In all fields together but identifiers and free text, {found.share_unique:.1%} of the "
        "events are unique."
    )
    if found.singling_out:
        yield "These single events out (share of unique events on them alone; of [] all together):"
    for it in found.singling_out:
        yield f"  {it.share_unique:6.1%}  {', '.join(it.columns)}"


def _write_stream(found: EventsDescription) -> Iterator[str]:
    named = found.stream
    lines = [
        f"{role} = {toml_value(named[role])}"
        for role in ("time", "tenant", "session", "entity")
        if role in named
    ]
    if found.zone_lacking:
        lines += [comment_of(ZONE), 'zone = "UTC"']
    if lines:
        yield "\n".join((comment_of(STREAM), "[stream]", *lines))


def _write_field(proposal: FieldProposal) -> str:
    """Return the rule of a field under the reasons for it; of one that is left out, these alone."""
    kind = proposal.kind if proposal.certain else f"{proposal.kind}, perhaps"
    lines = [f"{proposal.path} - {kind}. {' '.join(proposal.reasons)}", _write_counts(proposal)]
    if proposal.rule is None:
        if proposal.otherwise is not None:
            lines.append(f"Or: {proposal.otherwise}")
        return comment_of("\n".join(lines))
    return "\n".join((comment_of("\n".join(lines)), *_write_rule(proposal.path, proposal.rule)))


def _write_rule(path: str, rule: Mapping[str, Any]) -> Iterator[str]:
    yield "[[rule]]"
    yield f"path = {toml_value(path)}"
    # What an action is comes before how it does it, and the treatment of names first of all.
    for key in sorted(rule, key=lambda it: (it != "names", it != "do")):
        yield f"{key} = {toml_value(rule[key])}"


def _write_counts(proposal: FieldProposal) -> str:
    types = ", ".join(f"{count:,} {word}" for word, count in proposal.types.items())
    text = f"In {proposal.events:,} events: {types}."
    if proposal.values:
        text += (
            f" {proposal.distinct:,} different; {proposal.share_unique:.1%} of its values are "
            "met once"
        )
        if proposal.one_entity is not None and proposal.role != "entity":
            text += f", {proposal.one_entity:.1%} of the different ones with one entity alone"
        text += "."
    weak = _weaknesses(proposal.rule)
    return text + (f" Weaknesses: {', '.join(weak)}." if weak else "")


def _weaknesses(rule: Mapping[str, Any] | None) -> tuple[str, ...]:
    from halfmask.events.policy._policy_sections import RuleSection  # noqa: PLC0415 # pydantic, 0.1 s

    if rule is None:
        return ()
    path = "a.*" if "names" in rule else "a"
    return tuple(it for it in RuleSection(path=path, **rule).weaknesses if it in WEAKNESSES)


def _write_guarantee(found: EventsDescription) -> Iterator[str]:
    kept = [it for it in found.fields if it.rule is not None and it.rule["do"] == "keep"]
    texts = [it for it in kept if it.kind == "category" and "names" not in (it.rule or {})]
    if texts and {"time", "entity"} <= set(found.stream):
        yield comment_of(GUARANTEE.replace("{path}", toml_value(texts[0].path)))


def _write_erased(found: EventsDescription) -> str:
    path = found.fields[0].path if found.fields else "nothing"
    names = ['names = "hash"'] if "*" in path else []
    erased = ["[[rule]]", f"path = {toml_value(path)}", *names, 'do = "erase"']
    return "\n".join((comment_of(NOTHING), *erased))
