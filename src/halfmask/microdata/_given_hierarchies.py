"""Hierarchies that protect is given for columns, in the words of a policy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from halfmask._errors import ColumnNotFoundError, ParameterError
from halfmask.data import Hierarchy

if TYPE_CHECKING:
    from halfmask.data import Role

#: A folder, or what each column has: a file or a hierarchy.
Hierarchies: TypeAlias = str | os.PathLike[str] | Mapping[str, str | os.PathLike[str] | Hierarchy]

ENDING = ".csv"


def checked_hierarchies(hierarchies: object) -> Hierarchies:
    """Return what was given if it can name hierarchies, before a long look at the table."""
    if isinstance(hierarchies, Mapping):
        for name, given in hierarchies.items():
            if not isinstance(name, str) or not isinstance(given, str | os.PathLike | Hierarchy):
                raise ParameterError(
                    "The 'hierarchies' parameter of protect must give a path or a Hierarchy for "
                    f"each column. Got a {type(given).__name__}."
                )
        return hierarchies
    if not isinstance(hierarchies, str | os.PathLike):
        raise ParameterError(
            "The 'hierarchies' parameter of protect must be a folder or a mapping from columns to "
            f"files. Got a {type(hierarchies).__name__}."
        )
    if not Path(hierarchies).is_dir():
        raise ParameterError(
            "The folder of hierarchies isn't there, or is no folder.",
            hint="It has a file for each column, such as age.csv.",
        )
    return hierarchies


def hierarchy_sections(
    hierarchies: Hierarchies, roles: Mapping[str, Role], folder: Path
) -> dict[str, dict[str, object]]:
    """Return the section ``hierarchy`` of each quasi-identifier that is given one."""
    if isinstance(hierarchies, Mapping):
        given = dict(hierarchies)
    else:
        given = dict(_files(Path(hierarchies), {_file_name(name): name for name in roles}))
    absent = [name for name in given if name not in roles]
    if absent:
        raise ColumnNotFoundError.of(absent, roles, where="the table, and have hierarchies")
    fitting = {name: it for name, it in given.items() if roles[name] == "quasi_identifier"}
    others = [name for name in given if name not in fitting]
    if others and (isinstance(hierarchies, Mapping) or not fitting):
        raise ParameterError(
            f"Column {others[0]!r} has a hierarchy and isn't a quasi-identifier.",
            hint="Only quasi-identifiers are generalized: name it as one, or leave this out.",
        )
    if not given and not isinstance(hierarchies, Mapping):
        raise ParameterError(
            "The folder of hierarchies has no CSV file.",
            hint="A column's file is called as the column, such as age.csv.",
        )
    return {
        name: _listed(it) if isinstance(it, Hierarchy) else {"file": _relative(Path(it), folder)}
        for name, it in fitting.items()
    }


def _file_name(column: str) -> str:
    """Return the name of a column's file; a slash can't be in one."""
    return column.replace("/", "%2F") + ENDING


def _files(where: Path, columns: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Return the column of each file in a folder; a file of none stands for what it is called."""
    # Listed and not asked for: some systems find AGE.csv where age.csv is asked for.
    files = sorted(it for it in where.iterdir() if it.name.endswith(ENDING))
    kept = [it for it in files if it.name in columns or not it.name.startswith(".")]
    return [(columns.get(it.name, it.name.removesuffix(ENDING)), it) for it in kept]


def _relative(file: Path, folder: Path) -> str:
    # Links of folders are followed, since ".." is the parent of where a link leads.
    there = file.absolute().parent.resolve() / file.name
    return Path(os.path.relpath(there, folder.resolve())).as_posix()


def _listed(tree: Hierarchy) -> dict[str, object]:
    """Return a hierarchy as the groups of a policy, which add the root themselves."""
    levels = tree.levels
    if levels.width > 1 and levels.item(0, -1) == "*":
        levels = levels[:, :-1]
    if levels.width == 1:
        return {"order": levels.to_series(0).to_list()}
    groups: dict[str, object] = {}
    for leaf, *labels in levels.iter_rows():
        at = groups
        for label in reversed(labels[1:]):
            at = at.setdefault(label, {})  # type: ignore[assignment] # a group of groups
        at.setdefault(labels[0], []).append(leaf)  # type: ignore[attr-defined] # a group of leaves
    return {"groups": groups}
