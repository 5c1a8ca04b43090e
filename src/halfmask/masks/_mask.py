"""What a mask is: a technique as a policy names it, and the same fitted to a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import polars as pl

    from halfmask.claims import Claim
    from halfmask.masks._value_counts import ValueCounts

#: Reads released columns.
ReadColumns: TypeAlias = "Callable[[Sequence[str]], pl.DataFrame]"


@runtime_checkable
class ClaimingMask(Protocol):
    """A mask of cells whose effect can be counted in the files."""

    def claims(self, columns: Sequence[str], read: ReadColumns) -> Sequence[Claim]:
        """Return what can be counted of the released columns.

        Parameters
        ----------
        columns
            The columns that the mask changed.
        read
            Reads columns of the release, for evidence.
        """


class MaskPlan(Protocol):
    """A mask fitted to one column. It may hold values or a key: keep it at home."""

    def apply(self, column: pl.Series, first_row: int) -> pl.Series:
        """Return the released column, of the type that `Mask.written` says.

        Parameters
        ----------
        column
            Cells of one batch. Missing cells stay missing.
        first_row
            The number of the batch's first row in the table, from 0.
        """


class Mask(Protocol):
    """One technique for one column, with its parameters: a value, and publishable.

    Attributes
    ----------
    name
        As policies and manifests write it.
    coarsens
        Whether what is written follows from the value alone. Then counts over what is written are
        true of people, and a guarantee may be about the column. Otherwise it is randomised: values
        are nobody's, and a guarantee about them would say nothing.
    is_matchable
        Whether an attacker with a person's value knows what is written for it, roughly or with
        some probability. The risk over released columns then counts the column.
    needs_counts
        Whether `fit` is given the column's values.
    """

    name: ClassVar[str]
    coarsens: ClassVar[bool]
    is_matchable: ClassVar[bool]

    @property
    def needs_counts(self) -> bool:
        """Whether `fit` is given the column's values."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""

    def written(self, column: str, dtype: pl.DataType) -> pl.DataType:
        """Return the type of what is written for a column of a type.

        Parameters
        ----------
        column, dtype
            Its name and its type in the table.

        Raises
        ------
        SchemaError
            If the technique isn't for columns of this type.
        """

    def fit(
        self, column: str, dtype: pl.DataType, counts: ValueCounts | None, key: bytes
    ) -> MaskPlan:
        """Return the plan for a column.

        Parameters
        ----------
        column, dtype
            Its name and its type in the table.
        counts
            Its values, where `needs_counts`.
        key
            32 secret bytes of this column alone.
        """
