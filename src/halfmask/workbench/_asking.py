"""Questions under a budget: the ledger of the open table, drafts, and questions without SQL."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ParameterError
from halfmask.data import ReadOptions, atomic_file, open_table
from halfmask.workbench._kept_secrets import open_ledger

if TYPE_CHECKING:
    from halfmask.data import Source
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.queries import PrivateQuery, PrivateTable
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

#: Drafts and answers that the page can show again; the ledger keeps all of them.
_MOST_KEPT: Final = 100
_ONCE: Final = re.compile(r"[0-9a-f]{32}")
#: Options of the command line, by what `[input]` of a policy calls them.
_TEXTS: Final = ("delimiter", "encoding", "skip_rows", "comment", "sheet", "table")
_PAIRS: Final = {
    "dtypes": "--dtype",
    "date_formats": "--date-format",
    "first_years": "--first-year",
}
_COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=")


def dataset_of(project: Project) -> str:
    """Return the name of the open table in SQL, which is that of its ledger."""
    return Path(str(project.table)).name.partition(".")[0]


# ---------------------------------------------------------------------- the ledger


def ledger_of(project: Project) -> PrivacyLedger | None:
    """Return the ledger of the open table in the project's folder, if there is one."""
    return open_ledger(project.folder, str(project.table))


def keep_reading(project: Project) -> None:
    """Keep how the table was read for its budget: the policy may read it otherwise later."""
    section = getattr(project.any_policy(), "input", None) if project.has_policy else None
    said = dict(project.reading)
    if section is not None:
        said = section.model_dump(mode="json", exclude_defaults=True)
    _write(_readings(project), _read(_readings(project)) | {dataset_of(project): said})


def reading_of(project: Project) -> dict[str, Any]:
    """Return how the table is read under its budget, as `[input]` of a policy has it."""
    return dict(_read(_readings(project)).get(dataset_of(project), {}))


def asked_source(project: Project) -> Source:
    """Open the table as it is read under its budget."""
    return open_table(project.table, options=ReadOptions(**reading_of(project)))


def asked_table(project: Project, ledger: PrivacyLedger, *, checked: bool) -> PrivateTable:
    """Return the table to ask; checking that it hasn't changed reads all of it."""
    from halfmask.dp.queries import PrivateTable  # noqa: PLC0415 # ready within a second

    source = asked_source(project)
    return PrivateTable.open(source, ledger=ledger) if checked else PrivateTable(source, ledger)


def _readings(project: Project) -> Path:
    return project.hidden / "budgets.json"


def command_of(project: Project, ledger: PrivacyLedger, asked: Mapping[str, str]) -> str:
    """Return the command that asks the same in the terminal, in the project's folder."""
    file, reading = project.table_file, reading_of(project)
    table = "TABLE" if file is None else str(file)
    if file is not None and file.is_relative_to(project.folder):
        table = str(file.relative_to(project.folder))
    vault = next(project.folder.glob(f"*/{ledger.terms.dataset}.ledger")).parent.name
    words = ["halfmask", "query", table, asked["sql"], "--epsilon", asked["epsilon"]]
    words += ["--delta", asked["delta"]] if asked["delta"] else []
    words += ["--noise", asked["noise"]] if asked["noise"] != "laplace" else []
    words += ["--vault", vault]
    for text in reading.get("missing", ()):
        words += ["--missing", text] if text else []
    for key in _TEXTS:
        words += [f"--{key.replace('_', '-')}", str(reading[key])] if key in reading else []
    for key, name in _PAIRS.items():
        for column, said in reading.get(key, {}).items():
            words += [name, f"{column}={said}"]
    return shlex.join(words)


# ---------------------------------------------------------------------- drafts


@dataclass(slots=True)
class Draft:
    """A question as it stands in the form, what it would cost, and its answer if it was asked."""

    id: str
    asked: dict[str, str]
    plan: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None


class Drafts:
    """The drafts of one ledger, in the project's private folder: nothing of them is in a URL."""

    def __init__(self, project: Project, ledger: PrivacyLedger) -> None:
        terms = hashlib.sha256(ledger.terms.to_text().encode()).hexdigest()[:16]
        self._file = project.hidden / f"questions-{terms}.json"
        self._kept: dict[str, dict[str, Any]] = _read(self._file)

    def get(self, once: str) -> Draft | None:
        """Return a draft by its id."""
        found = self._kept.get(once)
        return None if found is None else Draft(once, **found)

    def of_charges(self) -> dict[int, str]:
        """Return the id of the draft that was charged, by the number of the charge."""
        answers = ((once, it["answer"]) for once, it in self._kept.items())
        return {answer["charge"]: once for once, answer in answers if answer is not None}

    def of_form(self, fields: Fields) -> Draft:
        """Return what a form asks: the same form, posted again, is the same draft."""
        asked = {name: fields.text(name) for name in ("sql", "epsilon", "delta")}
        asked["noise"] = fields.text("noise", "laplace")
        once = fields.text("once")
        found = self.get(once)
        if found is not None and found.asked == asked:
            return found
        is_used = found is not None and found.answer is not None
        return Draft(once if _ONCE.fullmatch(once) and not is_used else new_id(), asked)

    def keep(self, draft: Draft) -> None:
        """Keep a draft; the oldest of very many go."""
        self._kept.pop(draft.id, None)
        self._kept[draft.id] = {"asked": draft.asked, "plan": draft.plan, "answer": draft.answer}
        self._kept = dict([*self._kept.items()][-_MOST_KEPT:])
        _write(self._file, self._kept)


