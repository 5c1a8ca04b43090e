"""Risk over columns that no class covers: rows that few others equal on a set of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halfmask._validation import integer_at_least
from halfmask.assess.risk._wording import listed, percent

#: Below this share the number of rows is clearer than a percentage.
FEW_SHARE = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSetRisk:
    """How many rows few others equal on a set of released columns.

    Parameters
    ----------
    columns
        The columns that the attacker knows of a person, as the release holds them.
    rows
        The rows of the release.
    unique
        The rows that no other row equals on these columns.
    under_k
        The rows that fewer than k - 1 others equal, unique ones included.
    """

    columns: tuple[str, ...]
    rows: int
    unique: int
    under_k: int

    @property
    def share_unique(self) -> float:
        """The share of rows that are unique, in [0, 1]."""
        return self.unique / self.rows

    @property
    def share_under_k(self) -> float:
        """The share of rows in classes under k, in [0, 1]."""
        return self.under_k / self.rows

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "columns": list(self.columns),
            "unique": self.unique,
            "under_k": self.under_k,
            "share_unique": self.share_unique,
            "share_under_k": self.share_under_k,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumnsRisk:
    """The risk from an attacker who knows columns that are released unchanged.

    Parameters
    ----------
    k
        The class size that is asked for: that of k-anonymity, 2 where the policy has none.
    exact
        Whether all rows were counted. ``False``: estimated on a random part of the classes.
    every
        The risk over all released columns together.
    unchanged
        The risk over all columns that are released unchanged; ``None`` where there are none.
    few
        The sets of one to three unchanged columns that single out most rows, small sets first.
        Each count is of all rows; that there is no worse set of two or three is a search's result.
    masked
        Whether some of these columns are behind a mask.
    """

    k: int
    exact: bool
    every: ColumnSetRisk
    unchanged: ColumnSetRisk | None
    few: tuple[ColumnSetRisk, ...]
    masked: bool = False

    def __post_init__(self) -> None:
        integer_at_least(2, owner="ReleasedColumnsRisk", k=self.k)

    @property
    def treatment(self) -> str:
        """How the columns that no class covers are released, in words."""
        return "released unchanged or masked" if self.masked else "released unchanged"

    @property
    def singles_out(self) -> bool:
        """Whether a row is in a class under k on the unchanged columns."""
        return self.unchanged is not None and self.unchanged.under_k > 0

    @property
    def worst(self) -> ColumnSetRisk | None:
        """The small set that singles out most; if several do, the smallest."""
        return max(self.few, key=lambda it: (it.unique, it.under_k, -len(it.columns)), default=None)

    @property
    def warning(self) -> str | None:
        """The worst in one sentence; ``None`` where each row is in a class of k."""
        if self.unchanged is None or not self.singles_out:
            return None
        unique = self.unchanged.unique > 0
        counts = [
            (each.columns, each.unique if unique else each.under_k)
            for each in (self.worst, self.unchanged)
            if each is not None
        ]
        return singling_out_sentence(
            counts,
            total=self.unchanged.rows,
            k=None if unique else self.k,
            exact=self.exact,
            treatment=self.treatment,
        )

    @property
    def advice(self) -> str | None:
        """What to do about columns that single people out; ``None``: nothing."""
        if self.unchanged is None or not self.singles_out:
            return None
        alone = [each.columns[0] for each in self.few if len(each.columns) == 1 and each.under_k]
        guilty = alone or (self.worst or self.unchanged).columns
        them, their = ("it", "its") if len(guilty) == 1 else ("them", "their")
        named = listed([repr(name) for name in guilty])
        verb = "Coarsen" if self.masked else "Round"
        return (
            f"{verb} {named}, merge {their} rare values before protect, generalize {them} "
            f"(role quasi_identifier), or drop {them} (role identifier)."
        )

    @property
    def sets(self) -> tuple[ColumnSetRisk, ...]:
        """All sets that were counted."""
        whole = () if self.unchanged is None else (self.unchanged,)
        return (self.every, *whole, *self.few)

    def to_dict(self) -> dict[str, object]:
        """Return the numbers under their names, for JSON."""
        return {
            "k": self.k,
            "exact": self.exact,
            "every": self.every.to_dict(),
            "unchanged": None if self.unchanged is None else self.unchanged.to_dict(),
            "few": [each.to_dict() for each in self.few],
        }


def singling_out_sentence(
    counts: Sequence[tuple[Sequence[str], int]],
    *,
    total: int,
    k: int | None,
    exact: bool = True,
    unit: str = "row",
    treatment: str = "released unchanged",
) -> str:
    """Say how many rows or events unchanged columns single out.

    Parameters
    ----------
    counts
        Columns and how many units are alone on them: the worst small set, and then all unchanged
        columns together.
    total
        How many units there are.
    k
        The class size that was missed; ``None`` where the counts are of unique units.
    exact
        Whether all units were counted; ``False`` where the counts are estimates.
    unit
        What is counted, in the singular.
    treatment
        How the columns are released.

    Examples
    --------
    >>> counts = [(["pay"], 25), (["pay", "town", "job"], 100)]
    >>> print(singling_out_sentence(counts, total=100, k=None))
    25 % of the rows are unique on pay alone, 100 % on all 3 columns that are released unchanged. An
    attacker who knows these values finds the row; the guarantees cover quasi-identifiers only.
    """
    *few, (whole, most) = counts
    parts = [(count, _named(columns)) for columns, count in few if count]
    if not few or tuple(few[0][0]) != tuple(whole):
        parts.append((most, _whole(whole, treatment)))
    alone = "unique" if k is None else f"in classes under k = {k}"
    (count, where), *others = parts
    first = f"{_amount(count, total, unit, exact=exact)} {alone} on {where}"
    rest = [f"{_share(other, total, exact=exact)} on {place}" for other, place in others]
    sentence = ", ".join((first, *rest))
    return (
        f"{sentence[0].upper()}{sentence[1:]}. An attacker who knows these values finds the "
        f"{unit}; the guarantees cover quasi-identifiers only."
    )


def _amount(count: int, total: int, unit: str, *, exact: bool) -> str:
    """Say a share of the units, or how many where they are few."""
    if count < FEW_SHARE * total and exact:
        return f"1 {unit} is" if count == 1 else f"{count:,} {unit}s are"
    return f"{_share(count, total, exact=exact)} of the {unit}s are"


def _share(count: int, total: int, *, exact: bool) -> str:
    if count < FEW_SHARE * total and exact:
        return f"{count:,}"
    return f"{'' if exact else 'about '}{percent(count / total)}"


def _named(columns: Sequence[str]) -> str:
    return f"{columns[0]} alone" if len(columns) == 1 else listed(columns)


def _whole(columns: Sequence[str], treatment: str) -> str:
    if len(columns) == 1:
        return f"{columns[0]}, which is {treatment}"
    return f"all {len(columns)} columns that are {treatment}"
