"""The policy of a database: what becomes of each column of each table."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, model_validator

from halfmask._errors import PolicyError
from halfmask._policy_files import FileKind, WrittenPolicy, near
from halfmask._sections import Number, Section, Whole
from halfmask.book.section import BookSection, check_unused
from halfmask.claims.manifest import DATABASE
from halfmask.microdata.mask_section import MaskSection, TableMaskSection, mask_parameters

if TYPE_CHECKING:
    from halfmask.masks import Mask

#: What a column is without a mask: copied, left out, or masked like the column it references.
Word = Literal["keep", "drop", "reference"]
_WORDS = ("keep", "drop", "reference")


class ColumnRule(Section):
    """What becomes of a column: a word or a mask."""

    word: Word | None = None
    mask: MaskSection | None = Field(default=None, description="What is done to each cell.")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.word is None) == (self.mask is None):
            raise PolicyError(
                "must be a word or have a mask.",
                hint='Write "keep", "drop", "reference" or { mask = { name = "token" } }.',
            )
        return self

    def stated(self) -> object:
        """Return the rule as a policy writes it."""
        if self.mask is None:
            return self.word
        return {"mask": mask_parameters(self.mask)}


def _rule(given: object) -> object:
    if isinstance(given, str):
        if given not in _WORDS:
            raise PolicyError("is no word for a column.", hint=near(given, _WORDS))
        return {"word": given}
    if isinstance(given, dict) and "word" in given:
        raise PolicyError("has no key 'word'.", hint='Write "keep" alone.')
    return given


class TableSection(Section):
    """``[tables.NAME]``: one table of the schema."""

    drop: StrictBool = Field(default=False, description="Whether the whole table is left out.")
    columns: dict[str, Annotated[ColumnRule, BeforeValidator(_rule)]] = Field(
        default_factory=dict, description="What becomes of each column, by name."
    )
    masks: tuple[TableMaskSection, ...] = Field(
        default=(), description="Masks of several columns, in order, after those of single ones."
    )

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.drop == bool(self.columns):
            raise PolicyError(
                "must name its columns, or be dropped.",
                hint="Write drop = true, or name each column under columns.",
            )
        return self


class SubsetSection(Section):
    """``[subset]``: the rows to begin with; foreign keys lead to the others."""

    table: StrictStr = Field(description="The table that rows are chosen of.")
    fraction: Annotated[Number, Field(gt=0, lt=1)] | None = Field(
        default=None, description="The share of its rows, chosen at random."
    )
    limit: Annotated[Whole, Field(ge=1)] | None = Field(
        default=None, description="The number of its rows, chosen at random."
    )
    where: StrictStr | None = Field(default=None, description="A condition in the database's SQL.")

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if self.fraction is not None and self.limit is not None:
            raise PolicyError("has a fraction and a limit.", hint="Choose one of them.")
        if self.fraction is None and self.limit is None and self.where is None:
            raise PolicyError("says of no row.", hint="Add fraction, limit or where.")
        return self


class DatabasePolicy(WrittenPolicy):
    """What becomes of each column of each table of a schema; publishable.

    Each table and each column must be named: none is copied by default.

    See Also
    --------
    halfmask.databases.protect_database : Copy a database by it.

    Examples
    --------
    >>> policy = DatabasePolicy.from_toml('''
    ... halfmask-database = 1
    ... [tables.customers.columns]
    ... id = { mask = { name = "token" } }
    ... city = "keep"
    ... [tables.orders.columns]
    ... customer_id = "reference"
    ... ''')
    >>> policy.tables["orders"].columns["customer_id"].word
    'reference'
    """

    file_kind: ClassVar[FileKind] = "halfmask-database"

    version: Literal[1] = Field(alias="halfmask-database", description="The version: 1.")
    tables: dict[str, TableSection] = Field(description="Each table of the schema, by name.")
    subset: SubsetSection | None = Field(default=None, description="Rows that are copied.")
    book: BookSection | None = Field(
        default=None, description="The book of releases that it is checked against."
    )

    if TYPE_CHECKING:  # sections may be given in the words of a file

        def __init__(self, **sections: object) -> None: ...

    @model_validator(mode="after")
    def _books_no_people(self) -> Self:
        check_unused(self.book, has_people=False)
        return self

    @property
    def kind(self) -> str:
        """The kind of release that it asks for."""
        return DATABASE

    @property
    def dropped(self) -> tuple[str, ...]:
        """The tables and columns that aren't copied."""
        return tuple(
            f"{table}.{column}"
            for table, section in self.tables.items()
            for column in (("*",) if section.drop else section.columns)
            if section.drop or section.columns[column].word == "drop"
        )

    @property
    def sha256(self) -> str:
        """The hash of the policy's content."""
        stated = {
            "tables": {
                name: {
                    "drop": table.drop,
                    "columns": {column: rule.stated() for column, rule in table.columns.items()},
                    "masks": [mask_parameters(mask) for mask in table.masks],
                }
                for name, table in self.tables.items()
            },
            "subset": None if self.subset is None else self.subset.model_dump(),
        }
        if self.book is not None:
            stated["book"] = self.book.model_dump(mode="json")
        if approved := self.approval.stated():
            stated["approval"] = approved
        text = json.dumps(stated, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def masks(self) -> dict[tuple[str, str], Mask]:
        """Return the mask of each column that has one, by table and column."""
        return {
            (name, column): rule.mask
            for name, table in self.tables.items()
            for column, rule in table.columns.items()
            if rule.mask is not None
        }
