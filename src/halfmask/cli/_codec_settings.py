"""What the command line may say of a codec: the settings that `halfmask.Codec` documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from halfmask.cli._option_groups import flag, option, required

if TYPE_CHECKING:
    from halfmask.encode import Codec

#: `halfmask.encode.Learner` and `Task`, here again: importing that room costs half a second.
LearnerName: TypeAlias = Literal["trees", "distances", "linear", "networks"]
TaskName: TypeAlias = Literal["classification", "regression"]

TASK = option(
    "--task",
    "Whether a target of integers holds classes or numbers; required for integers. By default, "
    "text is classes and decimals are numbers.",
)
CATEGORICAL = option(
    "--categorical COLUMN",
    "A column whose numbers are codes of categories; may be given more than once.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecOptions:
    """The settings of a codec, under their own names."""

    learner: LearnerName = required(
        "--learner",
        "The kind of model: trees (and boosting), distances (and kernels, ridge), linear "
        "models or networks.",
    )
    missing: Literal["visible", "hidden"] = option(
        "--missing-cells", "Whether missing cells stay missing or are encoded, too.", "visible"
    )
    unseen: Literal["error", "reserve"] = option(
        "--unseen", "What to do with a category that the fit didn't see.", "error"
    )
    out_of_range: Literal["extrapolate", "error"] = option(
        "--out-of-range", "What to do with a number outside the range of the fit.", "extrapolate"
    )
    precision: Literal["cell", "column"] = option(
        "--precision",
        "Precision of decoded floats: 1e-12 of each cell, or of the column's largest magnitude.",
        "cell",
    )
    rows: Literal["keyed", "kept"] = option(
        "--rows", "Whether rows are written in a keyed order or in their original order.", "keyed"
    )
    strength: float = option(
        "--strength",
        "With --learner networks: the strength of the keyed non-linear map of numeric columns. "
        "0 means no map.",
        0.0,
        min=0,
        max=4,
    )
    by: str | None = option(
        "--by COLUMN", "A categorical column; each of its values gets a matrix of its own."
    )
    split: bool = flag("--split", "Give frequent categories several codes.")
    min_sibling_rows: int = option(
        "--min-sibling-rows ROWS",
        "With --split: the minimum number of rows of each code.",
        30,
        min=1,
    )

    def codec(self) -> Codec:
        """Return a codec of these settings, to be fitted."""
        from halfmask.encode import Codec  # noqa: PLC0415 # polars takes half a second

        return Codec(**asdict(self))
