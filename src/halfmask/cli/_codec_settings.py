"""What the command line may say of a codec: the settings that `halfmask.Codec` documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    from halfmask.encode import Codec

__all__ = ["CategoricalOption", "CodecOptions", "TaskOption"]

#: `halfmask.encode.Learner` and `Task`, here again: importing that room costs half a second.
LearnerName: TypeAlias = Literal["trees", "distances", "linear", "networks"]
TaskName: TypeAlias = Literal["classification", "regression"]

TaskOption = Annotated[
    TaskName | None,
    typer.Option("--task", help="What a target of integers is: classes, or numbers."),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="A column whose numbers are names of categories; may be given more than once.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecOptions:
    """The settings of a codec, under their own names."""

    learner: Annotated[
        LearnerName,
        typer.Option(
            "--learner",
            show_default=False,
            help="What will learn: trees and boosting; distances, kernels and ridge; linear "
            "models; networks.",
        ),
    ]
    missing: Annotated[
        Literal["visible", "hidden"],
        typer.Option(
            "--missing-cells", help="Whether missing cells stay missing, or are coded as well."
        ),
    ] = "visible"
    unseen: Annotated[
        Literal["error", "reserve"],
        typer.Option("--unseen", help="What a category is that wasn't there at the fit."),
    ] = "error"
    out_of_range: Annotated[
        Literal["extrapolate", "error"],
        typer.Option("--out-of-range", help="What a number beyond those of the fit is."),
    ] = "extrapolate"
    precision: Annotated[
        Literal["cell", "column"],
        typer.Option(
            "--precision",
            help="Floats come back to 1e-12 of each cell, or of their column's largest magnitude.",
        ),
    ] = "cell"
    rows: Annotated[
        Literal["keyed", "kept"],
        typer.Option("--rows", help="Whether rows are written in a keyed order, or in their own."),
    ] = "keyed"
    strength: Annotated[
        float,
        typer.Option(
            "--strength", min=0, max=4, help="How far a network's columns are bent; 0 is exact."
        ),
    ] = 0.0
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="COLUMN", help="A category each of whose values gets its own matrix."
        ),
    ] = None
    split: Annotated[
        bool, typer.Option("--split", help="Give frequent categories several codes.")
    ] = False
    min_sibling_rows: Annotated[
        int,
        typer.Option(
            "--min-sibling-rows", min=1, metavar="ROWS", help="What each of those codes has."
        ),
    ] = 30

    def codec(self) -> Codec:
        """Return a codec of these settings, to be fitted."""
        from halfmask.encode import Codec  # noqa: PLC0415 # polars takes half a second

        return Codec(**asdict(self))
