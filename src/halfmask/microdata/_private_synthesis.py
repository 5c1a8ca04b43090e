"""Synthetic rows under an epsilon: what a policy declares, and what they cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.claims import Claim
from halfmask.dp.synthesis import CategoryDomain, NumberDomain, PrivateSynthesizer
from halfmask.dp.synthesis.private_synthesizer import charge_rows, fit_booked

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl

    from halfmask.claims.claim import Json
    from halfmask.dp.accounting import MechanismEvent
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.synthesis.declared_domain import ColumnDomain
    from halfmask.microdata._synthesis_section import DomainSection, PrivateSection


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidBudget:
    """What rows with differential privacy cost."""

    epsilon: float
    delta: float
    n_rows: int
    events: tuple[MechanismEvent, ...]
    rows_of_person: int | None

    def claim(self, columns: Sequence[str]) -> Claim:
        """Return the claim, with all events as evidence."""
        counted = Counter(
            tuple(it for it in sorted(event.to_json().items()) if it[0] != "coordinates")
            for event in self.events
        )
        events: list[Json] = [{**dict(event), "times": n} for event, n in counted.items()]
        return Claim(
            model="differential-privacy",
            parameters={"epsilon": self.epsilon, "delta": self.delta},
            about={
                "columns": list(columns),
                "neighbours": "add or remove",
                **(
                    {"unit": "row"}
                    if self.rows_of_person is None
                    else {"unit": "person", "max_rows": self.rows_of_person}
                ),
            },
            basis="accounted",
            evidence={"events": events},
        )


def draw_private(
    table: pl.DataFrame,
    section: PrivateSection,
    rng: np.random.Generator,
    *,
    person: str | None,
    ledger: PrivacyLedger | None,
) -> tuple[pl.DataFrame, PaidBudget]:
    """Return rows that are drawn from noisy counts of a table, and what they cost."""
    epsilon, delta = float(section.epsilon), float(section.delta)
    model = PrivateSynthesizer(
        domain={name: _declared(section.domain[name]) for name in table.columns if name != person},
        epsilon=epsilon,
        delta=delta,
        person=person,
        max_rows=section.max_rows,
        random_state=int(rng.integers(2**31)),
    )

    def book() -> None:
        if ledger is not None:
            charge_rows(model, ledger)

    fit_booked(model, table, book)
    paid = PaidBudget(
        epsilon=epsilon,
        delta=delta,
        n_rows=model.n_rows_,
        events=tuple(model.events_),
        rows_of_person=None if person is None else section.max_rows,
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
