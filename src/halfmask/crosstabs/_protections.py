"""Ways to protect a table; here their parameters, as a policy has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from halfmask._validation import check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProtection:
    """A way to protect the cells of a table."""

    method: ClassVar[str]

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression(CellProtection):
    """Hide sensitive cells, and others until published cells don't disclose them."""

    method: ClassVar[str] = "suppression"

    #: How other cells are chosen: ``"linear"`` grows by linear programs, ``"optimal"`` proves the
    #: least cost, ``"elimination"`` is for large tables of counts. ``"auto"`` chooses by size.
    search: Literal["auto", "linear", "optimal", "elimination"] = field(
        default="auto", metadata={"description": "How other cells are chosen."}
    )
    cost: Literal["value", "contributors", "cells"] = field(
        default="value", metadata={"description": "What is kept as far as possible."}
    )
    total_cost: float = field(
        default=1.0, metadata={"ge": 1.0, "description": "Factor for each level of a total."}
    )
    #: What an owner who is alone in a cell may compute of another sensitive cell: less than the
    #: exact value (``"exact"``), no more than others (``"full"``), or anything (``"off"``).
    singletons: Literal["exact", "full", "off"] = field(
        default="exact", metadata={"description": "What the only owner of a cell may compute."}
    )
    hidden_sums: bool = field(
        default=True, metadata={"description": "Whether sums of hidden cells keep the rules."}
    )
    rounds: int = field(
        default=1000, metadata={"ge": 1, "description": "Most rounds for the least cost."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRounding(CellProtection):
    """Round every cell to a multiple of a base."""

    method: ClassVar[str] = "rounding"

    base: float = field(metadata={"gt": 0.0, "description": "What cells are multiples of."})
    #: ``"conventional"`` to the nearest (sums may differ), ``"random"`` up or down without bias
    #: (sums may differ), ``"controlled"`` so that all sums hold.
    way: Literal["conventional", "random", "controlled"] = field(
        default="controlled", metadata={"description": "How; controlled keeps all sums."}
    )
    steps: int = field(
        default=0, metadata={"ge": 0, "description": "Further bases that a cell may differ by."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCounts(CellProtection):
    """Round small inner counts to 0 or a base, so that no count between is left; sums hold.

    Source: Ø. Langsrud and J. Heldal, "An algorithm for small count rounding of tabular data",
    PSD 2018.
    """

    method: ClassVar[str] = "small-counts"

    base: int = field(metadata={"ge": 2, "description": "The least count that is left."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CellKey(CellProtection):
    """Add to each count a number that a key and the people in it determine; sums don't hold.

    The same people have the same count in every table that is made under one vault.

    Source: B. Fraser and J. Wooton, "A proposed method for confidentialising tabular output to
    protect against differencing", 2005; S. Giessing, PSD 2016.
    """

    method: ClassVar[str] = "cell-key"

    max_deviation: int = field(
        metadata={"ge": 1, "description": "The most that is added or taken away."}
    )
    variance: float = field(metadata={"gt": 0.0, "description": "The variance of the addition."})
    record: str = field(metadata={"description": "The column that tells records apart."})
    #: The least count that is left, besides 0: counts 1 to ``least_count`` - 1 never occur.
    least_count: int = field(
        default=1, metadata={"ge": 1, "description": "The least count that is left, besides 0."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCounts(CellProtection):
    """Counts under differential privacy; noise is added to inner cells, and sums hold."""

    method: ClassVar[str] = "differential-privacy"

    epsilon: float = field(metadata={"gt": 0.0, "description": "Of all tables together."})
    person_rows: int = field(
        default=1, metadata={"ge": 1, "description": "The most rows of one owner that count."}
    )


#: Each way by its name in a policy.
PROTECTIONS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        each.method: each
        for each in (Suppression, TableRounding, SmallCounts, CellKey, PrivateCounts)
    }
)
