"""``halfmask query``: one question in SQL to a table with a budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halfmask.cli._budget import Declarations, LedgerOptions, pairs
from halfmask.cli._console import console, listing, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, required, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.dp.queries import PrivateAnswer, QueryPlan


@spreads_groups
def query(
    table: str = TABLE,
    sql: str = argument(
        'SQL: The question, such as "SELECT sex, COUNT(*) FROM adult GROUP BY sex".'
    ),
    *,
    epsilon: float = required("--epsilon EPSILON: What the answer may cost."),
    delta: float = option(
        "--delta DELTA: What Gaussian noise, or keys that aren't given, may cost in delta.", 0.0
    ),
    noise: Literal["laplace", "gaussian"] = option(
        "--noise: The noise of counts and sums.", "laplace"
    ),
    public: list[str] | None = option(
        "--public NAME=FILE: A table that everybody may know, to be joined; may be given more "
        "than once."
    ),
    analyst: str | None = option("--analyst NAME: Charge the share of this analyst, too."),
    plan: bool = flag("--plan: Only show cost and expected error; nothing is charged."),
    out: str | None = option(
        "--out FOLDER: Also release the answer into this new folder, with its claim for halfmask "
        "verify."
    ),
    declared: Declarations,
    where: LedgerOptions,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Answer a question about TABLE under the budget that `halfmask budget set` set.

    SQL is SELECT of aggregates FROM the data set, with JOIN of public tables, WHERE and GROUP BY.
    Each answer has a 95 % interval. A question that was asked before costs nothing.
    """
    if out is not None:
        _check_new(out, is_plan=plan)
    ledger = where.open(table)
    from halfmask.data import open_table  # noqa: PLC0415 # half a second
    from halfmask.dp.queries import (  # noqa: PLC0415 # half a second
        PrivateTable,
        query_sql,
        release_answer,
    )

    with saying.stages() as stages:
        stages("reading the table")
        opened = PrivateTable.open(reading.open(table), ledger=ledger)
        joined = {
            name: open_table(file, called="The table")
            for name, file in pairs(public, "--public NAME=FILE", is_file=True)
        }
        public_dtypes = {name: it for each in joined.values() for name, it in each.dtypes.items()}
        question = query_sql(
            opened,
            sql,
            public=joined,
            bounds=declared.declared_bounds(),
            keys=declared.declared_keys({**public_dtypes, **opened.source.dtypes}),
        )
        planned = question.plan(epsilon=epsilon, delta=delta, noise=noise)
        if not plan:
            stages("answering")
            answer = question.answer(epsilon=epsilon, delta=delta, noise=noise, analyst=analyst)
            if out is not None:
                stages("releasing")
                release_answer(question, answer, out)
            # An answer from the book was paid with more.
            paid = question.plan(epsilon=answer.epsilon, delta=answer.delta, noise=noise)
            return saying.say(answer.to_dict(), lambda: _show(answer, paid))
    return saying.say(planned.to_dict(), lambda: _explain(planned, console()))


def _check_new(out: str, *, is_plan: bool) -> None:
    """Refuse a folder that no answer can be released into, before it is charged."""
    if is_plan:
        raise UsageError("A plan has no answer to release.", hint="Leave --out out.")
    if Path(out).exists():
        raise UsageError("The folder of --out exists already.", hint="Name a new one.")
    if not Path(out).absolute().parent.is_dir():
        raise UsageError("The folder that --out would be made in isn't there.")


def _explain(planned: QueryPlan, out: Console) -> None:
    for line in planned.explain().splitlines():
        out.print(printable(line), soft_wrap=True)


def _show(answer: PrivateAnswer, planned: QueryPlan) -> None:
    out = console()
    _explain(planned, out)
    out.print()
    keys = planned.question.grouping.labels
    labels = [each.label for each in planned.question.aggregates]
    table = listing(*map(printable, keys), *map(printable, labels), right=tuple(labels))
    for row in json.loads(answer.frame.write_json()):
        values = [_interval(row, label) for label in labels]
        table.add_row(*(printable(str(row[key])) for key in keys), *values)
    out.print(table)
    paid = "It was asked before: nothing was charged." if answer.from_book else "It is charged."
    out.print(f"\n{paid} {printable(answer.guarantee)}", soft_wrap=True)


def _interval(row: dict[str, float | None], label: str) -> str:
    low, high = row[f"{label}_low"], row[f"{label}_high"]
    if low is None or high is None:
        return f"{row[label]:,.6g}"
    return f"{row[label]:,.6g}  [{low:,.6g}, {high:,.6g}]"
