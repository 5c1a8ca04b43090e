"""Numbers in the sentences of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """List names as a sentence does.

    Parameters
    ----------
    names
        The names to join.

    Examples
    --------
    >>> listed(["age"]), listed(["age", "sex"]), listed(["age", "sex", "pay"])
    ('age', 'age and sex', 'age, sex and pay')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def percent(share: float) -> str:
    """Format a share as a percentage, without rounding to 0 % or 100 %.

    Parameters
    ----------
    share
        A share between 0 and 1.

    Examples
    --------
    >>> percent(0.1), percent(0.00001), percent(0.0), percent(0.99999), percent(1.0)
    ('10 %', 'less than 0.01 %', '0 %', 'more than 99.99 %', '100 %')
    """
    if 0 < share < 0.0001:
        return "less than 0.01 %"
    if 0.9999 < share < 1:
        return "more than 99.99 %"
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def row_text(n: int) -> str:
    """Say a number of rows.

    Examples
    --------
    >>> row_text(1), row_text(48842)
    ('1 row', '48,842 rows')
    """
    return "1 row" if n == 1 else f"{n:,} rows"
