"""The role and kind that are proposed for a column, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from halfmask.data._column_names import NameHint, hint_of
from halfmask.data._schema import Column, Kind, Role
from halfmask.data._singling_out import THRESHOLD
from halfmask.data._value_patterns import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.data._profile import ColumnProfile
    from halfmask.data._text_forms import TextForm

__all__ = ["Proposal", "propose_by_gain", "propose_by_itself"]

# Nearly every row has a value of its own from this share on.
NEARLY_UNIQUE = 0.95
# In fewer rows, values differ by chance.
FEW_ROWS = 20
# A name, a number or an account that so few values stand for points at groups.
FEW_VALUES = 100
FEW_SHARE = 0.05
# Words and characters by which text is written by people and not chosen from a list.
FREE_WORDS = 6
FREE_CHARACTERS = 40
# A column called remarks has texts of so many words; codes and ticks have fewer.
REMARK_WORDS = 3
# Whole numbers of so many digits that are all different are more often codes than measures.
CODE_DIGITS = 6
# Of so many cells that are numbers or dates something is said, though not enough are.
NEARLY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is proposed for one column.

    Parameters
    ----------
    column
        Its name, role and kind.
    reasons
        Sentences that say why; no value of the column is in them.
    evidence
        The numbers that were counted, by name: shares are fractions in [0, 1].
    certain
        Whether name or values say clearly what the column is. Where they don't, the proposal is
        on the careful side, and a person has to look.
    form
        How its texts are written, where they are to be read as numbers, dates or times.
    """

    column: Column
    reasons: tuple[str, ...]
    evidence: Mapping[str, float] = field(repr=False)
    certain: bool
    form: TextForm | None = None

    @property
    def coerced(self) -> bool:
        """Whether cells are to become missing since they aren't written as the others are."""
        return self.form is not None and self.form.unread > 0

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def role(self) -> Role:
        """The proposed role."""
        return self.column.role

    @property
    def kind(self) -> Kind:
        """The proposed kind."""
        return self.column.kind


@dataclass(frozen=True, slots=True)
class _Verdict:
    role: Role
    reason: str
    certain: bool = True


def propose_by_itself(profile: ColumnProfile) -> Proposal | None:
    """Return the proposal that name and values of the column suffice for, or ``None``."""
    hint = hint_of(profile.name)
    kind, why = _kind(profile, hint)
    verdict = (
        _by_filling(profile, hint)
        or _by_form(profile, hint)
        or _by_text(profile)
        or _by_name(profile, hint)
        or _by_uniqueness(profile, kind)
    )
    return None if verdict is None else _proposal(profile, verdict, kind, why)


def propose_by_gain(profile: ColumnProfile, gain: float) -> Proposal:
    """Return the proposal for a column that only counting it with others can judge.

    Parameters
    ----------
    profile
        The column's counts.
    gain
        By how much the share of unique rows rose, at most, when the column joined others.
    """
    kind, why = _kind(profile, hint_of(profile.name))
    if gain >= THRESHOLD:
        verdict = _Verdict(
            "quasi_identifier",
            f"Its name says nothing, but it helps to single people out: with it, up to "
            f"{gain:.1%} more of the rows are unique.",
            certain=False,
        )
    else:
        verdict = _Verdict(
            "insensitive",
            "Neither its name nor its values say that it points at a person or is delicate.",
            certain=False,
        )
    return _proposal(profile, verdict, kind, why)


def _proposal(profile: ColumnProfile, verdict: _Verdict, kind: Kind, why: str) -> Proposal:
    form = None if verdict.role == "identifier" else _declared(profile, kind)
    if form is not None and form.others and verdict.role != "quasi_identifier":
        # What stays must not lose a cell that nobody looked at.
        why = f"{why} It stays text, so that it keeps the others."
        form, kind = None, "categorical"
    reasons = [verdict.reason, why]
    if verdict.role in {"quasi_identifier", "sensitive"} and _nearly_unique(profile):
        reasons.append(
            f"Nearly every row has a value of its own ({profile.distinct:,} in "
            f"{profile.filled:,}): unless it is generalized it works like an identifier."
        )
    if profile.patterns.get("missing") and form is None:
        reasons.append(
            "Some values look like markers of missing values; name them under [input], missing."
        )
    if not verdict.certain:
        reasons.append("This is uncertain: look at it.")
    evidence = {
        "rows": profile.rows,
        "missing_share": profile.missing / profile.rows if profile.rows else 0.0,
        "distinct": profile.distinct,
        "uniqueness": profile.uniqueness,
        "share_unique": profile.share_unique,
        "share_largest": profile.share_largest,
        **({} if form is None else {"cells_not_read": form.unread}),
        **{f"looks_like_{name}": share for name, share in profile.patterns.items()},
    }
    return Proposal(
        column=Column(name=profile.name, role=verdict.role, kind=kind),
        reasons=tuple(reasons),
        evidence=MappingProxyType(evidence),
        certain=verdict.certain,
        form=form,
    )


