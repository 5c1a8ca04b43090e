"""The ledger: one budget of a data set, that everything with noise is booked in before it runs."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from halfmask._errors import BudgetError, ParameterError
from halfmask._validation import number_between
from halfmask.data import Source, open_table
from halfmask.dp.accounting import MechanismEvent, adaptive_epsilon_of, event_from_json
from halfmask.dp.accounting._adaptive import basic_epsilon_of, own_delta_left
from halfmask.dp.accounting._composition import LARGEST_LOSS
from halfmask.dp.ledger._charge import LONGEST_PURPOSE, AnalystShare, Charge
from halfmask.dp.ledger._terms import BudgetTerms, PrivacyUnit, check_declared, fingerprint_of
from halfmask.vault.private_database import PrivateDatabase, check_word, place_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_SCHEMA: Final = (
    "CREATE TABLE budget (only INTEGER PRIMARY KEY CHECK (only = 1), terms TEXT NOT NULL)",
    "CREATE TABLE analysts (name TEXT PRIMARY KEY, epsilon REAL NOT NULL)",
    """
    CREATE TABLE charges (
        number INTEGER PRIMARY KEY, booked TEXT NOT NULL, purpose TEXT NOT NULL, analyst TEXT,
        question TEXT, epsilon REAL NOT NULL, events TEXT NOT NULL, answer TEXT
    )
    """,
    "CREATE INDEX charges_by_question ON charges (question, epsilon)",
)
#: `adaptive_epsilon_of` rounds up by 1e-9, so that a budget could never be spent to its end.
_ROUNDING: Final = 2e-9
#: Sums of values on the grid have to fit into 64 bits, whichever rows there are.
_MOST_ROWS: Final = 1 << 31


class PrivacyLedger:
    """The budget of a data set in the vault's folder, and all that was spent of it.

    Make one by `PrivacyLedger.create`, open one by `PrivacyLedger.open`.

    Parameters
    ----------
    file
        The ledger's file.
    terms
        What was settled when the budget was set.

    Notes
    -----
    **Guarantees.** All answers together are differentially private at the budget's epsilon and
    delta, even if analysts choose question, epsilon and noise by earlier answers; see
    `halfmask.dp.accounting.adaptive_epsilon_of`. A charge is on the disk before `charge` returns,
    so no crash loses it. Processes that charge at the same time take turns.

    **Edge cases.** A user who may write the folder may raise the budget, or put an earlier
    copy back: the ledger protects the people of the table from analysts, not from its owner. Two
    ledgers of the same people add up, and nobody counts that. Half of delta is for composition:
    deltas that charges after the first spend themselves may sum to the other half.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> from halfmask.dp.accounting import LaplaceEvent
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pl.DataFrame({"age": [41, 17, 33]})
    >>> ledger = PrivacyLedger.create(
    ...     f"{folder.name}/vault", people, dataset="people", epsilon=1.0, delta=1e-6
    ... )
    >>> charge = ledger.charge(
    ...     [LaplaceEvent(noise_multiplier=2.0, coordinates=1)], purpose="number of people"
    ... )
    >>> charge.number, round(ledger.spent, 3)
    (1, 0.5)
    >>> folder.cleanup()
    """

    __slots__ = ("_file", "terms")

    def __init__(self, file: PrivateDatabase, terms: BudgetTerms) -> None:
        self._file = file
        self.terms = terms

    def __repr__(self) -> str:
        return f"PrivacyLedger({self.terms!r})"

    @classmethod
    def create(
        cls,
        vault: str | Path,
        table: object,
        *,
        dataset: str,
        epsilon: float,
        delta: float,
        unit: PrivacyUnit | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        keys: Mapping[str, Sequence[Any]] | None = None,
    ) -> Self:
        """Set the budget of a table.

        Parameters
        ----------
        vault
            The folder of the vault, mode 0700; a folder that isn't there is made.
        table
            What `halfmask.data.open_table` opens.
        dataset
            The name of the data set: up to 64 letters, digits and ``_.-``.
        epsilon
            The most that all charges together may cost, above 0.
        delta
            At which epsilon is counted, from 0 to below 1; choose it below 1 / rows.
        unit
            Whose presence is protected; by default each row is a unit.
        bounds
            By column, the least and greatest value, known without the data; analysts see them.
        keys
            By column, the keys that rows may be grouped by, known without the data.

        Raises
        ------
        ParameterError
            If a parameter isn't as stated, bounds or keys can't be those of their columns, or the
            table has too many rows to add up exactly.
        DataError
            If the table can't be read, or a row names no person.
        VaultError
            If the data set has a ledger, or the folder is open to others.
        """
        source = open_table(table)
        file = _file_of(vault, dataset)
        check_declared(source.dtypes, bounds or {}, keys or {})
        terms = BudgetTerms(
            dataset=dataset,
            fingerprint="",
            columns={name: str(dtype) for name, dtype in source.dtypes.items()},
            epsilon=epsilon,
            delta=delta,
            unit=PrivacyUnit() if unit is None else unit,
            key=os.urandom(32).hex(),
            bounds={name: (low, high) for name, (low, high) in (bounds or {}).items()},
            keys={name: tuple(listed) for name, listed in (keys or {}).items()},
        )
        _check_rows(source, terms.unit)
        terms = replace(terms, fingerprint=fingerprint_of(source))
        file.create(lambda run: run("INSERT INTO budget VALUES (1, ?)", (terms.to_text(),)))
        return cls(file, terms)

    @classmethod
    def open(cls, vault: str | Path, *, dataset: str) -> Self:
        """Open the ledger of a data set.

        Parameters
        ----------
        vault
            The folder of the vault.
        dataset
            The name of the data set.

        Raises
        ------
        VaultError
            If there is no such ledger, or others may read it.
        IntegrityError
            If it is damaged.
        """
        file = _file_of(vault, dataset)
        ((text,),) = file.rows("SELECT terms FROM budget")
        return cls(file, BudgetTerms.from_text(str(text)))

    def update(self, table: object) -> PrivacyLedger:
        """Let the same budget cover a new version of the table, too.

        Parameters
        ----------
        table
            The new version, with the same columns: rows were added, removed or changed.

        Returns
        -------
        PrivacyLedger
            The ledger of the new version. It refuses the version before.

        Raises
        ------
        ParameterError
            If the table has too many rows to add up exactly, or a row names no person.
        DataError
            If the table has other columns.

        Notes
        -----
        **Guarantees.** The budget doesn't grow: charges of all versions add up, as if all people
        were in each of them. Neighbours differ by all rows of one unit in every version. Each
        mechanism reads one version, in which they differ by one unit at most, so it costs what it
        costs on a table that never changed. The filters compose adaptively, which allows that new
        rows depend on earlier answers. When a table is updated must not depend on a single person.

        **Edge cases.** For a table of new people alone, parallel composition holds: set a budget of
        its own for it. A question that was answered on an earlier version is charged again.
        """
        source = open_table(table)
        self.terms.check_columns(source.dtypes)
        _check_rows(source, self.terms.unit)
        fingerprint = fingerprint_of(source)
        with self._file.writing() as run:
            ((text,),) = run("SELECT terms FROM budget")
            terms = BudgetTerms.from_text(str(text))
            if terms.fingerprint != fingerprint:
                terms = replace(terms, fingerprint=fingerprint, version=terms.version + 1)
                run("UPDATE budget SET terms = ?", (terms.to_text(),))
        return type(self)(self._file, terms)

    @property
    def unit(self) -> PrivacyUnit:
        """What the budget protects."""
        return self.terms.unit

    @property
    def spent(self) -> float:
        """What all charges cost together: epsilon at the budget's delta."""
        return self._cost_of(self._charged(self._file.rows), self.terms.epsilon)

    @property
    def left(self) -> float:
        """What is left of the budget's epsilon."""
        return max(0.0, self.terms.epsilon - self.spent)

    @property
    def delta_left(self) -> float:
        """The most that mechanisms of the next charge may spend of delta themselves."""
        return own_delta_left(self._charged(self._file.rows), delta=self.terms.delta)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges, in the order in which they were booked."""
        found = self._file.rows(
            "SELECT number, purpose, events, booked, analyst FROM charges ORDER BY number"
        )
        return tuple(_charge(row) for row in found)

    def check_table(self, table: object) -> Source:
        """Open a table, and raise unless it is the one that the budget was set for.

        Parameters
        ----------
        table
            What `halfmask.data.open_table` opens.

        Raises
        ------
        DataError
            If it is another table, or it has changed since.
        """
        source = open_table(table)
        self.terms.check_table(fingerprint_of(source))
        return source

    def charge(
        self, events: Sequence[MechanismEvent], *, purpose: str, analyst: str | None = None
    ) -> Charge:
        """Book events before their mechanisms run, or refuse.

        Parameters
        ----------
        events
            What the mechanisms are going to do, at least one.
        purpose
            What it is for, at most 1,000 letters.
        analyst
            Who pays of a share of their own, given by `allow`; by default the owner.

        Raises
        ------
        BudgetError
            If it would cost more than is left. Nothing is booked then.
        """
        return self.book(events, purpose=purpose, analyst=analyst, question=None, epsilon=0.0)[0]

    def book(
        self,
        events: Sequence[MechanismEvent],
        *,
        purpose: str,
        question: str | None,
        epsilon: float,
        analyst: str | None = None,
    ) -> tuple[Charge, str | None]:
        """Book a question, or return the charge and answer of an earlier one.

        Parameters
        ----------
        events, purpose, analyst
            As of `charge`.
        question
            The question in one form for all ways to ask it, without epsilon.
        epsilon
            The epsilon it is asked with. An answer that was paid with more is better, and is given.

        Returns
        -------
        Charge and answer
            The answer is ``None`` if there is none yet: then the caller makes it and calls
            `answer`, even if a process died between the two before.

        Raises
        ------
        BudgetError
            If it would cost more than is left.
        """
        _check_charge(events, purpose)
        if question is not None and self.terms.version > 1:
            question = f"{question} of version {self.terms.version}"
        written = json.dumps([event.to_json() for event in events], sort_keys=True)
        with self._file.writing() as run:
            if question is not None:
                asked = run(
                    "SELECT number, purpose, events, booked, analyst, answer FROM charges WHERE "
                    "question = ? AND epsilon >= ? AND (answer IS NOT NULL OR events = ?) "
                    "ORDER BY answer IS NULL, epsilon DESC, number LIMIT 1",
                    (question, epsilon, written),
                ).fetchone()
                if asked is not None:
                    return _charge(asked[:5]), asked[5]
            self._check_left(run, events, analyst)
            booked = datetime.now(UTC).isoformat(timespec="seconds")
            number = run(
                "INSERT INTO charges (booked, purpose, analyst, question, epsilon, events) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (booked, purpose, analyst, question, epsilon, written),
            ).lastrowid
        return _charge((number, purpose, written, booked, analyst)), None

    def answer(self, charge: Charge, answer: str) -> str:
        """Write the answer of a charge, and return the one that stands in the book.

        Only what this returns may be shown: of two processes that answer the same charge, the
        second gets the answer of the first.

        Parameters
        ----------
        charge
            What was booked for it.
        answer
            The answer in JSON.
        """
        with self._file.writing() as run:
            run(
                "UPDATE charges SET answer = ? WHERE number = ? AND answer IS NULL",
                (answer, charge.number),
            )
            ((stored,),) = run("SELECT answer FROM charges WHERE number = ?", (charge.number,))
        return str(stored)

    def allow(self, analyst: str, *, epsilon: float) -> None:
        """Give an analyst a share of the budget, or change it.

        Parameters
        ----------
        analyst
            The name: up to 64 letters, digits and ``_.-``.
        epsilon
            The most that the analyst's own charges may cost together, above 0.
        """
        check_word(analyst, owner="PrivacyLedger", parameter="analyst")
        number_between(0, math.inf, owner="PrivacyLedger", low_open=True, epsilon=epsilon)
        with self._file.writing() as run:
            run("INSERT OR REPLACE INTO analysts VALUES (?, ?)", (analyst, float(epsilon)))

    def share_of(self, analyst: str) -> tuple[float, float]:
        """Return what an analyst may spend, and has spent.

        Parameters
        ----------
        analyst
            The analyst's name.

        Raises
        ------
        BudgetError
            If the analyst has no share.
        """
        allowed = self._file.rows("SELECT epsilon FROM analysts WHERE name = ?", (analyst,))
        if not allowed:
            raise _no_share()
        share = float(str(allowed[0][0]))
        return share, self._cost_of(self._charged(self._file.rows, analyst), share)

    @property
    def shares(self) -> dict[str, AnalystShare]:
        """By analyst, what each was given, has spent, and has left."""
        whole, last = self.left, {each.analyst: each for each in self.charges}
        found = {}
        for (name,) in self._file.rows("SELECT name FROM analysts ORDER BY name"):
            epsilon, spent = self.share_of(str(name))
            left = min(max(0.0, epsilon - spent), whole)
            found[str(name)] = AnalystShare(
                epsilon=epsilon, spent=spent, left=left, last=last.get(str(name))
            )
        return found

    def _check_left(
        self,
        run: Callable[..., sqlite3.Cursor],
        events: Sequence[MechanismEvent],
        analyst: str | None,
    ) -> None:
        """Raise if events cost more than is left, of the whole budget or of an analyst's share."""
        if analyst is not None:
            allowed = run("SELECT epsilon FROM analysts WHERE name = ?", (analyst,)).fetchone()
            if allowed is None:
                raise _no_share()
            of_theirs = self._charged(run, analyst)
            self._check_cost("the analyst's share", allowed[0], of_theirs, events)
        self._check_cost("the budget", self.terms.epsilon, self._charged(run), events)

    def _check_cost(
        self,
        what: str,
        allowed: float,
        before: Sequence[Sequence[MechanismEvent]],
        events: Sequence[MechanismEvent],
    ) -> None:
        together = [*before, events]
        most = allowed * (1 + _ROUNDING)
        # The sum is quick, so that others wait longer only for a budget nearly spent.
        if basic_epsilon_of(together, delta=self.terms.delta) <= most:
            return
        self._check_delta(before, events)
        cost = self._cost_of(together, allowed)
        if cost > most:
            hint = "Ask with a smaller epsilon. Questions that were asked before cost nothing."
            if math.isinf(cost):
                hint = f"Gaussian noise is counted up to an epsilon of {LARGEST_LOSS:g}."
            raise BudgetError(
                f"This costs more than is left of {what}, which has epsilon "
                f"{allowed:g} at delta {self.terms.delta:g}; "
                f"{self._cost_of(before, allowed):.4g} of it is spent. Nothing was charged.",
                hint=hint,
            )

    def _check_delta(
        self, before: Sequence[Sequence[MechanismEvent]], events: Sequence[MechanismEvent]
    ) -> None:
        """Raise if delta is short: for mechanisms that spend some, or for Gaussian noise."""
        whole = self.terms.delta
        takes = math.fsum(event.spent_delta for event in events)
        spent = math.fsum(event.spent_delta for charge in before for event in charge) + takes
        if spent >= whole and any(math.isinf(event.pure_epsilon) for event in events):
            raise BudgetError(
                "Gaussian noise takes a delta, and the budget has "
                f"{'none left' if whole else 'none'}. Nothing was charged.",
                hint="Take Laplace noise, which needs no delta.",
            )
        left = own_delta_left(before, delta=whole)
        if takes > left * (1 + _ROUNDING):
            raise BudgetError(
                f"This takes delta {takes:.4g}. Of the budget's {whole:g}, {left:.4g} is left for "
                "what selects keys or draws rows. Nothing was charged.",
                hint="Give the keys, or ask with a smaller delta. Charges after the first may "
                "spend half of the budget's delta; the other half is for their composition."
                if whole
                else "Give the keys. Only a budget with a delta can select them.",
            )

    def _charged(
        self, run: Callable[..., Any], analyst: str | None = None
    ) -> list[list[MechanismEvent]]:
        """Return the events of each charge, in the order in which they were booked."""
        chosen = ("", ()) if analyst is None else (" WHERE analyst = ?", (analyst,))
        found = run(f"SELECT events FROM charges{chosen[0]} ORDER BY number", chosen[1])  # noqa: S608 - no values
        return [[event_from_json(each) for each in json.loads(text)] for (text,) in found]

    def _cost_of(self, charges: Sequence[Sequence[MechanismEvent]], allowed: float) -> float:
        if not charges:
            return 0.0
        return adaptive_epsilon_of(charges, budget=allowed, delta=self.terms.delta)


