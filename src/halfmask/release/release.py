"""Release and ReleaseKind: claims with their rows, and how a kind makes, writes and shows them."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from halfmask._errors import ParameterError, PolicyError, ReleaseError
from halfmask._html_table import html_table
from halfmask._progress import Progress, silent
from halfmask._validation import integer_at_least, list_of, one_of
from halfmask.claims import Claim, Manifest
from halfmask.data import atomic_file, like
from halfmask.data.io.formats import is_object_address
from halfmask.data.io.object_folder import new_run, point_to
from halfmask.engines import LocalEngine
from halfmask.release._given import GivenTable
from halfmask.release._publishing import publish
from halfmask.release.briefing import (
    Briefing,
    owner_page,
    owner_path,
    record_blocks,
    summary_blocks,
)
from halfmask.release.page import checked_blocks
from halfmask.release.row_files import RowFiles, WriteJob

if TYPE_CHECKING:
    from halfmask.claims.claim import Json
    from halfmask.engines import Engine
    from halfmask.release.booking import Booking, Departure, Leaving
    from halfmask.release.page import AnyBlock
    from halfmask.vault import Vault
    from halfmask.verifier import CheckedRelease

Facts = TypeVar("Facts")


class ReleasePolicy(Protocol):
    """What an owner wants, as a release sees it."""

    @property
    def kind(self) -> str:
        """The kind of release that it asks for."""

    @property
    def sha256(self) -> str:
        """The hash of what it says."""


@dataclass(frozen=True, slots=True)
class StatedPolicy:
    """What was asked for where no policy says it: a question, settings, as text."""

    kind: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of the text."""
        return sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What is given to `protect` besides a table and a policy.

    Parameters
    ----------
    key
        32 secret bytes that fix every random number; ``None`` for fresh ones.
    vault
        The vault with the key of pseudonyms.
    population
        The people that the table was drawn from.
    strict
        Whether a warning about what can still be found is an error.
    engine
        Where batches are processed; ``None`` for threads.
    ledger
        The budget of the table.
    book
        How the release is booked, where it is.
    progress
        Called with what is being done and how far it is.
    unmeasured
        Whether masked and synthetic rows aren't attacked, for a release that is never written.
    """

    key: bytes | None = field(default=None, repr=False)
    vault: Vault | None = None
    population: object = None
    strict: bool = False
    engine: Engine | None = None
    ledger: Any = None  # a PrivacyLedger, whose room imports this one
    book: Booking | None = None
    progress: Progress = silent
    unmeasured: bool = False


#: What a notebook shows of a release: heads, rows and notes, of counts and no cell.
ShownTable: TypeAlias = tuple[Sequence[str], Sequence[Sequence[object]], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class ReleaseKind(Generic[Facts]):
    """One kind of release: how it is made from a policy, and what is stated of it.

    Parameters
    ----------
    name
        What the manifest calls it; the checks of its claims are found by it.
    make
        ``make(table, policy, inputs)`` makes a release, of the table as `protect` got it. ``None``
        if no policy asks for the kind: then its room makes the release, such as of an answer.
    files
        ``files(release, job)`` returns, as a context, how the files of a release are written.
    weaknesses
        ``weaknesses(release)`` returns sentences that name what it doesn't protect from.
    details
        ``details(release)`` returns what only this kind has in its manifest, as JSON.
    briefing
        ``briefing(release)`` returns what the first page says of it, to the officer who signs it.
    blocks
        ``blocks(release)`` returns what the page shows besides the claims.
    page
        Makes a page of its own in place of the one of blocks, from the release, the manifest and
        what the verifier found.
    shown
        ``shown(release)`` returns what a notebook shows; by default the claims.
    leaving
        ``leaving(release)`` returns what the book keeps of it; by default the manifest alone.
    refuses
        Fields of `Inputs` that mean nothing here, and ``"persons"`` of `write`; each with a reason.
    has_report_folder
        Whether rows are written elsewhere, as to a database, and manifest and page into the folder
        that `write` takes as ``report``.
    about
        What a policy has that asks for this kind, in words.
    software
        Packages whose versions the manifest states, ``"python"`` among them.

    Raises
    ------
    ParameterError
        If ``refuses`` names no input.
    """

    name: str
    make: Callable[[Any, Any, Inputs], Release[Facts]] | None = None
    files: Callable[[Release[Facts], WriteJob], AbstractContextManager[RowFiles]]
    weaknesses: Callable[[Release[Facts]], Sequence[str]]
    details: Callable[[Release[Facts]], Mapping[str, Json]] | None = None
    briefing: Callable[[Release[Facts]], Briefing] | None = None
    blocks: Callable[[Release[Facts]], Sequence[AnyBlock]] | None = None
    page: Callable[[Release[Facts], Manifest, CheckedRelease], str] | None = None
    shown: Callable[[Release[Facts]], ShownTable] | None = None
    leaving: Callable[[Release[Facts]], Leaving] | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    has_report_folder: bool = False
    about: str = "this policy"
    software: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = [*(each.name for each in fields(Inputs)), "persons"]
        for name in self.refuses:
            one_of(known, owner="ReleaseKind", refuses=name)

    def make_release(self, table: object, policy: ReleasePolicy, inputs: Inputs) -> Release[Facts]:
        """Check the inputs, and make a release.

        Parameters
        ----------
        table, policy, inputs
            What is released, how, and what else is given.

        Raises
        ------
        ParameterError
            If an input is given that this kind refuses, or no policy asks for this kind.
        """
        if self.make is None:
            raise ParameterError(f"No policy asks for a release of the kind {self.name!r}.")
        for each in fields(inputs):
            value = getattr(inputs, each.name)
            is_used = each.name == "vault" and inputs.book is not None  # the book lies in it
            if not (value is None or value is False or isinstance(value, LocalEngine) or is_used):
                self.check_input(each.name)
        given = GivenTable(table)
        return replace(self.make(table, policy, inputs), booking=inputs.book, given=given)

    def check_input(self, name: str) -> None:
        """Raise if this kind refuses an input.

        Parameters
        ----------
        name
            The name of one that is given.
        """
        if name in self.refuses:
            owner = "write" if name == "persons" else "protect"
            raise ParameterError(
                f"The {name!r} parameter of {owner} doesn't go with {self.about}.",
                hint=self.refuses[name],
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(Generic[Facts]):
    """Protected rows with their claims, made by :func:`halfmask.protect`.

    Attributes
    ----------
    kind, policy
        What it is, and by which policy it was made.
    claims
        What the verifier checks, each with what was counted for it.
    rows
        How many rows were read, released, and what became of the others.
    facts
        What its kind measured or spent.
    source, copies, original
        Where its rows come from, in how many copies, and the table as given: `data` is made of it.
        No copy: its rows aren't in memory.
    manifest, verification
        What was written, and what the verifier found on disk; ``None`` before :meth:`write`.
    booking, checked
        How it is booked, if it is; and sentences: which earlier releases it was checked against,
        and what was found.
    given
        Where the table is, for the owner.
    run
        Where it lies below a folder in an object store that it replaces; else ``None``.

    See Also
    --------
    halfmask.protect : Makes a release.
    halfmask.verify : Checks a written release again.

    Notes
    -----
    **Guarantees.** :meth:`write` makes a complete release that the verifier confirmed on disk, or
    nothing. ``data`` in memory is judged, but not verified.
    """

    kind: ReleaseKind[Facts]
    policy: Any
    claims: tuple[Any, ...]
    rows: Mapping[str, int]
    facts: Facts
    source: Any = None
    copies: int = 1
    original: object = None
    manifest: Manifest | None = None
    verification: CheckedRelease | None = None
    booking: Booking | None = None
    checked: tuple[str, ...] = ()
    given: GivenTable = field(default_factory=GivenTable)
    run: str | None = None

    def __repr__(self) -> str:
        rows = f"{self.rows.get('out', 'no')} rows"
        return f"Release({', '.join([rows, *map(_in_words, self.claims)])})"

    def _repr_html_(self) -> str:
        """Show claims and rows as a table in a notebook: counts, and no cell."""
        heads, rows, notes = (self.kind.shown or _show_claims)(self)
        title = f"{self.kind.name} release of {self.rows.get('out', 0):,} rows"
        state = "Not written yet."
        if self.verification is not None:
            how = (
                "verified on disk" if self.verification.holds else "counted before it was committed"
            )
            state = f"Written, and {how}."
        return html_table(title.capitalize(), heads, rows, (*notes, *self.checked, state))

    @property
    def data(self) -> Any:  # noqa: ANN401 # the library that the table came in
        """The released rows, in a random order, as the input's kind of frame."""
        return self.copy(0)

    def copy(self, number: int) -> Any:  # noqa: ANN401 # the library that the table came in
        """Return the rows of one copy, of synthetic rows in several.

        Parameters
        ----------
        number
            The number of the copy, from 0.
        """
        integer_at_least(0, owner="copy", number=number)
        if not self.copies:
            raise ReleaseError(
                f"A release of the kind {self.kind.name!r} has no rows in memory.",
                hint="Read what was written.",
            )
        if number >= self.copies:
            raise ParameterError(
                f"The release has no copy number {number}.",
                hint=f"The last of its copies is {self.copies - 1}; the first is 0.",
            )
        frame = self.source.frame(number)
        return frame if self.original is None else like(frame, self.original)

    @property
    def risk(self) -> Any:  # noqa: ANN401 # as its kind measures it
        """What an attacker identifies by the quasi-identifiers, before and after."""
        return self._fact("risk")

    @property
    def utility(self) -> Any:  # noqa: ANN401 # as its kind measures it
        """What a learner keeps."""
        return self._fact("utility")

    @property
    def assessment(self) -> Any:  # noqa: ANN401 # as its kind measures it
        """What attacks found on masked or synthetic rows, and their quality."""
        return self._fact("assessment")

    @property
    def written(self) -> tuple[Manifest, CheckedRelease]:
        """The manifest and what the verifier found, of a release that was written."""
        if self.manifest is None or self.verification is None:
            raise ReleaseError("The release isn't written yet.", hint="Call its write method.")
        return self.manifest, self.verification

    @property
    def briefing(self) -> Briefing:
        """What its kind says to the officer who signs it."""
        if self.kind.briefing is None:
            return Briefing()
        return self.kind.briefing(self)

    def opening(self, manifest: Manifest) -> tuple[list[AnyBlock], list[AnyBlock]]:
        """Return the summary of its report, and the record.

        Parameters
        ----------
        manifest
            What it states.
        """
        briefing = self.briefing
        has_approval = hasattr(self.policy, "approval")
        n_dropped = len(self.policy.dropped) if has_approval else None
        summary = summary_blocks(manifest, briefing, has_approval=has_approval)
        return summary, record_blocks(manifest, briefing, n_dropped)

    def _fact(self, name: str) -> Any:  # noqa: ANN401 # as its kind measures it
        if not hasattr(self.facts, name):
            raise ReleaseError(
                f"A release of the kind {self.kind.name!r} has no {name!r}.",
                hint="See its 'facts' for what its kind has.",
            )
        return getattr(self.facts, name)

    def write(
        self,
        out: str | Path,
        *,
        overwrite: bool = False,
        persons: str | Path | None = None,
        report: str | Path | None = None,
        progress: Progress | None = None,
        booking: Booking | None = None,
    ) -> Release[Facts]:
        """Write the release, verify it on disk, and then give the folder its name.

        Parameters
        ----------
        out
            The folder to make, or its address in an object store, as in ``"s3://bucket/release"``.
            Of a database: the URL of the schema or file to make.
        overwrite
            Whether an earlier release of that name may be replaced; until the new one is complete
            and verified the old one stays. In an object store both stay, each in a folder of its
            run below ``out``, and the object ``latest.txt`` names the new one.
        persons
            A file to make outside of the release, where a person is the unit of guarantees: it says
            which rows are of one person, and `halfmask.verify` needs it to count persons again.
        report
            Of a database: the folder to make for ``manifest.json`` and ``report.html``. By default
            ``NAME.report`` in the current folder, for the new file NAME or DATABASE.SCHEMA.
        progress
            Called with what is being done and how far it is.
        booking
            How it is booked, as `ReleaseBook.booking` returns it; by default as the policy says.

        Returns
        -------
        Release
            The same with its manifest and what the verifier found.

        Raises
        ------
        GuaranteeNotMetError
            If its book refuses it; nothing is left, and nothing is booked.
        VerificationError
            If the verifier doesn't confirm every claim; nothing is left.
        ReleaseError
            If the folder exists, or can't be written; nothing is left.
        """
        if persons is not None:
            self.kind.check_input("persons")
        if report is not None and not self.kind.has_report_folder:
            raise ParameterError(
                "The 'report' parameter of write is for databases.", hint="The report is in 'out'."
            )
        run = new_run(str(out)) if overwrite and is_object_address(out) else None
        job = WriteJob(
            out=out if run is None else run,
            overwrite=overwrite and run is None,
            persons=persons,
            report=report,
            progress=progress or silent,
        )
        with self.kind.files(self, job) as files:
            made: Release[Facts] = files.release or self
            made = replace(made, booking=booking or self.booking)
            with _leave(made, job) as departure, _owner_page(made, files, job, out) as write_owners:
                if departure is not None:
                    made = replace(made, checked=tuple(departure.sentences))
                page = None if made.kind.page is None else partial(made.kind.page, made)
                manifest, verification = publish(
                    _make_manifest(made, () if departure is None else departure.weaknesses),
                    files,
                    job,
                    blocks=partial(_blocks, made),
                    page=page,
                    departure=departure,
                )
                write_owners(manifest)
        if run is not None:
            point_to(run)
        return replace(made, manifest=manifest, verification=verification, run=run)


