"""verify_release: read an output of events and its manifest, and count again."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import VerificationError
from halfmask.claims import GuaranteeClaim, events_manifest, read_manifest
from halfmask.claims.manifest import folder_of, manifest_path, released_file
from halfmask.verifier._found_files import hashed, unlisted
from halfmask.verifier._result import CheckedRelease, FileCheck
from halfmask.verifier.checks import ReleasedFiles, VerifiedKind, VerifyInputs
from halfmask.verifier.events._forms import form_problems
from halfmask.verifier.events._places import Places
from halfmask.verifier.events._reading import TABLES, event_of, lines_of
from halfmask.verifier.events._verdict import differences
from halfmask.verifier.events._verifying import verify_events

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.claims import EventGuarantees, EventsManifest, LinesRisk
    from halfmask.claims.event_claims import EventClaim
    from halfmask.verifier._result import CheckedClaim


def verify_release(where: str | Path, *, required: EventGuarantees | None = None) -> CheckedRelease:
    """Count again, from the files, what the manifest of an output claims.

    Parameters
    ----------
    where
        The output, a file or folder, with its manifest next to it; the manifest; or a folder with
        one output and its manifest.
    required
        What a policy guarantees, see `halfmask.events.report.guarantees_of`: the manifest must name
        it, and have its fields and claims. None: only the lines are compared with the manifest.

    Returns
    -------
    CheckedRelease
        What was found, each claim as a `Check`. Look at ``.holds``.

    Raises
    ------
    VerificationError
        If there is no manifest, or none that this halfmask can check. What the output says is never
        raised but returned.

    Notes
    -----
    **Guarantees.** It shares no code that counts with what made the output.

    ``.holds`` is true only if the files are those of the manifest, with their hashes, sizes and
    lines, and no others; every line is an object of JSON; every field in it is one of the
    manifest's, and every value looks like a result of the action: times on their grid, numbers on
    their step, masked texts masked, numbers of sequences within an event without gaps; every field
    names the weaknesses of its action; counts agree; every claim that the lines can confirm holds;
    and no evidence or risk is better than what was counted. ``.unverified`` names the numbers that
    can't be counted again.

    **Edge cases.** The manifest isn't signed: anyone who changes lines and writes a manifest that
    goes with them is believed. Have the manifest, or its hash, from whom you trust; or have the
    policy from them, and give what it guarantees: then these are counted, no matter who made the
    lines. Which lines are of one window stays the manifest's word. It can't see whether a value
    that looks right was made by the rule: only the holder of the vault knows that a token stands
    for its value. Sequences over more than an event go on from run to run and may begin anywhere.
    In tables, null is taken for what isn't there. What a claim's recount needs and the lines don't
    show is the run's word; `Check.counted` says so.
    """
    given = VerifyInputs(required=required)
    manifest = read_manifest(Path(where))
    return _verify(ReleasedFiles(manifest_path(Path(where)), manifest, given))


def _verify(files: ReleasedFiles) -> CheckedRelease:
    manifest, required = events_manifest(files.manifest), files.given.required
    try:
        found = _Recount(manifest, files.path).verdict()
    except VerificationError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError):
        # The form of a field lacks an option, or has one that no action has.
        raise VerificationError("The manifest can't be read, or is damaged.") from None
    if required is None:
        return found
    return replace(found, differences=tuple(differences(manifest.guarantees, required)))


@dataclass(slots=True)
class _Faults:
    """What is wrong with lines, by what it is: how many, and the first."""

    counts: Counter[str] = field(default_factory=Counter)
    firsts: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, line: int, count: int = 1) -> None:
        if count:
            self.counts[what] += count
            self.firsts.setdefault(what, line)

    def sentences(self) -> Iterator[str]:
        for what, count in self.counts.items():
            yield f"{_SENTENCES[what].format(count=count)}; the first in line {self.firsts[what]}."


_SENTENCES: Final = {
    "not-json": "{count} lines aren't objects of JSON",
    "unknown": "{count} times a field stands in a line that the manifest doesn't have",
    "formless": "{count} values don't look like a result of their action",
    "gaps": "{count} times numbers of an event have a gap",
}


class _Recount:
    """One release, counted again."""

    def __init__(self, manifest: EventsManifest, path: Path) -> None:
        self._manifest = manifest
        self._folder = folder_of(path)
        self._tables = any(file.format in TABLES for file in manifest.files)
        names = {file.name for file in manifest.files}
        if not names or len(names) < len(manifest.files):
            raise VerificationError("The manifest has no file, or one twice.")
        self._problems: list[str] = []
        if more := unlisted(path, names):
            self._problems.append(f"{more} files are in the folder that the manifest doesn't have.")

    def verdict(self) -> CheckedRelease:
        faults, lines, unique = _Faults(), 0, 0
        checks: tuple[FileCheck, ...] = ()
        try:
            checks, lines, unique = self._lines(faults)
        except VerificationError as error:
            self._problems.append(error.what)
        self._problems += faults.sentences()
        self._problems += self._counts(lines)
        manifest = self._manifest
        self._problems += risk_problems(
            manifest.risk,
            lines=lines,
            unique=None if self._tables else unique,
            claims=manifest.claimed.claims,
        )
        self._problems += form_problems(manifest.fields, manifest.claimed.claims)
        claims = self._claims()
        changed = [f"The file {it.name!r} isn't as stated." for it in checks if not it.holds]
        return CheckedRelease(
            kind=manifest.kind,
            files=checks,
            claims=claims,
            rows=lines,
            of_lines=True,
            problems=(*changed, *self._problems),
            weaknesses=manifest.stated().weaknesses,
            unverified=tuple(unverified_risk(manifest.risk, is_table=self._tables)),
        )

    def _lines(self, faults: _Faults) -> tuple[tuple[FileCheck, ...], int, int]:
        manifest = self._manifest
        places = Places(manifest.fields, exact=not self._tables, dense=not manifest.claimed.claims)
        looked = FirstLines()
        checks, total = [], 0
        for file in manifest.files:
            path = released_file(self._folder, file.name)
            if path is None:
                self._problems.append("A file that the manifest has isn't there.")
                checks.append(FileCheck(name=file.name, n_rows=None, holds=False))
                continue
            same = hashed(self._folder, file.name) == (file.sha256, file.n_bytes)
            lines = 0
            for line in lines_of(path, file.format):
                lines += 1
                looked.add(line)
                event = event_of(line)
                if event is None:
                    faults.add("not-json", total + lines)
                    continue
                found = places.check(event)
                faults.add("unknown", total + lines, found.unknown)
                faults.add("formless", total + lines, found.formless)
                faults.add("gaps", total + lines, found.gaps)
            total += lines
            holds = same and lines == file.n_rows
            checks.append(FileCheck(name=file.name, n_rows=lines, holds=holds))
        return tuple(checks), total, looked.unique

    def _counts(self, lines: int) -> Iterator[str]:
        manifest, counts = self._manifest, self._manifest.counts
        if lines != manifest.lines:
            yield f"There are {lines} lines; the manifest has {manifest.lines}."
        if not manifest.claimed.claims and lines != counts.passed:
            yield f"There are {lines} lines; the run let {counts.passed} events pass."
        left = counts.stage.get("events-written")
        if left is not None and lines != left:
            yield f"There are {lines} lines; the run let {left} events out."
        sums = counts.passed + counts.held == counts.events
        if not sums or counts.events + sum(counts.bad.values()) > counts.lines:
            yield "The counts of the manifest don't go together."

    def _claims(self) -> tuple[CheckedClaim, ...]:
        claimed = self._manifest.claimed
        if not claimed.claims:
            return ()
        written = [
            tuple(step.removeprefix(".") for step in field.steps) for field in self._manifest.fields
        ]
        guarded = [
            steps
            for claim in claimed.claims
            if isinstance(claim, GuaranteeClaim)
            for steps in claim.fields
        ]
        if any(steps not in written for steps in guarded):
            self._problems.append("A claim is of a field that the manifest doesn't have.")
        there = [
            (released_file(self._folder, file.name), file.format) for file in self._manifest.files
        ]
        try:
            lines = (line for path, form in there if path for line in lines_of(path, form))
            found = verify_events(lines, claimed)
        except VerificationError as error:
            self._problems.append(f"The claims can't be counted again: {error.what}")
            return ()
        return found.claims


KIND: Final = VerifiedKind(inputs=frozenset({"required"}), whole=_verify)


#: The format's own bound: the risk is about so many first lines.
_MOST: Final = 200_000


class FirstLines:
    """The first lines: how many of them are equal to no other."""

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()
        self._lines = 0

    def add(self, line: bytes) -> None:
        """Count a line in."""
        if self._lines < _MOST:
            self._lines += 1
            self._seen[hashlib.sha256(line).digest()[:16]] += 1

    @property
    def unique(self) -> int:
        """How many lines equal no other."""
        return sum(count == 1 for count in self._seen.values())


def risk_problems(
    risk: LinesRisk | None, *, lines: int, unique: int | None, claims: Sequence[EventClaim]
) -> Iterator[str]:
    """Yield a sentence for each number of the risk that can't be true."""
    looked = min(lines, _MOST)
    if risk is None:
        if lines:
            yield f"The manifest states no risk of its {lines} lines."
        return
    if risk.events != looked:
        yield f"The risk of the manifest is of {risk.events} lines, and must be of {looked}."
    elif unique is not None and unique != risk.unique_events:
        yield (
            f"{unique} of the first {looked} lines are equal to no other; the manifest "
            f"has {risk.unique_events}."
        )
    if risk.unique_events > risk.events or not _goes_together(risk):
        yield "The numbers of the manifest's risk contradict each other."
    if risk.by != (_owner(claims) or risk.by):
        yield "The risk of the manifest isn't of the traces that its claims distinguish."


