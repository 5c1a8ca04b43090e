"""Primary rules: what makes a cell sensitive. Here their parameters; `_primary` applies them.

Source: Handbook on Statistical Disclosure Control, 2nd edition, section 4.2.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from halfmask._errors import ParameterError
from halfmask._validation import check_fields

_TABLES = field(
    default=(), metadata={"description": "Tables that it is for, by name; empty: all it fits."}
)
_MARGIN: Final = {
    "gt": 0.0,
    "description": "Protection on either side in percent; sums need it, counts may have it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRule:
    """What makes a cell of a table sensitive."""

    rule: ClassVar[str]
    tables: tuple[str, ...] = _TABLES

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumFrequency(CellRule):
    """A cell with at least one and fewer than ``n`` contributors or rows is sensitive."""

    rule: ClassVar[str] = "minimum-frequency"

    n: int = field(metadata={"ge": 2, "description": "The least number that isn't sensitive."})
    #: Whether contributors (owners) or rows are counted, in the sample and without weights.
    of: Literal["contributors", "rows"] = field(
        default="contributors", metadata={"description": "What is counted in a cell."}
    )
    #: The protection that a sensitive sum needs on either side, in percent of its absolute
    #: contributions. A count needs an interval from 1 below its value up to ``n``.
    margin: float | None = field(default=None, metadata=_MARGIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance(CellRule):
    """A sum is sensitive if its ``n`` largest contributions are more than ``k`` percent of it."""

    rule: ClassVar[str] = "dominance"

    n: int = field(metadata={"ge": 1, "le": 5, "description": "How many contributions."})
    k: float = field(metadata={"gt": 0.0, "lt": 100.0, "description": "Percent of the sum."})


@dataclass(frozen=True, slots=True, kw_only=True)
class PPercent(CellRule):
    """A sum is sensitive if its second contributor can tell the largest within ``p`` percent."""

    rule: ClassVar[str] = "p-percent"

    p: float = field(metadata={"gt": 0.0, "description": "Percent of the largest contribution."})


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorPosterior(CellRule):
    """The p-percent rule, if contributions are known within ``q`` percent before."""

    rule: ClassVar[str] = "prior-posterior"

    p: float = field(metadata={"gt": 0.0, "description": "Percent of the largest contribution."})
    q: float = field(
        metadata={"gt": 0.0, "le": 100.0, "description": "Percent that is known before."}
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.p >= self.q:
            raise ParameterError(
                f"The 'p' parameter of PriorPosterior must be below q. Got p={self.p:g} and "
                f"q={self.q:g}.",
                hint="An attacker who knows contributions within q percent before needs no "
                "table for that.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDisclosure(CellRule):
    """A count is sensitive if all of a group are in one category of a dimension.

    A group is a combination of codes of the other dimensions. It is protected once it can't be
    excluded that one of them is in another category: that needs cells that nobody is in.
    """

    rule: ClassVar[str] = "class-disclosure"

    dimension: str = field(metadata={"description": "Whose categories nobody may learn."})


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveZeros(CellRule):
    """A cell that nobody is in is sensitive: that nobody is in it can be what harms."""

    rule: ClassVar[str] = "zeros"


#: Each rule by its name in a policy.
RULES: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        each.rule: each
        for each in (
            MinimumFrequency,
            Dominance,
            PPercent,
            PriorPosterior,
            ClassDisclosure,
            SensitiveZeros,
        )
    }
)