def _leave(release: Release[Any], job: WriteJob) -> AbstractContextManager[Departure | None]:
    if release.booking is None:
        return nullcontext()
    job.progress("comparing with earlier releases")
    return release.booking.leaving(release, job.out)


def _blocks(release: Release[Any], manifest: Manifest) -> tuple[list[AnyBlock], list[AnyBlock]]:
    """Return the summary, and what stands under the claims of a page."""
    summary, record = release.opening(manifest)
    blocks = () if release.kind.blocks is None else release.kind.blocks(release)
    return summary, [*checked_blocks(release.checked), *blocks, *record]


@contextmanager
def _owner_page(
    release: Release[Any], files: RowFiles, job: WriteJob, given: str | Path
) -> Iterator[Callable[[Manifest], None]]:
    """Yield what writes the owner's page: next to the release, once that is verified."""
    policy = release.policy
    if not hasattr(policy, "approval"):  # a question, or settings: the page has nothing to add
        yield lambda _: None
        return
    out = files.folder or given  # that of the latest of several runs
    job.progress("hashing the table")
    hashed = release.given.hashed()

    with atomic_file(owner_path(out), overwrite=True) as file:
        os.fchmod(file.fileno(), 0o600)  # it has the policy, and of tables true values

        def write(manifest: Manifest) -> None:
            command = release.briefing.command(
                TABLE=release.given.where, RELEASE=out, POLICY=policy.path
            )
            page = owner_page(manifest, release.briefing, policy, hashed, command)
            file.write(page.encode())

        yield write