def _declared(profile: ColumnProfile, kind: Kind) -> TextForm | None:
    """Return how the texts of a column of numbers or dates are to be read."""
    wanted = {"datetime": profile.date_format is not None, "numeric": profile.is_number_text}
    return profile.form if wanted.get(kind, False) else None


def _by_filling(profile: ColumnProfile, hint: NameHint | None) -> _Verdict | None:
    """Judge columns without any value."""
    if profile.filled == 0 and (hint is None or not hint.strong):
        return _Verdict(
            "identifier",
            "It has no value in any row: as an identifier it is dropped, and nothing is lost.",
            certain=False,
        )
    return None


def _by_form(profile: ColumnProfile, hint: NameHint | None) -> _Verdict | None:
    """Judge columns whose values have the form of something that points at one person."""
    if profile.date_format is not None or profile.dtype.is_float():
        return None
    clear_name = hint is not None and hint.strong and hint.topic.role != "identifier"
    for name, pattern in PATTERNS.items():
        share = profile.patterns.get(name, 0.0)
        # Much else looks like a telephone number.
        if name == "phone" and (clear_name or profile.uniqueness < 0.1):
            continue
        if share >= pattern.least and pattern.identifies:
            return _Verdict(
                "identifier", f"{share:.0%} of its values have the form of {pattern.about}."
            )
    return None


def _by_text(profile: ColumnProfile) -> _Verdict | None:
    if _is_free_text(profile):
        return _Verdict(
            "identifier",
            f"It is free text ({profile.mean_words:.0f} words on average), which may name people: "
            "as an identifier it is dropped.",
            certain=False,
        )
    return None


def _by_name(profile: ColumnProfile, hint: NameHint | None) -> _Verdict | None:
    if hint is None:
        return None
    about, role = hint.topic.about, hint.topic.role
    if not hint.strong:
        return _by_weak_name(profile, hint)
    few = profile.distinct <= max(min(FEW_VALUES, FEW_SHARE * profile.filled), 2)
    if role == "identifier" and few and profile.filled >= FEW_ROWS:
        return _Verdict(
            "quasi_identifier",
            f"Its name speaks of {about}, but it has only {_values(profile.distinct)}, "
            "which point at groups.",
            certain=False,
        )
    return _Verdict(role, f"Its name speaks of {about}.")


def _by_weak_name(profile: ColumnProfile, hint: NameHint) -> _Verdict | None:
    """Judge by a word that says little, where the values bear it out."""
    about = hint.topic.about
    if hint.topic.role == "quasi_identifier":
        is_date = profile.dtype.is_temporal() or profile.date_format is not None
        return _Verdict("quasi_identifier", f"Its name speaks of {about}.") if is_date else None
    if hint.topic.kind == "text" and profile.mean_words >= REMARK_WORDS:
        return _Verdict(
            "identifier",
            f"Its name speaks of {about}, which may name people: as an identifier it is dropped.",
            certain=False,
        )
    counted = profile.whole_numbers or not profile.dtype.is_float()
    if counted and (profile.uniqueness >= 0.5 or profile.distinct > 1_000):
        return _Verdict(
            "identifier",
            f"Its name speaks of {about}, and it has {profile.distinct:,} different values in "
            f"{profile.filled:,} rows.",
            certain=profile.uniqueness >= NEARLY_UNIQUE,
        )
    return None


