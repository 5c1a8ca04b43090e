"""Questions: asked under a budget, with cost and expected error before, and what is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.workbench._asking import (
    Draft,
    Drafts,
    asked_source,
    command_of,
    is_number,
    keep_reading,
    keys_in,
    number_in,
    sql_of,
)
from halfmask.workbench._kept_secrets import dataset_of, ledgers_of, open_ledger
from halfmask.workbench._notices import notice_of
from halfmask.workbench._page import Page, PageAnswer

if TYPE_CHECKING:
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.queries import PrivateAnswer, PrivateQuery
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

#: Of an answer with more groups the page shows the beginning.
_MOST_ROWS: Final = 1_000
#: What was typed into a form of a budget that was refused.
_TYPED: Final = "the form of a budget"


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the budget and the question that is in hand, or the form that sets a budget.

    Without a table, all budgets of the folder are shown.
    """
    project = desk.project
    if not project.has_table:
        return {"budgets": [_budget(each) for each in ledgers_of(project.folder)]}
    ledger = _ledger_of(project)
    if ledger is None:
        dtypes = project.source().dtypes
        return {
            "ledger": None,
            "columns": [(name, is_number(str(dtype))) for name, dtype in dtypes.items()],
            "dataset": dataset_of(str(project.table)),
            "typed": defaultdict(str, _typed_in(desk)),
        }
    drafts, terms = Drafts(project, ledger), ledger.terms
    draft = drafts.get(query.get("asked", ""))
    return {
        "budgets": [_budget(ledger)],
        "ledger": terms,
        "shown_by": drafts.of_charges(),
        "draft": draft,
        "after": None if draft.plan is None else ledger.left - draft.plan["epsilon"],
        "names": [(name, name) for name in terms.columns],
        "numbers": [(name, name) for name, it in terms.columns.items() if is_number(it)],
        "command": command_of(project, draft) if draft.sql else None,
    }


def _budget(ledger: PrivacyLedger) -> dict[str, Any]:
    """Return what `halfmask budget show` shows: the whole, each analyst's share, all charges."""
    terms = ledger.terms
    return {
        "terms": terms,
        "unit": terms.unit.sentence(),
        "left": ledger.left,
        "shares": ledger.shares,
        "charges": [(it, it.epsilon_at(terms.delta)) for it in reversed(ledger.charges)],
    }


def _typed_in(desk: Desk) -> dict[str, str]:
    found = desk.shelf.get(_TYPED)
    return found if isinstance(found, dict) else {}


def _ledger_of(project: Project) -> PrivacyLedger | None:
    return open_ledger(project.folder, str(project.table))


def set_budget(desk: Desk, fields: Fields) -> PageAnswer:
    """Make the ledger of the open table, once; what was typed stays in the form till then."""
    if _ledger_of(desk.project) is not None:
        return PageAnswer(notice="The table has its budget already. Nothing was changed.")
    desk.shelf[_TYPED] = {name: fields.text(name) for name in fields.texts}
    _create_ledger(desk.project, fields)
    del desk.shelf[_TYPED]
    return PageAnswer(notice="The budget is set.")


def _create_ledger(project: Project, fields: Fields) -> None:
    from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit  # noqa: PLC0415 # ready in a second

    vault = project.inside(fields.text("vault"))
    if vault.parent != project.folder:
        raise ParameterError("The folder of the ledger must lie in the folder of the workbench.")
    keep_reading(project)
    source, person = asked_source(project), fields.text("person")
    bounds: dict[str, tuple[float, float]] = {}
    keys: dict[str, list[Any]] = {}
    for name, dtype in source.dtypes.items():
        low, high = fields.text(f"low:{name}"), fields.text(f"high:{name}")
        if low or high:
            what = f"The least and the greatest value of {name!r}"
            bounds[name] = (number_in(low, what), number_in(high, what))
        if listed := keys_in(fields.text(f"keys:{name}")):
            keys[name] = [_whole(it, name) for it in listed] if dtype.is_integer() else listed
    unit = PrivacyUnit()
    if person:
        rows, groups = fields.whole("max_rows"), fields.whole("max_groups")
        unit = PrivacyUnit(person=person, max_rows=rows, max_groups=groups)
    PrivacyLedger.create(
        vault,
        source,
        dataset=dataset_of(str(project.table)),
        epsilon=number_in(fields.text("epsilon"), "Epsilon of all answers together"),
        delta=number_in(fields.text("delta"), "Delta"),
        unit=unit,
        bounds=bounds,
        keys=keys,
    )


