"""What the command line may say of a codec: the settings that `halfmask.Codec` documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    from halfmask.encode import Codec

#: `halfmask.encode.Learner` and `Task`, here again: importing that room costs half a second.
LearnerName: TypeAlias = Literal["trees", "distances", "linear", "networks"]
TaskName: TypeAlias = Literal["classification", "regression"]

TaskOption = Annotated[
    TaskName | None,
    typer.Option(
        "--task",
        help="Whether a target of integers holds classes or numbers; required for integers. By "
        "default, text is classes and decimals are numbers.",
    ),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="A column whose numbers are codes of categories; may be given more than once.",
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
            help="The kind of model: trees (and boosting), distances (and kernels, ridge), "
            "linear models or networks.",
        ),
    ]
    missing: Annotated[
        Literal["visible", "hidden"],
        typer.Option(
            "--missing-cells", help="Whether missing cells stay missing or are encoded, too."
        ),
    ] = "visible"
    unseen: Annotated[
        Literal["error", "reserve"],
        typer.Option("--unseen", help="What to do with a category that the fit didn't see."),
    ] = "error"
    out_of_range: Annotated[
        Literal["extrapolate", "error"],
        typer.Option(
            "--out-of-range", help="What to do with a number outside the range of the fit."
        ),
    ] = "extrapolate"
    precision: Annotated[
        Literal["cell", "column"],
        typer.Option(
            "--precision",
            help="Precision of decoded floats: 1e-12 of each cell, or of the column's "
            "largest magnitude.",
        ),
    ] = "cell"
    rows: Annotated[
        Literal["keyed", "kept"],
        typer.Option(
            "--rows", help="Whether rows are written in a keyed order or in their original order."
        ),
    ] = "keyed"
    strength: Annotated[
        float,
        typer.Option(
            "--strength",
            min=0,
            max=4,
            help="With --learner networks: the strength of the keyed non-linear map of numeric "
            "columns. 0 means no map.",
        ),
    ] = 0.0
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="A categorical column; each of its values gets a matrix of its own.",
        ),
    ] = None
    split: Annotated[
        bool, typer.Option("--split", help="Give frequent categories several codes.")
    ] = False
    min_sibling_rows: Annotated[
        int,
        typer.Option(
            "--min-sibling-rows",
            min=1,
            metavar="ROWS",
            help="With --split: the minimum number of rows of each code.",
        ),
    ] = 30

    def codec(self) -> Codec:
        """Return a codec of these settings, to be fitted."""
        from halfmask.encode import Codec  # noqa: PLC0415 # polars takes half a second

        return Codec(**asdict(self))
