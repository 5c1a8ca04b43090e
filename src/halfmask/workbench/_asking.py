"""Questions under a budget: how the table is read for it, drafts, and questions without SQL."""

from __future__ import annotations

import csv
import hashlib
import re
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from halfmask._errors import ParameterError
from halfmask.data import ReadOptions, open_table
from halfmask.workbench._json_files import read_json, write_json
from halfmask.workbench._kept_secrets import dataset_of, find_ledger

if TYPE_CHECKING:
    from halfmask.data import Source
    from halfmask.dp.ledger import PrivacyLedger
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
#: What a question costs unless somebody says otherwise.
_USUAL: Final = 0.5
_COMPARISONS: Final = ("=", "<>", "<", "<=", ">", ">=")
_AGGREGATES: Final = {
    "count": "COUNT(*)",
    "histogram": "COUNT(*)",
    "sum": "SUM({})",
    "mean": "AVG({})",
    "median": "MEDIAN({})",
}
#: The form of a question as it is before anybody has chosen.
BLANK: Final = {
    "what": "count",
    **dict.fromkeys(("of", "low", "high", "group", "keys", "where", "value", "sql", "delta"), ""),
    "bins": "10",
    "compared": "=",
    "epsilon": "",
    "noise": "laplace",
}


# ---------------------------------------------------------------------- the table


def keep_reading(project: Project) -> None:
    """Keep how the table was read for its budget: the policy may read it otherwise later."""
    section = getattr(project.any_policy(), "input", None) if project.has_policy else None
    said = dict(project.reading)
    if section is not None:
        said = section.model_dump(mode="json", exclude_defaults=True)
    file = _readings(project)
    write_json(file, read_json(file) | {dataset_of(str(project.table)): said})


def asked_source(project: Project) -> Source:
    """Open the table as it is read under its budget."""
    return open_table(project.table, options=ReadOptions(**_reading_of(project)))


def _reading_of(project: Project) -> dict[str, Any]:
    return dict(read_json(_readings(project)).get(dataset_of(str(project.table)), {}))


def _readings(project: Project) -> Path:
    return project.hidden / "budgets.json"


def command_of(project: Project, draft: Draft) -> str:
    """Return the command that asks the same in the terminal, in the project's folder."""
    file, reading, asked = project.table_file, _reading_of(project), draft.asked
    table = "TABLE" if file is None else str(file)
    if file is not None and file.is_relative_to(project.folder):
        table = str(file.relative_to(project.folder))
    words = ["halfmask", "query", table, draft.sql, "--epsilon", asked["epsilon"]]
    words += ["--delta", asked["delta"]] if asked["delta"] else []
    words += ["--noise", asked["noise"]] if asked["noise"] != "laplace" else []
    vault = find_ledger(project.folder, str(project.table))
    words += ["--vault", vault.name] if vault else []
    for text in filter(None, reading.get("missing", ())):
        words += ["--missing", text]
    for key in filter(reading.get, _TEXTS):
        words += [f"--{key.replace('_', '-')}", str(reading[key])]
    for key, name in _PAIRS.items():
        for column, said in reading.get(key, {}).items():
            words += [name, f"{column}={said}"]
    return shlex.join(words)


# ---------------------------------------------------------------------- drafts


@dataclass(slots=True)
class Draft:
    """A form as it stands, its question in SQL, what it would cost, and its answer if asked."""

    id: str
    asked: dict[str, str]
    sql: str = ""
    plan: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None


class Drafts:
    """The drafts of one ledger, in the project's private folder: nothing of them is in a URL."""

    def __init__(self, project: Project, ledger: PrivacyLedger) -> None:
        terms = hashlib.sha256(ledger.terms.to_text().encode()).hexdigest()[:16]
        self._file = project.hidden / f"questions-{terms}.json"
        self._kept = {once: Draft(**it) for once, it in read_json(self._file).items()}
        self._blank = BLANK | {"epsilon": f"{min(_USUAL, ledger.terms.epsilon):g}"}

    def get(self, once: str) -> Draft:
        """Return a draft by its id, or an empty one."""
        return self._kept.get(once) or Draft(secrets.token_hex(16), self._blank)

    def of_charges(self) -> dict[int, str]:
        """Return the id of the draft that was charged, by the number of the charge."""
        return {it.answer["charge"]: once for once, it in self._kept.items() if it.answer}

    def of_form(self, fields: Fields) -> Draft:
        """Return what a form asks: the same form, posted again, is the same draft."""
        asked = {name: fields.text(name, usual) for name, usual in BLANK.items()}
        once = fields.text("once")
        found = self._kept.get(once)
        if found is not None and found.asked == asked:
            return found
        is_free = _ONCE.fullmatch(once) and (found is None or found.answer is None)
        return Draft(once if is_free else secrets.token_hex(16), asked)

    def keep(self, draft: Draft) -> None:
        """Keep a draft; the oldest of very many go."""
        self._kept.pop(draft.id, None)
        self._kept[draft.id] = draft
        kept = [*self._kept.items()][-_MOST_KEPT:]
        write_json(self._file, {once: asdict(it) for once, it in kept})


# ---------------------------------------------------------------------- questions


def number_in(text: str, what: str) -> float:
    """Return the number that a text is; it raises in words."""
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            f"{what} must be a number.", hint="Such as 0.5, with a point."
        ) from None


def keys_in(text: str) -> list[str]:
    """Return keys that commas or lines part; one that has a comma stands in double quotes."""
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    return list(dict.fromkeys(it.strip() for line in lines for it in line if it.strip()))


def sql_of(asked: Mapping[str, str], ledger: PrivacyLedger) -> str:
    """Return the question of a form in SQL: the one that is written, or the choices."""
    what, sql = asked["what"], asked["sql"]
    if what == "sql":
        if not sql:
            raise ParameterError("There is no question.", hint="Write one, or choose another What.")
        return sql
    if sql:
        raise ParameterError(
            "There are two questions: the choices, and one in SQL.",
            hint="Empty the field of SQL, or choose at What: the question in SQL.",
        )
    return _sql_of_choices(asked, ledger)


def _sql_of_choices(asked: Mapping[str, str], ledger: PrivacyLedger) -> str:
    types, what, of, group = ledger.terms.columns, asked["what"], asked["of"], asked["group"]
    if any(name and name not in types for name in (of, group, asked["where"])):
        raise ParameterError("The question is about a column that the budget doesn't know.")
    low, high = asked["low"], asked["high"]
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
    number_in(asked["bins"], "The number of ranges")
    clamped = f"CLAMP({_name(of)}, {low}, {high})" if low and high else _name(of)
    by = [_name(group)] if group else []
    if what == "histogram":
        by.append(f"WIDTH_BUCKET({_name(of)}, {low}, {high}, {asked['bins']})")
    said = f"SELECT {', '.join([*by, _AGGREGATES[what].format(clamped)])}"
    said += f" FROM {_name(ledger.terms.dataset)}"
    conditions = _conditions(asked, types)
    said += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return said + (f" GROUP BY {', '.join(by)}" if by else "")


def _conditions(asked: Mapping[str, str], types: Mapping[str, str]) -> list[str]:
    """Return the conditions that choose rows, and those that list the keys of groups."""
    found = []
    if where := asked["where"]:
        if asked["compared"] not in _COMPARISONS:
            raise ParameterError("The condition has a comparison that there isn't.")
        value = _literal(asked["value"], types[where])
        found.append(f"{_name(where)} {asked['compared']} {value}")
    group, keys = asked["group"], keys_in(asked["keys"])
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
