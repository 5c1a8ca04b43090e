"""The kind `tables`: tables of counts and sums, protected as one system and audited in full."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from halfmask._errors import PolicyError, ReleaseError
from halfmask.claims.crosstab_manifest import (
    STATE,
    VALUE,
    StatedDimension,
    StatedReady,
    StatedSum,
    StatedTable,
    TablesDetails,
)
from halfmask.claims.manifest import TABLES, manifest_path
from halfmask.crosstabs._claims import additive_claim, tables_claims, tables_weaknesses
from halfmask.crosstabs._earlier import named_folders
from halfmask.crosstabs._hierarchies import code_columns
from halfmask.crosstabs._opening import open_cells
from halfmask.crosstabs._protect import check_asked, protect_cells, record_key_of
from halfmask.crosstabs._protections import PrivateCounts, Suppression
from halfmask.crosstabs._released import ReleasedTable, released_tables
from halfmask.crosstabs._report import owner_blocks, page_blocks
from halfmask.crosstabs._tabulate import open_rows
from halfmask.crosstabs._writing import file_names, write_tables
from halfmask.data import Source, frame_given
from halfmask.release import Release, ReleaseKind, RowFiles
from halfmask.release.booking import Leaving
from halfmask.release.briefing import Briefing, named
from halfmask.verifier.checks import VerifyInputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.claims import Claim, DataFile
    from halfmask.claims.claim import Json
    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.release import Inputs, WriteJob
    from halfmask.release.booking import Booking
    from halfmask.release.page import AnyBlock
    from halfmask.release.release import ShownTable


@dataclass(frozen=True, kw_only=True, repr=False)  # its tables hold true values
class TablesFacts:
    """Tables of a release with true and published values, and the table that they are made of."""

    tables: tuple[ReleasedTable, ...]
    #: For the verifier, which tabulates it again; ``None`` where it can't compare them.
    given: object
    #: The hashes of the manifests of earlier releases that they were protected with.
    earlier: tuple[str, ...] = ()
    #: What noise was added, in sentences.
    noise: tuple[str, ...] = ()

    def frame(self, number: int = 0) -> pl.DataFrame:
        """Return the long table of a number, as it is released."""
        return self.tables[number].frame


def make(table: object, policy: TablesPolicy, inputs: Inputs) -> Release[TablesFacts]:
    """Tabulate, protect and audit all tables of a policy."""
    check_asked(policy, inputs)
    with _earlier_releases(policy, inputs.book) as earlier:
        if isinstance(policy.made_protection(), PrivateCounts):
            return _release(table, policy, *_private_facts(table, policy, inputs))
        return _release(table, policy, *_facts(table, policy, inputs, earlier))


def _facts(
    table: object, policy: TablesPolicy, inputs: Inputs, earlier: Mapping[str, Path]
) -> tuple[TablesFacts, tuple[Claim, ...]]:
    """Tabulate, protect and audit, together with what was published before."""
    whole = policy.with_counts()
    given = table if policy.ready is not None else open_rows(table, code_columns(policy))
    cells = open_cells(
        given,
        whole,
        engine=inputs.engine,
        progress=inputs.progress,
        record=getattr(policy.made_protection(), "record", None),
        record_key=record_key_of(policy, inputs, given),
    )
    booked = [each for each in earlier.values() if each not in named_folders(policy)]
    published = protect_cells(cells, policy, inputs, booked)
    tables = released_tables(published, whole)
    _check_columns(tables)
    facts = TablesFacts(tables=tables, given=given, earlier=(*earlier,))
    return facts, tuple(tables_claims(published, policy, len(earlier)))


@contextmanager
def _earlier_releases(
    policy: TablesPolicy, booking: Booking | None
) -> Iterator[Mapping[str, Path]]:
    """Yield the folders of what was published before, by the hashes of their manifests."""
    with nullcontext(()) if booking is None else booking.earlier_files() as booked:
        yield {
            hashlib.sha256(manifest_path(each).read_bytes()).hexdigest(): each
            for each in (*booked, *named_folders(policy))
        }


def _private_facts(
    table: object, policy: TablesPolicy, inputs: Inputs
) -> tuple[TablesFacts, tuple[Claim, ...]]:
    """Draw counts under differential privacy; the ledger is charged before."""
    from halfmask.crosstabs._private_counts import make_private  # noqa: PLC0415 # loads room dp

    private = make_private(table, policy, inputs)
    tables = released_tables((private.published,), policy)
    claims = (private.claim, additive_claim((private.published,)))
    return TablesFacts(tables=tables, given=None, noise=(private.sentence,)), claims


def _release(
    table: object, policy: TablesPolicy, facts: TablesFacts, claims: tuple[Claim, ...]
) -> Release[TablesFacts]:
    return Release(
        kind=KIND,
        policy=policy,
        claims=claims,
        rows={
            "out": sum(len(each.cells) for each in facts.tables),
            "hidden": sum(int(each.hidden.sum()) for each in facts.tables),
        },
        facts=facts,
        source=facts,
        copies=len(facts.tables),
        original=frame_given(table),
    )


def read_originals(table: object, policy: TablesPolicy) -> object:
    """Return what the verifier tabulates again: rows with codes as texts, or ready tables."""
    if policy.ready is not None:
        return table
    return _rows_for_verifier(open_rows(table, code_columns(policy)), policy)


def _rows_for_verifier(given: object, policy: TablesPolicy) -> object:
    if not isinstance(given, Source):
        return given
    numbers = (policy.owner, policy.weight, *(each.value for each in policy.tables))
    return given.read(columns=list(dict.fromkeys([*code_columns(policy), *filter(None, numbers)])))


def _check_columns(tables: Sequence[ReleasedTable]) -> None:
    """Refuse dimensions of ready tables that are called as a released column is."""
    for table in tables:
        taken = {VALUE, STATE, *table.derived} & set(table.dimensions)
        if taken:
            raise PolicyError(
                f"Table {table.name!r} has a dimension of the name {min(taken)!r}, which every "
                "released table has as a column.",
                hint="Rename this column of the table.",
            )


@contextmanager
def files(release: Release[TablesFacts], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how the tables are written."""
    del job
    facts, policy = release.facts, release.policy

    def write(folder: Path) -> Sequence[DataFile]:
        return list(write_tables(facts.tables, policy.output, folder))

    def evidence(_files: object) -> VerifyInputs:
        return VerifyInputs(
            originals=_rows_for_verifier(facts.given, policy),
            earlier=tuple(earlier.values()) if _linked_with(release) else None,
        )

    with _earlier_releases(policy, release.booking) as earlier:
        if facts.given is not None and {*earlier} != {*facts.earlier}:
            raise ReleaseError(
                "The tables were protected without those that the book has now.",
                hint="Make the release again.",
            )
        yield RowFiles(write=write, evidence=evidence)


