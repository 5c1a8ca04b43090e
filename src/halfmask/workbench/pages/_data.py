"""The page Data: a table is dropped, chosen or connected, and seen by column and by row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from halfmask._errors import HalfmaskError, ParameterError
from halfmask.data import is_database_url
from halfmask.description.reading_section import reading_of
from halfmask.workbench._desk import Desk, notice_of
from halfmask.workbench._page import Fields, Page, PageAnswer
from halfmask.workbench._project import Project, Waiting
from halfmask.workbench.pages._column_profile import profile
from halfmask.workbench.pages._table_files import (
    check_unpacked,
    forget_aside,
    keep_copy,
    local_of,
    put_aside,
    tables_in,
)
from halfmask.workbench.pages._table_form import can_be_read, end_of, form_of, reading_from

_ROWS: Final = 100
#: A page of a table with very many columns has fewer rows.
_CELLS: Final = 20_000
_FEWEST: Final = 10
_LETTERS: Final = 200
#: More columns than these are folded.
_OPEN_COLUMNS: Final = 60


def _show(desk: Desk, query: Mapping[str, str]) -> dict[str, Any]:
    project = desk.project
    found: dict[str, Any] = {"opened": None, "form": None, "waiting": None, "grid": None}
    try:
        if project.has_table:
            found |= _opened(project) | {"grid": _grid(project, query)}
    except Exception as error:  # noqa: BLE001 # another table may be opened, or this read otherwise
        desk.say(notice_of(error))
    if project.waiting is not None and not project.waiting.path.exists():
        project.waiting = None
    if project.waiting is not None:
        found["waiting"] = project.waiting.path.name
    policies = [it.name for it in sorted(project.folder.glob("*.toml")) if it.is_file()]
    others = [(name, name) for name in policies if name != project.policy_file.name]
    return found | {"form": _form(project), "tables": tables_in(project), "policies": others}


def _opened(project: Project) -> dict[str, Any]:
    """Return what is said of the open table, and of each of its columns."""
    source = project.source()
    policy = project.any_policy() if project.has_policy else None
    columns = getattr(policy, "columns", None) or {}
    file = project.table_file
    return {
        "opened": "A table of a database" if file is None else file.name,
        "outside": None if file is None or file.parent == project.folder else str(file.parent),
        "format": source.format,
        "rows": source.n_rows,
        "profile": project.kept("profile", lambda: profile(project.rows())),
        "is_folded": len(source.columns) > _OPEN_COLUMNS,
        "lacking": [name for name in columns if name not in source.columns],
    }


def _form(project: Project) -> dict[str, Any] | None:
    """Return the form for the file that couldn't be read, or for the table that is open."""
    waiting = project.waiting
    if waiting is not None:
        options = project.options_with(waiting.reading)
        return form_of(waiting.path, end_of(waiting.path.name), options, waiting.reading)
    if not project.has_table:
        return None
    file = project.table_file
    try:
        options = project.read_options()
    except HalfmaskError:  # the policy can't be read: it was said above
        return None
    try:
        end = project.source().format
    except HalfmaskError:
        end = "postgresql" if file is None else end_of(file.name)
    return project.kept("form", lambda: form_of(file, end, options, reading_of(options)))


def _reading(project: Project) -> dict[str, Any]:
    """Return how the open table is read, as a policy has it."""
    return reading_of(project.read_options())


# ---------------------------------------------------------------------- rows


