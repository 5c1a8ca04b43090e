"""What is proposed for a column, its role and kind, and why; and who is the person of a row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask.data import Column, Kind, Role
from halfmask.description._column_kinds import judge_kind
from halfmask.description._survey_words import HOUSEHOLD
from halfmask.description.column_names import hint_of
from halfmask.description.thresholds import SINGLES_OUT
from halfmask.description.verdicts import RoleVerdict, is_nearly_unique, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halfmask.data import Normalization, Source
    from halfmask.data.text_forms import TextForm
    from halfmask.description._coordinates import CoordinatePair
    from halfmask.description._derived import Derivation
    from halfmask.description.profile import ColumnProfile


# Values of columns with these roles are counted: in classes, and by guarantees.
COUNTED_ROLES = frozenset({"quasi_identifier", "sensitive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is proposed for one column.

    Parameters
    ----------
    column
        Its name, role and kind.
    reasons
        Sentences that say why; no value of the column is in them.
    brief
        The first reason in a few words, for a line of a table.
    evidence
        The numbers that were counted, by name: shares are fractions in [0, 1].
    certain
        Whether name or values say clearly what the column is. Where they don't, the proposal is
        on the careful side, and a person has to look.
    form
        How its texts are written, where they are to be read as numbers, dates or times.
    normalize
        What makes other spellings of a value one, where there are any.
    objection
        What name or values say against a role that was given: that the column identifies people.
    pair
        The points that it makes with another column, if it holds coordinates.
    """

    column: Column
    reasons: tuple[str, ...]
    brief: str
    evidence: Mapping[str, float] = field(repr=False)
    certain: bool
    form: TextForm | None = None
    normalize: tuple[Normalization, ...] = ()
    objection: RoleVerdict | None = None
    pair: CoordinatePair | None = None

    @property
    def coerced(self) -> bool:
        """Whether cells become missing because they don't fit the others' format."""
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


def propose_by_itself(profile: ColumnProfile) -> Proposal | None:
    """Return the proposal that name and values of the column suffice for, or ``None``."""
    hint = hint_of(profile.name)
    kind, why = judge_kind(profile, hint)
    verdict = judge(profile, hint)
    return None if verdict is None else _make_proposal(profile, verdict, kind, why)


def propose_by_gain(profile: ColumnProfile, gain: float) -> Proposal:
    """Return the proposal for a column that only counting it with others can judge."""
    kind, why = judge_kind(profile, hint_of(profile.name))
    if gain >= SINGLES_OUT:
        verdict = RoleVerdict(
            "quasi_identifier",
            f"Its name says nothing, but it helps to single people out: with it, up to "
            f"{gain:.1%} more of the rows are unique.",
            "adds unique rows",
            certain=False,
        )
    else:
        verdict = RoleVerdict(
            "insensitive",
            "Neither its name nor its values say that it points at a person or is delicate.",
            "nothing found",
            certain=False,
        )
    return _make_proposal(profile, verdict, kind, why)


def propose_by_company(profile: ColumnProfile, share: float, columns: int) -> Proposal:
    """Return the proposal for a column that singles out only together with many others."""
    kind, why = judge_kind(profile, hint_of(profile.name))
    verdict = RoleVerdict(
        "quasi_identifier",
        f"Its name says nothing, but on it and {columns - 1} more such columns together "
        f"{share:.1%} of the rows are unique.",
        "unique with others",
        certain=False,
    )
    return _make_proposal(profile, verdict, kind, why)


def propose_as_source(profile: ColumnProfile, role: Role, derivation: Derivation) -> Proposal:
    """Return the proposal for a column that follows from others of this role."""
    kind, why = judge_kind(profile, hint_of(profile.name))
    return _make_proposal(
        profile, RoleVerdict(role, derivation.reason, derivation.brief), kind, why
    )


def propose_as_found(profile: ColumnProfile, verdict: RoleVerdict) -> Proposal:
    """Return the proposal for a column that others of the table have judged."""
    kind, why = judge_kind(profile, hint_of(profile.name))
    return _make_proposal(profile, verdict, kind, why)


def propose_as_told(profile: ColumnProfile, role: Role) -> Proposal:
    """Return the proposal for a column whose role the owner gave."""
    hint = hint_of(profile.name)
    kind, why = judge_kind(profile, hint)
    found = _make_proposal(
        profile, RoleVerdict(role, "You gave this role.", "given by you"), kind, why
    )
    verdict = judge(profile, hint)
    identifies = verdict is not None and verdict.role == "identifier" and profile.filled
    if verdict is None or role == "identifier" or not identifies:
        return found
    reasons = (*found.reasons, f"It seems to identify people: {verdict.brief}.")
    return replace(found, reasons=reasons, objection=verdict)


def propose_as_point(profile: ColumnProfile, pair: CoordinatePair, role: Role | None) -> Proposal:
    """Return the proposal for one of two columns that are a place together."""
    other = next(name for name in pair.columns if name != profile.name)
    reason = f"Together with {other!r} it holds points, and makes the place {pair.place!r}."
    if role is not None:
        reason = f"You gave this role. {reason}"
    verdict = RoleVerdict(
        role or "quasi_identifier", reason, f"a point with {other}", certain=pair.certain
    )
    found = _make_proposal(profile, verdict, "geo", " ".join(pair.notes))
    form = profile.form if profile.is_number_text else None
    return replace(found, pair=pair, form=form, certain=pair.certain or role is not None)


