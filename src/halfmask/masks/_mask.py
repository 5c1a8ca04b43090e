"""What a mask is: a technique as a policy names it, what sets it apart, and what it claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeAlias, runtime_checkable

from halfmask.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

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


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskTraits:
    """How a mask differs from most: its class attribute ``traits``.

    Parameters
    ----------
    keeps_equality
        Whether different values stay different, as with tokens.
    reads_raw
        Whether `fit` gets the columns in `reads` without other masks.
    splits_values
        Whether equal cells can be written differently. A count of different values, as in
        l-diversity, would then not be true of people.
    generalizes
        Whether it generalizes: its ``hierarchy`` takes the rows of the column's hierarchy.
    rewrites
        Whether it writes other values, besides making cells missing: then it follows no mask of
        the same column, whose claim would be false.
    alone
        Whether its claim isn't true of classes, so that a policy with guarantees can't have it.
    takes_order
        Whether it uses the order of a column's categories. Texts with an order are given to it as
        a polars ``Enum``.
    keyed_by
        The columns that say which rows are of one person, whose rows it moves together.
    unstated
        Parameters that name categories. They stay out of manifests and reports.

    Examples
    --------
    >>> from halfmask.masks import KeyedTokens, Rounding
    >>> traits_of(KeyedTokens).keeps_equality, traits_of(Rounding(base=5)).keeps_equality
    (True, False)
    """

    keeps_equality: bool = False
    reads_raw: bool = False
    splits_values: bool = False
    generalizes: bool = False
    rewrites: bool = False
    alone: bool = False
    takes_order: bool = False
    keyed_by: tuple[str, ...] = ()
    unstated: tuple[str, ...] = ()


_USUAL: Final = MaskTraits()


def traits_of(mask: object) -> MaskTraits:
    """Return the traits of a mask; the usual ones if it has none of its own."""
    found = getattr(mask, "traits", _USUAL)
    return found if isinstance(found, MaskTraits) else _USUAL


def map_names(mask: object) -> tuple[str, ...]:
    """Return the maps that a mask needs, as a policy calls them."""
    found: tuple[str, ...] = getattr(mask, "map_names", ())
    return found


def counted_claim(
    model: str,
    columns: Sequence[str],
    *,
    evidence: Mapping[str, int] | None = None,
    **parameters: float | str,
) -> Claim:
    """Return a claim about released columns that is counted in the files.

    Examples
    --------
    >>> print(counted_claim("multiples", ["income"], base=100.0).sentence())
    multiples with base = 100.0: counted in the files.
    """
    return Claim(
        model=model,
        parameters=parameters,
        about={"columns": list(columns)},
        basis="counted",
        evidence=dict(evidence or {}),
    )
