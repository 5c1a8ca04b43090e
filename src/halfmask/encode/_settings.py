"""What the owner asks of a codec, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from halfmask._errors import ParameterError
from halfmask._validation import integer_at_least, number_between, one_of
from halfmask.encode._profile import LEARNERS, PROFILES, Learner

Missing: TypeAlias = Literal["visible", "hidden"]
Unseen: TypeAlias = Literal["error", "reserve"]
OutOfRange: TypeAlias = Literal["error", "extrapolate"]
Rows: TypeAlias = Literal["keyed", "kept"]
Precision: TypeAlias = Literal["cell", "column"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecSettings:
    """The parameters of :class:`Codec`, which documents them."""

    learner: Learner
    name: str
    missing: Missing
    unseen: Unseen
    out_of_range: OutOfRange
    rows: Rows
    strength: float
    by: str
    split: bool
    min_sibling_rows: int
    precision: Precision = "cell"  # plans of 0.1 don't say it

    def __post_init__(self) -> None:
        one_of(LEARNERS, owner="Codec", learner=self.learner)
        one_of(("visible", "hidden"), owner="Codec", missing=self.missing)
        one_of(("error", "reserve"), owner="Codec", unseen=self.unseen)
        one_of(("error", "extrapolate"), owner="Codec", out_of_range=self.out_of_range)
        one_of(("keyed", "kept"), owner="Codec", rows=self.rows)
        one_of(("cell", "column"), owner="Codec", precision=self.precision)
        number_between(0, 4, owner="Codec", strength=self.strength)
        integer_at_least(1, owner="Codec", min_sibling_rows=self.min_sibling_rows)
        if not self.name:
            raise ParameterError("The 'name' parameter of Codec must not be empty.")
        if self.strength and self.learner != "networks":
            raise ParameterError(
                f"The 'strength' parameter of Codec bends columns, which learner={self.learner!r} "
                "does not survive.",
                hint='Leave strength at 0, or use learner="networks".',
            )
        if self.by and PROFILES[self.learner].numbers == "ranks":
            raise ParameterError(
                f"The 'by' parameter of Codec needs a matrix, and learner={self.learner!r} has "
                "none.",
                hint='Leave it out, or use learner "distances", "linear" or "networks".',
            )

    def purpose(self, what: str) -> str:
        """Return the purpose of a key: codecs of different names share none."""
        return f"encode/1/{self.name}/{what}"
