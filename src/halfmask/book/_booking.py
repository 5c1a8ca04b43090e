"""How a release is booked: checked against those that left before, and then written down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError, ParameterError, ReleaseError
from halfmask._random import fresh_key
from halfmask.book._joint import CodedRelease, JointClasses, join_classes, number_people
from halfmask.book._judging import REMEDIES, Floor, describe_groups, judge_release
from halfmask.book._waiting import find_waiting
from halfmask.claims.manifest import PRIVACY_LEDGER
from halfmask.release.booking import Departure, Leaving
from halfmask.release.release import stated_claims

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.book._booked_release import BookedRelease
    from halfmask.book._judging import JointVerdict
    from halfmask.book._people import BookedRows
    from halfmask.book.section import BookSection
    from halfmask.claims import Claim
    from halfmask.release import Release
    from halfmask.release.booking import LeavingRows

_ReleaseBook: TypeAlias = Any  # its module imports this one
_RECEIVERS: Final = ("this receiver", "all receivers")
_FOUND: Final = {
    "holds": "what was compared is no weaker by this one",
    "keeps": "what was compared keeps the floor",
    "weakens": "together they are weaker than alone",
    "refused": "together they are below the floor, which was accepted in writing",
}


class SectionBooking:
    """How a release is booked as a section of its policy says: a `Booking`."""

    def __init__(self, book: _ReleaseBook, section: BookSection) -> None:
        if section.dataset != book.dataset:
            raise ParameterError(
                "The section is about another data set than the book.",
                hint="Open the book of the data set that the section names.",
            )
        self.section = section
        self._book = book
        self._floor = Floor(
            k=section.min_k, l=section.min_l, t=section.max_t, epsilon=section.max_epsilon
        )
        self._audited: list[int] | None = None

    def reused(self) -> bytes | None:
        """Return the plan of the earlier release that is to be reused, if one is named."""
        wanted = self.section.reuse
        if wanted == "last":
            planned = [
                it.number for it in self._earlier() if "plan" in it.kept and not it.forgotten
            ]
            wanted = planned[-1] if planned else 0
        plan = self._book.plan_of(wanted) if wanted else None
        if plan is None and wanted is not None:
            raise ParameterError(
                "The book has no such release whose classes could be reused.",
                hint="For the first release, leave out [[reuse|--reuse]].",
            )
        return plan

    def waiting(self, rows: LeavingRows) -> NDArray[np.bool_]:
        """Return which rows must wait so that the floor holds; none if nobody may be left out."""
        share = self.section.leave_out
        if not share:
            return np.zeros(rows.whose.height, dtype=np.bool_)
        earlier = self._earlier()
        compared = _Compared.of(self._book, earlier, rows, self._book.digest_rows(rows))
        before = compared.joined(self._in_scope(earlier))
        return find_waiting(
            before, compared.coded[0], self._floor, key=fresh_key(), leave_out=share
        )

    @contextmanager
    def earlier_files(self) -> Iterator[Sequence[Path]]:
        """Yield folders with the tables that were released before."""
        self._audited = self._with_files()
        with TemporaryDirectory() as temporary:
            folders = [Path(temporary, str(number)) for number in self._audited]
            for number, folder in zip(self._audited, folders, strict=True):
                for name, raw in self._book.files_of(number).items():
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(raw)
            yield folders

    @contextmanager
    def leaving(self, release: Release[Any], out: str | Path) -> Iterator[Departure]:
        """Check a release, and yield how it is booked; raise where it is refused."""
        kind = release.kind
        left = Leaving() if kind.leaving is None else kind.leaving(release)
        rows = None if left.rows is None else self._book.digest_rows(left.rows)
        is_plain = rows is None or bool((rows.classes < 0).all())
        if is_plain and (self.section.reuse or self.section.leave_out):
            raise ParameterError(
                f"A release of the kind {kind.name!r} has no classes to reuse or to wait for.",
                hint="Leave out [[reuse and leave_out|--reuse and --leave-out]].",
            )
        of_values = self._floor.l is not None or self._floor.t is not None
        if of_values and rows is not None and not (is_plain or rows.sensitive):
            raise ParameterError(
                "The section has min_l or max_t, and the release has no sensitive column.",
                hint="Leave them out, or give a column the role 'sensitive'.",
            )
        with self._book.writing() as pen:
            if left.keeps_files and (self._audited or []) != self._with_files():
                raise ReleaseError(
                    "The tables were protected without those that the book has now.",
                    hint="Make the release again, with [book] in its policy.",
                )
            sentences, weaknesses = self._judge(release, left, rows)
            pend = partial(
                pen.pending,
                out=out,
                receiver=self.section.receiver,
                leaving=left,
                rows=rows,
                verdict=sentences,
                accepted_by=self.section.accepted_by,
                reason=self.section.reason,
            )
            yield Departure(sentences=sentences, weaknesses=weaknesses, book=pend)

    def _judge(
        self, release: Release[Any], left: Leaving, rows: BookedRows | None
    ) -> tuple[list[str], list[str]]:
        """Return what was found, and what isn't protected; raise where it is refused."""
        earlier = self._earlier()
        scope, other = self._in_scope(earlier), self._in_scope(earlier, other=True)
        compared = _Compared.of(self._book, earlier, left.rows, rows)
        own = (release.kind.name, stated_claims(release))
        verdict = compared.judged(scope, self._floor, own)
        unknown = compared.unknown(scope)
        is_unsure = bool(unknown) and self._floor.is_about_groups
        if (verdict.status == "refused" or is_unsure) and self.section.accepted_by is None:
            hint = f"In this order: {'; '.join(verdict.remedies)}."
            raise GuaranteeNotMetError(
                f"The book refuses the release. {' '.join([*verdict.weaknesses, *unknown])}",
                hint=hint if verdict.remedies else f"Only this is left: {REMEDIES[-1]}.",
            )
        drawn = compared.second_draws(scope)
        status: str = "weakens" if drawn and verdict.status == "holds" else verdict.status
        if status == "holds" and self._floor.is_about_groups and 0 in compared.coded:
            status = "keeps"  # it may be weaker than before, and above the floor
        which = _RECEIVERS[self.section.join == "all"]
        read = {*compared.coded, *(self._audited or ())}
        adds_up = sum_epsilon([own]) > 0
        seen = [
            each
            for each in scope
            if each.number in read or (adds_up and sum_epsilon([(each.kind, each.claims)]))
        ]
        lead = f"The book has no earlier release of {which} to compare it with."
        if seen:
            lead = f"Checked against {_spell(len(seen))} of {which}: {_FOUND[status]}."
        sentences = [lead, *verdict.sentences, *drawn]
        weaknesses = [*verdict.weaknesses, *drawn, *unknown, *compared.uncounted(scope)]
        if other != scope and other:
            which = _RECEIVERS[self.section.join != "all"]
            found = compared.judged(other, Floor(), own)
            sentences += [f"Of {which}: {_lowered(each)}" for each in found.sentences]
            weaknesses += [f"of {which}: {_lowered(each)}" for each in found.weaknesses]
        sentences += [*compared.unseen, *compared.uncounted(scope)]
        if left.keeps_files and self._audited:
            audited = _spell(len(self._audited))
            sentences.append(f"Its tables were audited together with those of {audited}.")
        elif left.rows is None and not left.keeps_files:
            sentences.append("It is booked by its manifest alone: no rows were compared.")
        return sentences, [f"joined-releases: {_lowered(each)}" for each in weaknesses]

    def _earlier(self) -> list[BookedRelease]:
        """Return the releases that left, or may have left: what is pending counts."""
        return [each for each in self._book.releases() if each.state != "void"]

    def _in_scope(
        self, earlier: Iterable[BookedRelease], *, other: bool = False
    ) -> list[BookedRelease]:
        """Return the releases that can be joined; the ``other`` scope is the one not named."""
        of_all = (self.section.join == "all") != other
        return [each for each in earlier if of_all or each.receiver == self.section.receiver]

    def _with_files(self) -> list[int]:
        """Return the numbers of the releases whose tables the book keeps."""
        return [
            each.number
            for each in self._in_scope(self._earlier())
            if not each.forgotten and any(name.startswith("file:") for name in each.kept)
        ]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class _Compared:
    """The rows of a release and of earlier ones, coded alike: equal persons have equal numbers."""

    coded: Mapping[int, CodedRelease]  # by number; 0 is the new one
    drawn: Mapping[str, str]
    n_persons: int
    unseen: Sequence[str]
    unread: frozenset[int] = frozenset()  # releases whose people can't be compared with the new one

    @classmethod
    def of(
        cls,
        book: _ReleaseBook,
        earlier: Sequence[BookedRelease],
        rows: LeavingRows | None,
        new: BookedRows | None,
    ) -> _Compared:
        """Read what must be compared, and code it."""
        unseen = []
        if forgotten := sum(each.forgotten for each in earlier):
            unseen.append(f"It wasn't compared with {_spell(forgotten)}, which the book forgot.")
        if rows is None or new is None:
            return cls(coded={}, drawn={}, n_persons=0, unseen=unseen)
        known = [each for each in earlier if "people" in each.kept and not each.forgotten]
        named = set(rows.whose.columns) if rows.matched else None
        alike = [each for each in known if (set(each.whose) if each.matched else None) == named]
        if len(alike) < len(known):
            unseen.append(
                f"{_spell(len(known) - len(alike)).capitalize()} can't be compared: people are "
                "named by other columns there."
            )
        own = set(rows.whose.columns)
        if others := sum(not each.matched and set(each.whose) != own for each in alike):
            unseen.append(
                f"Another column names people in {_spell(others)}: they are found there only if "
                "both columns spell them alike."
            )
        if rows.matched:
            unseen.append(
                "No column names the person, so people were matched by columns. This is weaker: "
                "who has other values in another release isn't found there."
            )
        if is_plain := bool((new.classes < 0).all()):
            unseen.append("It has no classes to compare; second draws of masks were looked for.")
        read = {
            each.number: book.people_of(each.number)
            for each in alike
            if not is_plain or each.drawn.keys() & rows.drawn.keys()
        }
        there = {number: each for number, each in read.items() if each is not None}
        coded, n_persons = _code(there | {0: new}, matched=rows.matched)
        had_people = {each.number for each in earlier if each.people}
        return cls(
            coded=coded,
            drawn=rows.drawn,
            n_persons=n_persons,
            unseen=unseen,
            unread=frozenset(had_people - {each.number for each in alike}),
        )

    def unknown(self, earlier: Iterable[BookedRelease]) -> list[str]:
        """Return that not all groups are known: there are people that nobody can compare now."""
        lacking = sum(each.number in self.unread for each in earlier)
        return [f"Groups can't be judged without {_spell(lacking)}."] if lacking else []

    def uncounted(self, earlier: Iterable[BookedRelease]) -> list[str]:
        """Return that what releases without classes say of the same people isn't counted."""
        if 0 not in self.coded or not self.coded[0].has_classes:
            return []
        plain = (it for it in earlier if it.number not in {*self.coded, *self.unread})
        there = (self.coded[it.number] for it in earlier if it.number in self.coded)
        number = len(list(plain)) + sum(not each.has_classes for each in there)
        if not number:
            return []
        has = "has" if number == 1 else "have"
        lead = (
            f"{_spell(number).capitalize()} {has} no classes, as tables, masked or synthetic rows"
        )
        return [f"{lead}: what they add for an attacker isn't counted."]

    def joined(self, earlier: Iterable[BookedRelease]) -> JointClasses:
        """Return the joint classes of earlier releases."""
        there = [self.coded[each.number] for each in earlier if each.number in self.coded]
        return join_classes(there, self.n_persons)

    def judged(
        self, earlier: Sequence[BookedRelease], floor: Floor, own: tuple[str, Sequence[Claim]]
    ) -> JointVerdict:
        """Judge the release together with earlier ones."""
        before = self.joined(earlier)
        after = before.joined_with(self.coded[0]) if self.coded else before
        booked = [(each.kind, each.claims) for each in earlier]
        spent, total = sum_epsilon(booked), sum_epsilon([*booked, own])
        return judge_release(before, after, floor, spent=spent, epsilon=total - spent)

    def second_draws(self, earlier: Sequence[BookedRelease]) -> list[str]:
        """Return who gets another draw of a column that was randomised before, in words."""
        found = []
        for column, digest in self.drawn.items():
            known = np.zeros((2, self.n_persons), dtype=np.bool_)  # another draw, the same draw
            for each in earlier:
                if each.number in self.coded and column in each.drawn:
                    is_same = int(each.drawn[column] == digest)
                    known[is_same, self.coded[each.number].persons] = True
            people = int((known[0] & ~known[1])[np.unique(self.coded[0].persons)].sum())
            if people:
                who = "person gets" if people == 1 else "people get"
                found.append(
                    f"{people:,} {who} another draw of {column!r}: the mask protects less where "
                    "several draws are joined."
                )
        return found


