"""``halfmask hash``: rows become integers that may leave, by a hasher that stays in a vault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from halfmask._errors import ParameterError
from halfmask.cli._codec_settings import CategoricalOption, TaskOption  # noqa: TC001 # typer's
from halfmask.cli._codecs import (  # typer reads annotations
    OverwriteOption,
    check_streams,
    open_vault,
)
from halfmask.cli._console import console, printable, say_json
from halfmask.cli._failures import UsageError
from halfmask.cli._hash_settings import (  # as above
    BinsOption,
    BitsOption,
    CharactersOption,
    InteractionOption,
    LabelOption,
    NumbersOption,
    PerDoublingOption,
    SetOption,
    SignedOption,
    TextOption,
    WordsOption,
    lengths_of,
)
from halfmask.cli._hashers import (  # as above
    HasherOption,
    check_hasher_free,
    hasher_secret,
    seal_hasher,
    unseal_hasher,
)
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import (  # noqa: TC001 # as above
    DebugOption,
    JsonOption,
    TableArgument,
    VerboseOption,
)
from halfmask.cli._progress import Stages, compilation_announced
from halfmask.cli._tables import Reading  # noqa: TC001 # as above
from halfmask.cli._vault_lock import (  # noqa: TC001 # as above
    KeyFileOption,
    KeyringOption,
    PassphraseFileOption,
)

if TYPE_CHECKING:
    from halfmask.hashing import FileHasher, HasherSettings

__all__ = ["hash_"]


@spreads_groups
def hash_(
    table: TableArgument,
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="The file of hashed rows to write, which may leave; - for standard output.",
        ),
    ],
    *,
    vault: Annotated[
        str,
        typer.Option(
            "--vault", metavar="VAULT", show_default=False, help="The vault that holds the hasher."
        ),
    ],
    hasher: HasherOption,
    fit: Annotated[
        bool, typer.Option("--fit", help="Fit a new hasher to TABLE first, and seal it there.")
    ] = False,
    label: LabelOption = None,
    task: TaskOption = None,
    without_labels: Annotated[
        bool, typer.Option("--without-labels", help="Send no labels, though TABLE has them.")
    ] = False,
    bits: BitsOption = None,
    signed: SignedOption = False,
    numbers: NumbersOption = None,
    bins: BinsOption = None,
    per_doubling: PerDoublingOption = None,
    categorical: CategoricalOption = None,
    interaction: InteractionOption = None,
    text: TextOption = None,
    words: WordsOption = None,
    characters: CharactersOption = None,
    set_: SetOption = None,
    overwrite: OverwriteOption = False,
    reading: Reading,
    key_file: KeyFileOption = None,
    passphrase_file: PassphraseFileOption = None,
    keyring: KeyringOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,  # noqa: ARG001 # main looks for it
) -> int:
    """Hash TABLE's rows by a hasher of the vault.

    OUT is a stream of Arrow that holds integers, and codes of labels. Names, values and the key
    stay here. The settings are those of a new hasher, with --fit.
    """
    check_streams(table, out, passphrase_file, as_json=as_json)
    said: dict[str, object] = {
        "bits": bits, "signed": signed or None, "numbers": numbers, "bins": bins,
        "per_doubling": per_doubling, "categorical": categorical, "text": text, "sets": set_,
        "interactions": None if interaction is None else [it.split(",") for it in interaction],
        "characters": lengths_of(characters, "--characters"),
    }  # fmt: skip
    given = {name: value for name, value in said.items() if value is not None}
    if words is not None:
        given["ngrams"] = lengths_of(words, "--words")
    if not fit and (given or label or task):
        raise UsageError(
            "The settings and the label are those of a hasher that is fitted, and it has them.",
            hint="Give --fit to fit a new one, or leave them away.",
        )
    opened = open_vault(vault, key_file, passphrase_file, keyring=keyring)
    if fit:
        check_hasher_free(opened, hasher)
    err = console(stderr=True)
    settings = _settings(given) if fit else None
    fitted = None if fit else unseal_hasher(opened, hasher)
    with compilation_announced(err), Stages(err, verbose=verbose) as stages:
        source, how = reading.for_hashing(table)
        if fitted is None or settings is not None:
            from halfmask.hashing import FileHasher  # noqa: PLC0415 # polars takes half a second

            fitted = FileHasher.fit(
                source,
                settings=settings or _settings({}),
                secret=hasher_secret(opened, hasher),
                label=label,
                task=task,
                reading=how,
                progress=stages,
            )
            stages("sealing the hasher")
            seal_hasher(opened, hasher, fitted)
        rows = fitted.write(
            source,
            out,
            overwrite=overwrite,
            labelled=False if without_labels else None,
            reading=how,
            progress=stages,
        )
    _answer(fitted, rows, hasher, as_json=as_json)
    return 0


def _settings(given: dict[str, object]) -> HasherSettings:
    from halfmask.hashing import HasherSettings  # noqa: PLC0415 # --help needs none

    try:
        return HasherSettings(**given)  # type: ignore[arg-type] # it says what doesn't fit
    except ParameterError as error:
        raise UsageError(error.what, hint=error.hint) from None


def _answer(fitted: FileHasher, rows: int, name: str, *, as_json: bool) -> None:
    bits, width = fitted.plan.settings.bits, fitted.plan.width
    if as_json:
        classes = None if fitted.codes is None else len(fitted.codes)
        kind = "number" if classes is None else "classes"
        say_json(
            {
                "ok": True,
                "rows": rows,
                "bits": bits,
                "columns": len(fitted.plan.columns),
                "width": width,
                "label": None if fitted.label is None else kind,
                "classes": classes,
            }
        )
        return
    features = f"{width} features each" if width else "as many features as its texts and sets have"
    console(stderr=True).print(
        f"Hashed {rows:,} rows, {features}, to {bits} bits by hasher {printable(name)}. What the "
        "labels are is in the vault.",
        soft_wrap=True,
    )
