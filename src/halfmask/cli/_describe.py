"""``halfmask describe``: propose a policy for a table, and say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.cli._console import console, printable, say_json
from halfmask.cli._described import show_description
from halfmask.cli._option_groups import option, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions
from halfmask.cli._policy_file import PolicyFile, with_reading
from halfmask.cli._protect_database import is_whole_database, propose
from halfmask.cli._tables import FormOptions

if TYPE_CHECKING:
    from rich.console import Console

    from halfmask.data import Description


@spreads_groups
def describe(
    table: str = TABLE,
    *,
    policy: PolicyFile,
    missing: list[str] | None = option(
        "--missing TEXT",
        "A text that marks a missing cell, such as ?; may be given more than once.",
    ),
    form: FormOptions,
    sample: int | None = option(
        "--sample ROWS", "Number of rows to examine, drawn at random.", min=1
    ),
    saying: SayingOptions,
) -> int:
    """Propose a role and a kind for each column, with the reason.

    It also shows which columns together single people out. It shows no cell of the table. With
    --out it writes the proposal as a policy file. Edit this file, then give it to halfmask
    protect.

    For a database, TABLE is a URL without a table. The proposed policy names each table and
    column: keys become tokens, other columns are dropped.
    """
    policy.check(as_json=saying.as_json)
    if is_whole_database(table, form.head):
        return propose(table, policy, as_json=saying.as_json)
    options = form.options(missing)
    from halfmask.data import describe as look_at  # noqa: PLC0415 - polars takes half a second
    from halfmask.data import open_table  # noqa: PLC0415 - the same

    found = look_at(open_table(table, format=form.format, options=options), sample=sample)
    if policy.out is not None:
        policy.write(with_reading(found.policy_toml(), options))
    if saying.as_json:
        say_json({"ok": True, "policy": policy.out, **_as_dict(found)})
    elif policy.out != "-":
        screen = console()
        show_description(found, screen, verbose=saying.verbose)
        _show_next(policy.out, screen)
    return 0


def _as_dict(found: Description) -> dict[str, object]:
    return {
        "rows": found.rows,
        "rows_looked_at": found.rows_looked_at,
        "share_unique": found.share_unique,
        "share_unique_unchanged": found.share_unique_unchanged,
        "columns": [
            {
                "name": each.name,
                "role": each.role,
                "kind": each.kind,
                "certain": each.certain,
                "reasons": list(each.reasons),
                "evidence": dict(each.evidence),
            }
            for each in found.proposals
        ],
        "singling_out": [
            {"columns": list(each.columns), "share_unique": each.share_unique}
            for each in found.singling_out
        ],
    }


def _show_next(out: str | None, screen: Console) -> None:
    screen.print(
        "\nA ? is a guess on the careful side. A column that points at people may have been missed:"
        " look at each."
    )
    if out is None:
        screen.print("Next: halfmask describe TABLE --out policy.toml, and edit it.")
    else:
        screen.print(
            f"The policy is in {printable(out)}: edit it, then halfmask protect TABLE POLICY OUT.",
            soft_wrap=True,
        )
        screen.print("What each guarantee costs: halfmask explore TABLE POLICY.")