def _code(
    tables: Mapping[int, BookedRows], *, matched: bool
) -> tuple[dict[int, CodedRelease], int]:
    """Give equal persons and equal values of a column equal numbers in all releases."""
    numbers, n_persons = number_people([each.persons for each in tables.values()])
    values: dict[str, list[NDArray[np.uint64]]] = {}
    for each in tables.values():
        for column, digests in each.sensitive.items():
            values.setdefault(column, []).append(digests)
    distinct = {
        column: pl.Series(np.concatenate(digests)).unique().sort().to_numpy()
        for column, digests in values.items()
    }
    coded = {}
    for (number, each), persons in zip(tables.items(), numbers, strict=True):
        codes = {name: np.searchsorted(distinct[name], it) for name, it in each.sensitive.items()}
        coded[number] = CodedRelease(
            persons=persons, classes=each.classes, sensitive=codes, matched=matched
        )
    return coded, n_persons


def describe_releases(book: _ReleaseBook, receiver: str | None) -> tuple[str, ...]:
    """Return what the releases of a receiver, or of all, keep together now, in words."""
    there = [
        each
        for each in book.releases()
        if each.state == "left" and not each.forgotten and receiver in {None, each.receiver}
    ]
    read = {
        each.number: book.people_of(each.number)
        for each in there
        if "people" in each.kept and not each.matched
    }
    classed = {number: each for number, each in read.items() if (each.classes >= 0).any()}
    coded, n_persons = _code(classed, matched=False)
    found = describe_groups(join_classes(list(coded.values()), n_persons))
    spent = sum_epsilon([(each.kind, each.claims) for each in there])
    return (*found, f"epsilon = {spent:.6g}") if spent else found


def sum_epsilon(releases: Iterable[tuple[str, Sequence[Claim]]]) -> float:
    """Add up the epsilon of claims, by basic composition.

    A ledger's statement covers the answers of its data set: the larger of both counts.
    """
    others, answers, ledgers = 0.0, defaultdict[str, float](float), defaultdict[str, float](float)
    for kind, claims in releases:
        for claim in claims:
            if claim.model != "differential-privacy":
                continue
            epsilon, dataset = float(claim.parameters["epsilon"]), claim.about.get("dataset")
            if not isinstance(dataset, str):
                others += epsilon
            elif kind == PRIVACY_LEDGER:
                ledgers[dataset] = max(ledgers[dataset], epsilon)
            else:
                answers[dataset] += epsilon
    return others + sum(max(answers[each], ledgers[each]) for each in {*answers, *ledgers})


def _spell(releases: int) -> str:
    return f"{releases:,} earlier release{'' if releases == 1 else 's'}"


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