def _by_uniqueness(profile: ColumnProfile, kind: Kind) -> _Verdict | None:
    """Judge columns whose name says nothing by how many values they have."""
    if kind == "datetime":
        return _Verdict(
            "quasi_identifier",
            "It is a date or time, and others may have seen what happened then.",
            certain=False,
        )
    for name in ("coordinates", "postcode"):
        share = profile.patterns.get(name, 0.0)
        if share >= PATTERNS[name].least:
            return _Verdict(
                "quasi_identifier",
                f"{share:.0%} of its values have the form of {PATTERNS[name].about}.",
                certain=False,
            )
    if not _nearly_unique(profile) or not (profile.whole_numbers or kind != "numeric"):
        return None
    spread = (profile.high or 0) - (profile.low or 0) + 1
    runs = profile.whole_numbers and spread <= 1.5 * profile.distinct
    long_code = profile.mean_length >= CODE_DIGITS
    if kind == "numeric" and not runs and not long_code:
        return None
    return _Verdict(
        "identifier",
        f"Nearly every row has a value of its own ({profile.distinct:,} in {profile.filled:,}"
        f"{', and they run on' if runs else ''}).",
        certain=runs,
    )


def _values(n: int) -> str:
    return f"{n:,} different {'value' if n == 1 else 'values'}"


def _nearly_unique(profile: ColumnProfile) -> bool:
    return profile.filled >= FEW_ROWS and profile.uniqueness >= NEARLY_UNIQUE


def _is_free_text(profile: ColumnProfile) -> bool:
    long = profile.mean_words >= FREE_WORDS and profile.mean_length >= FREE_CHARACTERS
    return long and profile.distinct > 2 and profile.uniqueness >= 0.2


def _kind(profile: ColumnProfile, hint: NameHint | None) -> tuple[Kind, str]:
    """Return the kind of a column and the sentence that says why: the first case that fits."""
    strong = hint is not None and hint.strong
    is_geo = strong and hint is not None and hint.topic.kind == "geo"
    is_named_text = strong and hint is not None and hint.topic.kind == "text"
    is_code = hint is not None and not strong and hint.topic.role == "identifier"
    is_pair = profile.patterns.get("coordinates", 0.0) >= PATTERNS["coordinates"].least
    numeric, distinct = profile.dtype.is_numeric(), profile.distinct
    form = profile.form
    counted = "" if form is None else f" {form.counted()}".rstrip()
    spelled = "" if form is None else form.spelling
    cases: tuple[tuple[bool, Kind, str], ...] = (
        (profile.dtype.is_temporal(), "datetime", "Its type is one of dates or times."),
        (
            profile.date_format is not None,
            "datetime",
            f"Its values are dates stored as text ({profile.date_format}).{counted}{_also(form)}",
        ),
        (is_geo, "geo", "Its values are places: codes or coordinates."),
        (is_pair, "geo", "Its values are pairs of coordinates."),
        (numeric and distinct <= 2, "categorical", "It has two different values or fewer."),
        (
            numeric and is_code and distinct <= FEW_VALUES,
            "categorical",
            "By its name its numbers are codes, which have no order.",
        ),
        (numeric, "numeric", "Its values are numbers."),
        (_is_free_text(profile), "text", "Its values are free text."),
        (
            profile.is_number_text and distinct > 2,
            "numeric",
            f"Its values are numbers stored as text ({spelled}).{counted}{_also(form)}",
        ),
        (profile.ranges >= 0.8, "ordinal", "Its values are ranges, which have an order."),
        (
            is_named_text and distinct > FEW_VALUES,
            "text",
            f"It has {distinct:,} different texts.",
        ),
        (
            True,
            "categorical",
            f"It has {_values(distinct)} without a clear order.{_nearly(form)}",
        ),
    )
    return next((kind, why) for fits, kind, why in cases if fits)


def _also(form: TextForm | None) -> str:
    return f" They could be of the form {form.also}, too." if form is not None and form.also else ""


def _nearly(form: TextForm | None) -> str:
    """Say of a column of categories how many of its cells are numbers or dates."""
    if form is None or form.share < NEARLY or form.holds:
        return ""
    what = "numbers" if form.is_number else "dates or times"
    return f" Most look like {what} ({form.spelling}). {form.counted()}"
