"""Changes of a policy's document that keep the owner's comments where they belong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import AoT, InlineTable, Table


def set_column_key(document: TOMLDocument, column: str, key: str, value: object) -> None:
    """Write a key of a column; ``None`` removes it.

    tomlkit appends keys at the end of a table, which is behind the comment of the next one.
    """
    columns: Any = document["columns"]
    old = columns.get(column)
    if old is None:
        columns[column] = {key: value}
    elif isinstance(old, Table):
        columns[column] = _with_key(old, key, value)
    elif value is None:
        old.pop(key, None)
    else:
        old[key] = value


def _with_key(old: Table, key: str, value: object) -> Table:
    kept = [(name, item) for name, item in old.value.body if name is None or name.key != key]
    if value is not None:
        at = next((i for i, (name, _) in enumerate(old.value.body) if name and name.key == key), -1)
        simple = [i for i, (name, it) in enumerate(kept) if name and not isinstance(it, Table)]
        if isinstance(value, Table) or at < 0 or at > len(kept):
            at = max(simple, default=-1) + 1
        kept.insert(at, (tomlkit.key(key), value))  # type: ignore[arg-type] # made an item below
    before = old.get(key)
    if isinstance(before, Table):
        kept += [(None, item) for item in _comments_after(before)]
    made = tomlkit.table()
    for name, item in kept:
        if name is None:
            made.add(item)  # type: ignore[call-overload] # a comment, or blanks
        else:
            made.append(name, item)
    return made


def remove_section(parent: Any, key: str) -> None:  # noqa: ANN401 # a document, or a table
    """Remove a key; comments behind its section belong to the next one, and stay."""
    removed, comments = parent[key], []
    if isinstance(removed, Table | AoT):
        comments = [(None, item) for item in _comments_after(removed)]
    body = parent.body if isinstance(parent, TOMLDocument) else parent.value.body
    tables = [name.key for name, item in body if name and isinstance(item, Table | AoT)]
    before = tables[: tables.index(key)] if comments else []
    del parent[key]
    (_last_table(parent[before[-1]]).value.body if before else body).extend(comments)


def _comments_after(section: Table | AoT) -> list[Any]:
    """Return the comments and blanks between a section's last key and the next section."""
    body = _last_table(section).value.body
    last = max((place for place, (name, _) in enumerate(body) if name is not None), default=-1)
    return [item for _, item in body[last + 1 :]]


def _last_table(section: Table | AoT) -> Table:
    """Return the table that is written last of a section."""
    if isinstance(section, AoT):
        return _last_table(section.body[-1])
    inner = [item for name, item in section.value.body if name is not None]
    return _last_table(inner[-1]) if inner and isinstance(inner[-1], Table | AoT) else section


def inline(section: Mapping[str, object]) -> InlineTable:
    """Return a section in one line."""
    made = tomlkit.inline_table()
    made.update(section)
    return made
