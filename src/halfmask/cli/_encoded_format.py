"""The format of a file of encoded rows, as its name or an option says it; or a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import option

if TYPE_CHECKING:
    from halfmask.encode import EncodedFormat

#: `halfmask.encode.EncodedFormat`, here again: importing that room costs half a second.
OutFormat: TypeAlias = Literal["parquet", "csv", "arrow"]
ENDS: dict[str, EncodedFormat] = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow"}

OUT_FORMAT = option("--out-format", "OUT's format, if its name doesn't state it.")


def encoded_format(out: str, wanted: EncodedFormat | None) -> EncodedFormat:
    """Return the format to write: the wanted one, or that of the end of OUT's name."""
    if names_folder(out):
        if wanted not in {None, "parquet"}:
            raise UsageError(
                "A folder holds files of Parquet.", hint="Leave --out-format away, or give a file."
            )
        return "parquet"
    found = wanted or ("parquet" if out == "-" else ENDS.get(Path(out).suffix.lower()))
    if found is None:
        raise UsageError(
            "OUT's name doesn't say its format.",
            hint="Let it end in .parquet, .csv or .arrow, or in / for a folder, or give "
            "--out-format.",
        )
    return found


def names_folder(out: str) -> bool:
    """Return whether OUT is a folder to make: its name ends in a slash."""
    return out.endswith("/")
