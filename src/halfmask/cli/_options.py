"""What several commands may be asked."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import typer

__all__ = ["DebugOption", "FileFormat", "JsonOption", "TableArgument", "VerboseOption"]

#: The formats of `halfmask.data.Format`, here again: importing that room costs half a second.
FileFormat: TypeAlias = Literal["csv", "tsv", "parquet", "arrow", "arrows", "jsonl"]

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        show_default=False,
        help="The table of people: a file (CSV, Parquet, Arrow, JSON lines), a folder of files, "
        "or - for standard input.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Answer programs: one JSON object on standard output.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")]
DebugOption = Annotated[
    bool,
    typer.Option(
        "--debug",
        # main looks for it itself: it must work when the words can't be parsed, too.
        expose_value=False,
        help="Show the traceback of a failure. It may hold values of the table.",
    ),
]
