"""Questions: asked under a budget, with cost and expected error before, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.workbench._asking import (
    Draft,
    Drafts,
    asked_source,
    asked_table,
    command_of,
    dataset_of,
    is_number,
    keep_reading,
    keys_in,
    ledger_of,
    new_id,
    number_in,
    question_of,
    sql_of,
)
from halfmask.workbench._desk import notice_of
from halfmask.workbench._page import Page, PageAnswer

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.queries import PrivateAnswer, PrivateQuery
    from halfmask.workbench._desk import Desk
    from halfmask.workbench._page import Fields

#: What a question costs unless somebody says otherwise.
_USUAL: Final = 0.5
#: Of an answer with more groups the page shows the beginning.
_MOST_ROWS: Final = 1_000


def show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the budget and the question that is in hand, or the form that sets a budget."""
    project = desk.project
    ledger = ledger_of(project)
    if ledger is None:
        dtypes = project.source().dtypes
        columns = [(name, is_number(str(dtype))) for name, dtype in dtypes.items()]
        return {"ledger": None, "columns": columns, "dataset": dataset_of(project)}
    drafts, terms = Drafts(project, ledger), ledger.terms
    draft = drafts.get(query.get("asked", "")) or _blank(ledger)
    charges, spent = ledger.charges, ledger.spent
    left = max(0.0, terms.epsilon - spent)
    return {
        "ledger": terms,
        "unit": terms.unit.sentence(),
        "spent": spent,
        "left": left,
        "charges": [(it, it.epsilon_at(terms.delta)) for it in reversed(charges)],
        "shown_by": drafts.of_charges(),
        "draft": draft,
        "after": None if draft.plan is None else left - draft.plan["epsilon"],
        "names": [(name, name) for name in terms.columns],
        "numbers": [(name, name) for name, it in terms.columns.items() if is_number(it)],
        "command": command_of(project, ledger, draft.asked) if draft.asked["sql"] else None,
    }


def _blank(ledger: PrivacyLedger) -> Draft:
    epsilon = f"{min(_USUAL, ledger.terms.epsilon):g}"
    return Draft(new_id(), {"sql": "", "epsilon": epsilon, "delta": "", "noise": "laplace"})


def set_budget(desk: Desk, fields: Fields) -> PageAnswer:
    """Make the ledger of the open table, once."""
    from halfmask.dp.ledger import PrivacyLedger, PrivacyUnit  # noqa: PLC0415 # ready in a second

    project = desk.project
    if ledger_of(project) is not None:
        return PageAnswer(notice="The table has its budget already. Nothing was changed.")
    vault = project.inside(fields.text("vault"))
    if vault.parent != project.folder:
        raise ParameterError("The folder of the ledger must lie in the folder of the workbench.")
    keep_reading(project)
    source, person = asked_source(project), fields.text("person") or None
    bounds: dict[str, tuple[float, float]] = {}
    keys: dict[str, list[Any]] = {}
    for name, dtype in source.dtypes.items():
        low, high = fields.text(f"low:{name}"), fields.text(f"high:{name}")
        if low or high:
            what = f"The least and the greatest value of {name!r}"
            bounds[name] = (number_in(low, what), number_in(high, what))
        if listed := keys_in(fields.text(f"keys:{name}")):
            whole = dtype.is_integer()
            keys[name] = [_whole(it, name) for it in listed] if whole else listed
    unit = PrivacyUnit()
    if person is not None:
        rows, groups = fields.whole("max_rows"), fields.whole("max_groups")
        unit = PrivacyUnit(person=person, max_rows=rows, max_groups=groups)
    PrivacyLedger.create(
        vault,
        source,
        dataset=dataset_of(project),
        epsilon=fields.number("epsilon"),
        delta=fields.number("delta"),
        unit=unit,
        bounds=bounds,
        keys=keys,
    )
    return PageAnswer(notice="The budget is set.")


def _whole(text: str, column: str) -> int:
    """Return a group of a column of whole numbers."""
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"A group of {column!r} must be a whole number.") from None


def compose(desk: Desk, fields: Fields) -> PageAnswer:
    """Write the question that is chosen in SQL, and say what it would cost."""
    ledger = _ledger(desk)
    sql = sql_of(fields, ledger)
    texts = {**fields.texts, "sql": [sql]}
    return plan(desk, type(fields)(texts))


def plan(desk: Desk, fields: Fields) -> PageAnswer:
    """Say what a question would cost and how exact its answer would be; nothing is charged."""

    def work(question: PrivateQuery, paid: Any, draft: Draft) -> str:  # noqa: ANN401 # by name
        draft.plan = question.plan(**paid).to_dict()
        return ""

    return _on_draft(desk, fields, work, checked=False)


def ask(desk: Desk, fields: Fields) -> PageAnswer:
    """Charge a question and keep its answer; the same form twice is charged once."""

    def work(question: PrivateQuery, paid: Any, draft: Draft) -> str:  # noqa: ANN401 # by name
        if draft.answer is not None:
            return "This was asked already. Nothing was charged."
        answer = question.answer(**paid)
        draft.plan, draft.answer = None, _answered(question, answer)
        if answer.from_book:
            return "It was asked before, so the answer is the same. Nothing was charged."
        return ""

    return _on_draft(desk, fields, work, checked=True)


def _on_draft(
    desk: Desk,
    fields: Fields,
    work: Callable[[PrivateQuery, Any, Draft], str],
    *,
    checked: bool,
) -> PageAnswer:
    """Work on what the form asks; if it fails, the words stand in the form again."""
    ledger = _ledger(desk)
    drafts = Drafts(desk.project, ledger)
    draft, said = drafts.of_form(fields), ""
    try:
        table = asked_table(desk.project, ledger, checked=checked)
        question, paid = question_of(table, draft.asked)
        said = work(question, paid, draft)
    except HalfmaskError as error:
        desk.say(notice_of(error))
        draft.plan = None
    drafts.keep(draft)
    return PageAnswer(query={"asked": draft.id}, notice=said)


def _ledger(desk: Desk) -> PrivacyLedger:
    found = ledger_of(desk.project)
    if found is None:
        raise ParameterError("The table has no budget.", hint="Set one first.")
    return found


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
    {"set": set_budget, "compose": compose, "plan": plan, "ask": ask},
    needs="table",
)