def _whole(text: str, column: str) -> int:
    """Return a group of a column of whole numbers."""
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"A group of {column!r} must be a whole number.") from None


def plan(desk: Desk, fields: Fields) -> PageAnswer:
    """Say what a question would cost and how exact its answer would be; nothing is charged."""
    return _on_draft(desk, fields, is_asked=False)


def ask(desk: Desk, fields: Fields) -> PageAnswer:
    """Charge a question and keep its answer; the same form twice is charged once."""
    return _on_draft(desk, fields, is_asked=True)


def _on_draft(desk: Desk, fields: Fields, *, is_asked: bool) -> PageAnswer:
    """Plan or ask what the form asks; if it fails, the form stands as it was filled."""
    ledger = _ledger_of(desk.project)
    if ledger is None:
        raise ParameterError("The table has no budget.", hint="Set one first.")
    drafts = Drafts(desk.project, ledger)
    draft, said = drafts.of_form(fields), ""
    try:
        if draft.answer is not None:
            said = "This was asked already. Nothing was charged."
        else:
            said = _carry_out(desk.project, ledger, draft, is_asked=is_asked)
    except HalfmaskError as error:
        desk.say(notice_of(error))
        draft.plan = None
    drafts.keep(draft)
    return PageAnswer(query={"asked": draft.id}, notice=said)


def _carry_out(project: Project, ledger: PrivacyLedger, draft: Draft, *, is_asked: bool) -> str:
    """Write a plan or an answer into a draft, and return what is to be said of it."""
    from halfmask.dp.queries import PrivateTable, query_sql  # noqa: PLC0415 # ready in a second

    draft.sql = sql_of(draft.asked, ledger)
    paid: dict[str, Any] = {
        "epsilon": number_in(draft.asked["epsilon"], "What the answer may cost"),
        "delta": number_in(draft.asked["delta"] or "0", "Delta"),
        "noise": draft.asked["noise"],
    }
    source = asked_source(project)
    if not is_asked:
        question = query_sql(PrivateTable(source, ledger), draft.sql)
        draft.plan = question.plan(**paid).to_dict()
        return ""
    # Checking that the table hasn't changed reads all of it.
    question = query_sql(PrivateTable.open(source, ledger=ledger), draft.sql)
    answer = question.answer(**paid)
    draft.plan, draft.answer = None, _answered(question, answer)
    if answer.from_book:
        return "It was asked before, so the answer is the same. Nothing was charged."
    return ""


def _answered(question: PrivateQuery, answer: PrivateAnswer) -> dict[str, Any]:
    """Return what is shown of an answer."""
    labels = [each.label for each in question.question.aggregates]
    keys = question.question.grouping.labels
    frame = answer.frame
    most = max((abs(it) for it in frame[labels[0]].to_list()), default=0) or 1
    return {
        **answer.to_dict(),
        "keys": keys,
        "labels": labels,
        "n": frame.height,
        "rows": [
            {
                "keys": [str(row[key]) for key in keys],
                "values": [_value(row, label) for label in labels],
                "share": max(0.0, row[labels[0]] / most),
            }
            for row in frame.head(_MOST_ROWS).iter_rows(named=True)
        ],
    }


def _value(row: Mapping[str, Any], label: str) -> tuple[str, str]:
    """Return a value and its interval in words."""
    low, high = row[f"{label}_low"], row[f"{label}_high"]
    interval = "" if low is None or high is None else f"{low:,.6g} to {high:,.6g}"
    return f"{row[label]:,.6g}", interval


PAGE = Page(
    "questions",
    "Questions",
    show,
    {"set": set_budget, "plan": plan, "ask": ask},
    needs="",
)