def _charge(row: Sequence[Any]) -> Charge:
    number, purpose, events, booked, analyst = row
    return Charge(
        number=number,
        purpose=purpose,
        events=tuple(event_from_json(each) for each in json.loads(events)),
        booked=booked,
        analyst=analyst,
    )


def _file_of(vault: str | Path, dataset: str) -> PrivateDatabase:
    return PrivateDatabase(
        path=place_of(vault, dataset, what="ledger", owner="PrivacyLedger"),
        what="ledger",
        schema=_SCHEMA,
        version=1,
        unwritten="Nothing was charged.",
        made_by="halfmask budget set",
    )


def _check_charge(events: Sequence[MechanismEvent], purpose: str) -> None:
    if not events or not all(isinstance(event, MechanismEvent) for event in events):
        raise ParameterError(
            "The 'events' parameter of PrivacyLedger must be a list of at least one MechanismEvent."
        )
    if not 0 < len(purpose) <= LONGEST_PURPOSE:
        raise ParameterError(
            "The 'purpose' parameter of PrivacyLedger must be a text of 1 to "
            f"{LONGEST_PURPOSE:,} letters."
        )


def _check_rows(source: Source, unit: PrivacyUnit) -> None:
    """Raise if sums could overflow, or if a row has no person whose bound it counts for."""
    if source.n_rows > _MOST_ROWS:
        raise ParameterError(f"A ledger is for tables of at most {_MOST_ROWS:,} rows.")
    if unit.person is not None:
        missing = sum(
            batch[unit.person].null_count() for batch in source.batches(columns=[unit.person])
        )
        if missing:
            raise ParameterError(
                f"The column {unit.person!r} names no person in {missing:,} rows.",
                hint="Leave these rows out, or give each of them a person of its own.",
            )


def _no_share() -> BudgetError:
    return BudgetError(
        "The analyst has no share of the budget.", hint="The owner gives one by allow()."
    )
