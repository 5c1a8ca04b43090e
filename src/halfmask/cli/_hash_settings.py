"""What the command line may say of a hasher: the settings that `halfmask.KeyedHasher` documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from halfmask._errors import ParameterError
from halfmask.cli._codec_settings import CategoricalOption  # noqa: TC001 # typer reads it
from halfmask.cli._failures import UsageError

if TYPE_CHECKING:
    from halfmask.hashing import HasherSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class HashOptions:
    """The settings of a hasher; what isn't given is `halfmask.KeyedHasher`'s default."""

    bits: Annotated[
        int | None,
        typer.Option(
            "--bits",
            min=1,
            max=31,
            help="Indices are below 2 to the power of this number.  [default: 22]",
        ),
    ] = None
    signed: Annotated[
        bool, typer.Option("--signed", help="Also write a keyed sign with each index.")
    ] = False
    numbers: Annotated[
        Literal["quantiles", "log", "raw"] | None,
        typer.Option(
            "--numbers",
            help="Put numbers into bins of about equal row counts (quantiles) or of equal "
            "ratio (log), or write them unbinned, as 32-bit floats (raw).  [default: quantiles]",
        ),
    ] = None
    bins: Annotated[
        int | None, typer.Option("--bins", min=2, help="Number of quantile bins.  [default: 32]")
    ] = None
    bins_per_octave: Annotated[
        int | None,
        typer.Option(
            "--bins-per-octave",
            metavar="N",
            help="Number of log bins per power of two: 1, 2, 4, 8 or 16.  [default: 4]",
        ),
    ] = None
    categorical: CategoricalOption = None
    interaction: Annotated[
        list[str] | None,
        typer.Option(
            "--interaction",
            metavar="COLUMN,COLUMN",
            help="Columns that are also hashed as a combination; may be given more than once.",
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="COLUMN",
            help="A column whose words are hashed; may be given more than once.",
        ),
    ] = None
    words: Annotated[
        str | None,
        typer.Option(
            "--words",
            metavar="FROM,TO",
            help="The lengths of word n-grams; 0 for none.  [default: 1,1]",
        ),
    ] = None
    characters: Annotated[
        str | None,
        typer.Option("--characters", metavar="FROM,TO", help="The lengths of character n-grams."),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="COLUMN",
            help="A column of lists whose members are hashed; may be given more than once.",
        ),
    ] = None

    def given(self) -> dict[str, object]:
        """Return what was given, as `halfmask.hashing.HasherSettings` takes it."""
        together = self.interaction
        found: dict[str, object] = {
            "bits": self.bits,
            "signed": self.signed or None,
            "numbers": self.numbers,
            "bins": self.bins,
            "bins_per_octave": self.bins_per_octave,
            "categorical": self.categorical,
            "text": self.text,
            "sets": self.set_,
            "interactions": None if together is None else [it.split(",") for it in together],
            "characters": _lengths(self.characters, "--characters"),
        }
        given = {name: value for name, value in found.items() if value is not None}
        return given if self.words is None else given | {"ngrams": _lengths(self.words, "--words")}

    def settings(self) -> HasherSettings:
        """Return the settings of a hasher that is to be fitted."""
        from halfmask.hashing import HasherSettings  # noqa: PLC0415 # --help needs none

        try:
            return HasherSettings(**self.given())  # type: ignore[arg-type] # it says what doesn't fit
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


def _lengths(given: str | None, option: str) -> tuple[int, int] | None:
    """Return the shortest and the longest run, given as ``2,3``, ``2``, or ``0`` for none."""
    if given is None or given.strip() == "0":
        return None
    try:
        found = [int(each) for each in given.split(",")]
    except ValueError:
        found = []
    if len(found) not in {1, 2}:
        raise UsageError(f"{option} takes one or two whole numbers.", hint=f"Give {option} 1,2.")
    return found[0], found[-1]
