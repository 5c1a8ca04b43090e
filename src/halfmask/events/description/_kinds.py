"""What the values of a place are, and why: by type, by form, by name, by counting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from halfmask.data.cell_formats import ISO
from halfmask.data.value_patterns import PATTERNS
from halfmask.description.column_words import ID_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halfmask.events.block._times import Unit
    from halfmask.events.description._facts import FieldFacts

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

FREE_WORDS: Final = 6
FREE_LETTERS: Final = 40
LONG_TEXT: Final = 200
REMARK_WORDS: Final = 3
NEARLY_ALL: Final = 0.95
FEW_ROWS: Final = 20
MANY_CODES: Final = 100
CODE_DIGITS: Final = 6
#: Whole numbers of a field that is named as a time are taken for one between 2001 and 2100.
_SECONDS: Final = (1_000_000_000, 4_102_444_800)
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


def judged(facts: FieldFacts) -> KindVerdict:
    """Return what a place holds: the first judgement that fits."""
    for judge in _JUDGES:
        found = judge(facts)
        if found is not None:
            return found
    return _plain(facts)


def _said(kind: FieldKind, *reasons: str, certain: bool = True) -> KindVerdict:
    return KindVerdict(kind=kind, reasons=reasons, certain=certain)


def _by_type(facts: FieldFacts) -> KindVerdict | None:
    scalars = facts.scalar_types
    if facts.nested and not scalars:
        return _nested(facts)
    if not scalars:
        return _said("empty", "It was never anything but null.")
    if facts.nested or len(scalars) > 1:
        listed = ", ".join(facts.types)
        return _said("mixed", f"It is of several types ({listed}).", certain=False)
    if scalars == ("boolean",):
        return _said("boolean", "It is true or false.")
    return None


def _nested(facts: FieldFacts) -> KindVerdict:
    if set(facts.types) == {"array"}:
        return _said("nested", "It is an array.")
    if facts.names and facts.profile.rows == 0:
        return _said("nested", f"It is an object; {facts.names:,} names were met in it.")
    return _said("nested", "It is an object or array.")


def _by_form(facts: FieldFacts) -> KindVerdict | None:
    profile, hint = facts.profile, facts.hint
    if profile.date_format is not None or profile.dtype.is_float():
        return None
    clear = hint is not None and hint.strong and hint.topic.role != "identifier"
    for name, pattern in PATTERNS.items():
        share = profile.patterns.get(name, 0.0)
        # Much else looks like a telephone number.
        if name == "phone" and (clear or profile.uniqueness < 0.1):
            continue
        if pattern.identifies and share >= pattern.least:
            return _said(
                "identifier", f"{share:.0%} of its values have the form of {pattern.about}."
            )
    return None


def _by_strong_name(facts: FieldFacts) -> KindVerdict | None:
    hint = facts.hint
    if hint is None or not hint.strong or hint.topic.role != "identifier":
        return None
    about = hint.topic.about
    if _few(facts):
        return _said(
            "quasi-identifier",
            f"Its name speaks of {about}, but it has only {facts.profile.distinct:,} different "
            "values, which point at groups.",
            certain=False,
        )
    return _said("identifier", f"Its name speaks of {about}.")


def _by_time(facts: FieldFacts) -> KindVerdict | None:
    profile, words = facts.profile, facts.words
    if profile.date_format is not None:
        form = "as ISO 8601 has them" if profile.date_format == ISO else profile.date_format
        return _said("time", f"Its values are dates or times ({form}).")
    if not set(words) & _MOMENTS or not profile.whole_numbers or not profile.dtype.is_numeric():
        return None
    low, high = profile.low or 0.0, profile.high or 0.0
    for unit, factor in _UNITS.items():
        if _SECONDS[0] * factor <= low and high <= _SECONDS[1] * factor:
            why = f"Its name speaks of a time, and its numbers are {unit} since 1970 by their size."
            return KindVerdict(kind="time", reasons=(why,), unit=unit)
    return None


def _by_entity(facts: FieldFacts) -> KindVerdict | None:
    """Judge what is named after whom events are about, itself or as the id of what encloses it."""
    words, above = facts.words, facts.above
    named = set(words) & set(ENTITY_WORDS) if len(words) == 1 else set()
    if len(words) == 1 and words[0] in ID_WORDS and above:
        named = {above[-1]} & set(ENTITY_WORDS)
    if not named or facts.profile.dtype.is_float() or _is_free(facts) or _few(facts):
        return None
    return _said("identifier", "Its name speaks of whom an event is about.")


def _by_text(facts: FieldFacts) -> KindVerdict | None:
    profile, hint = facts.profile, facts.hint
    if profile.dtype.is_numeric():
        return None
    if _is_free(facts):
        return _said(
            "free-text",
            f"It is text of {profile.mean_words:.0f} words on average, up to {facts.longest:,} "
            "letters, which may name people.",
        )
    about = hint is not None and hint.topic.kind == "text" and hint.topic.role == "identifier"
    if hint is not None and about and not hint.strong and profile.mean_words >= REMARK_WORDS:
        return _said("free-text", f"Its name speaks of {hint.topic.about}, which may name people.")
    return None


def _is_free(facts: FieldFacts) -> bool:
    profile = facts.profile
    long = profile.mean_words >= FREE_WORDS and profile.mean_length >= FREE_LETTERS
    various = profile.distinct > 2 and profile.uniqueness >= 0.2
    return (long and various) or (facts.longest > LONG_TEXT and profile.mean_words >= REMARK_WORDS)


def _few(facts: FieldFacts) -> bool:
    profile = facts.profile
    few = profile.distinct <= max(min(MANY_CODES, 0.05 * profile.filled), 2)
    return few and profile.filled >= FEW_ROWS


def _by_code(facts: FieldFacts) -> KindVerdict | None:
    """Judge what is named as an id, code or number of something."""
    profile, words = facts.profile, facts.words
    if not words or words[-1] not in _CODES or profile.dtype.is_float():
        return None
    place = facts.hint is not None and facts.hint.strong
    if place:
        return None
    if profile.distinct > MANY_CODES or profile.uniqueness >= 0.5:
        return _said(
            "identifier",
            f"Its name speaks of an id or code, and it has {profile.distinct:,} different values.",
            certain=profile.uniqueness >= NEARLY_ALL,
        )
    return _said("category", "By its name its values are codes of a few things.", certain=False)


def _by_topic(facts: FieldFacts) -> KindVerdict | None:
    hint = facts.hint
    if hint is None or not hint.strong:
        return None
    if hint.topic.role == "sensitive":
        return _said(
            "quasi-identifier",
            f"Its name speaks of {hint.topic.about}, which nobody may learn of a person.",
        )
    return _said("quasi-identifier", f"Its name speaks of {hint.topic.about}.")


def _by_count(facts: FieldFacts) -> KindVerdict | None:
    """Judge what has a value of its own nearly everywhere."""
    profile = facts.profile
    if profile.filled < FEW_ROWS or profile.uniqueness < NEARLY_ALL:
        return None
    numeric = profile.dtype.is_numeric()
    if numeric and not profile.whole_numbers:
        return None
    spread = (profile.high or 0) - (profile.low or 0) + 1
    runs = profile.whole_numbers and spread <= 1.5 * profile.distinct
    if numeric and not runs and profile.mean_length < CODE_DIGITS:
        return None
    return _said(
        "identifier",
        f"Nearly each has a value of its own ({profile.distinct:,} in {profile.filled:,}"
        f"{', and they run on' if runs else ''}).",
        certain=runs,
    )


def _by_place(facts: FieldFacts) -> KindVerdict | None:
    for name in ("coordinates", "postcode"):
        share = facts.profile.patterns.get(name, 0.0)
        if share >= PATTERNS[name].least and not facts.profile.dtype.is_numeric():
            about = PATTERNS[name].about
            return _said(
                "quasi-identifier",
                f"{share:.0%} of its values have the form of {about}.",
                certain=False,
            )
    return None


def _plain(facts: FieldFacts) -> KindVerdict:
    profile = facts.profile
    if profile.dtype.is_numeric():
        return _said("number", "Its values are numbers.")
    several = "1 value" if profile.distinct == 1 else f"{profile.distinct:,} different values"
    return _said("category", f"It is text of {several}.", certain=False)


_JUDGES: tuple[Callable[[FieldFacts], KindVerdict | None], ...] = (
    _by_type, _by_form, _by_time, _by_strong_name, _by_entity, _by_text, _by_code, _by_topic,
    _by_count, _by_place,
)  # fmt: skip
