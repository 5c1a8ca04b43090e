"""``halfmask budget``: set the budget of a table, show what is left, give analysts shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from halfmask.cli._console import console, listing, printable, say_json
from halfmask.cli._ledger_options import Declarations, LedgerOptions
from halfmask.cli._option_groups import argument, option, required, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions, command_group
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from halfmask.dp.ledger import PrivacyLedger

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
    from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit  # noqa: PLC0415 # half a second

    unit = PrivacyUnit(person=person, max_rows=max_rows, max_groups=max_groups)
    with saying.stages() as stages:
        stages("reading the table")
        source = reading.open(table)
        ledger = PrivacyLedger.create(
            where.vault,
            source,
            dataset=name,
            epsilon=epsilon,
            delta=delta,
            unit=unit,
            bounds=declared.declared_bounds(),
            keys=declared.declared_keys(source.dtypes),
        )
    return _say(ledger, as_json=saying.as_json)


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
    from halfmask.dp.ledger import PrivacyLedger, release_ledger  # noqa: PLC0415 # half a second

    ledger = PrivacyLedger.open(vault, dataset=dataset)
    if out is not None:
        release_ledger(ledger, out)
    return _say(ledger, as_json=saying.as_json)


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
    from halfmask.dp.ledger import PrivacyLedger  # noqa: PLC0415 # half a second

    ledger = PrivacyLedger.open(vault, dataset=dataset)
    ledger.allow(analyst, epsilon=epsilon)
    allowed, spent = ledger.share_of(analyst)
    told = f"{printable(analyst)}: epsilon {allowed:g}, of it {spent:.4g} spent"
    return saying.say({"analyst": analyst, "epsilon": allowed, "spent": spent}, told)


def _say(ledger: PrivacyLedger, *, as_json: bool) -> int:
    terms, charges, spent = ledger.terms, ledger.charges, ledger.spent
    if as_json:
        say_json(
            {
                "ok": True,
                "dataset": terms.dataset,
                "epsilon": terms.epsilon,
                "delta": terms.delta,
                "unit": terms.unit.to_dict(),
                "spent": spent,
                "delta_spent": math.fsum(each.delta for each in charges),
                "delta_left": ledger.delta_left,
                "guarantee": terms.sentence(),
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
        )
        return 0
    out = console()
    out.print(printable(terms.sentence()), soft_wrap=True)
    out.print(f"Spent: epsilon {spent:.4g} of {terms.epsilon:g} in {len(charges):,} charges")
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
            when = each.booked.removesuffix("+00:00").replace("T", " ")
            table.add_row(str(each.number), purpose, *costs, who, when)
        out.print(table)
        out.print(
            "A charge's epsilon is what it costs by itself, at the budget's delta. Together they "
            "cost at most the sum.",
            soft_wrap=True,
        )
    return 0
