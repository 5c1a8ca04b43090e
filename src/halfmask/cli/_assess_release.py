"""``halfmask assess release``: attack a release with the table that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from halfmask._errors import DataError, SchemaError
from halfmask.cli import _rooms as rooms
from halfmask.cli._claims import say_findings
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from halfmask.claims import DataFile, Manifest, MaskedColumn, ReleasedColumn
    from halfmask.microdata import Policy

#: Kinds whose cells an attacker reads as numbers.
NUMBERS: Final = ("numeric", "datetime")
READ_ALIKE: Final = "Give the policy by --policy, so that TABLE is read as protect read it."


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """What the manifest of a table states: protected by a guarantee, or by masks alone.

    Rows were left out before protection if it was sampled.
    """

    files: tuple[DataFile, ...]
    columns: tuple[ReleasedColumn | MaskedColumn, ...]
    unchanged: frozenset[str]
    n_in: int
    is_sampled: bool
    bounds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    half_open: frozenset[str] = frozenset()

    def of_role(self, role: str) -> tuple[str, ...]:
        return tuple(each.name for each in self.columns if each.role == role)


def _stated_by_masks(manifest: Manifest) -> _Stated:
    masked = rooms.claims.MaskedDetails.of(manifest)
    return _Stated(
        files=manifest.files,
        columns=masked.columns,
        unchanged=frozenset(c.name for c in masked.columns if not masked.masks_of(c.name)),
        n_in=masked.rows.n_in,
        is_sampled=False,
    )


def _stated_by_classes(manifest: Manifest) -> _Stated:
    table = rooms.claims.table_manifest(manifest)
    return _Stated(
        files=table.files,
        columns=_with_ranges(table.columns),
        half_open=frozenset(c.bound_of or c.name for c in table.columns if c.range_step),
        bounds={
            name: tuple(each.name for each in table.columns if each.bound_of == name)
            for name in dict.fromkeys(each.bound_of for each in table.columns)
            if name is not None
        },
        unchanged=frozenset(c.name for c in table.columns if c.recoding is None and c.mask is None),
        n_in=table.rows.n_in,
        is_sampled=bool(manifest.details.get("row_masks")),
    )


_STATED: Final = {"masked": _stated_by_masks}


def _with_ranges(columns: Sequence[ReleasedColumn]) -> tuple[ReleasedColumn, ...]:
    """Return the columns of the table: both bounds of a range as the one that they are of."""
    named = {
        each.bound_of or each.name: replace(each, name=each.bound_of or each.name)
        for each in columns
    }
    return tuple(named.values())


def _shuffled(
    folder: str, table: str, known: Policy | None, reading: Reading, called: str
) -> rooms.assess.attacks.Shuffled:
    """Read a release and its table, and refuse what doesn't belong together."""
    manifest = rooms.claims.read_manifest(Path(folder))
    stated = _STATED.get(manifest.kind, _stated_by_classes)(manifest)
    rooms.verifier.verify(folder).raise_if_broken()
    original = reading.read(table, known, called=called)
    _check_table(original, stated, called)
    quasi_identifiers = stated.of_role("quasi_identifier")
    found = rooms.assess.attacks.Shuffled(
        released=_released(Path(folder), stated),
        original=original,
        control=None,
        quasi_identifiers=quasi_identifiers,
        secrets=stated.of_role("sensitive"),
        unchanged=stated.unchanged,
        hierarchies={} if known is None else _hierarchies(known, quasi_identifiers),
    )
    lacking = found.not_in_original()
    if lacking:
        raise DataError(
            f"Column {lacking!r} was released unchanged and has values that {called} hasn't.",
            hint=f"Give the table that the release was made of. {READ_ALIKE}",
        )
    return found


def _policy_of(where: str, folder: str) -> Policy:
    policy = rooms.microdata.Policy.load(where)
    if policy.sha256 != rooms.claims.read_manifest(Path(folder)).policy_sha256:
        raise UsageError(
            "The release was made by another policy than --policy.",
            hint="Give the policy that protect used, unchanged.",
        )
    return policy


def _check_table(original: pl.DataFrame, stated: _Stated, called: str) -> None:
    """Refuse a table that the release can't be of, or that is read in another way."""
    fits = original.height >= stated.n_in if stated.is_sampled else original.height == stated.n_in
    if not fits:
        raise DataError(
            f"{called} has {original.height:,} rows, and the release was made of {stated.n_in:,}.",
            hint="Give the table that the release was made of.",
        )
    for each in stated.columns:
        dtype = original.schema.get(each.name)
        if dtype is None:
            raise SchemaError(f"{called} lacks the released column {each.name!r}.", hint=READ_ALIKE)
        if each.kind in NUMBERS and not (dtype.is_numeric() or dtype.is_temporal()):
            raise SchemaError(
                f"Column {each.name!r} is {each.kind} in the release and read as {dtype}.",
                hint=READ_ALIKE,
            )


def _released(folder: Path, stated: _Stated) -> pl.DataFrame:
    """Read the data files of a release that was verified."""
    import polars as pl  # noqa: PLC0415 # half a second

    rows = pl.concat(
        [
            rooms.verifier.tables.part.open_part(folder / each.name, each.format)
            for each in stated.files
        ]
    ).collect()
    times = [name for name, dtype in rows.schema.items() if dtype == pl.Time]
    rows = rows.with_columns(pl.col(times).dt.to_string("iso"))
    for name, (low, high) in stated.bounds.items():
        half_open = name in stated.half_open
        range_ = pl.format("[{}, {})" if half_open else "[{}, {}]", low, high)
        same = pl.col(low).cast(pl.String)
        text = pl.when(pl.col(low) == pl.col(high)).then(same).otherwise(range_)
        rows = rows.with_columns(text.alias(name)).drop(low, high)
    return rows


def _hierarchies(policy: Policy, names: tuple[str, ...]) -> dict[str, rooms.data.Hierarchy]:
    """Return the trees of the policy, which an attacker may know; rules need none to be read."""
    schema = policy.schema()
    trees = {name: schema[name].hierarchy for name in names}
    return {name: tree for name, tree in trees.items() if isinstance(tree, rooms.data.Hierarchy)}
