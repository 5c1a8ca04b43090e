"""``halfmask protect`` and ``halfmask synthesize``: a table, a policy, and a verified release."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from halfmask._errors import ParameterError, PolicyError, ReleaseError
from halfmask.cli import _rooms as rooms
from halfmask.cli._book import BookOptions  # typer reads the type
from halfmask.cli._budget import ReleaseLedger
from halfmask.cli._console import console
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, spreads_groups
from halfmask.cli._options import OPEN, TABLE, EngineOptions, SayingOptions
from halfmask.cli._policy_file import ChosenColumns, PolicyFile, show_decisions
from halfmask.cli._protect_database import check_database_options, copy_database, is_whole_database
from halfmask.cli._show_release import say_release
from halfmask.cli._tables import HeaderOptions
from halfmask.cli._vault import PseudonymVault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.crosstabs import TablesPolicy
    from halfmask.microdata import Policy


KEY_BYTES = 32

#: Names that are of files: one of them as OUT expects no folder.
FILE_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".arrows", ".jsonl", ".gz", ".zst", ".xlsx")


POPULATION = option(
    "--population PEOPLE: A table of the population that TABLE was drawn from, which "
    "guarantees such as k-map need. The risk is then also counted in the population."
)
ALSO = option(
    "--also FILE: Also write the released rows as a file of SPSS (.sav), Stata (.dta) or Excel "
    "(.xlsx), which halfmask verify --also compares with OUT. If TABLE is of SPSS, Stata or SAS, "
    "columns keep their labels, and codes where values are unchanged."
)
REPLACED = flag(
    "--overwrite: Replace an earlier release in OUT. In an object store both stay, and the object "
    "latest.txt in OUT names the new one."
)
#: A longer file is refused unread; of others the message has the length.
_MOST_BYTES = 1 << 20
KEY_FILE = option(
    "--key-file FILE: A file of 32 secret bytes, of mode 0600, that fix the random order of "
    "the released rows. By default halfmask draws random bytes and doesn't store them."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseInputs:
    """What is given besides a table and a policy."""

    heading: ClassVar = "People, order and keys"
    persons: str | None = option(
        "--persons FILE: Where POLICY names the person: a file to write outside of OUT that says "
        "which rows are of one person. halfmask verify --persons FILE counts persons again. Keep "
        "it private."
    )
    population: str | None = POPULATION
    key_file: str | None = KEY_FILE
    pseudonyms: PseudonymVault
    strict: bool = flag(
        "--strict: Fail if fewer than k rows share a combination of values in the columns that "
        "are released unchanged. With masks alone: fail if an attack finds people again."
    )

    def opened(self, *inputs: str) -> dict[str, Any]:
        """Return them as `protect_to` takes them, the key and the vault opened."""
        return {
            "key": key_in(self.key_file),
            "vault": self.pseudonyms.open(*inputs),
            "persons": self.persons,
            "population": self.population,
            "strict": self.strict,
        }


@spreads_groups
def protect(
    table: str = TABLE,
    policy: str | None = argument(
        "POLICY: The policy, a TOML file; halfmask describe proposes one. - reads standard "
        "input. Without it, use the options for columns and -k.",
        None,
    ),
    out: str | None = argument("OUT: The folder to create for the release.", None),
    *,
    folder: str | None = option("--out -o OUT: The same as OUT, as an option."),
    chosen: ChosenColumns,
    overwrite: bool = REPLACED,
    also: str | None = ALSO,
    given: ReleaseInputs,
    booked: BookOptions,
    report: str | None = option(
        "--report DIR: For a database: the folder to create for its manifest and report. By "
        "default NAME.report in the current folder, for the new file NAME or DATABASE.SCHEMA. "
        "reports/{run} keeps the report of each run."
    ),
    budget: ReleaseLedger,
    head: HeaderOptions,
    where_run: EngineOptions,
    show: bool = OPEN,
    saying: SayingOptions,
) -> int:
    """Make a verified release of TABLE by POLICY.

    The release is a folder with the data, a manifest and a report. A verifier counts every
    guarantee of the policy again in the written files. If a guarantee isn't met, there is no
    release and the exit code is 1. A policy may have masks and no guarantees: the report then shows
    what attacks found.

    Without POLICY, use --quasi-identifiers, --sensitive, --label, -k and --out. Other columns get
    the role that halfmask describe proposes. Columns with an unsure proposal are dropped. The
    policy is written next to the release, as OUT.policy.toml.

    For a database, TABLE and OUT are URLs without a table, such as
    postgresql://HOST/DATABASE?schema=NAME or sqlite:///FILE. All tables of the schema are copied
    through the masks of POLICY.
    """
    if is_whole_database(table, head):
        unused: tuple[object, ...] = (chosen.given, given.persons, given.population, given.strict)
        unused += (head.options(), show, where_run.engine, budget.ledger, budget.dataset, also)
        check_database_options(policy, folder or out, unused)
        key, vault = key_in(given.key_file), given.pseudonyms.open(policy or "")
        urls = table, policy or "", folder or out or ""
        return copy_database(*urls, report, key, vault, booked, saying, overwrite=overwrite)
    if report is not None:
        raise UsageError("--report is for databases.", hint="The report is in OUT.")
    out = _out_of(out, folder)
    _check_words(table, policy, out, chosen, overwrite=overwrite)
    opened = given.opened(table, policy or "")
    wanted, more, kept = _read_or_make_policy(
        table, policy, out, chosen, head, saying, booked=booked, overwrite=overwrite
    )
    if isinstance(wanted, rooms.microdata.Policy) and wanted.is_masks_alone:
        _check_masks_alone(given, budget)
    make_release(
        table,
        wanted,
        out,
        options={} if more else head.options(),
        budget=budget,
        booked=booked,
        where_run=where_run,
        saying=saying,
        overwrite=overwrite,
        also=also,
        show=show,
        kept=kept,
        more=more,
        **opened,
    )
    return 0


def _read_or_make_policy(
    table: str,
    policy: str | None,
    out: str,
    chosen: ChosenColumns,
    head: HeaderOptions,
    saying: SayingOptions,
    *,
    booked: BookOptions,
    overwrite: bool,
) -> tuple[Policy | TablesPolicy, Mapping[str, object], AbstractContextManager[None]]:
    """Return a policy; of one that is made its decisions, and a context that keeps it, too."""
    if policy is not None:
        return read_policy(policy), {}, nullcontext()
    where = chosen.policy_path(out, overwrite=overwrite)
    made = chosen.make(table, head, folder=where.parent)
    if booked.receiver is not None:  # who protects by the file next month is checked, too
        made = made.with_text(f"{made.text}\n{booked.section_text()}")
    if not saying.as_json:
        show_decisions(made, where, console())
    kept = PolicyFile(out=str(where), overwrite=overwrite).kept_if_done(made.text)
    return made.policy, {"policy": str(where), "decisions": made.decisions}, kept


def read_policy(where: str) -> Policy | TablesPolicy:
    """Return the policy of a file, or the one on standard input: of people, or of tables."""
    if where != "-":
        return policy_kind(Path(where)).load(where)
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError("The policy on standard input isn't in UTF-8.") from None
    return rooms.microdata.policy_class.policy_class(text).from_toml(text)


def policy_kind(where: Path) -> type[Policy | TablesPolicy]:
    """Return the kind of a policy file by its keys; loading it raises if it can't be read."""
    try:
        return rooms.microdata.policy_class.policy_class(where.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return rooms.microdata.Policy


def make_release(
    table: str,
    policy: Policy | TablesPolicy,
    out: str,
    *,
    options: Mapping[str, Any],
    budget: ReleaseLedger,
    booked: BookOptions,
    where_run: EngineOptions,
    saying: SayingOptions,
    overwrite: bool,
    show: bool,
    also: str | None = None,
    kept: AbstractContextManager[None] = nullcontext(),  # noqa: B008 # it has no state
    more: Mapping[str, object] | None = None,
    **given: Any,  # noqa: ANN401 - of `protect_to`
) -> None:
    """Make a release of any kind, and say what came of it."""
    if also is not None:
        from halfmask.release import check_export  # noqa: PLC0415 # half a second

        check_export(also, overwrite=overwrite)
        if "://" in out:
            raise UsageError(
                "--also reads the release again, which must be a folder on this machine.",
                hint="Leave it out, or give a folder as OUT and copy it.",
            )
    ledger = budget.open(table, is_read_otherwise=bool(options))
    given["book"] = booked.open(policy, given["vault"])
    opened = opened_by(table, policy, options) if options else table
    with kept, where_run.connected() as engine, saying.stages() as stages:
        given |= {"engine": engine, "ledger": ledger, "progress": stages}
        release = rooms.microdata.protect_to(opened, policy, out, overwrite=overwrite, **given)
        if also is not None:
            from halfmask.release import export_release  # noqa: PLC0415 # the same

            stages("exporting")
            export_release(out, also, labels=table, overwrite=overwrite)
    told = {**(more or {}), **({} if also is None else {"also": also})}
    say_release(release, release.run or out, saying, show=show, **told)


def _check_masks_alone(inputs: ReleaseInputs, budget: ReleaseLedger) -> None:
    """Refuse options that are about classes or a budget: they would have no effect."""
    if budget.ledger is not None:
        raise UsageError(
            "--ledger is for a policy with epsilon, and POLICY has none.", hint="Leave it out."
        )
    for name in ("population", "persons"):
        if getattr(inputs, name) is not None:
            raise UsageError(
                f"--{name} is about classes, and POLICY has no [[guarantees]].",
                hint="Leave it out, or add a guarantee.",
            )


def _out_of(argument: str | None, option: str | None) -> str:
    """Return the folder to make, which is named once."""
    if argument is not None and option is not None:
        raise UsageError(
            "OUT is given twice.", hint="Give --out without a POLICY, or POLICY and OUT without it."
        )
    out = option if argument is None else argument
    if out is None:
        raise UsageError(
            "OUT is missing: the folder to make.",
            hint="Give TABLE, POLICY and OUT; or TABLE, --quasi-identifiers, -k and --out.",
        )
    return out


def _check_words(
    table: str, policy: str | None, out: str, chosen: ChosenColumns, *, overwrite: bool
) -> None:
    """Refuse what can't end well before a long reading of the table."""
    if policy is None and not chosen.given:
        raise UsageError(
            "POLICY is missing.",
            hint="Make one with halfmask describe TABLE --out POLICY, or name columns: "
            "--quasi-identifiers age,sex -k 10 --out OUT.",
        )
    if policy is not None and chosen.given:
        raise UsageError(
            "POLICY and options that name columns or k are given.",
            hint="Write them into POLICY; or leave it out and give the folder by --out.",
        )
    if table == policy == "-":
        raise UsageError("TABLE and POLICY both want standard input.", hint="Give one as a file.")
    check_out(out, has_policy=policy is not None, overwrite=overwrite)


def check_out(out: str, *, has_policy: bool = False, overwrite: bool) -> None:
    """Refuse a folder that can't be made, before a long reading of the table."""
    if out == "-":
        raise UsageError("A release is a folder: OUT can't be standard output.")
    if out.lower().endswith(FILE_ENDINGS):
        raise UsageError(
            "A release is a folder: the name of OUT is that of a file.",
            hint='Leave its ending out. The data are in the folder; [output] format = "csv" in '
            "POLICY writes them as CSV.",
        )
    if "://" in out:
        _check_address(out, has_policy=has_policy, overwrite=overwrite)
        return
    if os.path.lexists(out) and not overwrite:
        raise ReleaseError(
            "OUT exists already.", hint="Choose another name, or --overwrite an earlier release."
        )
    parent = Path(out).absolute().parent
    if not parent.is_dir():
        raise ReleaseError("The parent folder of OUT doesn't exist.", hint="Create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ReleaseError(
            "The parent folder of OUT can't be written.",
            hint="Check its permissions, and that its disk isn't read-only.",
        )


def _check_address(out: str, *, has_policy: bool, overwrite: bool) -> None:
    """Refuse an address that no release can be written to."""
    if not has_policy:
        raise UsageError(
            "Without a POLICY, OUT must be a folder here: the policy is written next to it.",
            hint="Make a policy with halfmask describe TABLE --out POLICY.",
        )
    rooms.data.io.object_folder.check_object_folder(out, overwrite=overwrite)


def key_in(where: str | None) -> bytes | None:
    """Return the key in a file, or none without a file."""
    if where is None:
        return None
    key = rooms.vault.read_private_file(where, what="The key file", most=_MOST_BYTES)
    if len(key) != KEY_BYTES:
        raise ParameterError(
            f"The key file must hold {KEY_BYTES} bytes. Got {len(key)}.",
            hint=f"Run (umask 077; head -c {KEY_BYTES} /dev/urandom > FILE) to make one.",
        )
    return key


def opened_by(
    table: str, policy: Policy | TablesPolicy, overrides: Mapping[str, Any]
) -> rooms.data.Source:
    """Open a table as the policy says, except for options of the command line."""
    people = policy if isinstance(policy, rooms.microdata.Policy) else None
    usual = rooms.data.ReadOptions() if people is None else people.read_options()
    try:
        options = replace(usual, **overrides)
    except ParameterError as error:
        raise UsageError(error.what, hint=error.hint) from None
    if people is not None and people.is_private:
        return rooms.microdata.opening.opened_as_texts(
            table, options, rooms.microdata.opening.text_columns(people)
        )
    return rooms.data.open_table(table, options=options)


@spreads_groups
def synthesize(
    table: str = TABLE,
    policy: str = argument(
        "POLICY: The policy, a TOML file with [synthesis]; - reads standard input."
    ),
    out: str = argument("OUT: The folder to create for the release."),
    *,
    overwrite: bool = REPLACED,
    also: str | None = ALSO,
    key_file: str | None = KEY_FILE,
    pseudonyms: PseudonymVault,
    booked: BookOptions,
    budget: ReleaseLedger,
    head: HeaderOptions,
    where_run: EngineOptions,
    show: bool = OPEN,
    saying: SayingOptions,
) -> int:
    """Make a verified release of synthetic rows that are learnt from TABLE.

    The release is a folder with the data, a manifest and a report. The verifier counts in the
    written files that every row keeps every rule. The report shows what attacks found on the
    synthetic rows, on the raw rows and on people who weren't learnt from. If full synthetic rows
    equal original ones more often than chance, there is no release and the exit code is 1.

    With --engine, workers draw rows from the fitted model. The rows are the same on each engine.
    """
    if os.path.lexists(out) and not overwrite:
        raise ReleaseError("The folder exists already.", hint="Give another, or use --overwrite.")
    wanted = read_policy(policy)
    if not isinstance(wanted, rooms.microdata.Policy) or wanted.synthesis is None:
        raise PolicyError(
            "The policy has no [synthesis].",
            hint='Write [synthesis] with kind = "full", or run halfmask protect.',
        )
    make_release(
        table,
        wanted,
        out,
        options=head.options(),
        budget=budget,
        booked=booked,
        where_run=where_run,
        saying=saying,
        overwrite=overwrite,
        also=also,
        show=show,
        key=key_in(key_file),
        vault=pseudonyms.open(policy),
    )
    return 0
