"""``halfmask book``: what was released of a data set, and to whom; and its options of protect."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final

from halfmask._errors import IntegrityError, PolicyError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import some
from halfmask.cli._console import console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import AnswerOptions, command_group
from halfmask.cli._vault import LockOptions, confirm

if TYPE_CHECKING:
    from halfmask.book import BookedRelease, ReleaseBook
    from halfmask.claims import Claim
    from halfmask.release.booking import Booking
    from halfmask.vault import Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOptions:
    """``[book]`` of a policy, key by key: what is given here takes its place."""

    heading: ClassVar = "Book of releases"

    book: str | None = option(
        "--book DATASET: Check the release against all earlier ones in the book of this data set, "
        "then book it. halfmask book create makes the book in VAULT. The options of the book take "
        "the place of keys of [book] in POLICY."
    )
    receiver: str | None = option("--receiver NAME: Of the book: who gets the release.")
    reuse: str | None = option(
        "--reuse RELEASE: Of the book: use the classes of an earlier release again, which is "
        "named by its folder, its number or the word last."
    )
    leave_out: float | None = option(
        "--leave-out SHARE: Of the book: the largest share of people that may wait for a later "
        "release; below 1.",
        min=0,
    )
    accept: str | None = option(
        "--accept NAME: Of the book: who accepts that less than the floor holds; it is booked."
    )
    reason: str | None = option("--reason TEXT: With --accept: why it is accepted.")

    def section_text(self) -> str:
        """Return ``[book]`` of a policy that is made: what stays the same for the next release."""
        import tomlkit  # noqa: PLC0415 # rare

        return tomlkit.dumps({"book": {"dataset": self.book or "", "receiver": self.receiver}})

    def open(self, policy: Any, vault: Vault | None) -> Booking | None:  # noqa: ANN401 # of any kind
        """Return how a release is booked; nothing if no option says it, but perhaps the policy."""
        keys = {"book": "dataset", "accept": "accepted_by"}
        given = {keys.get(key, key): it for key, it in asdict(self).items() if it is not None}
        if not given:
            return None
        own = getattr(policy, "book", None)
        if own is None and self.book is None:
            raise UsageError(
                "Options of a book are given, and no book.",
                hint="Add --book, or [book] to POLICY.",
            )
        if (self.accept is None) != (self.reason is None):
            raise UsageError("--accept and --reason go together.", hint="Give both, or neither.")
        if vault is None:
            raise UsageError("A book is given, and no vault.", hint="Add --vault.")
        if own is not None:
            given = {**own.model_dump(exclude_unset=True), **given}
        elif self.receiver is None:
            raise UsageError("--receiver is missing.", hint="Say who gets the release.")
        opened = rooms.book.ReleaseBook.open(vault, dataset=given["dataset"])
        if self.reuse not in {None, "last"}:  # the last one that has classes
            given["reuse"] = opened.find(self.reuse)
        return opened.booking(_section(given))


def _section(keys: dict[str, Any]) -> rooms.book.BookSection:
    from pydantic import ValidationError  # noqa: PLC0415 # loads late

    try:
        return rooms.book.BookSection(**keys)
    except ValidationError as error:  # it quotes values
        own = error.errors(include_url=False)[0].get("ctx", {}).get("error")
        if isinstance(own, PolicyError):
            raise UsageError(f"[book] {own.what}", hint=own.hint) from None
        raise UsageError(
            "An option of the book has a value that it can't have.",
            hint="--leave-out is a share below 1. Names aren't empty.",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class BookPlace:
    """Where a book is: the vault, and its lock."""

    heading: ClassVar = "Book of releases"

    vault: str = required("--vault VAULT: The vault of the book.")
    lock: LockOptions

    def open(self, dataset: str) -> ReleaseBook:
        """Open the book of a data set."""
        return rooms.book.ReleaseBook.open(self.lock.open(self.vault), dataset=dataset)


book = command_group("book", "Keep a book of what was released of the same people, and to whom.")

DATASET = argument("DATASET: The name of the data set.")
_ALTERED: Final = "Later releases are checked against what was booked, and not against folders."
_NAMED: Final = "Its number in the book, its folder, or the word last."


@book.command()
@spreads_groups
def create(dataset: str = DATASET, *, where: BookPlace, saying: AnswerOptions) -> int:
    """Make the book of a data set in a vault, once.

    Then halfmask protect --book checks each release against all earlier ones, and books it.
    """
    vault = where.lock.open(where.vault)
    rooms.book.ReleaseBook.create(vault, dataset=dataset)
    text = f"The book of {printable(dataset)} was made: nothing is in it yet."
    return saying.say({"dataset": dataset, "releases": 0}, text)


@book.command(name="list")
@spreads_groups
def list_(dataset: str = DATASET, *, where: BookPlace, saying: AnswerOptions) -> int:
    """List what was released, and to whom."""
    releases = where.open(dataset).releases()
    heads = ("", "released (UTC)", "receiver", "kind", "people", "state")
    table = listing(*heads, right=("", "people"))
    for each in releases:
        people = "" if each.people is None else f"{each.people:,}"
        cells = (_moment(each), each.receiver, each.kind, people, _state(each))
        table.add_row(str(each.number), *map(printable, cells))
    text = f"The book of {printable(dataset)}: {some(len(releases), 'release')}"
    facts = {"dataset": dataset, "releases": [_as_dict(each) for each in releases]}
    return saying.say(facts, text, *([table] if releases else ()))


@book.command()
@spreads_groups
def show(
    dataset: str = DATASET,
    release: str = argument(f"RELEASE: {_NAMED}"),
    *,
    where: BookPlace,
    saying: AnswerOptions,
) -> int:
    """Show one release: its claims and files, and what it was checked against."""
    opened = where.open(dataset)
    number = opened.find(release)
    (found,) = (each for each in opened.releases() if each.number == number)
    return saying.say(_as_dict(found), lambda: _show(found))


@book.command()
@spreads_groups
def check(dataset: str = DATASET, *, where: BookPlace, saying: AnswerOptions) -> int:
    """Check the book, and whether its releases were altered or deleted since.

    It also counts what all releases keep together now, and those of each receiver. The exit code is
    1 if a release was altered or deleted.
    """
    opened = where.open(dataset)
    found = opened.check_folders()
    receivers = dict.fromkeys(each.receiver for each in opened.releases())
    kept = {name: list(opened.describe_together(name)) for name in (None, *receivers)}
    if not found:
        text = "Nothing was altered: no entry of the book, and no folder of its releases."
        table = listing("releases of", "keep together")
        for name, words in kept.items():
            table.add_row("all receivers" if name is None else printable(name), ", ".join(words))
        facts = {"dataset": dataset, "folders": {}, "together": kept.pop(None), "receivers": kept}
        return saying.say(facts, text, *([table] if receivers else ()))
    text = f"{some(len(found), 'release')} altered or missing."
    failed = {"error": text, "hint": _ALTERED, "code": IntegrityError.code, "status": 1}
    table = listing("release", "folder", right=("release",))
    for number, each in found.items():
        table.add_row(str(number), each)
    saying.say({"ok": False, **failed, "dataset": dataset, "folders": found}, text, table, _ALTERED)
    return 1


@book.command()
@spreads_groups
def forget(
    dataset: str = DATASET,
    release: str | None = argument(f"[RELEASE]: {_NAMED} Without it, all are forgotten.", None),
    *,
    yes: bool = flag("--yes: Don't ask for confirmation."),
    where: BookPlace,
    saying: AnswerOptions,
) -> int:
    """Destroy the keys of what the book knows of people, of one release or of all.

    Later releases can't be compared with it: under a floor, that must be accepted in writing.
    That it was forgotten is booked. Copies of the vault and of the book aren't reached.
    """
    opened = where.open(dataset)
    number = None if release is None else opened.find(release)
    if not yes:
        confirm("Forget all releases?" if number is None else f"Forget release {number}?")
    opened.forget(number)
    what = "All releases were" if number is None else f"Release {number} was"
    facts = {"dataset": dataset, "forgotten": number or "all"}
    return saying.say(facts, f"{what} forgotten: nothing can be compared with it any more.")


def _as_dict(release: BookedRelease) -> dict[str, object]:
    said = {each.name: getattr(release, each.name) for each in fields(release)}
    return {**said, "claims": [each.to_dict() for each in release.claims]}


def _claim(claim: Claim) -> str:
    """Return a claim in words, with the column that it is about."""
    column = claim.about.get("column")
    return claim.sentence() if column is None else f"{column}: {claim.sentence()}"


def _moment(release: BookedRelease) -> str:
    return release.time.removesuffix("Z").replace("T", " ")


def _state(release: BookedRelease) -> str:
    return "forgotten" if release.forgotten else release.state


def _show(release: BookedRelease) -> None:
    out = console()
    whose = ", ".join(release.whose) + (", which only match people" if release.matched else "")
    facts = {
        "Release": f"{release.number}, {release.kind}, {_state(release)}",
        "Released": f"{_moment(release)} (UTC)",
        "Receiver": release.receiver,
        "Folder": release.out,
        "People": "" if release.people is None else f"{release.people:,} by {whose}",
        "Accepted": f"by {release.accepted_by}: {release.reason}" if release.accepted_by else "",
        "Reusable": "its classes" if "plan" in release.kept and not release.forgotten else "",
    }
    table = listing("", "")
    for name, said in facts.items():
        if said:
            table.add_row(name, printable(said))
    out.print(table)
    for title, lines in (
        ("Checked against earlier releases", release.verdict),
        ("Claims", [_claim(each) for each in release.claims]),
        ("Files", [f"{name}  {digest}" for name, digest in release.files.items()]),
    ):
        if lines:
            out.print(f"\n{title}", style="bold")
        for line in lines:
            out.print(f"- {printable(line)}", soft_wrap=True)
