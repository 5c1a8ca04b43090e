"""``halfmask assess release``: attack a release with the table that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import say_findings
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from halfmask.microdata import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierOptions:
    """Releases that left before, and how their people are found in the tables."""

    heading: ClassVar = "Earlier releases"

    earlier: list[str] | None = option(
        "--earlier RELEASE: A release of some of the same people that left before; may be given "
        "more than once. All are attacked together."
    )
    earlier_table: list[str] | None = option(
        "--earlier-table TABLE: The table that an --earlier release was made of; one for each, in "
        "the same order."
    )
    person: str | None = option(
        "--person COLUMN: The column of the tables that says whose row it is. By default rows that "
        "are equal in all columns are one person's."
    )

    def pairs(self) -> list[tuple[str, str]]:
        """Return each earlier release with its table."""
        folders, tables = self.earlier or [], self.earlier_table or []
        if len(tables) != len(folders):
            raise UsageError(
                f"There are {len(folders)} --earlier and {len(tables)} --earlier-table.",
                hint="Give a table for each earlier release, in the same order.",
            )
        if self.person is not None and not folders:
            raise UsageError(
                "--person is given without an --earlier release.",
                hint="It finds the people of TABLE in earlier releases.",
            )
        return list(zip(folders, tables, strict=True))


@spreads_groups
def release(  # each is an option
    table: str = TABLE,
    folder: str = argument("RELEASE: The folder that halfmask protect made of TABLE."),
    *,
    control: str | None = option(
        "--control TABLE: Rows of the same population, drawn at random and held out before "
        "protect. Singling out, linkability and inference need them."
    ),
    policy: str | None = option(
        "--policy POLICY: The policy of the release. TABLE and the control table are read as it "
        "says."
    ),
    before: EarlierOptions,
    seed: int = option("--seed N: The seed of the random draws.", 0, min=0),
    out: str | None = option("--out -o FILE: Write the results to this file, as JSON."),
    picture: str | None = option("--picture FILE: Draw the results in this file, as SVG."),
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Attack a release of TABLE, with and without a control table.

    Each attack also runs on the raw rows. If it doesn't break them, it proves nothing. protect
    shuffles rows, so attacks that need the original row of each released row aren't run. Files
    are written only if you name them. The exit code is 0, whatever the attacks find.
    """
    pairs = before.pairs()
    reading.check_alone(policy)
    with saying.stages() as stages:
        stages("verifying")
        known = None if policy is None else _policy_of(policy, folder)
        target = _shuffled(folder, table, known, reading, "TABLE")
        earlier = [
            _shuffled(*pair, known, reading, f"Earlier table {place + 1}")
            for place, pair in enumerate(pairs)
        ]
        names = dict.fromkeys(n for it in (target, *earlier) for n in it.quasi_identifiers)
        target = replace(
            target,
            control=None
            if control is None
            else reading.read(control, known, called="The control table"),
            quasi_identifiers=tuple(n for n in names if n in target.original.columns),
            earlier=tuple((each.released, each.original) for each in earlier),
            person=before.person,
        )
        found = rooms.assess.attacks.attack_shuffled(target, random_state=seed, progress=stages)
    return say_findings(found, out, picture, "released", saying)


def _shuffled(
    folder: str, table: str, known: Policy | None, reading: Reading, called: str
) -> rooms.assess.attacks.Shuffled:
    original = reading.read(table, known, called=called)
    return rooms.microdata.attacked.read_shuffled(Path(folder), original, known, called=called)


def _policy_of(where: str, folder: str) -> Policy:
    policy = rooms.microdata.Policy.load(where)
    if policy.sha256 != rooms.claims.read_manifest(Path(folder)).policy_sha256:
        raise UsageError(
            "The release was made by another policy than --policy.",
            hint="Give the policy that protect used, unchanged.",
        )
    return policy
