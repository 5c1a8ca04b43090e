"""What the command line may say of a hasher: the settings that `halfmask.KeyedHasher` documents."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from halfmask.cli._failures import UsageError

__all__ = [
    "BinsOption",
    "BitsOption",
    "CharactersOption",
    "InteractionOption",
    "LabelOption",
    "NumbersOption",
    "PerDoublingOption",
    "SetOption",
    "SignedOption",
    "TextOption",
    "WordsOption",
    "lengths_of",
]

LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="The column that is to be predicted; its classes are sent as codes.",
    ),
]
BitsOption = Annotated[
    int | None,
    typer.Option(
        "--bits", min=1, max=31, help="Indices are below two to the power of it.  [default: 22]"
    ),
]
SignedOption = Annotated[
    bool, typer.Option("--signed", help="Send a keyed sign with each index, too.")
]
NumbersOption = Annotated[
    Literal["quantiles", "log", "kept"] | None,
    typer.Option(
        "--numbers",
        help="Numbers become bins of about equal rows, or of equal ratio, or stay what they are.  "
        "[default: quantiles]",
    ),
]
BinsOption = Annotated[
    int | None, typer.Option("--bins", min=2, help="How many bins of quantiles.  [default: 32]")
]
PerDoublingOption = Annotated[
    int | None,
    typer.Option(
        "--per-doubling",
        metavar="N",
        help="How many bins a power of two has: 1, 2, 4, 8 or 16.  [default: 4]",
    ),
]
InteractionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--interaction",
        metavar="COLUMN,COLUMN",
        help="Columns that are hashed together, too; may be given more than once.",
    ),
]
TextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="A column whose words are hashed; may be given more than once.",
    ),
]
WordsOption = Annotated[
    str | None,
    typer.Option(
        "--words",
        metavar="FROM,TO",
        help="The lengths of runs of words; 0 for none.  [default: 1,1]",
    ),
]
CharactersOption = Annotated[
    str | None,
    typer.Option("--characters", metavar="FROM,TO", help="The lengths of runs of characters."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="COLUMN",
        help="A column of lists whose members are hashed; may be given more than once.",
    ),
]


def lengths_of(said: str | None, option: str) -> tuple[int, int] | None:
    """Return the shortest and the longest run, said as ``2,3``, ``2``, or ``0`` for none."""
    if said is None or said.strip() == "0":
        return None
    try:
        found = [int(each) for each in said.split(",")]
    except ValueError:
        found = []
    if len(found) not in {1, 2}:
        raise UsageError(f"{option} takes one or two whole numbers.", hint=f"Give {option} 1,2.")
    return found[0], found[-1]