def _grid(project: Project, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of rows, in an order, of those that are looked for."""
    rows = project.rows()
    if project.search is not None and project.search[0] >= rows.width:  # of an earlier file
        project.search = None
    sort = _number(query, "sort", -1)
    sort = sort if sort < rows.width else -1
    is_down = query.get("down") == "1"
    size = max(_FEWEST, min(_ROWS, _CELLS // max(1, rows.width)))
    search = project.search
    numbers = project.kept(
        ("order", sort, is_down, search), lambda: _order(rows, sort, search, is_down=is_down)
    )
    height = rows.height if numbers is None else numbers.len()
    first = max(0, min(_number(query, "first", 0), height - 1))
    every = range(first, min(first + size, height))
    labels = every if numbers is None else numbers.slice(first, size).to_list()
    shown = rows.slice(first, size) if numbers is None else rows[labels]
    return {
        "columns": rows.columns,
        "rows": [
            (label + 1, [_cell(it) for it in row])
            for label, row in zip(labels, shown.iter_rows(), strict=True)
        ],
        "height": height,
        "first": first,
        "size": size,
        "sort": sort,
        "is_down": is_down,
        "search": search,
    }


def _number(query: Mapping[str, str], name: str, usual: int) -> int:
    """Return a whole number of an address; what isn't one counts as not given."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else usual


def _order(
    rows: pl.DataFrame, sort: int, search: tuple[int, str] | None, *, is_down: bool
) -> pl.Series | None:
    """Return the numbers of the rows that are shown, in order; ``None`` for all of them."""
    if sort < 0 and search is None:
        return None
    held = pl.Series(range(0), dtype=pl.UInt32)
    if sort >= 0:
        held = _plain(rows, sort).arg_sort(descending=is_down, nulls_last=True)
    if search is None:
        return held
    column, text = search
    texts = _plain(rows, column).cast(pl.String, strict=False).str.to_lowercase()
    hits = texts.str.contains(text.lower(), literal=True).fill_null(value=False)
    return hits.arg_true() if sort < 0 else held.filter(hits.gather(held))


def _plain(rows: pl.DataFrame, number: int) -> pl.Series:
    """Return a column that can be sorted and searched: a set as a text."""
    column = rows.to_series(number)
    return column.list.join("|") if column.dtype.is_nested() else column


def _cell(value: object) -> str | None:
    if value is None:
        return None
    text = " | ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}\N{HORIZONTAL ELLIPSIS}"


# ---------------------------------------------------------------------- actions


def _open(desk: Desk, fields: Fields) -> PageAnswer:
    upload = fields.upload("file")
    if upload is None:
        raise ParameterError("No file was chosen.", hint="Drop a file, or choose one.")
    return _take_file(desk.project, upload.path, named=upload.name)


def _choose(desk: Desk, fields: Fields) -> PageAnswer:
    name = fields.text("name")
    if name not in tables_in(desk.project):
        raise ParameterError(
            "There is no such table in the folder.", hint="Choose one of the list."
        )
    return _take_file(desk.project, desk.project.inside(name))


def _use(desk: Desk, fields: Fields) -> PageAnswer:
    desk.project.use(fields.text("policy"))
    return PageAnswer(notice="The policy is in force.")


def _connect(desk: Desk, fields: Fields) -> PageAnswer:
    table, name = local_of(desk.project, fields.text("url"))
    if is_database_url(table):
        return _take(desk.project, table)
    return _take_file(desk.project, Path(table), _reading(desk.project) | {"table": name})


def _read(desk: Desk, fields: Fields) -> PageAnswer:
    """Read the table again as the form says: the one that is open, or the one that waits."""
    project, waiting = desk.project, desk.project.waiting
    new = fields.has("new")
    if waiting is None:
        reading = reading_from(fields, _reading(project))
        return _take(project, project.table or "", reading, new=new)
    reading = reading_from(fields, waiting.reading)
    named = waiting.path.name if waiting.path.is_relative_to(project.hidden) else ""
    return _take_file(project, waiting.path, reading, new=new, named=named)


def _mark(desk: Desk, fields: Fields) -> PageAnswer:
    """Read a text that stands for missing cells as missing."""
    reading = _reading(desk.project)
    marks = [*(reading.get("missing") or [""]), *fields.all("marker")]
    reading["missing"] = list(dict.fromkeys(marks))
    return _take(desk.project, desk.project.table or "", reading)


def _take_file(
    project: Project,
    where: Path,
    reading: Mapping[str, Any] | None = None,
    *,
    new: bool = False,
    named: str = "",
) -> PageAnswer:
    """Open a file of the folder, or a copy that comes into it under a name that it is given.

    One that can't be read waits, a copy outside of the folder, until it is said how it is read.
    """
    where, is_new = keep_copy(project, named, where) if named else (where, False)
    try:
        check_unpacked(where)
        return _take(project, str(where), reading, new=new)
    except BaseException:
        aside = put_aside(project, where) if is_new else where
        if can_be_read(aside):
            project.waiting = Waiting(aside, _reading(project) if reading is None else reading)
        elif is_new:
            forget_aside(project)
        raise


def _take(
    project: Project, table: str, reading: Mapping[str, Any] | None = None, *, new: bool = False
) -> PageAnswer:
    if new:
        project.start_over(table, reading or {})
    else:
        project.open(table, reading)
    project.waiting = None
    forget_aside(project)
    source = project.source()
    rows, columns = source.n_rows, len(source.columns)
    return PageAnswer(
        notice=f"Read {rows:,} row{'s' * (rows > 1)} and {columns:,} column{'s' * (columns > 1)}."
    )


def _forget(desk: Desk, _: Fields) -> None:
    desk.project.waiting = None
    forget_aside(desk.project)


def _search(desk: Desk, fields: Fields) -> None:
    text = fields.text("text")
    column = fields.whole("column") if text else 0
    if text and not 0 <= column < desk.project.rows().width:
        raise ParameterError("The table has no such column.", hint="Choose one of the list.")
    desk.project.search = (column, text) if text else None


PAGE: Final = Page(
    "data",
    "Data",
    _show,
    {
        "open": _open,
        "choose": _choose,
        "connect": _connect,
        "use": _use,
        "read": _read,
        "mark": _mark,
        "forget": _forget,
        "search": _search,
    },
    needs="",
)
