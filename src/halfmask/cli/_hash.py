"""``halfmask hash``: hash rows to integers by a hasher that stays in a vault."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from halfmask.cli._claims import some
from halfmask.cli._console import printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, spreads_groups
from halfmask.cli._options import OVERWRITE, TABLE, EngineOptions, SayingOptions
from halfmask.cli._stored import (
    HASHERS,
    TASK,
    HashOptions,
    StoredHasher,
    TaskName,
    check_hasher_free,
    check_streams,
    hasher_secret,
    names_folder,
    unseal_hasher,
)
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from halfmask.hashing import FileHasher


@spreads_groups
def hash_(
    table: str = TABLE,
    out: str = argument(
        "OUT: The file of hashed rows to write and send; - for standard output. A name that ends "
        "in / makes a folder of such files, from a TABLE in Parquet files."
    ),
    *,
    place: StoredHasher,
    fit: bool = flag("--fit: Fit a new hasher to TABLE first, and store it in the vault."),
    label: str | None = option(
        "--label COLUMN: The column to predict; its classes are written as codes."
    ),
    task: TaskName | None = TASK,
    without_labels: bool = flag("--without-labels: Write no labels, even if TABLE has them."),
    options: HashOptions,
    overwrite: bool = OVERWRITE,
    reading: Reading,
    where: EngineOptions,
    saying: SayingOptions,
) -> int:
    """Hash the rows of TABLE with a hasher from the vault.

    OUT is an Arrow stream of integers and label codes. It holds no name, no value and no key.
    Settings such as --bits belong to a new hasher, made with --fit. --fit reads TABLE in this
    process, whatever the engine.
    """
    check_streams(table, out, place.lock, as_json=saying.as_json)
    if not fit:
        _check_fitted(is_given=bool(options.given() or label or task))
    if where.engine not in {None, "local"} and not names_folder(out):
        raise UsageError(
            "On a cluster, workers write the hashed rows into a folder.",
            hint="Let OUT end in /, or leave --engine away.",
        )
    vault = place.lock.open(place.vault)
    if fit:
        check_hasher_free(vault, place.hasher)
    settings = options.settings()
    hasher = None if fit else unseal_hasher(vault, place.hasher)
    with where.connected() as engine, saying.stages() as stages:
        source, how = reading.for_hashing(table)
        if hasher is None:
            from halfmask.hashing import FileHasher  # noqa: PLC0415 # polars takes half a second

            hasher = FileHasher.fit(
                source,
                settings=settings,
                secret=hasher_secret(vault, place.hasher),
                label=label,
                task=task,
                reading=how,
                progress=stages,
            )
            stages("sealing the hasher")
            HASHERS.seal(vault, place.hasher, hasher)
        write = partial(hasher.write_folder, engine=engine) if names_folder(out) else hasher.write
        rows = write(
            source,
            out,
            overwrite=overwrite,
            labelled=False if without_labels else None,
            reading=how,
            progress=stages,
        )
    return _answer(hasher, rows, place.hasher, saying)


def _check_fitted(*, is_given: bool) -> None:
    if is_given:
        raise UsageError(
            "The settings and the label are those of a hasher that is fitted, and it has them.",
            hint="Give --fit to fit a new one, or leave them away.",
        )


def _answer(fitted: FileHasher, rows: int, name: str, saying: SayingOptions) -> int:
    bits, width = fitted.plan.settings.bits, fitted.plan.width
    classes = None if fitted.codes is None else len(fitted.codes)
    kind = "number" if classes is None else "classes"
    facts = {
        "rows": rows,
        "bits": bits,
        "columns": len(fitted.plan.columns),
        "width": width,
        "label": None if fitted.label is None else kind,
        "classes": classes,
    }
    features = f"{width} features each" if width else "as many features as its texts and sets have"
    done = (
        f"Hashed {some(rows, 'row')}, {features}, to {bits} bits by hasher {printable(name)}. What "
    )
    return saying.say(facts, f"{done}the labels are is in the vault.", stderr=True)
