"""``halfmask budget``, and the options of all commands under a budget: ledger, bounds, keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from halfmask._errors import ColumnNotFoundError
from halfmask.cli import _rooms as rooms
from halfmask.cli._console import console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import (
    argument,
    as_number,
    items_of,
    option,
    required,
    spreads_groups,
)
from halfmask.cli._options import TABLE, SayingOptions, command_group
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import polars as pl

    from halfmask.dp.ledger import Charge, PrivacyLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    """Where the ledger of a data set is."""

    heading: ClassVar = "Privacy budget"

    vault: str = required("--vault VAULT: The private folder of the ledger, such as a vault's.")
    dataset: str | None = option(
        "--dataset NAME: The data set's name; without, the name of TABLE without its ending."
    )

    def name_of(self, table: str) -> str:
        """Return the name of the data set that a table holds."""
        if self.dataset is not None:
            return self.dataset
        if rooms.data.is_database_url(table):
            name = (rooms.data.DatabaseUrl.parse(table).table or "").rpartition(".")[2]
        else:
            name = Path(table).name.partition(".")[0]
        if not name or name == "-":
            raise UsageError("TABLE has no name.", hint="Give --dataset.")
        return name

    def open(self, table: str) -> PrivacyLedger:
        """Open the ledger of a table."""
        name = self.name_of(table)
        return rooms.dp.ledger.PrivacyLedger.open(self.vault, dataset=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLedger:
    """The ledger that a release under an epsilon is charged to, if there is one."""

    heading: ClassVar = "Privacy budget"

    ledger: str | None = option(
        "--ledger VAULT: For a policy with epsilon: the private folder of TABLE's ledger, made "
        "by halfmask budget set. The release is charged before anything is drawn."
    )
    dataset: str | None = option(
        "--dataset NAME: With --ledger, the data set's name; without, the name of TABLE without "
        "its ending."
    )

    def open(self, table: str, *, is_read_otherwise: bool) -> PrivacyLedger | None:
        """Open the ledger of a table, if one is named."""
        if self.ledger is None:
            if self.dataset is not None:
                raise UsageError(
                    "--dataset names a ledger, and none is given.", hint="Add --ledger."
                )
            return None
        if is_read_otherwise:
            raise UsageError(
                "--ledger doesn't go with options for reading TABLE.",
                hint="Write them into [input] of POLICY.",
            )
        return LedgerOptions(vault=self.ledger, dataset=self.dataset).open(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Bounds and keys that are known without the data."""

    bounds: list[str] | None = option(
        "--bounds COLUMN=LOW:HIGH: The least and greatest value of a column, known without the "
        "data; may be given more than once. Values beyond are clamped."
    )
    keys: list[str] | None = option(
        "--keys COLUMN=KEY,KEY: The keys of a column to group by, known without the data; may be "
        'given more than once. Quote a key that has a comma: town="A, b",C.'
    )

    def declared_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds by column."""
        found = {}
        for column, text in pairs(self.bounds, "--bounds COLUMN=LOW:HIGH"):
            low, colon, high = text.partition(":")
            try:
                found[column] = (as_number(low), as_number(high))
            except ValueError:
                colon = ""
            if not colon:
                raise UsageError(f"The bounds of {column!r} must be LOW:HIGH, two numbers.")
        return found

    def declared_keys(self, dtypes: dict[str, pl.DataType]) -> dict[str, list[Any]]:
        """Return the keys by column, as values of its type."""
        found: dict[str, list[Any]] = {}
        for column, text in pairs(self.keys, "--keys COLUMN=KEY,KEY", names=dtypes):
            if column not in dtypes:
                raise ColumnNotFoundError.of([column], dtypes, where="the table")
            listed = items_of(text, f"A key of {column!r}")
            try:
                found[column] = [_key(each, dtypes[column]) for each in listed]
            except ValueError:
                raise UsageError(f"A key of {column!r} isn't of its type.") from None
        return found


def pairs(
    given: Sequence[str] | None, form: str, *, names: Collection[str] = (), is_file: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the names and values of options of the form NAME=VALUE.

    The value begins after the first equals sign that ends one of the names, else after the last;
    the name of a file after the first.
    """
    seen: set[str] = set()
    for each in given or ():
        ends = [at for at, letter in enumerate(each) if letter == "=" and each[:at] in names]
        name, equals, value = each.partition("=") if is_file else each.rpartition("=")
        if ends:
            name, value = each[: ends[0]], each[ends[0] + 1 :]
        if not equals or not name or not value:
            raise UsageError(f"An option has another form than {form}.")
        if name in seen:
            raise UsageError(f"{form.partition(' ')[0]} is given twice for {name!r}.")
        seen.add(name)
        yield name, value


