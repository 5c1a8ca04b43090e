"""Terms of a budget: what was settled when it was set, and never changes."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from halfmask._errors import ColumnNotFoundError, DataError, IntegrityError, ParameterError
from halfmask._validation import number_between
from halfmask.dp.ledger._privacy_unit import PrivacyUnit

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetTerms:
    """The budget of one data set: for which table, for whom, and how much.

    Parameters
    ----------
    dataset
        The name of the data set.
    fingerprint
        The SHA-256 of the table; see `fingerprint_of`.
    columns
        The name and type of each column, which analysts may know.
    epsilon
        The most that all charges together may cost, above 0.
    delta
        At which epsilon is counted, from 0 to below 1.
    unit
        Whose presence is protected.
    key
        64 hexadecimal digits: the key by which rows of a person are sampled.
    bounds
        The least and greatest value of columns, declared from general knowledge.
    keys
        The keys of columns that rows may be grouped by, declared from general knowledge.
    """

    dataset: str
    fingerprint: str
    columns: dict[str, str]
    epsilon: float
    delta: float
    unit: PrivacyUnit
    key: str
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    keys: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        owner = "PrivacyLedger"
        number_between(0, math.inf, owner=owner, low_open=True, epsilon=self.epsilon)
        number_between(0, 1, owner=owner, high_open=True, delta=self.delta)
        absent = [name for name in (*self.bounds, *self.keys) if name not in self.columns]
        if self.unit.person is not None and self.unit.person not in self.columns:
            absent.append(self.unit.person)
        if absent:
            raise ColumnNotFoundError.of(absent, self.columns, where="the table")

    def __repr__(self) -> str:
        unit = self.unit.sentence()
        return (
            f"BudgetTerms(dataset={self.dataset!r}, epsilon={self.epsilon:g}, "
            f"delta={self.delta:g}, unit={unit!r})"
        )

    def sentence(self) -> str:
        """Return the guarantee in words: epsilon, delta, unit and neighbouring relation."""
        return (
            f"All answers together are (epsilon {self.epsilon:g}, delta {self.delta:g})-"
            f"differentially private for {self.unit.sentence()}; neighbouring tables differ by "
            "adding or removing that."
        )

    def check_table(self, fingerprint: str) -> None:
        """Raise unless a table is the one that the budget was set for.

        Parameters
        ----------
        fingerprint
            The fingerprint of the table.

        Raises
        ------
        DataError
            If it is another table, or the table has changed.
        """
        if fingerprint != self.fingerprint:
            raise DataError(
                "The table isn't the one that the budget was set for, or it has changed since.",
                hint="Answers on both would add up. Restore the table, or set a budget for the "
                "new one that takes into account what was answered on the old one.",
            )

    def check_person(self, person: str | None) -> None:
        """Raise unless the budget protects what a release protects.

        Parameters
        ----------
        person
            The column of persons whose rows a release protects; ``None``: it protects single rows.

        Raises
        ------
        ParameterError
            If the budget has another unit.
        """
        if person != self.unit.person:
            ours, theirs = (
                "single rows" if it is None else f"all rows of one {it!r}"
                for it in (self.unit.person, person)
            )
            raise ParameterError(
                f"The budget protects {ours}, and the release {theirs}: their costs don't add up.",
                hint="Name the budget's person for the release, or leave person out if the budget "
                "has none.",
            )

    def to_text(self) -> str:
        """Return the terms as JSON, for the ledger's own file."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the terms that `to_text` wrote.

        Parameters
        ----------
        text
            The terms in JSON.

        Raises
        ------
        IntegrityError
            If they aren't terms.
        """
        try:
            named = json.loads(text)
            bounds = {name: (low, high) for name, (low, high) in named["bounds"].items()}
            keys = {name: tuple(listed) for name, listed in named["keys"].items()}
            unit = PrivacyUnit(**named["unit"])
            return cls(**{**named, "unit": unit, "bounds": bounds, "keys": keys})
        except (ValueError, TypeError, KeyError, ParameterError):
            raise IntegrityError("The terms of the ledger are damaged.") from None
