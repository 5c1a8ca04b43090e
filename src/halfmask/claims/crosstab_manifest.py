"""What the manifest of tables of counts and sums holds: dimensions, tables, and columns read.

It holds names, codes that the files show, and hashes. It holds no true value, no reason why a cell
is hidden, and no number of sensitive cells.

Claims, with their parameters, what they are about, and their evidence; a claim without a measure is
about all tables:

- `TRUE_VALUES`: none; evidence ``cells`` (published ones).
- `ADDITIVE`: ``within``, where values were rounded before: half a unit of their last decimal, for
  each cell of a sum; evidence ``equations`` (that have no hidden cell).
- `HIDDEN_INTERVALS`, one for each measure with hidden cells, about ``measure`` (null for counts):
  ``least_width`` of counts, or ``least_share`` of sums (the width as a share of the end that is
  farther from 0); evidence ``hidden`` (cells) and ``narrowest`` (the same as the parameter is).
- `PROTECTED_CELLS`, about ``rules`` (each a `StatedRule`): ``singletons`` and ``hidden_sums``
  (``"on"`` or ``"off"``); a manifest states no number of sensitive cells.
- `EARLIER_TABLES`: ``releases``; the claims on hidden cells hold with these, too.
- `MULTIPLES`: ``base``. `DEVIATIONS`: ``at_most``. `MINIMUM_COUNT`: ``n``.
- `CELL_KEY`: ``max_deviation``, ``variance``; evidence ``transitions``, for each count from 0 on
  the probabilities of each deviation from -max_deviation on; the last is for larger counts, too.
- `PRIVATE_COUNTS`: ``epsilon``, ``delta``; evidence ``events``, as all releases of dp state them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from halfmask.claims._details import At, Details, key, read, released_name
from halfmask.claims.manifest import TABLES

if TYPE_CHECKING:
    from halfmask.claims.claim import Claim, Json

#: The models of their claims.
TRUE_VALUES: Final = "true-values"
ADDITIVE: Final = "additive"
HIDDEN_INTERVALS: Final = "hidden-intervals"
PROTECTED_CELLS: Final = "protected-cells"
EARLIER_TABLES: Final = "earlier-tables"
MULTIPLES: Final = "multiples"
DEVIATIONS: Final = "deviations"
MINIMUM_COUNT: Final = "minimum-count"
CELL_KEY: Final = "cell-key"
PRIVATE_COUNTS: Final = "differential-privacy"

#: What a long table has besides its dimensions, in this order, derived columns before the state.
VALUE: Final = "value"
STATE: Final = "state"
PUBLISHED: Final = "published"
HIDDEN: Final = "hidden"
#: What a cross table shows instead of a hidden value.
CROSSED_OUT: Final = "x"

TableFile: TypeAlias = Annotated[str, lambda at: released_name(at, "data")]
CrossFile: TypeAlias = Annotated[
    str | None, lambda at: at.or_none(lambda it: released_name(it, "data"))
]
Sha256: TypeAlias = Annotated[str, At.sha256]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSum:
    """A code that is the sum of others."""

    total: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDimension:
    """A dimension: its codes in the order of the tables, and which of them are sums of others."""

    #: The name of its column in the tables.
    name: str
    #: The code of all together.
    total: str
    #: codes, sums: as of a dimension; a code that is no sum's total is at the bottom.
    codes: tuple[str, ...]
    sums: tuple[StatedSum, ...]
    #: Columns of the originals that the codes are read from, the last one having the codes at the
    #: bottom; empty: the column of its name.
    levels: tuple[str, ...] = field(default=(), metadata=key(optional=True))
    #: The code of rows without one; ``None``: there are none.
    missing: str | None = field(default=None, metadata=key(optional=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTable:
    """One table and its files."""

    #: Its name.
    name: str
    #: file, crossed: the long table, and the same with the last dimension across; ``None``: there
    #: is none.
    file: TableFile
    crossed: CrossFile
    #: The dimensions that it crosses.
    dimensions: tuple[str, ...]
    #: The column that is summed; ``None`` where rows are counted.
    measure: str | None
    #: Whether contributions may be below 0; the same in all tables of a measure.
    negative: bool
    #: Columns that are made of the value: the mean by row, the share of the table's total.
    derived: tuple[Literal["mean", "share"], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedReady:
    """Columns of a ready table: the value, the number of contributors, the largest of them."""

    value: str
    count: str | None
    largest: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesDetails(Details):
    """What only the manifest of tables of counts and sums has."""

    kind = TABLES
    called = "tables of counts and sums"

    #: Name and parameters of the protection.
    method: Mapping[str, Json]
    #: dimensions, tables: see the values above. All tables together are one system of equations for
    #: each measure.
    dimensions: tuple[StatedDimension, ...]
    tables: tuple[StatedTable, ...]
    #: ``"published"``: a combination of codes without a line is 0. ``"suppressible"``: each has a
    #: line, and one without is 0 all the same.
    zeros: Literal["published", "suppressible"]
    #: The hashes of the manifests of releases that were published before.
    earlier: tuple[Sha256, ...] = field(default=(), metadata=key(optional=True))
    #: owner, weight: columns of the microdata: whose rows they are, and sampling weights.
    owner: str | None = field(default=None, metadata=key(optional=True))
    weight: str | None = field(default=None, metadata=key(optional=True))
    #: How rules see a weighted contribution; ``None`` without weights.
    weights: Literal["replicated", "sample"] | None = field(
        default=None, metadata=key(optional=True)
    )
    #: The columns of ready tables; ``None`` where the tables were made of microdata.
    ready: StatedReady | None = field(default=None, metadata=key(optional=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRule:
    """A rule of the claim `PROTECTED_CELLS`, which has its rules in ``about: rules``.

    Only the parameters of its rule are given; ``tables`` is empty where it is for all that it fits.
    """

    rule: Literal[
        "minimum-frequency",
        "dominance",
        "p-percent",
        "prior-posterior",
        "class-disclosure",
        "zeros",
    ]
    tables: tuple[str, ...] = field(default=(), metadata=key(optional=True))
    n: int | None = field(default=None, metadata=key(optional=True))
    of: Literal["contributors", "rows"] | None = field(default=None, metadata=key(optional=True))
    margin: float | None = field(default=None, metadata=key(optional=True))
    k: float | None = field(default=None, metadata=key(optional=True))
    p: float | None = field(default=None, metadata=key(optional=True))
    q: float | None = field(default=None, metadata=key(optional=True))
    dimension: str | None = field(default=None, metadata=key(optional=True))


def rules_of(claim: Claim) -> tuple[StatedRule, ...]:
    """Return the rules that a claim `PROTECTED_CELLS` is about."""
    rules = At(claim.about.get("rules"), "the claim: rules")
    return rules.each(lambda it: read(StatedRule, it))
