"""Synthetic rows under an epsilon: what a policy declares, and what they cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.claims import Claim
from halfmask.dp.synthesis import CategoryDomain, NumberDomain, PrivateSynthesizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl

    from halfmask.claims._claim import Json
    from halfmask.dp.accounting import MechanismEvent
    from halfmask.dp.synthesis._declared_domain import ColumnDomain
    from halfmask.microdata._synthesis_section import DomainSection, SynthesisSection

__all__ = ["PaidBudget", "draw_private"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidBudget:
    """What rows with differential privacy cost.

    Parameters
    ----------
    epsilon, delta
        The budget.
    n_rows
        How many rows the table has, as the noisy counts say it.
    events
        What each measurement and choice cost.
    """

    epsilon: float
    delta: float
    n_rows: int
    events: tuple[MechanismEvent, ...]

    def claim(self, columns: Sequence[str]) -> Claim:
        """Return the claim, with all events as evidence.

        Parameters
        ----------
        columns
            The released columns.
        """
        counted = Counter(
            tuple(it for it in sorted(event.to_json().items()) if it[0] != "coordinates")
            for event in self.events
        )
        events: list[Json] = [{**dict(event), "times": n} for event, n in counted.items()]
        return Claim(
            model="differential-privacy",
            parameters={"epsilon": self.epsilon, "delta": self.delta},
            about={"columns": list(columns), "unit": "row", "neighbours": "add or remove"},
            basis="accounted",
            evidence={"events": events},
        )


def draw_private(
    table: pl.DataFrame, section: SynthesisSection, rng: np.random.Generator
) -> tuple[pl.DataFrame, PaidBudget]:
    """Return rows that are drawn from noisy counts of a table, and what they cost.

    Parameters
    ----------
    table
        The original rows, without identifiers.
    section
        The policy's ``[synthesis]``, with epsilon.
    rng
        Where drawn rows come from; noise is from the operating system.
    """
    epsilon, delta = float(section.epsilon or 0), float(section.delta or 0)
    model = PrivateSynthesizer(
        domain={name: _declared(section.domain[name]) for name in table.columns},
        epsilon=epsilon,
        delta=delta,
        random_state=int(rng.integers(2**31)),
    ).fit(table)
    paid = PaidBudget(
        epsilon=epsilon, delta=delta, n_rows=model.n_rows_, events=tuple(model.events_)
    )
    return model.sample(section.rows), paid


def _declared(section: DomainSection) -> ColumnDomain:
    if section.edges:
        return NumberDomain(
            edges=section.edges,
            atoms=section.atoms,
            whole=section.whole,
            missing=section.missing,
        )
    return CategoryDomain(values=section.values, missing=section.missing)