def new_id() -> str:
    """Return an id that one form has."""
    return secrets.token_hex(16)


def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found


def _write(where: Path, content: dict[str, Any]) -> None:
    with atomic_file(where, overwrite=True) as file:
        file.write(json.dumps(content, indent=1).encode("utf-8"))


def question_of(table: PrivateTable, asked: Mapping[str, str]) -> tuple[PrivateQuery, Any]:
    """Return the question of a draft, and epsilon, delta and noise for it."""
    from halfmask.dp.queries import query_sql  # noqa: PLC0415 # as above

    if not asked["sql"]:
        raise ParameterError("There is no question.", hint="Write one, or let the form write it.")
    paid = {
        "epsilon": number_in(asked["epsilon"], "What the answer may cost"),
        "delta": number_in(asked["delta"] or "0", "Delta"),
        "noise": asked["noise"],
    }
    return query_sql(table, asked["sql"]), paid


# ---------------------------------------------------------------------- questions without SQL


def number_in(text: str, what: str) -> float:
    """Return the number that a text is; it raises in words."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{what} must be a number.") from None


def keys_in(text: str) -> list[str]:
    """Return keys that commas or lines part; one that has a comma stands in double quotes."""
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    return list(dict.fromkeys(it.strip() for line in lines for it in line if it.strip()))


def sql_of(fields: Fields, ledger: PrivacyLedger) -> str:
    """Return the question that the choices of the form ask, in SQL."""
    types, of = ledger.terms.columns, fields.text("of")
    what, group = fields.text("what"), fields.text("group")
    for name in filter(None, (of, group, fields.text("where"))):
        if name not in types:
            raise ParameterError("The question is about a column that the budget doesn't know.")
    low, high = fields.text("low"), fields.text("high")
    if what != "count" and not of:
        raise ParameterError("The question needs a column.", hint="Choose it at: Of which column.")
    if what == "histogram" and not (low and high):
        if of not in ledger.terms.bounds:
            raise ParameterError(
                "A histogram needs the least and the greatest value.",
                hint="Give both from general knowledge, not from the data.",
            )
        low, high = map(str, ledger.terms.bounds[of])
    for text in filter(None, (low, high)):
        number_in(text, "A bound")
    clamped = f"CLAMP({_name(of)}, {low}, {high})" if low and high else _name(of)
    bins = f"WIDTH_BUCKET({_name(of)}, {low}, {high}, {fields.text('bins', '10')})"
    by = [_name(group)] if group else []
    by += [bins] if what == "histogram" else []
    aggregate = {"sum": "SUM({})", "mean": "AVG({})", "median": "MEDIAN({})"}.get(what, "COUNT(*)")
    said = f"SELECT {', '.join([*by, aggregate.format(clamped)])}"
    said += f" FROM {_name(ledger.terms.dataset)}"
    conditions = list(_conditions(fields, types))
    said += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return said + (f" GROUP BY {', '.join(by)}" if by else "")


def _conditions(fields: Fields, types: Mapping[str, str]) -> list[str]:
    """Return the conditions that choose rows, and those that list the keys of groups."""
    found = []
    where, group, keys = fields.text("where"), fields.text("group"), keys_in(fields.text("keys"))
    if where:
        compared = fields.text("compared")
        if compared not in _COMPARISONS:
            raise ParameterError("The condition has a comparison that there isn't.")
        found.append(f"{_name(where)} {compared} {_literal(fields.text('value'), types[where])}")
    if group and keys:
        listed = ", ".join(_literal(key, types[group]) for key in keys)
        found.append(f"{_name(group)} IN ({listed})")
    return found


def is_number(dtype: str) -> bool:
    """Return whether a type is one of numbers, by its name in a ledger."""
    return dtype.startswith(("Int", "UInt", "Float", "Decimal"))


def _name(column: str) -> str:
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", column)
    return column if plain else '"' + column.replace('"', '""') + '"'


def _literal(text: str, dtype: str) -> str:
    if is_number(dtype):
        number_in(text, "A value that a column of numbers is compared with")
        return text
    if dtype == "Boolean" and text.lower() in ("true", "false"):
        return text.upper()
    return "'" + text.replace("'", "''") + "'"
