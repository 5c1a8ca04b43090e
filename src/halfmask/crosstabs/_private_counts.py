"""Counts under differential privacy: noise on inner cells, and whole numbers that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from halfmask._errors import ParameterError, PolicyError
from halfmask.claims import Claim
from halfmask.crosstabs._agreeing_counts import (
    TableShape,
    agreeing_counts,
    largest_tables,
    rounding_steps,
)
from halfmask.crosstabs._cells import Cells, build_equations
from halfmask.crosstabs._hierarchies import columns_of
from halfmask.crosstabs._opening import open_cells
from halfmask.crosstabs._pattern import Published
from halfmask.crosstabs._tabulate import open_rows
from halfmask.dp.ledger import PrivacyUnit, rows_of_units
from halfmask.dp.noise import LaplaceMechanism

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.claims.claim import Json
    from halfmask.crosstabs._dimension import Dimension
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.crosstabs._protections import PrivateCounts
    from halfmask.dp.accounting import MechanismEvent
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.release import Inputs

#: All combinations of codes get noise, so all are there: more than this aren't started with.
_MOST_CELLS: Final = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNoise:
    """The noise that the finest cells of one table got; none of it depends on the data."""

    table: str
    #: Combinations of codes that aren't sums: each got noise.
    cells: int
    mechanism: LaplaceMechanism

    @property
    def event(self) -> MechanismEvent:
        """What it costs."""
        return self.mechanism.event(self.cells)

    @property
    def deviation(self) -> float:
        """The standard deviation of a finest cell, before sums were made to agree."""
        return self.mechanism.deviation

    def sentence(self) -> str:
        """Say how exact the table is."""
        return (
            f"Table {self.table!r}: noise with a standard deviation of {self.deviation:.4g} was "
            f"added to each of {self.cells:,} inner cells, so that the sum of n of them differs by "
            f"about {self.deviation:.4g} times the root of n."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCells:
    """Counts with noise, and what it costs; no true count is in it."""

    #: All cells of the declared codes.
    published: Published
    noise: tuple[TableNoise, ...]
    #: Of all tables together.
    epsilon: float
    unit: PrivacyUnit

    def events(self) -> list[MechanismEvent]:
        """Return what the mechanisms did."""
        return [each.event for each in self.noise]

    def claim(self) -> Claim:
        """Claim what the tables cost; the verifier adds it up again from the events."""
        events: list[Json] = [dict(each.to_json()) for each in self.events()]
        tables: list[Json] = [
            {
                "table": each.table,
                "cells": each.cells,
                "sensitivity": each.mechanism.sensitivity,
                "scale": each.mechanism.scale,
            }
            for each in self.noise
        ]
        return Claim(
            model="differential-privacy",
            parameters={"epsilon": self.epsilon, "delta": 0.0},
            about={
                "unit": dict(self.unit.to_dict()),
                "neighbours": f"{self.unit.sentence()}: added or removed",
                "noise": tables,
            },
            basis="accounted",
            evidence={"events": events},
        )


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
    names = dict.fromkeys(name for each in policy.tables for name in each.dimensions)
    sections = policy.dimensions
    bare = [
        name
        for name in names
        if name not in sections or not (sections[name].codes or sections[name].hierarchy)
    ]
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

    Which rows of an owner are counted is drawn by the operating system's randomness, and depends
    on nobody else's. Text files are read without guessing types: else one row could change the
    codes of all others.
    """
    check_declared(policy)
    unit = unit_of(policy)
    if ledger is not None:
        ledger.terms.check_person(unit.person)
        ledger.check_table(table)
    names = dict.fromkeys(name for each in policy.tables for name in each.dimensions)
    wanted = [column for name in names for column in columns_of(policy, name)]
    wanted += [] if unit.person is None else [unit.person]
    rows = open_rows(table, wanted).read(columns=list(dict.fromkeys(wanted)) or None)
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
    cells: Cells,
    settings: PrivateCounts,
    unit: PrivacyUnit,
    *,
    crossed: Mapping[str, Sequence[str]],
    book: Callable[[Sequence[MechanismEvent]], object] = lambda _events: None,
) -> PrivateCells:
    """Add noise to the finest cells of each table, and make all sums agree.

    ``cells`` counts `rows_that_count`; where it has no cell, nobody is. ``book`` is called with
    what the noise costs before it is drawn, and may refuse. All later steps see noisy counts alone,
    so they cost nothing:

    1. Least squares make shared totals of tables agree: all noise has one scale (Hay et al., VLDB
       2010).
    2. The counts from 0 with this grand total that fit all cells best, each weighted by the inverse
       of the number of cells that it sums: cells that would be negative raise no total.
    3. Whole numbers next to these: first what tables share, then the tables, by largest remainders
       and network flows.
    """
    shapes = [TableShape.of(name, cells.dimensions, names) for name, names in crossed.items()]
    together = sum(each.n_cells for each in shapes)
    if together > _MOST_CELLS:
        raise ParameterError(
            f"The tables have {together:,} combinations of codes, and each gets noise; at most "
            f"{_MOST_CELLS:,} are allowed.",
            hint="Leave out dimensions, or group codes.",
        )
    mechanism = LaplaceMechanism.calibrated(
        sensitivity=float(unit.l1(1, grouped=False)), epsilon=settings.epsilon / len(shapes)
    )
    noise = tuple(
        TableNoise(table=each.name, cells=each.n_leaves, mechanism=mechanism) for each in shapes
    )
    # What can't be made whole is refused before anything is paid for.
    rounding_steps([shapes[at] for at in set(largest_tables(shapes))])
    exact = [each.counts(cells) for each in shapes]
    book([each.event for each in noise])
    noisy = [mechanism.release(each) for each in exact]
    return PrivateCells(
        published=_published(cells.dimensions, shapes, agreeing_counts(shapes, noisy)),
        noise=noise,
        epsilon=settings.epsilon,
        unit=unit,
    )


def _published(
    dimensions: tuple[Dimension, ...], shapes: list[TableShape], made: list[NDArray[np.float64]]
) -> Published:
    """Return all cells with the counts that are published."""
    values = [it.sums() @ own for it, own in zip(shapes, made, strict=True)]
    codes, first, place = np.unique(
        np.concatenate([each.codes() for each in shapes]),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    every = np.concatenate(values)
    value = every[first]
    if (value[place] != every).any():  # no message could help: the equations held in the program
        raise AssertionError("Tables disagree.")
    ends = np.cumsum([each.n_cells for each in shapes])[:-1]
    of_tables = np.split(place.ravel().astype(np.int64), ends)
    cells = Cells(
        measure=None,
        dimensions=dimensions,
        codes=codes,
        value=value,
        contributors=None,
        equations=build_equations(codes, dimensions),
        tables={each.name: own for each, own in zip(shapes, of_tables, strict=True)},
    )
    return Published(cells=cells, value=value, hidden=np.zeros(cells.n, dtype=bool))
