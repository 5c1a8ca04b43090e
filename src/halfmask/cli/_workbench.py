"""``halfmask workbench``: every job in a browser, on this machine."""

from __future__ import annotations

from pathlib import Path

from halfmask._errors import DataError, PolicyError
from halfmask.cli import _rooms as rooms
from halfmask.cli._console import console
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, spreads_groups
from halfmask.cli._options import AnswerOptions

SECONDS = 60.0
ONE_POLICY = "Give one policy: as POLICY or by --policy."


@spreads_groups
def workbench(
    opened: str | None = argument(
        "[TABLE | POLICY]: The table to open: a file, a folder of files or "
        "postgresql://HOST/DATABASE?table=NAME; or a policy file, NAME.toml.",
        None,
    ),
    *,
    policy: str | None = option(
        "--policy POLICY: The policy file, in the folder. A missing one is made."
    ),
    folder: str | None = option(
        "--folder DIR: The folder of the policy and of all that is written. By default the "
        "policy's, or the current one."
    ),
    port: int = option(
        "--port N: The port to listen on; 0 takes a free one.", 0, min=0, max=65_535
    ),
    only_prints: bool = flag("--no-open: Only print the address; open no browser."),
    idle: int = option(
        "--idle MINUTES: Stop after so many minutes without a request and without a job.", 60, min=1
    ),
    answer: AnswerOptions,
) -> int:
    """Do every job in a browser.

    Describe a table, protect, explore, compare, attack, release, ask and verify on pages. They are
    served on this machine only. The address opens them once, in one browser. Each
    click writes the policy file, which the other commands take, too. Stop with Ctrl+C.
    """
    table, chosen = _table_and_policy(opened, policy)
    where = Path(folder) if folder else Path(chosen).parent if chosen else Path()
    where.mkdir(exist_ok=True)

    def announce(address: str) -> None:
        hint = "Open the address above in one browser. Stop with Ctrl+C."
        answer.say({"address": address}, address, hint)

    was_idle = rooms.workbench.run_workbench(
        where,
        table=table,
        policy=chosen,
        port=port,
        opens_browser=not only_prints,
        idle_seconds=idle * SECONDS,
        announce=announce,
    )
    if not answer.as_json:
        console().print("Stopped: nobody used it." if was_idle else "Stopped.")
    return 0


def _table_and_policy(opened: str | None, policy: str | None) -> tuple[str | None, str | None]:
    """Return the table and the policy of the argument and of --policy."""
    if opened is None:
        return None, policy
    if opened == "-":
        raise UsageError("TABLE is read many times, and standard input can't be.")
    if opened.endswith(".toml"):
        if policy is not None:
            raise UsageError("Two policies are given.", hint=ONE_POLICY)
        if not Path(opened).is_file():
            raise PolicyError("The policy file is not there.")
        return None, opened
    if rooms.data.is_database_url(opened):
        return opened, policy
    if not Path(opened).exists():
        raise DataError("The table to read is not there.")
    return str(Path(opened).absolute()), policy
