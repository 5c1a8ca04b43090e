"""The same release without the workbench: as lines for a shell, and as a program."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from halfmask.data import is_database_url
from halfmask.workbench._kept_secrets import find_vault, is_charged, needs_vault, open_ledger

if TYPE_CHECKING:
    from halfmask.workbench._project import Project


def shell_lines(project: Project, name: str) -> str:
    """Return the lines for a terminal that make a release of a name."""
    policy, home = project.any_policy(), project.folder
    words = ["halfmask", "protect", _table(project), project.policy_file.name, name]
    vault = _vault(policy, home)
    if vault is not None:
        words += ["--vault", vault[0].name, "--vault-key-file", vault[1].name]
    if (ledger := _ledger(policy, project)) is not None:
        words += ["--ledger", ledger.name]
    return f"cd {shlex.quote(str(home))}\n{shlex.join(words)}"


def python_lines(project: Project, name: str) -> str:
    """Return the program that makes a release of a name."""
    policy, home = project.any_policy(), project.folder
    is_of_people = hasattr(policy, "masks_of")
    kind = "halfmask.Policy" if is_of_people else "TablesPolicy"
    table = _table(project)
    given, imports = [], [] if is_of_people else ["from halfmask.crosstabs import TablesPolicy"]
    vault = _vault(policy, home)
    if vault is not None:
        imports.append("from halfmask.vault import KeyFile, Vault")
        folder, key = (repr(it.name) for it in vault)
        given.append(f"vault=Vault.open(folder / {folder}, lock=KeyFile(folder / {key}))")
    if (ledger := _ledger(policy, project)) is not None:
        imports.append("from halfmask.dp.ledger import PrivacyLedger")
        dataset = Path(table).name.partition(".")[0]
        given.append(f"ledger=PrivacyLedger.open(folder / {ledger.name!r}, dataset={dataset!r})")
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
        return table if urlsplit(table).password is None else "DATABASE"
    where = file.absolute()
    inside = where.is_relative_to(project.folder) and not file.name.startswith("-")
    return str(where.relative_to(project.folder) if inside else where)


def _vault(policy: Any, home: Path) -> tuple[Path, Path] | None:  # noqa: ANN401 # of any kind
    is_needed = getattr(policy, "book", None) is not None or needs_vault(policy)
    return find_vault(home) if is_needed else None


def _ledger(policy: Any, project: Project) -> Path | None:  # noqa: ANN401 # as above
    """Return the folder of the ledger that a release is charged to."""
    if not is_charged(policy) or open_ledger(project.folder, str(project.table)) is None:
        return None
    name = Path(str(project.table)).name.partition(".")[0]
    return next(iter(project.folder.glob(f"*/{name}.ledger"))).parent
