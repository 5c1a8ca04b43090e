"""Which partitions are tried: the same tree led in several ways, or the one that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.anonymize._guided import Guided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.anonymize._method import Method
    from halfmask.anonymize.training._guidance import Guidance

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
    """

    name: str
    method: Method
    guide: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"Led({self.name!r})"


def partitions(
    method: Method | None, guidance: Guidance, *, several: bool, in_steps: bool = False
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
    in_steps
        Whether the model answers in steps: then only the likeliest leads, and :class:`Guided` is
        also tried led to the end. Where other columns reach the model it isn't tried wider.
    """
    methods = {"": Guided()} if method is None else {"": method}
    if method is None and several:
        if guidance.alone is None or not in_steps:
            methods |= {", wider": Guided(least_gain=WIDER)}
        if in_steps:
            methods |= {", to the end": Guided(least_gain=0.0)}
    guides = {"rows": guidance.said}
    if guidance.alone is not None:
        guides = {"quasi-identifiers alone": guidance.alone} | guides
    if in_steps:
        guides = dict([*guides.items()][:1])
    found = [
        Led(name=f"led by {guided_by}{how}", method=each, guide=guide)
        for how, each in methods.items()
        for guided_by, guide in guides.items()
    ]
    return found if several else found[:1]
