"""Which partitions are tried: the same tree led in several ways, or the one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halfmask.anonymize._guided import Guided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize._method import Method
    from halfmask.training._guidance import Guidance

__all__ = ["Led", "partitions"]

#: A share of the gain below which the widest column is cut already: with few classes, columns that
#: the guide hardly looks at must still be told apart somewhere.
WIDER = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """A method and what leads it.

    Parameters
    ----------
    name
        How the partition is called.
    method
        How classes are found.
    guide
        What leads, (rows, outputs).
    by_others
        Whether columns that aren't recoded are cut, too.
    by_encoding
        Whether the columns that the model sees are cut, rather than the table's.
    """

    name: str
    method: Method
    guide: NDArray[np.float64]
    by_others: bool = False
    by_encoding: bool = False

    def __repr__(self) -> str:
        return f"Led({self.name!r})"

    def of(self, places: NDArray[np.int64]) -> Led:
        """Return it as the leader of some of the rows."""
        return replace(self, guide=self.guide[places])


def partitions(
    method: Method | None,
    guidance: Guidance,
    *,
    several: bool,
    labels: NDArray[np.float64] | None = None,
    others: bool = False,
    encoding: bool = False,
) -> list[Led]:
    """Return what is tried, the likeliest first.

    Parameters
    ----------
    method
        The one that was asked for; ``None``: :class:`Guided`.
    guidance
        What leads.
    several
        Whether there may be more than one: a method that was asked for is led by all that leads,
        and :class:`Guided` is tried with a second ``least_gain``.
    labels
        For a model that answers in steps the labels as a guide, (rows, outputs): then the likeliest
        leads, and they, and :class:`Guided` is led to the end rather than wider.
    others
        Whether there are other columns that rows can be parted by.
    encoding
        Whether the columns that the model sees may be cut.

    Notes
    -----
    Where other columns reach a model that answers in steps, what it says of quasi-identifiers case
    by case leads, too, to the end; and those columns are cut: a class has at least k rows of one
    point then as ever, and its point goes along with them. A method that was asked for is tried
    under each name that leads, whether it looks at what leads or not.
    """
    end = {", wider": Guided(least_gain=WIDER)}
    guides = {"rows": guidance.said}
    parting: dict[str, NDArray[np.float64]] = {}
    if guidance.alone is not None:
        guides = {"quasi-identifiers alone": guidance.alone} | guides
    if labels is not None:
        end = {", to the end": Guided(least_gain=0.0)}
        parting = {"labels": labels, "rows": guidance.said} if others else {}
        guides = dict([*guides.items()][:1]) | {"labels": labels}
    methods = {"": Guided()} | end if method is None else {"": method}
    found = [
        Led(name=f"led by {guided_by}{how}", method=each, guide=guide)
        for how, each in methods.items()
        for guided_by, guide in guides.items()
    ]
    by_case = _by_case(guidance) if labels is not None else {}
    how, each = [*methods.items()][-1]
    found += [
        Led(name=f"led by {name}{how}", method=each, guide=guide) for name, guide in by_case.items()
    ]
    found += [
        Led(
            name=f"led by {guided_by}{how}, by other columns too",
            method=each,
            guide=guide,
            by_others=True,
        )
        for how, each in methods.items()
        for guided_by, guide in parting.items()
    ]
    if labels is not None and method is None and encoding:
        found += [
            Led(
                name=f"led by {guided_by}, to the end, by the model's columns",
                method=end[", to the end"],
                guide=guide,
                by_encoding=True,
            )
            for guided_by, guide in (guides | by_case).items()
        ]
    return found if several else found[:1]


def _by_case(guidance: Guidance) -> dict[str, NDArray[np.float64]]:
    """Return what is said case by case as a guide, (rows, cases times outputs), if it is known."""
    cases = guidance.cases
    return (
        {} if cases is None else {"quasi-identifiers case by case": cases.reshape(len(cases), -1)}
    )
