"""What a place holds, and what it is in the stream: by type, by form, by name, by counting."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from halfmask.data.cell_formats import ISO
from halfmask.data.value_patterns import PATTERNS
from halfmask.description import thresholds
from halfmask.description.column_words import ID_WORDS
from halfmask.description.verdicts import (
    form_of_place,
    has_free_text,
    identifying_form,
    is_consecutive,
    is_own_code,
    points_at_groups,
    values_text,
)
from halfmask.events.description._fields import is_finer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halfmask.events.block._times import Unit
    from halfmask.events.description._fields import FieldFacts


FieldKind: TypeAlias = Literal[
    "identifier", "quasi-identifier", "time", "number", "category", "free-text", "boolean",
    "nested", "mixed", "empty",
]  # fmt: skip

#: Whom events are about, the surest words first.
ENTITY_WORDS: Final = (
    "actor", "user", "username", "login", "principal", "customer", "client", "caller", "patient",
    "member", "subscriber", "person", "employee", "student", "driver", "rider", "player", "visitor",
    "guest", "buyer", "seller", "author", "owner", "identity", "subject", "participant",
    "household", "account", "device", "vehicle", "card", "kunde", "benutzer", "patienten",
    "mitarbeiter", "cliente", "usuario", "utilisateur",
)  # fmt: skip

#: What numbers since 1970 are called.
_MOMENTS: Final = frozenset({
    "time", "timestamp", "ts", "date", "at", "datetime", "epoch", "millis", "created", "updated",
    "modified", "occurred", "happened", "started", "ended", "finished", "expires", "expired",
})  # fmt: skip
#: Words for codes of things, besides those of tables of people.
_CODES: Final = ID_WORDS | {"sku", "ean", "gtin", "upc", "isbn", "asin", "hash", "barcode"}

_UNITS: Final[Mapping[Unit, int]] = {
    "seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KindVerdict:
    """What a place holds."""

    kind: FieldKind
    reasons: tuple[str, ...]
    certain: bool = True
    unit: Unit | None = None


def judge_field(facts: FieldFacts) -> KindVerdict:
    """Return what a place holds: the first judgement that fits."""
    for judge in _JUDGES:
        found = judge(facts)
        if found is not None:
            return found
    return _judge_plain(facts)


def _verdict(kind: FieldKind, *reasons: str, certain: bool = True) -> KindVerdict:
    return KindVerdict(kind=kind, reasons=reasons, certain=certain)


def _by_type(facts: FieldFacts) -> KindVerdict | None:
    scalars = facts.scalar_types
    if facts.nested and not scalars:
        return _judge_nested(facts)
    if not scalars:
        return _verdict("empty", "It was never anything but null.")
    if facts.nested or len(scalars) > 1:
        listed = ", ".join(facts.types)
        return _verdict("mixed", f"It is of several types ({listed}).", certain=False)
    if scalars == ("boolean",):
        return _verdict("boolean", "It is true or false.")
    return None


def _judge_nested(facts: FieldFacts) -> KindVerdict:
    if set(facts.types) == {"array"}:
        return _verdict("nested", "It is an array.")
    if facts.names and facts.profile.rows == 0:
        return _verdict("nested", f"It is an object; {facts.names:,} names were met in it.")
    return _verdict("nested", "It is an object or array.")


def _by_form(facts: FieldFacts) -> KindVerdict | None:
    found = identifying_form(facts.profile, facts.hint)
    return None if found is None else _verdict("identifier", found[1])


def _by_strong_name(facts: FieldFacts) -> KindVerdict | None:
    hint = facts.hint
    if hint is None or not hint.strong or hint.topic.role != "identifier":
        return None
    about = hint.topic.about
    if points_at_groups(facts.profile, few_are_groups=hint.topic.few_are_groups):
        return _verdict(
            "quasi-identifier",
            f"Its name speaks of {about}, but it has only "
            f"{values_text(facts.profile.distinct)}, which point at groups.",
            certain=False,
        )
    return _verdict("identifier", f"Its name speaks of {about}.")


def _by_time(facts: FieldFacts) -> KindVerdict | None:
    profile, words = facts.profile, facts.words
    if profile.date_format is not None:
        form = "as ISO 8601 has them" if profile.date_format == ISO else profile.date_format
        return _verdict("time", f"Its values are dates or times ({form}).")
    if not set(words) & _MOMENTS or not profile.whole_numbers or not profile.dtype.is_numeric():
        return None
    low, high = profile.low or 0.0, profile.high or 0.0
    for unit, factor in _UNITS.items():
        if thresholds.SECONDS[0] * factor <= low and high <= thresholds.SECONDS[1] * factor:
            why = f"Its name speaks of a time, and its numbers are {unit} since 1970 by their size."
            return KindVerdict(kind="time", reasons=(why,), unit=unit)
    return None


def _by_entity(facts: FieldFacts) -> KindVerdict | None:
    """Judge what is named after whom events are about, itself or as the id of what encloses it."""
    words, above = facts.words, facts.above
    named = set(words) & set(ENTITY_WORDS) if len(words) == 1 else set()
    if len(words) == 1 and words[0] in ID_WORDS and above:
        named = {above[-1]} & set(ENTITY_WORDS)
    if not named or facts.profile.dtype.is_float():
        return None
    if _is_free(facts) or points_at_groups(facts.profile):
        return None
    return _verdict("identifier", "Its name speaks of whom an event is about.")


def _by_text(facts: FieldFacts) -> KindVerdict | None:
    profile, hint = facts.profile, facts.hint
    if profile.dtype.is_numeric():
        return None
    if _is_free(facts):
        return _verdict(
            "free-text",
            f"It is text of {profile.mean_words:.0f} words on average, up to {facts.longest:,} "
            "letters, which may name people.",
        )
    about = hint is not None and hint.topic.kind == "text" and hint.topic.role == "identifier"
    remarks = profile.mean_words >= thresholds.REMARK_WORDS
    if hint is not None and about and not hint.strong and remarks:
        return _verdict(
            "free-text", f"Its name speaks of {hint.topic.about}, which may name people."
        )
    return None


def _is_free(facts: FieldFacts) -> bool:
    is_long = facts.longest > thresholds.LONG_TEXT
    remarks = is_long and facts.profile.mean_words >= thresholds.REMARK_WORDS
    return remarks or has_free_text(facts.profile)


def _by_code(facts: FieldFacts) -> KindVerdict | None:
    """Judge what is named as an id, code or number of something."""
    profile, words = facts.profile, facts.words
    if not words or words[-1] not in _CODES or profile.dtype.is_float():
        return None
    place = facts.hint is not None and facts.hint.strong
    if place:
        return None
    if profile.distinct > thresholds.FEW_VALUES or profile.uniqueness >= thresholds.HALF_UNIQUE:
        return _verdict(
            "identifier",
            f"Its name speaks of an id or code, and it has {profile.distinct:,} different values.",
            certain=profile.uniqueness >= thresholds.NEARLY_UNIQUE,
        )
    return _verdict("category", "By its name its values are codes of a few things.", certain=False)


def _by_topic(facts: FieldFacts) -> KindVerdict | None:
    hint = facts.hint
    if hint is None or not hint.strong:
        return None
    if hint.topic.role == "sensitive":
        return _verdict(
            "quasi-identifier",
            f"Its name speaks of {hint.topic.about}, which nobody may learn of a person.",
        )
    return _verdict("quasi-identifier", f"Its name speaks of {hint.topic.about}.")


def _by_count(facts: FieldFacts) -> KindVerdict | None:
    """Judge what has a value of its own nearly everywhere."""
    profile = facts.profile
    if not is_own_code(profile):
        return None
    runs = is_consecutive(profile)
    return _verdict(
        "identifier",
        f"Nearly each has a value of its own ({profile.distinct:,} in {profile.filled:,}"
        f"{', and they run on' if runs else ''}).",
        certain=runs,
    )


def _by_place(facts: FieldFacts) -> KindVerdict | None:
    found = None if facts.profile.dtype.is_numeric() else form_of_place(facts.profile)
    return None if found is None else _verdict("quasi-identifier", found[1], certain=False)


def _judge_plain(facts: FieldFacts) -> KindVerdict:
    profile = facts.profile
    if profile.dtype.is_numeric():
        return _verdict("number", "Its values are numbers.")
    several = "1 value" if profile.distinct == 1 else values_text(profile.distinct)
    return _verdict("category", f"It is text of {several}.", certain=False)


_JUDGES: tuple[Callable[[FieldFacts], KindVerdict | None], ...] = (
    _by_type, _by_form, _by_time, _by_strong_name, _by_entity, _by_text, _by_code, _by_topic,
    _by_count, _by_place,
)  # fmt: skip


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


def roles_of(
    found: Sequence[tuple[FieldFacts, KindVerdict]], events: int
) -> Mapping[str, tuple[StreamRole, str]]:
    """Return the fields of the stream by their path: what each is, and why."""
    least = thresholds.STREAM_SHARE * events
    fields = [it for it in found if it[0].of_events and it[0].events >= least]
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
