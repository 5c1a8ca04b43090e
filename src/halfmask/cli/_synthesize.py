"""``halfmask synthesize``: from a table and a policy to a release of synthetic rows."""

from __future__ import annotations

import os

from halfmask._errors import PolicyError, ReleaseError
from halfmask.cli._ledger_options import ReleaseLedger
from halfmask.cli._option_groups import argument, spreads_groups
from halfmask.cli._options import OPEN, OVERWRITE, TABLE, EngineOptions, SayingOptions
from halfmask.cli._protect import KEY_FILE, key_in, make_release, read_policy
from halfmask.cli._tables import HeaderOptions


@spreads_groups
def synthesize(
    table: str = TABLE,
    policy: str = argument(
        "POLICY: The policy, a TOML file with [synthesis]; - reads standard input."
    ),
    out: str = argument("OUT: The folder to create for the release."),
    *,
    overwrite: bool = OVERWRITE,
    key_file: str | None = KEY_FILE,
    budget: ReleaseLedger,
    where_run: EngineOptions,
    head: HeaderOptions,
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
    if wanted.synthesis is None:
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
        where_run=where_run,
        saying=saying,
        overwrite=overwrite,
        show=show,
        key=key_in(key_file),
    )
    return 0
