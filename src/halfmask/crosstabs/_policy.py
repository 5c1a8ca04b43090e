"""The policy of tables: dimensions, tables, what is sensitive, and how it is protected."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, StrictBool, StrictStr, model_validator

from halfmask._errors import PolicyError
from halfmask._policy_files import FileKind, WrittenPolicy
from halfmask._sections import Choice, Names, Number, OneOf, Section
from halfmask.book.section import BookSection, check_unused
from halfmask.claims.manifest import TABLES
from halfmask.crosstabs._protections import PROTECTIONS, Suppression, TableRounding
from halfmask.crosstabs._rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from halfmask.crosstabs._protections import CellProtection
    from halfmask.crosstabs._rules import CellRule

#: Statistics that are made of a published sum: hidden where the sum or its count is.
Derived = Literal["mean", "share"]
RULE: Final = OneOf(kinds=RULES, key="rule")
PROTECTION: Final = OneOf(kinds=PROTECTIONS, key="method")


class DimensionSection(Section):
    """``[dimensions.NAME]``: the codes of a column, and their sums."""

    total: StrictStr = Field(default="Total", description="The code of the total.")
    levels: Names = Field(
        default=(), description="Columns of a tree, from the top down; the last has the codes."
    )
    hierarchy: StrictStr | None = Field(
        default=None, description="A file of the tree: CSV as of ARX, or .hrc as of tau-argus."
    )
    codes: Names = Field(
        default=(), description="All codes at the bottom, where they mustn't be read off the data."
    )
    missing: StrictStr | None = Field(
        default=None, description="The code of missing cells; without it they are refused."
    )
    sums: dict[str, Names] = Field(
        default_factory=dict, description="Further codes, and the codes that each adds up."
    )


class CrosstabSection(Section):
    """``[[tables]]``: one table."""

    name: StrictStr = Field(min_length=1, description="Its name, and that of its file.")
    dimensions: Names = Field(description="The dimensions that it crosses; empty: one cell.")
    value: StrictStr | None = Field(
        default=None, description="The column that is summed; without it rows are counted."
    )
    negative: StrictBool = Field(
        default=False, description="Whether contributions may be negative, as profits are."
    )
    derived: tuple[Derived, ...] = Field(
        default=(), description="Statistics that are shown as well: mean, share."
    )


class ReadySection(Section):
    """``[ready]``: columns of tables that are cells already."""

    value: StrictStr = Field(description="The column of counts or sums.")
    count: StrictStr | None = Field(default=None, description="The column of contributors.")
    largest: Names = Field(
        default=(), description="Columns of the largest contributions, the largest first."
    )


class StateSection(Section):
    """``[cells]``: cells that must be published, or hidden, by their codes."""

    has_categories = True

    publish: tuple[dict[str, StrictStr], ...] = Field(
        default=(), description="Cells that must be published, such as { region = 'north' }."
    )
    hide: tuple[dict[str, StrictStr], ...] = Field(
        default=(), description="Cells that must be hidden."
    )
    margin: Number | None = Field(
        default=None,
        gt=0.0,
        description="The interval that cells to hide need on either side, in percent of them.",
    )


class CrosstabOutput(Section):
    """``[output]``: how tables are written."""

    format: Literal["csv", "parquet", "excel"] = Field(
        default="csv", description="The format of the long tables."
    )


class TablesPolicy(WrittenPolicy):
    """Which tables of counts and sums are made, and how they are protected.

    All tables are protected together: a cell that is in several of them is one cell.

    See Also
    --------
    halfmask.crosstab : The short form, for one table.
    halfmask.protect : Makes the release.

    Examples
    --------
    >>> policy = TablesPolicy.from_toml('''
    ... halfmask-tables = 1
    ... owner = "company"
    ... [[tables]]
    ... name = "turnover"
    ... dimensions = ["region", "sector"]
    ... value = "turnover"
    ... [[rules]]
    ... rule = "p-percent"
    ... p = 10.0
    ... ''')
    >>> policy.tables[0].dimensions
    ('region', 'sector')
    """

    file_kind: ClassVar[FileKind] = "halfmask-tables"

    version: Literal[1] = Field(alias="halfmask-tables", description="The version: 1.")
    owner: StrictStr | None = Field(
        default=None, description="The column of who contributes; several rows may be of one."
    )
    weight: StrictStr | None = Field(default=None, description="The column of sampling weights.")
    weights: Literal["replicated", "sample"] | None = Field(
        default=None,
        description="How rules see a weighted contribution: as that many equal contributors "
        "(replicated), or as one in the sample, compared with the weighted sum (sample).",
    )
    zeros: Literal["published", "suppressible"] = Field(
        default="published", description="Whether cells that nobody is in may be hidden."
    )
    earlier: Names = Field(
        default=(), description="Folders of releases of the same cells that were published before."
    )
    dimensions: dict[str, DimensionSection] = Field(
        default_factory=dict, description="Dimensions, by name; one without levels is a column."
    )
    tables: tuple[CrosstabSection, ...] = Field(
        default=(), description="The tables; empty: each file of ready tables is one."
    )
    ready: ReadySection | None = Field(
        default=None, description="Where the input is tables, not microdata: their columns."
    )
    rules: tuple[Annotated[Choice, RULE], ...] = Field(
        default=(), description="What makes a cell sensitive."
    )
    cells: StateSection = Field(
        default_factory=StateSection, description="Cells whose state is given."
    )
    protection: Annotated[Choice, PROTECTION] = Field(
        default_factory=lambda: _section("suppression"), description="How cells are protected."
    )
    output: CrosstabOutput = Field(
        default_factory=CrosstabOutput, description="How tables are written."
    )
    book: BookSection | None = Field(
        default=None, description="The book of releases that it is checked against."
    )

    if TYPE_CHECKING:  # sections may be given in the words of a file

        def __init__(self, **sections: object) -> None: ...

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        check_unused(self.book, has_people=False)
        for what, hint in (*_table_faults(self), *_protection_faults(self)):
            raise PolicyError(f"The policy {what}", hint=hint)
        return self

    @property
    def kind(self) -> str:
        """The kind of release that it asks for."""
        return TABLES

    @property
    def sha256(self) -> str:
        """The hash of the policy's content."""
        # Policies without them keep their hash.
        unsaid = {"book"} if self.book is None else set()
        unsaid |= set() if self.approval.stated() else {"approval"}
        said = self.model_dump(mode="json", exclude=unsaid)
        text = json.dumps(said, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def folder(self) -> Path | None:
        """The folder that paths in the policy start from; ``None`` without a file."""
        return self._folder

    def with_counts(self) -> TablesPolicy:
        """Return the policy with tables of the counts that its means disclose."""
        counted = {frozenset(each.dimensions) for each in self.tables if each.value is None}
        added = []
        for each in self.tables:
            if "mean" in each.derived and frozenset(each.dimensions) not in counted:
                counted.add(frozenset(each.dimensions))
                name = f"{each.name}-counts"
                added.append(CrosstabSection(name=name, dimensions=each.dimensions))
        return self.model_copy(update={"tables": (*self.tables, *added)})

    def made_rules(self) -> tuple[CellRule, ...]:
        """Return the rules that the sections describe."""
        return tuple(each.made() for each in self.rules)

    def made_protection(self) -> CellProtection:
        """Return how cells are protected."""
        made: CellProtection = self.protection.made()
        return made


#: Columns of every released table.
_OWN: Final = ("value", "state")


def _table_faults(policy: TablesPolicy) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the tables and columns, and what helps."""
    names = [each.name for each in policy.tables]
    names += [f"{each.name}-counts" for each in policy.tables if "mean" in each.derived]
    if len(set(names)) < len(names):
        yield "has two tables of one name.", "Each name is a file; NAME-counts goes with means."
    if not policy.tables and policy.ready is None:
        yield "has no [[tables]].", "Name the dimensions of each table."
    if (policy.weight is None) != (policy.weights is None):
        yield (
            "has weight without weights, or weights without weight.",
            'weight names a column; weights says how rules see it: "replicated" or "sample".',
        )
    if policy.ready is not None and (policy.owner is not None or policy.weight is not None):
        yield (
            "has [ready] with an owner or a weight.",
            "Ready tables have no rows of owners: name their columns count and largest.",
        )
    if policy.ready is not None and any(it.derived for it in policy.tables):
        yield "has [ready] and derived statistics.", "They are made of microdata: leave them out."
    for each in policy.tables:
        if len(set(each.dimensions)) < len(each.dimensions):
            yield f"has the table {each.name!r} with a dimension twice.", "Name each once."
        if "mean" in each.derived and each.value is None:
            yield (
                f"has means in the table {each.name!r}, which counts rows.",
                "Means are of sums: name the column by the key value.",
            )
        taken = {*_OWN, *each.derived} & set(each.dimensions)
        if taken:
            yield (
                (
                    f"has a dimension of the name {min(taken)!r} in the table {each.name!r}, which "
                    "every released table has as a column."
                ),
                f'Name it otherwise, as in [dimensions.area] levels = ["{min(taken)}"].',
            )


def _protection_faults(policy: TablesPolicy) -> Iterator[tuple[str, str]]:
    """Yield what doesn't go with how cells are protected."""
    protection, state = policy.made_protection(), policy.cells
    if isinstance(protection, Suppression):
        if policy.zeros == "published" and any(it.named == "zeros" for it in policy.rules):
            yield "has the rule 'zeros' and publishes zeros.", 'Write zeros = "suppressible".'
        if state.hide and state.margin is None:
            yield (
                "has cells to hide without a margin.",
                "Write margin into [cells], in percent: 10.0, for example.",
            )
        return
    stated = {"[cells]": state.hide or state.publish, "earlier": policy.earlier}
    for name, given in {"[[rules]]": policy.rules, **stated}.items():
        if given:
            what = f"has {name}, which goes with suppression; its protection is"
            hint = "Leave it out: every cell is protected in the same way."
            yield f"{what} {protection.method!r}.", hint
    if not isinstance(protection, TableRounding) and policy.ready is not None:
        yield (
            f"has [ready], which goes with suppression and rounding, and {protection.method!r}.",
            "Give microdata.",
        )
    if not isinstance(protection, TableRounding) and any(it.value for it in policy.tables):
        yield (
            f"has tables of sums; {protection.method!r} protects counts.",
            "Use suppression or rounding for sums, in a policy of their own.",
        )


def _section(method: str) -> Any:  # noqa: ANN401 # of the kind of that name
    section: Any = PROTECTION.section(method)
    return section(method=method)
