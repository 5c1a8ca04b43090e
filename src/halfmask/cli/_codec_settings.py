"""What the command line may say of a codec: the settings that `halfmask.Codec` documents."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import typer

__all__ = [
    "ByOption",
    "CategoricalOption",
    "LearnerOption",
    "MinSiblingRowsOption",
    "MissingOption",
    "OutOfRangeOption",
    "PrecisionOption",
    "RowsOption",
    "SplitOption",
    "StrengthOption",
    "TargetOption",
    "TaskOption",
    "UnseenOption",
]

#: `halfmask.encode.Learner` and `Task`, here again: importing that room costs half a second.
LearnerName: TypeAlias = Literal["trees", "distances", "linear", "networks"]
TaskName: TypeAlias = Literal["classification", "regression"]

LearnerOption = Annotated[
    LearnerName,
    typer.Option(
        "--learner",
        show_default=False,
        help="What will learn: trees and boosting; distances, kernels and ridge; linear "
        "models; networks.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option("--target", metavar="COLUMN", help="The column that is to be predicted."),
]
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
MissingOption = Annotated[
    Literal["visible", "hidden"],
    typer.Option("--missing", help="Whether missing cells stay missing, or are coded as well."),
]
UnseenOption = Annotated[
    Literal["error", "reserve"],
    typer.Option("--unseen", help="What a category is that wasn't there at the fit."),
]
OutOfRangeOption = Annotated[
    Literal["extrapolate", "error"],
    typer.Option("--out-of-range", help="What a number beyond those of the fit is."),
]
PrecisionOption = Annotated[
    Literal["cell", "column"],
    typer.Option(
        "--precision",
        help="Floats come back to 1e-12 of each cell, or of their column's largest magnitude.",
    ),
]
RowsOption = Annotated[
    Literal["keyed", "kept"],
    typer.Option("--rows", help="Whether rows leave in a keyed order, or in their own."),
]
StrengthOption = Annotated[
    float,
    typer.Option(
        "--strength", min=0, max=4, help="How far a network's columns are bent; 0 is exact."
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by", metavar="COLUMN", help="A category each of whose values gets its own matrix."
    ),
]
SplitOption = Annotated[
    bool, typer.Option("--split", help="Give frequent categories several codes.")
]
MinSiblingRowsOption = Annotated[
    int,
    typer.Option("--min-sibling-rows", min=1, metavar="ROWS", help="What each of those codes has."),
]