def _make_proposal(profile: ColumnProfile, verdict: RoleVerdict, kind: Kind, why: str) -> Proposal:
    form = None if verdict.role == "identifier" else _find_form(profile, kind)
    if form is not None and form.others and verdict.role != "quasi_identifier":
        # What stays must not lose a cell that nobody looked at.
        if not profile.dtype.is_numeric():
            why, kind = f"{why} It stays text, so that it keeps the others.", "categorical"
        form = None
    reasons = [verdict.reason, *([why] if why else [])]
    if verdict.role in {"quasi_identifier", "sensitive"} and is_nearly_unique(profile):
        reasons.append(
            f"Nearly every row has a value of its own ({profile.distinct:,} in "
            f"{profile.filled:,}): unless it is generalized it works like an identifier."
        )
    if profile.patterns.get("missing") and form is None:
        reasons.append(
            "Some values look like markers of missing values; name them under [input], missing."
        )
    if profile.coded:
        reasons.append(
            f"{profile.coded:,} of its cells hold whole numbers apart from the others, as codes of "
            "missing answers are; name them under [input], missing, or they count as numbers."
        )
    normalize = profile.normalize if form is None and verdict.role in COUNTED_ROLES else ()
    if normalize:
        reasons.append(
            f"{_say_respelled(profile.respelled)} only in {_say_difference(normalize)}. Without "
            "normalize, classes and guarantees count them as different."
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
        "share_beyond_one": profile.share_beyond_one,
        "share_beyond_two": profile.share_beyond_two,
        **({} if form is None else {"cells_not_read": form.unread}),
        **({"cells_like_codes": profile.coded} if profile.coded else {}),
        **{f"looks_like_{name}": share for name, share in profile.patterns.items()},
    }
    return Proposal(
        column=Column(name=profile.name, role=verdict.role, kind=kind),
        reasons=tuple(reasons),
        brief=verdict.brief,
        evidence=MappingProxyType(evidence),
        certain=verdict.certain,
        form=form,
        normalize=normalize,
    )


def _say_respelled(values: int) -> str:
    return (
        "1 value differs from another" if values == 1 else f"{values:,} values differ from others"
    )


def _say_difference(steps: tuple[Normalization, ...]) -> str:
    """Return in what spellings differ that these steps make one."""
    words = {"trim": "blanks around them", "nfc": "Unicode form", "casefold": "capitals"}
    return " or ".join(words[step] for step in steps)


def _find_form(profile: ColumnProfile, kind: Kind) -> TextForm | None:
    """Return how the cells of a column are to be read, where it is required."""
    if profile.dtype.is_float() and profile.date_format is None:
        return profile.form
    wanted = {"datetime": profile.date_format is not None, "numeric": profile.is_number_text}
    return profile.form if wanted.get(kind, False) else None


#: Fewer different values than these, or than this share of the rows, are no persons.
_FEWEST_PERSONS: Final = 20
_LEAST_SHARE: Final = 0.01
#: The share of the rows, at least, that repeat a value.
_LEAST_REPEATED: Final = 0.1
#: Names of numbers that say whose row it is: amounts, such as weights, repeat as well.
_IS_KEY: Final = re.compile(
    r"(?i)id|num|nr|no\b|key|code|ssn|patient|person|user|customer|client|member|account|subject"
)
#: Rows that `repeated_identifiers` looks at.
_ROWS: Final = 100_000


def proposed_person(proposals: Iterable[Proposal]) -> Proposal | None:
    """Return the identifier that probably says whose row it is; ``None`` where none repeats.

    Notes
    -----
    Of several identifiers whose values repeat, that with the most different values: two people may
    have one name, and no two one number.
    """
    found = [
        each
        for each in proposals
        if each.role == "identifier"
        and each.kind != "datetime"
        and not numbers_households(each.name)
        and _repeats(
            int(each.evidence["distinct"]),
            round(each.evidence["rows"] * (1 - each.evidence["missing_share"])),
        )
    ]
    return max(found, key=lambda each: each.evidence["distinct"], default=None)


def numbers_households(name: str) -> bool:
    """Return whether a column of this name numbers households, so that several people share one."""
    hint = hint_of(name)
    return hint is not None and hint.topic is HOUSEHOLD


def repeated_identifiers(source: Source, identifiers: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return identifiers whose values repeat, each with its different values and its rows."""
    names = [name for name in identifiers if not source.dtypes[name].is_temporal()]
    if not names:
        return {}
    first = next(iter(source.batches(_ROWS, columns=names)), None)
    if first is None:
        return {}
    found = {}
    for name in names:
        cells = first[name].drop_nulls()
        if cells.dtype.is_nested() or cells.dtype == pl.Object:
            continue
        distinct = cells.n_unique()
        if _repeats(distinct, len(cells)) and (cells.dtype == pl.String or _IS_KEY.search(name)):
            found[name] = (distinct, len(cells))
    return found


def _repeats(distinct: int, rows: int) -> bool:
    fewest = max(_FEWEST_PERSONS, _LEAST_SHARE * rows)
    return fewest <= distinct <= (1 - _LEAST_REPEATED) * rows