def stated_claims(release: Release[Any]) -> list[Claim]:
    """Return the claims as the manifest states them."""
    return [each if isinstance(each, Claim) else each.stated() for each in release.claims]


def _show_claims(release: Release[Any]) -> ShownTable:
    return ("claim",), [(each.sentence(),) for each in stated_claims(release)], ()


def _make_manifest(release: Release[Any], found: Sequence[str]) -> Manifest:
    """Return what the manifest states before the files are written."""
    kind = release.kind
    weaknesses = kind.weaknesses(release)
    list_of("sentences", lambda it: isinstance(it, str), owner=kind.name, weaknesses=weaknesses)
    return Manifest(
        kind=kind.name,
        created="",
        software={"halfmask": version("halfmask"), **dict(_versions(kind.software))},
        policy_sha256=release.policy.sha256,
        files=(),
        claims=tuple(stated_claims(release)),
        weaknesses=(*weaknesses, *found),
        details={} if kind.details is None else kind.details(release),
        approval=_approval(release),
    )


def _approval(release: Release[Any]) -> dict[str, str]:
    """Return who approved a release and for whom: the receiver is also that of its book."""
    approval = getattr(release.policy, "approval", None)
    stated: dict[str, str] = {} if approval is None else approval.stated()
    book = release.booking.section if release.booking else getattr(release.policy, "book", None)
    if book is not None and stated.setdefault("receiver", book.receiver) != book.receiver:
        raise PolicyError(
            "The release is booked for another receiver than [approval] of the policy has.",
            hint="Leave the receiver out of [approval]: that of the book counts.",
        )
    return stated


def _versions(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        yield name, platform.python_version() if name == "python" else version(name)


def _in_words(claim: Any) -> str:  # noqa: ANN401 # of any kind
    """Return the model of a claim, with the level that was reached where one was counted."""
    achieved = getattr(claim.evidence, "achieved", None)
    return f"{claim.model}" if achieved is None else f"{claim.model} {achieved:g}"
