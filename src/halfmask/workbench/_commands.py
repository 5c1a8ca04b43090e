"""The same release without the workbench: as lines for a shell, and as a program."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from halfmask.data import is_database_url
from halfmask.workbench._jobs import has_password
from halfmask.workbench._kept_secrets import (
    dataset_of,
    find_ledger,
    find_vault,
    is_charged,
    needs_vault,
)

if TYPE_CHECKING:
    from halfmask.workbench._project import Project


def shell_lines(project: Project, name: str) -> str:
    """Return the lines for a terminal that make a release of a name."""
    policy, home = project.any_policy(), project.folder
    words = ["halfmask", "protect", _table(project), project.policy_file.name, name]
    if needs_vault(policy) and (vault := find_vault(home)):
        words += ["--vault", vault[0].name, "--vault-key-file", vault[1].name]
    if is_charged(policy) and (ledger := find_ledger(home, str(project.table))):
        words += ["--ledger", ledger.name]
    return f"cd {shlex.quote(str(home))}\n{shlex.join(words)}"


def python_lines(project: Project, name: str) -> str:
    """Return the program that makes a release of a name."""
    policy, home = project.any_policy(), project.folder
    is_of_people = hasattr(policy, "masks_of")
    kind = "halfmask.Policy" if is_of_people else "TablesPolicy"
    table = _table(project)
    given, imports = [], [] if is_of_people else ["from halfmask.crosstabs import TablesPolicy"]
    if needs_vault(policy) and (vault := find_vault(home)):
        imports.append("from halfmask.vault import KeyFile, Vault")
        folder, key = (repr(it.name) for it in vault[:2])
        given.append(f"vault=Vault.open(folder / {folder}, lock=KeyFile(folder / {key}))")
    if is_charged(policy) and (ledger := find_ledger(home, table)):
        imports.append("from halfmask.dp.ledger import PrivacyLedger")
        given.append(
            f"ledger=PrivacyLedger.open(folder / {ledger.name!r}, dataset={dataset_of(table)!r})"
        )
    where = repr(table) if is_database_url(table) else f"folder / {table!r}"
    lines = [
        *("from pathlib import Path", "", "import halfmask", *imports, ""),
        f"folder = Path({str(home)!r})",
        f"policy = {kind}.load(folder / {project.policy_file.name!r})",
        "release = halfmask.protect_to(",
        f"    {where},",
        "    policy,",
        f"    folder / {name!r},",
        *(f"    {each}," for each in given),
        ")",
        "for claim in release.verification.claims:",
        "    print(claim.sentence)",
    ]
    return "\n".join(lines)


def _table(project: Project) -> str:
    """Return the table as a command names it, from the folder of the workbench."""
    table, file = str(project.table), project.table_file
    if file is None:
        return "DATABASE" if has_password(table) else table
    where = file.absolute()
    inside = where.is_relative_to(project.folder) and not file.name.startswith("-")
    return str(where.relative_to(project.folder) if inside else where)