def _key(text: str, dtype: pl.DataType) -> Any:  # noqa: ANN401 # a key of any type
    if dtype.is_integer():
        return int(text)
    if str(dtype) == "Boolean":
        if text not in {"true", "false"}:
            raise ValueError(text)
        return text == "true"
    return text


#: Columns of what a charge costs.
_COSTS: Final = ("epsilon", "delta")

budget = command_group("budget", "Set and show the budget of a table for differential privacy.")

EPSILON = required("--epsilon EPSILON: The most that all answers together may cost.")
DATASET = argument("DATASET: The name of the data set.")
VAULT = required("--vault VAULT: The private folder of the ledger.")


@budget.command(name="set")
@spreads_groups
def set_(
    table: str = TABLE,
    *,
    epsilon: float = EPSILON,
    delta: float = required(
        "--delta DELTA: At which epsilon is counted, far below 1 / rows; 0 for pure epsilon."
    ),
    person: str | None = option(
        "--person COLUMN: Protect all rows of a person, whom this column names; without, single "
        "rows."
    ),
    max_rows: int = option(
        "--max-rows N: The most rows of a person that count in one answer, or in one group of it.",
        1,
        min=1,
    ),
    max_groups: int = option(
        "--max-groups N: The most groups of one answer that a person counts in.", 1, min=1
    ),
    declared: Declarations,
    where: LedgerOptions,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Set the budget of TABLE, once, in a ledger in VAULT.

    The folder is created if it is missing. Names and types of columns, bounds and keys are public
    to analysts. Other commands need the same options for reading TABLE.
    """
    name = where.name_of(table)
    unit = rooms.dp.ledger.PrivacyUnit(person=person, max_rows=max_rows, max_groups=max_groups)
    with saying.stages() as stages:
        stages("reading the table")
        source = reading.open(table)
        ledger = rooms.dp.ledger.PrivacyLedger.create(
            where.vault,
            source,
            dataset=name,
            epsilon=epsilon,
            delta=delta,
            unit=unit,
            bounds=declared.declared_bounds(),
            keys=declared.declared_keys(source.dtypes),
        )
    return _say(ledger, saying)


@budget.command()
@spreads_groups
def show(
    dataset: str = DATASET,
    *,
    vault: str = VAULT,
    out: str | None = option(
        "--out FOLDER: Also release all charges into this new folder, with the claim of the "
        "budget for halfmask verify."
    ),
    saying: SayingOptions,
) -> int:
    """Show the budget of a data set, and what was spent of it for what."""
    ledger = rooms.dp.ledger.PrivacyLedger.open(vault, dataset=dataset)
    if out is not None:
        rooms.dp.ledger.release_ledger(ledger, out)
    return _say(ledger, saying)


@budget.command()
@spreads_groups
def update(
    table: str = TABLE, *, where: LedgerOptions, reading: Reading, saying: SayingOptions
) -> int:
    """Let the same budget cover TABLE after it has changed.

    Rows may be added, removed or changed; columns must be the same. What was spent stays spent: all
    versions of the table share the budget. The version before is refused from then on.
    """
    ledger = where.open(table)
    with saying.stages() as stages:
        stages("reading the table")
        ledger = ledger.update(reading.open(table))
    return _say(ledger, saying)


@budget.command()
@spreads_groups
def allow(
    dataset: str = DATASET,
    analyst: str = argument("ANALYST: The analyst's name."),
    *,
    epsilon: float = EPSILON,
    vault: str = VAULT,
    saying: SayingOptions,
) -> int:
    """Give an analyst a share of the budget, or change it."""
    ledger = rooms.dp.ledger.PrivacyLedger.open(vault, dataset=dataset)
    ledger.allow(analyst, epsilon=epsilon)
    allowed, spent = ledger.share_of(analyst)
    told = f"{printable(analyst)}: epsilon {allowed:g}, of it {spent:.4g} spent"
    return saying.say({"analyst": analyst, "epsilon": allowed, "spent": spent}, told)


def _say(ledger: PrivacyLedger, saying: SayingOptions) -> int:
    terms, charges, spent = ledger.terms, ledger.charges, ledger.spent
    facts = {
        "dataset": terms.dataset,
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "unit": terms.unit.to_dict(),
        "version": terms.version,
        "spent": spent,
        "left": ledger.left,
        "delta_spent": math.fsum(each.delta for each in charges),
        "delta_left": ledger.delta_left,
        "guarantee": terms.sentence(),
        "analysts": [
            {
                "analyst": name,
                "epsilon": share.epsilon,
                "spent": share.spent,
                "left": share.left,
                "last": None if share.last is None else share.last.number,
            }
            for name, share in ledger.shares.items()
        ],
        "charges": [
            {
                "number": each.number,
                "purpose": each.purpose,
                "epsilon": each.epsilon_at(terms.delta),
                "delta": each.delta,
                "booked": each.booked,
                "analyst": each.analyst,
                "events": [event.to_json() for event in each.events],
            }
            for each in charges
        ],
    }
    return saying.say(facts, lambda: _show(ledger))


def _show(ledger: PrivacyLedger) -> None:
    terms, charges, spent = ledger.terms, ledger.charges, ledger.spent
    out = console()
    out.print(printable(terms.sentence()), soft_wrap=True)
    out.print(
        f"Spent: epsilon {spent:.4g} of {terms.epsilon:g} in {len(charges):,} charges; "
        f"{ledger.left:.4g} left"
    )
    if terms.delta:
        of_delta = math.fsum(each.delta for each in charges)
        out.print(
            f"Of delta {terms.delta:g}, charges spent {of_delta:.4g} by themselves, such as for "
            f"selected keys; the next may spend {ledger.delta_left:.4g}",
            soft_wrap=True,
        )
    if charges:
        table = listing("", "purpose", *_COSTS, "analyst", "booked (UTC)", right=("", *_COSTS))
        for each in charges:
            purpose, who = printable(each.purpose), printable(each.analyst or "")
            costs = f"{each.epsilon_at(terms.delta):.4g}", f"{each.delta:g}"
            table.add_row(str(each.number), purpose, *costs, who, _when(each))
        out.print(table)
        out.print(
            "A charge's epsilon is what it costs by itself, at the budget's delta. Together they "
            "cost at most the sum.",
            soft_wrap=True,
        )
    if shares := ledger.shares:
        numbers = ("may spend", "spent", "left")
        table = listing("analyst", *numbers, "last charge (UTC)", right=numbers)
        for name, it in shares.items():
            last = "" if it.last is None else f"{it.last.number}, {_when(it.last)}"
            left = (f"{each:.4g}" for each in (it.epsilon, it.spent, it.left))
            table.add_row(printable(name), *left, last)
        out.print(table)
        out.print(
            "Left is the smaller rest of the share and of the budget, which all analysts share.",
            soft_wrap=True,
        )


def _when(charge: Charge) -> str:
    return charge.booked.removesuffix("+00:00").replace("T", " ")
