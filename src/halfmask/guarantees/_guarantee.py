"""What all guarantees are: values that judge the classes of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from halfmask._errors import ParameterError
from halfmask.guarantees._judgement import Judgement

if TYPE_CHECKING:
    import polars as pl

    from halfmask.guarantees._classes import Classes
    from halfmask.guarantees._criterion import Criterion

__all__ = ["Guarantee"]

Levels = npt.NDArray[np.float64]
Met = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Guarantee(ABC):
    """A privacy model with its parameters and its column.

    A subclass says how classes are measured (``_measure``), in which direction a level is worse,
    and which criterion a compiled loop tests for it.
    """

    model: ClassVar[str]
    monotone: ClassVar[bool] = True
    """Whether merging classes that meet the guarantee always gives a class that meets it."""
    worse_when_larger: ClassVar[bool] = False
    relative: ClassVar[bool] = False
    """Whether a class is held against the whole table, so that suppression anywhere moves it."""

    column: str | None = field(default=None, init=False)

    @property
    def parameters(self) -> dict[str, float | int | str]:
        """The parameters as they stand in a policy; neither the column nor the hierarchy."""
        given = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in given.items()
            if name not in {"column", "hierarchy"}
        }

    @property
    def order(self) -> tuple[str, ...] | None:
        """The order that the column's values must be counted in, or ``None`` for the natural."""
        return None

    def restricted(self, values: pl.Series) -> Guarantee:  # noqa: ARG002 # a subclass needs them
        """Return the guarantee as it stands for a column that holds these values and no others."""
        return self

    def judge(self, classes: Classes) -> Judgement:
        """Measure every class.

        Raises
        ------
        ParameterError
            When there are no rows, or a class without any: an empty table keeps every promise,
            and a promise about nothing must not look like a kept one.
        ColumnNotFoundError
            When the guarantee's column wasn't counted.
        """
        if classes.n_classes == 0 or int(classes.sizes.min()) == 0:
            raise ParameterError(
                f"{self!r} can't be judged: there are no rows, or a class has none.",
                hint="Check that the table isn't empty, and drop classes without rows.",
            )
        levels, met = self._measure(classes)
        failing = np.flatnonzero(~met).astype(np.int64)
        return Judgement(
            guarantee=self,
            achieved=float(levels.max() if self.worse_when_larger else levels.min()),
            levels=levels,
            failing=failing,
            classes=classes.n_classes,
            rows=classes.rows,
            rows_failing=int(classes.sizes[failing].sum()),
        )

    @abstractmethod
    def criterion(self) -> Criterion:
        """Return the guarantee as numbers, for the compiled engine."""

    @abstractmethod
    def _measure(self, classes: Classes) -> tuple[Levels, Met]:
        """Return the level of each class, and whether it meets the guarantee."""

    def __repr__(self) -> str:
        """Show the model's parameters and column; never a hierarchy, which holds values."""
        shown = [f"{name}={value!r}" for name, value in self.parameters.items()]
        if self.column is not None:
            shown.append(f"column={self.column!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
