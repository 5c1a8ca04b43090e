"""Counts under differential privacy: noise on inner cells, and whole numbers that add up."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, PolicyError
from halfmask.claims import Claim
from halfmask.crosstabs._agreeing_counts import agreeing_counts, rounding_steps
from halfmask.crosstabs._arrays import along, covers_of, inner_places, largest_sets
from halfmask.crosstabs._cells import CellSystem, build_equations
from halfmask.crosstabs._hierarchies import code_columns
from halfmask.crosstabs._opening import open_cells
from halfmask.crosstabs._pattern import PublishedCells
from halfmask.crosstabs._tabulate import cells_of_tables, grid_codes, open_rows
from halfmask.crosstabs._totals import MOST_CELLS
from halfmask.dp.ledger import PrivacyUnit, rows_of_units
from halfmask.dp.noise import LaplaceMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halfmask.claims.claim import Json
    from halfmask.crosstabs._arrays import Axes, Floats, Ints
    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.crosstabs._protections import PrivateCounts
    from halfmask.dp.accounting import MechanismEvent
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.release import Inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCells:
    """Counts with noise, and what it costs; no true count is in it."""

    #: All cells of the declared codes.
    published: PublishedCells
    claim: Claim
    #: How exact they are, which doesn't depend on the data.
    sentence: str


def unit_of(policy: TablesPolicy) -> PrivacyUnit:
    """Return whose presence a policy of private counts protects: an owner's, or a row's."""
    settings: PrivateCounts = policy.made_protection()  # type: ignore[assignment] # its caller's
    if policy.owner is None:
        if settings.person_rows > 1:
            raise PolicyError(
                "The policy has person_rows and no owner.",
                hint="Name the column of persons by the key owner, or leave person_rows out: "
                "without an owner each row is a person.",
            )
        return PrivacyUnit()
    return PrivacyUnit(person=policy.owner, max_rows=settings.person_rows)


def check_declared(policy: TablesPolicy) -> None:
    """Raise unless the policy declares the codes of each dimension: the data must not say them."""
    if policy.ready is not None:
        raise PolicyError(
            "The policy has [ready], and counts under differential privacy.",
            hint="Give the rows: in cells nobody sees how many of them one person has.",
        )
    declared = [it for it, own in policy.dimensions.items() if own.codes or own.hierarchy]
    bare = sorted({it for each in policy.tables for it in each.dimensions}.difference(declared))
    if bare:
        raise PolicyError(
            f"The policy declares no codes for {len(bare)} dimensions, such as {bare[0]!r}: "
            "read off the data, they would show who is there.",
            hint=f'Write [dimensions.{bare[0]}] with codes = ["...", "..."], or a hierarchy file.',
        )
    if policy.weight is not None:
        raise PolicyError(
            "The policy has a weight, and counts under differential privacy.",
            hint="Leave the weight out: one person's weight can change a count by any amount.",
        )


def rows_that_count(
    table: object, policy: TablesPolicy, *, ledger: PrivacyLedger | None = None
) -> pl.DataFrame:
    """Return the rows that are counted, at most as many of each owner as the policy says.

    They are drawn, whoever else is there. Text is read without guessing types: one row could change
    the codes of all others.
    """
    check_declared(policy)
    unit = unit_of(policy)
    if ledger is not None:
        ledger.terms.check_person(unit.person)
        ledger.check_table(table)
    person = [] if unit.person is None else [unit.person]
    wanted = list(dict.fromkeys([*code_columns(policy), *person]))
    rows = open_rows(table, wanted).read(columns=wanted or None)
    if unit.person is None:
        return rows
    own = "\0owner"
    kept = rows_of_units(rows.with_columns(pl.col(unit.person).alias(own)), unit)
    return kept.rename({own: unit.person}).select(rows.columns)


def make_private(table: object, policy: TablesPolicy, inputs: Inputs) -> PrivateCells:
    """Read, count and add noise to the tables of a policy; the ledger is charged before."""
    ledger: PrivacyLedger | None = inputs.ledger
    rows = rows_that_count(table, policy, ledger=ledger)
    (cells,) = open_cells(rows, policy, engine=inputs.engine, progress=inputs.progress)

    def book(events: Sequence[MechanismEvent]) -> None:
        if ledger is not None:
            names = ", ".join(repr(each.name) for each in policy.tables)
            ledger.charge(events, purpose=f"tables of counts: {names}"[:1000])

    inputs.progress("drawing noise")
    return private_counts(
        cells,
        policy.made_protection(),  # type: ignore[arg-type] # its caller's condition
        unit_of(policy),
        crossed={each.name: each.dimensions for each in policy.tables},
        book=book,
    )


def private_counts(
    cells: CellSystem,
    settings: PrivateCounts,
    unit: PrivacyUnit,
    *,
    crossed: Mapping[str, Sequence[str]],
    book: Callable[[Sequence[MechanismEvent]], object] = lambda _events: None,
) -> PrivateCells:
    """Add noise to the finest cells of each table, and make all sums agree.

    ``book`` is called with what the noise costs before it is drawn, and may refuse. All later steps
    see noisy counts alone, and cost nothing: shared totals become their weighted mean; the counts
    from 0 with this grand total that fit all cells best follow, each weighted by the inverse of the
    number of cells that it sums; then whole numbers next to these.
    """
    dimensions = cells.dimensions
    sets = [
        frozenset(at for at, it in enumerate(dimensions) if it.name in names)
        for names in crossed.values()
    ]
    together = sum(prod(len(dimensions[at].codes) for at in each) for each in sets)
    if together > MOST_CELLS:
        raise ParameterError(
            f"The tables have {together:,} combinations of codes, and each gets noise; at most "
            f"{MOST_CELLS:,} are allowed.",
            hint="Leave out dimensions, or group codes.",
        )
    mechanism = LaplaceMechanism.calibrated(
        sensitivity=float(unit.l1(1, grouped=False)), epsilon=settings.epsilon / len(sets)
    )
    # What can't be made whole is refused before anything is paid for.
    rounding_steps(largest_sets(sets))
    exact = [_inner(cells, each) for each in sets]
    events = [mechanism.event(each.size) for each in exact]
    book(events)
    noisy = [mechanism.release(each.ravel()).reshape(each.shape) for each in exact]
    made = agreeing_counts(dimensions, sets, noisy)
    noise: dict[str, Json] = {it: getattr(mechanism, it) for it in ("sensitivity", "scale")}
    claim = Claim(
        model="differential-privacy",
        parameters={"epsilon": settings.epsilon, "delta": 0.0},
        about={
            "unit": dict(unit.to_dict()),
            "neighbours": f"{unit.sentence()}: added or removed",
            "noise": [
                {"table": name, "cells": it.size, **noise}
                for name, it in zip(crossed, exact, strict=True)
            ],
        },
        basis="accounted",
        evidence={"events": [dict(each.to_json()) for each in events]},
    )
    sentence = (
        f"Each inner cell of each table got noise with a standard deviation of "
        f"{mechanism.deviation:.4g}: the sum of n cells differs by about the root of n times that."
    )
    published = _published(dimensions, dict(zip(crossed, sets, strict=True)), made)
    return PrivateCells(published=published, claim=claim, sentence=sentence)


def _inner(cells: CellSystem, axes: Axes) -> Ints:
    """Return the true counts of the finest cells of a table, as an array."""
    shape, inside, places = inner_places(cells.dimensions, cells.codes, axes)
    found = np.zeros(shape, dtype=np.int64)
    found[places] = np.rint(cells.value[inside])
    return found


def _published(
    dimensions: tuple[Dimension, ...], tables: Mapping[str, Axes], made: Sequence[Floats]
) -> PublishedCells:
    """Return all cells with the counts that are published."""
    values = [
        along(covers_of(dimensions, axes), counts).ravel()
        for axes, counts in zip(tables.values(), made, strict=True)
    ]
    joined = np.concatenate([grid_codes([*axes], dimensions) for axes in tables.values()])
    every, first, place = np.unique(joined, axis=0, return_index=True, return_inverse=True)
    value = np.concatenate(values)[first]
    if (value[place.ravel()] != np.concatenate(values)).any():  # no message could help
        raise AssertionError("Tables disagree.")
    crossed = {name: tuple(sorted(axes)) for name, axes in tables.items()}
    cells = CellSystem(
        measure=None,
        dimensions=dimensions,
        codes=every,
        value=value,
        contributors=None,
        equations=build_equations(every, dimensions),
        tables=cells_of_tables(crossed, every, dimensions),
    )
    return PublishedCells(cells=cells, value=value, hidden=np.zeros(cells.n, dtype=bool))