def _goes_together(risk: LinesRisk) -> bool:
    if risk.by is None:
        return risk.traces == risk.unique_traces == 0 and not risk.known
    shares = all(
        0 < points <= risk.events and 0 < traces <= risk.traces and 0 <= share <= 1
        for points, traces, share in risk.known
    )
    traces = risk.unique_traces <= risk.traces <= risk.events
    # A trace has one event at least, so where there are traces one known event is counted.
    counted = bool(risk.known) == bool(risk.traces)
    return risk.by in {"entity", "session"} and shares and traces and counted


def _owner(claims: Sequence[EventClaim]) -> str | None:
    """Return what the output tells apart, by its claims."""
    guarantees = [each for each in claims if isinstance(each, GuaranteeClaim)]
    if any(each.entity is not None for each in guarantees):
        return "entity"
    return "session" if any(each.session is not None for each in guarantees) else None


def unverified_risk(risk: LinesRisk | None, *, is_table: bool) -> Iterator[str]:
    """Yield a sentence for each part of the risk that isn't counted again."""
    if risk is None:
        return
    if is_table:
        yield "The number of unique events isn't verified: rows of tables aren't compared."
    if risk.by is not None:
        yield (
            "The numbers of traces and of known events aren't verified: the manifest doesn't say "
            "which fields make a trace."
        )
