"""Which fields say when an event was, whose system it is from, what it belongs to, who it is of."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from halfmask.data.value_patterns import PATTERNS
from halfmask.description.column_words import ID_WORDS
from halfmask.events.description._kinds import ENTITY_WORDS
from halfmask.events.description._times import is_finer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.events.description._facts import FieldFacts
    from halfmask.events.description._kinds import KindVerdict

StreamRole: TypeAlias = Literal["time", "tenant", "session", "entity"]

_TIME: Final = (
    "timestamp", "time", "ts", "datetime", "date", "at", "created", "occurred", "happened",
    "event", "when",
)  # fmt: skip
#: Times that are never those of an event: of a person's birth, and of versions.
_NO_TIMES: Final = frozenset({
    "birth", "birthday", "birthdate", "born", "dob", "geburtsdatum", "version", "build",
})  # fmt: skip
#: Times of an event, but rather of its end or of a later step.
_OTHER_TIMES: Final = frozenset({
    "expires", "expired", "expiry", "expiration", "due", "end", "ended", "finished", "until",
    "updated", "modified", "changed", "deleted", "release", "valid", "last", "next", "scheduled",
    "original", "sent", "stage",
})  # fmt: skip
_TENANT: Final = (
    "tenant", "organization", "organisation", "org", "workspace", "merchant", "shop", "store",
    "mandant", "subsidiary",
)  # fmt: skip
_SESSION: Final = ("session", "sessionid", "sid", "visit", "conversation", "trip", "journey")
#: What may follow the word for a person in the name of his id; "user agent" isn't a user's.
_OF_PERSONS: Final = ID_WORDS | {
    "name", "login", "username", "handle", "mail", "email", "e", "hash", "uuid", "guid", "token",
    "arn", "sub", "principal", "account", "ip",
}  # fmt: skip
_HANDLES: Final = frozenset({"login", "username", "handle"})
#: What repeats with many values and isn't whom an event is about.
_THINGS: Final = frozenset({
    "agent", "url", "uri", "path", "link", "href", "page", "referer", "referrer", "repo",
    "repository", "project", "request", "response", "version", "host", "hostname", "server", "node",
    "pod", "file", "filename", "bucket", "object", "resource", "message", "event", "order", "item",
    "product", "sku", "article", "invoice", "transaction", "payment", "trace", "span", "channel",
    "thread", "commit", "build", "job", "batch", "campaign", "hash",
})  # fmt: skip
_GUESSED: Final = (
    "Of the identifiers that repeat it is the likeliest, so it is taken for whom events are about; "
    "see that it is."
)
#: A field that fewer events have says nothing of the stream.
_LEAST_SHARE: Final = 0.5


def roles_of(
    found: Sequence[tuple[FieldFacts, KindVerdict]], events: int
) -> Mapping[str, tuple[StreamRole, str]]:
    """Return the fields of the stream by their path: what each is, and why."""
    fields = [it for it in found if it[0].of_events and it[0].events >= _LEAST_SHARE * events]
    times = [it for it in fields if it[1].kind == "time" and not set(it[0].words) & _NO_TIMES]
    others = [it for it in fields if it[1].kind in {"identifier", "category", "quasi-identifier"}]
    # A description of several words isn't an id, whatever it is called.
    ids = [facts for facts, _ in others if facts.profile.mean_words < 3]
    chosen: dict[str, tuple[StreamRole, str]] = {}
    if times:
        chosen[_time_of(times).path] = ("time", "It is taken for the time of the event.")
    words: tuple[tuple[StreamRole, tuple[str, ...], str], ...] = (
        ("session", _SESSION, "It is taken for what events belong to."),
        ("tenant", _TENANT, "It is taken for whose system the event is from."),
        ("entity", ENTITY_WORDS, "It is taken for whom the event is about."),
    )
    for role, known, sentence in words:
        named = [it for it in ids if it.path not in chosen and _rank(it, known) < len(known)]
        named = [it for it in named if not _is_address(it)]  # many persons share one
        if named:
            best = min(named, key=lambda it: _name_order(it, known))
            chosen[best.path] = (role, sentence)
    if "entity" not in {role for role, _ in chosen.values()}:
        repeated = [
            facts
            for facts, verdict in others
            if verdict.kind == "identifier"
            and facts.path not in chosen
            and _is_no_thing(facts)
            and 1 < facts.profile.distinct < 0.9 * facts.profile.filled
        ]
        if repeated:
            best = max(repeated, key=_person_order)
            chosen[best.path] = ("entity", _GUESSED)
    return chosen


def _time_of(times: Sequence[tuple[FieldFacts, KindVerdict]]) -> FieldFacts:
    """Return the time of the event; of a date, the field that has its times of day."""
    first, *others = sorted(times, key=lambda it: _time_order(it[0]))
    for facts, verdict in others:
        if not set(facts.words) & _OTHER_TIMES and is_finer(
            facts, verdict.unit, first[0], first[1].unit
        ):
            return facts
    return first[0]


def _time_order(facts: FieldFacts) -> tuple[bool, bool, int, int, int]:
    """Return by what times are compared: the event's own one differs, and is named as one."""
    return (
        facts.profile.distinct < 2,
        bool(set(facts.words) & _OTHER_TIMES),
        _first_of(set(facts.words), _TIME),
        len(facts.place.steps),
        -facts.profile.distinct,
    )


def _name_order(facts: FieldFacts, known: Sequence[str]) -> tuple[bool, int, bool, int, bool]:
    """Return by what fields of a role are compared: one that differs, and an id before a name."""
    words = set(facts.words)
    is_handle = bool(words & _HANDLES)
    is_name = ("name" in words or "mail" in "".join(words)) and not is_handle
    return (
        facts.profile.distinct < 2,
        _rank(facts, known),
        is_name,
        len(facts.place.steps),
        not is_handle,
    )


def _is_address(facts: FieldFacts) -> bool:
    return facts.profile.patterns.get("ip", 0.0) >= PATTERNS["ip"].least


def _person_order(facts: FieldFacts) -> tuple[bool, bool, int]:
    """Return by what ids that repeat are compared: a person before an id before an address."""
    hint = facts.hint
    named = hint is not None and hint.strong and hint.topic.role == "identifier"
    by_form = facts.profile.patterns.get("email", 0.0) >= PATTERNS["email"].least
    return not _is_address(facts), named or by_form, facts.profile.distinct


def _is_no_thing(facts: FieldFacts) -> bool:
    words = {*facts.words, *(facts.above if set(facts.words) <= _OF_PERSONS else ())}
    return not words & _THINGS


def _rank(facts: FieldFacts, known: Sequence[str]) -> int:
    """Return the place in a list of a word that the name ends with; its length for none.

    Words for ids may follow it, and others precede it: an "account type" is no account, a "remote
    user id" is a user. A name of such words alone is read with the name of what encloses it.
    """
    words = facts.words
    if words and set(words) <= _OF_PERSONS:
        words = (*facts.above, *words)
    ids = takewhile(_OF_PERSONS.__contains__, reversed(words))
    return _first_of(set(words[-len(list(ids)) - 1 :]), known)


def _first_of(words: set[str], known: Sequence[str]) -> int:
    return min((known.index(word) for word in words if word in known), default=len(known))
