"""``halfmask reverse``: turn released pseudonyms back into values."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask._errors import PolicyError
from halfmask.cli._claims import some
from halfmask.cli._codecs import check_streams
from halfmask.cli._events_run import POLICY, check_apart
from halfmask.cli._option_groups import argument, required, spreads_groups
from halfmask.cli._options import OVERWRITE, SayingOptions
from halfmask.cli._vault_lock import LockOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.data import Source
    from halfmask.masks import Mask


@spreads_groups
def reverse(
    policy: str = POLICY,
    released: str = argument(
        "RELEASED: The folder of a release, or a file with released columns; - for standard "
        "input. Of a copied database the URL of a table, as in ?schema=masked&table=orders."
    ),
    out: str = argument(
        "OUT: The file to write. Keep it confidential. - writes Parquet to standard output."
    ),
    *,
    vault: str = required("--vault VAULT: The vault that the release was protected with."),
    lock: LockOptions,
    overwrite: bool = OVERWRITE,
    saying: SayingOptions,
) -> int:
    """Reverse the pseudonyms of RELEASED.

    It reverses the masks reversible-token and format-preserving of POLICY with scope = "vault", in
    the columns that RELEASED has. Other columns stay as released. OUT has the mode 0600.
    """
    check_streams(released, out, lock, as_json=saying.as_json)
    check_apart(out, policy, released)
    opened = lock.open(vault)
    from halfmask.data import TableWriter  # noqa: PLC0415 # half a second
    from halfmask.masks import is_reversible, pseudonym_key, reverse_masks  # noqa: PLC0415

    masks = {
        name: mask
        for name, mask in _masks(policy, released).items()
        if is_reversible(mask) and getattr(mask, "scope", None) == "vault"
    }
    source = _opened(released, tuple(masks))
    here = {name: mask for name, mask in masks.items() if name in source.columns}
    table = reverse_masks(source, here, vault_key=pseudonym_key(opened, create=False))
    before = os.umask(0o077)
    try:
        with (
            saying.stages() as stages,
            TableWriter(out, overwrite=overwrite, guard_formulas=False) as writer,
        ):
            for batch in table.batches():
                writer.write(batch)
                stages("reversing", min(1.0, writer.rows / max(1, table.n_rows)))
    finally:
        os.umask(before)
    return saying.say(
        {"rows": writer.rows, "columns": list(here)},
        f"Reversed {some(len(here), 'column')} of {some(writer.rows, 'row')}. Don't release them.",
        stderr=True,
    )


def _masks(policy: str, released: str) -> Mapping[str, Mask]:
    """Return the masks of the released table by a policy of tables or of a database."""
    from halfmask.data import DatabaseUrl, is_database_url  # noqa: PLC0415 # half a second
    from halfmask.microdata import Policy  # noqa: PLC0415 # the same

    if not is_database_url(released):
        return Policy.load(policy).masks
    with suppress(PolicyError):  # rows of a release may lie in a database, too
        return Policy.load(policy).masks
    from halfmask.databases import DatabasePolicy  # noqa: PLC0415 # half a second
    from halfmask.databases.reversal import reversible_masks  # noqa: PLC0415 # the same

    return reversible_masks(DatabaseUrl.parse(released), DatabasePolicy.load(policy))


def _opened(released: str, texts: Sequence[str]) -> Source:
    """Open released rows; pseudonyms of digits alone are texts."""
    from halfmask.data import ReadOptions, open_table  # noqa: PLC0415 # half a second

    path = Path(released)
    if released != "-" and (path / "manifest.json").is_file():
        from halfmask.claims import read_manifest  # noqa: PLC0415 # the same

        files = [path / it.name for it in read_manifest(path).files]
        released = str(files[0] if len(files) == 1 else files[0].parent)
    first = open_table(released, called="The released table")
    if first.format not in {"csv", "tsv", "jsonl"} or released == "-":
        return first
    declared = {name: "string" for name in texts if name in first.columns}
    return open_table(released, options=ReadOptions(dtypes=declared), called="The released table")
