"""Which fields say when an event was, whose system it is from, what it belongs to, who it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from halfmask.data._column_words import ID_WORDS
from halfmask.events.description._kinds import ENTITY_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.events.description._facts import FieldFacts
    from halfmask.events.description._kinds import KindVerdict

__all__ = ["StreamRole", "roles_of"]

StreamRole: TypeAlias = Literal["time", "tenant", "session", "entity"]

_TIME: Final = (
    "timestamp", "time", "ts", "datetime", "date", "at", "created", "occurred", "happened",
    "event", "when",
)  # fmt: skip
_TENANT: Final = (
    "tenant", "organization", "organisation", "org", "workspace", "merchant", "shop", "store",
    "mandant", "subsidiary",
)  # fmt: skip
_SESSION: Final = ("session", "sessionid", "sid", "visit", "conversation", "trip", "journey")
_GUESSED: Final = (
    "It is the identifier that repeats with the most values, so it is taken for whom events are "
    "about; see that it is."
)
#: A field that fewer events have says nothing of the stream.
_LEAST_SHARE: Final = 0.5


def roles_of(
    found: Sequence[tuple[FieldFacts, KindVerdict]], events: int
) -> Mapping[str, tuple[StreamRole, str]]:
    """Return the fields of the stream by their path: what each is, and why."""
    fields = [it for it in found if it[0].of_events and it[0].events >= _LEAST_SHARE * events]
    times = [facts for facts, verdict in fields if verdict.kind == "time"]
    others = [it for it in fields if it[1].kind in {"identifier", "category", "quasi-identifier"}]
    # A description of several words isn't an id, whatever it is called.
    ids = [facts for facts, _ in others if facts.profile.mean_words < 3]
    chosen: dict[str, tuple[StreamRole, str]] = {}
    if times:
        best = min(times, key=lambda it: _rank(it, _TIME))
        chosen[best.path] = ("time", "It is taken for the time of the event.")
    words: tuple[tuple[StreamRole, tuple[str, ...], str], ...] = (
        ("session", _SESSION, "It is taken for what events belong to."),
        ("tenant", _TENANT, "It is taken for whose system the event is from."),
        ("entity", ENTITY_WORDS, "It is taken for whom the event is about."),
    )
    for role, known, sentence in words:
        named = [it for it in ids if it.path not in chosen and _rank(it, known) < len(known)]
        if named:
            best = min(named, key=lambda it: (_rank(it, known), _is_name(it)))
            chosen[best.path] = (role, sentence)
    if "entity" not in {role for role, _ in chosen.values()}:
        repeated = [
            facts
            for facts, verdict in others
            if verdict.kind == "identifier"
            and facts.path not in chosen
            and 1 < facts.profile.distinct < 0.9 * facts.profile.filled
        ]
        if repeated:
            best = max(repeated, key=lambda it: it.profile.distinct)
            chosen[best.path] = ("entity", _GUESSED)
    return chosen


def _rank(facts: FieldFacts, known: Sequence[str]) -> int:
    """Return the place in a list of the first word that the name has; its length for none."""
    words = set(facts.words)
    if words and words <= ID_WORDS | {"name", "time", "date"}:
        words |= set(facts.above)
    return min((known.index(word) for word in words if word in known), default=len(known))


def _is_name(facts: FieldFacts) -> bool:
    return "name" in facts.words or "mail" in "".join(facts.words)