def _linked_with(release: Release[TablesFacts]) -> tuple[str, ...]:
    """Return the hashes of the earlier releases that are one system with these tables."""
    hides = isinstance(release.policy.made_protection(), Suppression)
    return release.facts.earlier if hides else ()


def details(release: Release[TablesFacts]) -> Mapping[str, Json]:
    """Return dimensions and tables, as a receiver needs them to add up."""
    policy: TablesPolicy = release.policy
    tables = release.facts.tables
    names = file_names(tables, policy.output)
    used = {name for table in tables for name in table.dimensions}
    dimensions = {
        each.name: each
        for table in tables
        for each in table.published.cells.dimensions
        if each.name in used
    }
    return TablesDetails(
        method=policy.protection.model_dump(mode="json"),
        dimensions=tuple(_stated(each, policy) for each in dimensions.values()),
        tables=tuple(
            StatedTable(
                name=table.name,
                file=names[table.name][0],
                crossed=names[table.name][1],
                dimensions=table.dimensions,
                measure=table.measure,
                negative=table.negative,
                derived=table.derived,  # type: ignore[arg-type] # words of the policy
            )
            for table in tables
        ),
        zeros=policy.zeros,
        earlier=_linked_with(release),
        owner=policy.owner,
        weight=policy.weight,
        weights=policy.weights,
        ready=None
        if policy.ready is None
        else StatedReady(
            value=policy.ready.value, count=policy.ready.count, largest=policy.ready.largest
        ),
    ).to_details()


def _stated(dimension: Dimension, policy: TablesPolicy) -> StatedDimension:
    section = policy.dimensions.get(dimension.name)
    return StatedDimension(
        name=dimension.name,
        total=dimension.total,
        codes=dimension.codes,
        sums=tuple(StatedSum(total=it.total, parts=it.parts) for it in dimension.sums),
        levels=() if section is None else section.levels,
        missing=None if section is None else section.missing,
    )


def briefing(release: Release[TablesFacts]) -> Briefing:
    """Say how much of the tables is hidden, for the officer who signs, and more for the owner."""
    facts, protection = release.facts, release.policy.made_protection()
    lost = f"{release.rows['hidden']:,} of {release.rows['out']:,} cells are hidden."
    ran = "What anybody can compute of hidden cells was computed: see the tables, below."
    hides, given = isinstance(protection, Suppression), facts.given is not None
    tables = "1 table" if len(facts.tables) == 1 else f"{len(facts.tables):,} tables"
    return Briefing(
        released=f"{tables} with {release.rows['out']:,} cells: "
        f"{named([each.name for each in facts.tables])}.",
        lost=[lost if hides else f"Published values aren't the true ones: {protection.method}."],
        attacked=ran if hides else "",
        attack="halfmask verify RELEASE --originals TABLE --policy POLICY" if given else "",
        unpictured="The tables themselves are shown.",
        # True counts would be a second release, without noise.
        owner=tuple(owner_blocks(facts.tables, protection)) if given else (),
    )


def blocks(release: Release[TablesFacts]) -> list[AnyBlock]:
    """Return the tables, with the attacker's interval of each hidden cell."""
    facts = release.facts
    return list(page_blocks(facts.tables, release.policy.made_protection(), facts.noise))


def shown(release: Release[TablesFacts]) -> ShownTable:
    """Return the tables with their sizes, for notebooks."""
    rows = [
        (each.name, ", ".join(each.dimensions), len(each.cells), int(each.hidden.sum()))
        for each in release.facts.tables
    ]
    return ("table", "dimensions", "cells", "hidden"), rows, ()


_HOW: Final = "Cells of tables are protected by the policy's rules: leave it out."
KIND = ReleaseKind(
    name=TABLES,
    make=make,
    files=files,
    weaknesses=lambda it: tables_weaknesses(it.policy, is_later=bool(_linked_with(it))),
    details=details,
    briefing=briefing,
    blocks=blocks,
    shown=shown,
    leaving=lambda _: Leaving(keeps_files=True),
    about="a policy of tables of counts and sums",
    refuses={
        "population": "Rules are about those who contribute to the table: leave it out.",
        "strict": _HOW,
        "persons": 'Name the column of who contributes by the key "owner" of the policy.',
    },
)
