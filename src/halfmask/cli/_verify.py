"""``halfmask verify`` and ``events verify``: count again what a release claims."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from halfmask._errors import VerificationError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import show_claims, some
from halfmask.cli._console import console, listing, mark, printable, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import OPEN, AnswerOptions, EngineOptions, SayingOptions, open_report
from halfmask.cli._protect import opened_by, policy_kind

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.verifier import CheckedRelease


@spreads_groups
def verify_events(
    where: str = argument(
        "OUT: The output of halfmask events run, a file or folder with its manifest next to it; "
        "or the manifest."
    ),
    *,
    policy: str | None = option(
        "--policy POLICY: The policy, from a source that you trust. The manifest must name it, "
        "and have its fields and guarantees. Without it, the manifest is trusted."
    ),
    answer: AnswerOptions,
) -> int:
    """Verify the manifest of an output from its files.

    Independent code checks every line, field and value. It needs no key. The exit code is 0 if
    everything holds, otherwise 1.
    """
    expected = None
    if policy is not None:
        expected = rooms.events.report.guarantees_of(rooms.events.EventPolicy.load(policy))
    return answer_of_events(
        rooms.verifier.events.verify_release(where, required=expected), as_json=answer.as_json
    )


def answer_of_events(found: CheckedRelease, *, as_json: bool) -> int:
    """Show what was found of an output of events, and return the exit code."""
    if as_json:
        say_json(_as_dict(found, " ".join(found.sentences()), REMAKE_LINES, 1))
    else:
        _show_lines(found, console())
    return 0 if found.holds else 1


def _show_lines(found: CheckedRelease, out: Console) -> None:
    for file in found.files:
        lines = "isn't there" if file.n_rows is None else some(file.n_rows, "line")
        line = f"{mark(file.holds, out)} {printable(file.name)}: {lines}"
        out.print(line, style=None if file.holds else "red", soft_wrap=True)
    for claim in found.claims:
        if isinstance(claim, rooms.verifier.events.Check):
            _show_claim(claim, out)
    for each in found.unverified:
        out.print(f"? {printable(each)}", soft_wrap=True)
    for problem in (*found.problems, *(found.differences or ())):
        out.print(f"{mark(False, out)} {printable(problem)}", style="red", soft_wrap=True)
    style = f"bold {'green' if found.holds else 'red'}"
    out.print(f"\n{_ending(found)}", style=style, soft_wrap=True)


def _show_claim(claim: rooms.verifier.events.Check, out: Console) -> None:
    words = rooms.verifier.verdict
    # What couldn't be counted gets no tick.
    counted = claim.counted != "nothing"
    sign = mark(claim.holds, out) if counted or not claim.holds else "?"
    many = "1 window" if claim.windows == 1 else f"each of {claim.windows or 0:,} windows"
    windows = "" if claim.windows is None else f" in {many}"
    least = "" if claim.least is None else f"; the fewest are {claim.least:,}"
    line = (
        f"{sign} {claim.called}: {claim.guarantee}{windows}. {words.COUNTED[claim.counted]}{least}"
    )
    out.print(printable(line), style=None if claim.holds else "red", soft_wrap=True)
    if claim.problem:
        out.print(f"  {printable(claim.problem)}", style="red", soft_wrap=True)
    if claim.unverified:
        out.print(f"  ? {printable(claim.unverified)}", soft_wrap=True)


def _ending(found: CheckedRelease) -> str:
    """Return the verdict, and what to do where it rests on the manifest alone."""
    verdict = rooms.verifier.verdict.verdict_of(found)
    if not found.bears_out or found.differences is not None:
        return verdict
    return (
        f"{verdict.removesuffix('.')}: halfmask events verify --policy compares it with "
        "the policy that you expect."
    )


GIVE_FILE = (
    "Give what the marked claims need: --persons; --population with --policy or --hierarchies; "
    "--originals; --earlier; or --copy."
)
REMAKE = "Don't hand it over; make it again from the table and the policy."
REMAKE_LINES = "Don't hand it over, or don't trust it; make it again."


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnersFiles:
    """What only the owner of a release has, and claims are checked against."""

    heading: ClassVar = "Files of the owner"

    persons: str | None = option(
        "--persons FILE: For guarantees that count persons: the file that halfmask protect "
        "--persons wrote. Without it these claims aren't checked."
    )
    population: str | None = option(
        "--population PEOPLE: For guarantees about a population: a file of Parquet, CSV, Arrow "
        "or JSON lines with the quasi-identifiers. Missing cells are empty, dates are ISO 8601."
    )
    hierarchies: str | None = option(
        "--hierarchies DIR: For the same, where nodes of hierarchies are written: a folder with "
        "age.csv."
    )
    originals: str | None = option(
        "--originals TABLE: For full synthetic rows: the table that they were drawn from. For "
        "tables of counts and sums: the rows or ready tables that they were made of. Without it "
        "copied rows aren't counted, and true values aren't compared."
    )
    copy: str | None = option(
        "--copy DATABASE: For a copied database: the SQLite file that was written; its source is "
        "--originals."
    )
    earlier: list[str] | None = option(
        "--earlier RELEASE: For tables of counts and sums: a release that was published before "
        "and that the manifest names; may be given more than once."
    )
    also: str | None = option(
        "--also FILE: A file of SPSS, Stata or Excel that halfmask protect --also wrote: each of "
        "its cells must be that of the release."
    )
    policy: str | None = option(
        "--policy POLICY: The policy by which --originals or --population is read, such as which "
        "texts mean missing. For --population it also builds the hierarchies, by files or rules."
    )

    def verified(self, folder: str | Path, engine: rooms.engines.Engine | None) -> CheckedRelease:
        """Verify a release against them."""
        people: object = self.population
        trees: rooms.verifier.checks.HierarchyFiles | None = self.hierarchies
        if self.population is not None and self.policy is not None:
            policy = rooms.microdata.Policy.load(self.policy)  # as halfmask protect reads them
            people, trees = rooms.microdata.read_population(self.population, policy)
        return rooms.verifier.verify(
            folder,
            persons=self.persons,
            population=people,
            hierarchies=trees,
            originals=self._originals(folder),
            copy=self.copy,
            earlier=self.earlier,
            also=self.also,
            engine=engine,
        )

    def _originals(self, folder: str | Path) -> object:
        """Return the original rows as the policy reads them; paths of databases and of tables."""
        if self.originals is None or self.copy is not None:
            return self.originals
        if self.policy is None:
            is_of_rows = _kind_of(folder) != rooms.claims.manifest.TABLES
            return rooms.data.open_table(self.originals).read() if is_of_rows else self.originals
        policy = policy_kind(Path(self.policy)).load(self.policy)
        if isinstance(policy, rooms.microdata.Policy):
            return opened_by(self.originals, policy, {}).read()
        return rooms.crosstabs.read_originals(self.originals, policy)

    def check(self) -> None:
        """Refuse what goes with others that are missing."""
        if self.hierarchies is not None and self.population is None:
            raise UsageError("--hierarchies are those of --population.", hint="Give both.")
        if self.policy is not None and self.originals is None and self.population is None:
            raise UsageError(
                "--policy says how --originals or --population is read.", hint="Give one of them."
            )
        if self.policy is not None and self.hierarchies is not None:
            raise UsageError(
                "--hierarchies and --policy both say what the hierarchies are.", hint="Give one."
            )


def _kind_of(release: str | Path) -> str | None:
    """Return the kind of a release; what is wrong with its manifest is for the verifier to say."""
    try:
        return rooms.claims.read_manifest(Path(release)).kind
    except VerificationError:
        return None


@spreads_groups
def verify(
    release: str = argument(
        "RELEASE: The folder of a release, or the output of halfmask events run."
    ),
    *,
    given: OwnersFiles,
    show: bool = OPEN,
    where_run: EngineOptions,
    saying: SayingOptions,
) -> int:
    """Verify the claims of a release from its files.

    Independent code counts each claim again. The exit code is 0 if every claim holds, apart
    from those that are only stated; 3 if nothing is wrong and some claims couldn't be checked,
    otherwise 1.
    """
    given.check()
    with where_run.connected() as engine, _near(release, engine) as folder:
        found = given.verified(folder, engine)
    if found.of_lines:
        return answer_of_events(found, as_json=saying.as_json)
    # Nothing is wrong, and some claims couldn't be checked.
    unchecked = not found.holds and not found.is_broken
    words = rooms.verifier.verdict
    what, hint, status = (words.UNCHECKED, GIVE_FILE, 3) if unchecked else (words.BROKEN, REMAKE, 1)
    if saying.as_json:
        say_json(_as_dict(found, " ".join((what, *found.sentences())), hint, status))
    else:
        _show(found, console(), verbose=saying.verbose)
    if show and found.holds:
        open_report(release)
    return 0 if found.holds else status


@contextmanager
def _near(release: str, engine: object) -> Iterator[str | Path]:
    """Give a release as a path: one in an object store is copied."""
    if "://" not in release:
        yield release
        return
    if engine is not None:
        raise UsageError(
            "--engine verifies a folder that every worker sees.",
            hint="Leave it out, or copy RELEASE into such a folder.",
        )
    with rooms.data.io.object_folder.fetched_folder(release, called="The release") as folder:
        yield folder


def _as_dict(found: CheckedRelease, error: str, hint: str, status: int) -> dict[str, object]:
    failed = {"error": error, "hint": hint, "code": "verification", "status": status}
    return {"ok": found.holds, **({} if found.holds else failed), **found.to_dict()}


def _show(found: CheckedRelease, out: Console, *, verbose: bool) -> None:
    show_claims(found.claims, out)
    sound = sum(each.holds for each in found.files)
    rows = "" if found.rows is None else f", {some(found.rows, 'row')}"
    whole = sound == len(found.files)
    out.print(
        f"{mark(whole, out)} {sound} of {len(found.files)} files are as the manifest states{rows}",
        style=None if whole else "red",
    )
    if found.column_sets:
        true = all(each.holds for each in found.column_sets)
        sets = len(found.column_sets)
        out.print(
            f"{mark(true, out)} unique rows over {sets} sets of columns are no more than stated",
            style=None if true else "red",
        )
    if verbose:
        table = listing("", "", "", right=())
        for each in found.files:
            count = "" if each.n_rows is None else some(each.n_rows, "row")
            table.add_row(f"  {mark(each.holds, out)}", printable(each.name), count)
        out.print(table)
    _show_ending(found, out)


def _show_ending(found: CheckedRelease, out: Console) -> None:
    for problem in found.problems:
        out.print(f"{mark(False, out)} {printable(problem)}", style="red", soft_wrap=True)
    if found.weaknesses:
        out.print("\nNo claim protects from this:", style="bold")
        for weakness in found.weaknesses:
            out.print(f"- {printable(weakness)}", soft_wrap=True)
    verdict = rooms.verifier.verdict.verdict_of(found)
    if found.holds:
        out.print(f"\n{verdict}", style="bold green")
    elif not found.is_broken:
        out.print(f"\n{verdict} {GIVE_FILE}", style="bold yellow")
    else:
        out.print(f"\n{verdict}", style="bold red")
