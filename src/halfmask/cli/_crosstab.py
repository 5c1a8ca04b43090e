"""``halfmask crosstab``: tables of counts and sums, protected together, without a policy file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from halfmask._errors import PolicyError
from halfmask.cli import _rooms as rooms
from halfmask.cli._book import BookOptions
from halfmask.cli._budget import ReleaseLedger, pairs
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import (
    argument,
    as_number,
    flag,
    items_of,
    option,
    required,
    spreads_groups,
)
from halfmask.cli._options import OPEN, EngineOptions, SayingOptions
from halfmask.cli._policy_file import ChosenColumns, PolicyFile
from halfmask.cli._protect import check_out, key_in, make_release
from halfmask.cli._tables import HeaderOptions
from halfmask.cli._vault import PseudonymVault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Methods of `halfmask.crosstabs`, here again: importing that room costs half a second.
Method: TypeAlias = Literal[
    "suppression", "rounding", "small-counts", "cell-key", "differential-privacy"
]
#: The endings of files of hierarchies, as of ARX and of tau-argus.
_TREES: Final = (".csv", ".hrc")
_HEAD: Final = """\
# The policy of a release of tables that halfmask crosstab made: halfmask protect makes it again.
# It isn't part of the release.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreShapeOptions:
    """What few tables need."""

    heading: ClassVar = "More about the tables"

    dimensions: str | None = option(
        "--dimensions COLUMN,COLUMN,...: The same as --rows and --columns, in one list. For a "
        "folder of ready tables: those of all of them; each table has those that it crosses."
    )
    negative: bool = flag("--negative: Contributions to sums may be negative, as profits are.")
    mean: bool = flag("--mean: Show the mean of each sum, too; it is hidden where the sum is.")
    total: str | None = option("--total CODE: The code of totals. The default is Total.")
    missing_code: str | None = option(
        "--missing-code CODE: The code of rows whose cell in a dimension is missing. Without it "
        "they are an error."
    )
    earlier: list[str] | None = option(
        "--earlier RELEASE: A release of the same cells that was published before; may be given "
        "more than once. Both together must not disclose a cell."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeOptions:
    """The categories of dimensions."""

    heading: ClassVar = "Hierarchies and codes"

    levels: list[str] | None = option(
        "--levels COLUMN=TOP,...,COLUMN: A column's hierarchy as columns of TABLE, from the top "
        "down, as in town=country,region,town; may be given more than once."
    )
    codes: list[str] | None = option(
        "--codes COLUMN=CODE,...: All codes of a dimension, where they mustn't be read off the "
        "data: differential-privacy needs them; may be given more than once."
    )
    hierarchies: str | None = option(
        "--hierarchies DIR: A folder of hierarchies, as in DIR/town.csv (as of ARX) or "
        "DIR/town.hrc (as of tau-argus). A / in the name of a column is %2F in that of its file."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightOptions:
    """What a row counts for."""

    heading: ClassVar = "Sampling weights"

    weight: str | None = option("--weight COLUMN: The sampling weights.")
    weights: Literal["replicated", "sample"] | None = option(
        "--weights WAY: How rules see a weighted contribution: replicated, as that many equal "
        "contributors, or sample, as one that is compared with the weighted sum."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeOptions:
    """What is tabulated."""

    rows: str | None = option("--rows COLUMN,COLUMN,...: The columns down the side of the table.")
    columns: str | None = option(
        "--columns COLUMN,COLUMN,...: The columns across. The last of them is across the readable "
        "table, the others are down its side."
    )
    sums: str | None = option(
        "--sum COLUMN,COLUMN,...: The columns that are summed, each in a table of its own. Without "
        "it, rows are counted."
    )
    owner: str | None = option(
        "--owner COLUMN: Who contributes, such as the company. Its rows in a cell are then one "
        "contribution. Without it, each row is."
    )
    more: MoreShapeOptions
    trees: TreeOptions
    weighting: WeightOptions

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions, the one that goes across last."""
        sides = [each for each in (self.rows, self.columns) if each is not None]
        if bool(sides) == (self.more.dimensions is not None):
            raise UsageError(
                "The dimensions are missing, or given twice.",
                hint="Give --rows and --columns, or --dimensions.",
            )
        given = [self.more.dimensions] if self.more.dimensions is not None else sides
        return tuple(name for each in given for name in items_of(each, "A dimension"))

    def dimension_sections(self, folder: Path) -> dict[str, dict[str, object]]:
        """Return ``[dimensions]`` of a policy that lies in a folder."""
        names = self.names
        said = {"total": self.more.total, "missing": self.more.missing_code}
        given = {key: code for key, code in said.items() if code is not None}
        found: dict[str, dict[str, object]] = {name: {**given} for name in names}
        for key, asked, form in (
            ("levels", self.trees.levels, "--levels COLUMN=TOP,...,COLUMN"),
            ("codes", self.trees.codes, "--codes COLUMN=CODE,..."),
        ):
            for name, listed in pairs(asked, form, names=names):
                if name not in found:
                    raise UsageError(
                        f"{name!r} has --{key} and is no dimension.",
                        hint=f"The dimensions are {', '.join(names)}.",
                    )
                found[name][key] = list(items_of(listed, f"An item of --{key}"))
        for name, file in self._files(names, folder):
            found[name]["hierarchy"] = file
        return found

    def _files(self, names: tuple[str, ...], folder: Path) -> Iterator[tuple[str, str]]:
        """Yield each dimension that has a file, and where a policy in a folder finds it."""
        if self.trees.hierarchies is None:
            return
        where = Path(self.trees.hierarchies)
        if not where.is_dir():
            raise UsageError(
                "--hierarchies is no folder.",
                hint="It has a file for each dimension with a hierarchy, such as town.hrc.",
            )
        known = {name.replace("/", "%2F"): name for name in names}
        files = [it for it in sorted(where.iterdir()) if it.suffix in _TREES]
        found = {known[it.stem]: _relative(it, folder) for it in files if it.stem in known}
        if not found:
            raise UsageError(
                f"None of the {len(files)} files of --hierarchies is called as a dimension.",
                hint="A dimension's file is DIR/NAME.csv or DIR/NAME.hrc.",
            )
        yield from found.items()


def _relative(path: Path, folder: Path) -> str:
    """Return how a policy in a folder names a path."""
    # Links of folders are followed, since ".." is the parent of where a link leads.
    there = path.absolute().parent.resolve() / path.name
    return Path(os.path.relpath(there, folder.resolve())).as_posix()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyOptions:
    """Columns of tables that are cells already."""

    heading: ClassVar = "Ready tables"

    value: str | None = option(
        "--value COLUMN: TABLE is a ready table, or a folder of them, which are linked; this is "
        "its column of counts or sums."
    )
    count: str | None = option(
        "--count COLUMN: Of a ready table: the numbers of contributors of its cells."
    )
    largest: str | None = option(
        "--largest COLUMN,COLUMN,...: Of a ready table: the largest contributions of its cells, "
        "the largest first."
    )

    def sections(self) -> dict[str, object]:
        """Return ``[ready]``; nothing where rows are given."""
        if self.value is None:
            if self.count or self.largest:
                raise UsageError(
                    "--count and --largest are columns of a ready table.",
                    hint="Add --value COLUMN, or leave them out.",
                )
            return {}
        section: dict[str, object] = {"value": self.value}
        if self.count is not None:
            section["count"] = self.count
        if self.largest is not None:
            section["largest"] = list(items_of(self.largest, "A name of --largest"))
        return {"ready": section}


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreRuleOptions:
    """The rules that fewer tables need."""

    heading: ClassVar = "More rules of cells"

    margin: float | None = option(
        "--margin PERCENT: With --min-frequency, of sums: how near to a sensitive sum others must "
        "not come, in percent of it.",
        min=0.0,
    )
    dominance: str | None = option(
        "--dominance N,K: A sum is sensitive if its N largest contributions are more than K "
        "percent of it."
    )
    prior_posterior: str | None = option(
        "--prior-posterior P,Q: As --p-percent, against an attacker who knows each contribution "
        "within Q percent before."
    )
    class_disclosure: str | None = option(
        "--class-disclosure DIMENSION: A count is sensitive if all of a group are in one category "
        "of this dimension."
    )
    zeros: bool = flag("--zeros: Cells that nobody is in are sensitive, and may be hidden.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions:
    """What makes a cell sensitive."""

    min_frequency: int | None = option(
        "--min-frequency N: A cell with fewer than N contributors is sensitive.", min=2
    )
    p_percent: float | None = option(
        "--p-percent P: A sum is sensitive if its second contributor can estimate the largest "
        "within P percent."
    )
    more: MoreRuleOptions

    def sections(self) -> Iterator[dict[str, object]]:
        """Yield ``[[rules]]``."""
        if self.more.margin is not None and self.min_frequency is None:
            raise UsageError("--margin goes with --min-frequency.", hint="Leave it out.")
        if self.min_frequency is not None:
            margin = {} if self.more.margin is None else {"margin": self.more.margin}
            yield {"rule": "minimum-frequency", "n": self.min_frequency, **margin}
        if self.more.dominance is not None:
            n, k = _two(self.more.dominance, "--dominance N,K")
            yield {"rule": "dominance", "n": n, "k": k}
        if self.p_percent is not None:
            yield {"rule": "p-percent", "p": self.p_percent}
        if self.more.prior_posterior is not None:
            p, q = _two(self.more.prior_posterior, "--prior-posterior P,Q")
            yield {"rule": "prior-posterior", "p": p, "q": q}
        if self.more.class_disclosure is not None:
            yield {"rule": "class-disclosure", "dimension": self.more.class_disclosure}
        if self.more.zeros:
            yield {"rule": "zeros"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionOptions:
    """How cells are protected: each option is a key of ``[protection]``."""

    heading: ClassVar = "Protection"

    method: Method | None = option(
        "--method METHOD: How cells are protected: suppression (the default) hides them, rounding, "
        "small-counts and cell-key change them, differential-privacy adds noise to counts."
    )
    search: str | None = option(
        "--search WAY: Of suppression: auto, linear, optimal or elimination."
    )
    cost: str | None = option(
        "--cost WHAT: Of suppression: what is kept as far as possible: value, contributors or "
        "cells."
    )
    base: float | None = option(
        "--base BASE: Of rounding: what cells become multiples of; of small-counts: the least "
        "count that is left."
    )
    way: str | None = option("--way WAY: Of rounding: conventional, random or controlled.")
    max_deviation: int | None = option("--max-deviation D: Of cell-key: the most that is added.")
    variance: float | None = option("--variance V: Of cell-key: the variance of what is added.")
    record: str | None = option(
        "--record COLUMN: Of cell-key: the column that tells records apart."
    )
    epsilon: float | None = option("--epsilon EPSILON: Of differential-privacy: of all tables.")

    def sections(self) -> dict[str, object]:
        """Return ``[protection]``; nothing where nothing is given."""
        given = {key: value for key, value in asdict(self).items() if value is not None}
        if isinstance(base := given.get("base"), float) and base.is_integer():
            given["base"] = int(base)  # of small-counts it is a whole number
        if not given:
            return {}
        return {"protection": {"method": given.pop("method", "suppression"), **given}}


def _two(text: str, what: str) -> tuple[float, float]:
    """Return two numbers of one option."""
    try:
        first, second = map(as_number, items_of(text, f"A number of {what}"))
    except ValueError:
        raise UsageError(
            f"{what} takes two numbers.", hint=f"Write {what}, such as 1,85."
        ) from None
    return first, second


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesOptions:
    """All of a policy of tables."""

    shape: ShapeOptions
    rules: RuleOptions
    protection: ProtectionOptions
    ready: ReadyOptions

    def sections(self, folder: Path, table: str) -> dict[str, object]:
        """Return the policy as a file in a folder has it."""
        shape, ready = self.shape, self.ready.sections()
        alone = {"owner": shape.owner, **asdict(shape.weighting)}
        made: dict[str, object] = {"halfmask-tables": 1}
        made |= {key: value for key, value in alone.items() if value is not None}
        if self.rules.more.zeros:
            made["zeros"] = "suppressible"
        if shape.more.earlier:
            made["earlier"] = [_relative(Path(each), folder) for each in shape.more.earlier]
        made |= {"dimensions": shape.dimension_sections(folder), **ready}
        if not ready:
            made["tables"] = list(self._tables())
        elif shape.sums or shape.more.mean or shape.more.negative:
            raise UsageError(
                "--sum, --mean and --negative are about rows, and --value about ready tables.",
                hint="Give --value or the others.",
            )
        elif not Path(table).is_dir():  # it crosses these dimensions; its other columns don't count
            own = Path(table).name.partition(".")[0]
            made["tables"] = [{"name": own, "dimensions": list(shape.names)}]
        made |= {"rules": list(self.rules.sections()), **self.protection.sections()}
        return {key: value for key, value in made.items() if value != []}

    def _tables(self) -> Iterator[dict[str, object]]:
        shape = self.shape
        summed = () if shape.sums is None else items_of(shape.sums, "A name of --sum")
        if not summed and (shape.more.mean or shape.more.negative):
            raise UsageError("--mean and --negative are about sums.", hint="Add --sum COLUMN.")
        said: dict[str, object] = {"negative": True} if shape.more.negative else {}
        said |= {"derived": ["mean"]} if shape.more.mean else {}
        if not summed:
            yield {"name": "counts", "dimensions": list(shape.names)}
        for column in summed:
            yield {"name": column, "dimensions": list(shape.names), "value": column, **said}

    def text(self, folder: Path, table: str) -> str:
        """Return the text of the policy."""
        import tomlkit  # noqa: PLC0415 - only where a policy is written

        return _HEAD + tomlkit.dumps(self.sections(folder, table))


@spreads_groups
def crosstab(
    table: str = argument(
        "TABLE: Rows of persons or firms, in any format that halfmask protect reads; with --value, "
        "a ready table or a folder of linked ones."
    ),
    *,
    out: str = required("--out -o OUT: The folder to create for the release."),
    asked: TablesOptions,
    overwrite: bool = flag("--overwrite: Replace an earlier release in OUT."),
    key_file: str | None = option(
        "--key-file FILE: A file of 32 secret bytes, of mode 0600, that fix all random numbers. "
        "By default halfmask draws random bytes and doesn't store them."
    ),
    pseudonyms: PseudonymVault,
    booked: BookOptions,
    budget: ReleaseLedger,
    head: HeaderOptions,
    where_run: EngineOptions,
    show: bool = OPEN,
    saying: SayingOptions,
) -> int:
    """Make a verified release of tables of counts or sums.

    Sensitive cells are hidden, and others, until nobody can compute a sensitive cell too exactly
    from the cells that are published. All tables are protected together and audited in full: if a
    requirement isn't met, there is no release and the exit code is 1.

    The policy is written next to the release, as OUT.policy.toml; halfmask protect makes the
    release again by it. OUT.owner.html says which cells are sensitive and why. Keep it.

    Ctrl-C ends the search for a better pattern: if the best one so far meets everything, it is
    released. A second Ctrl-C ends the command.
    """
    check_out(out, overwrite=overwrite)
    if table == "-" and asked.ready.value is not None:
        raise UsageError("Ready tables are files.", hint="Give TABLE as a file or folder.")
    where = ChosenColumns.policy_path(out, overwrite=overwrite)
    text = asked.text(where.parent, table)
    try:
        wanted = rooms.crosstabs.TablesPolicy.from_toml(text, folder=where.parent)
    except PolicyError as error:  # of the options that it was made of
        raise UsageError(error.what, hint=error.hint) from None
    more: Mapping[str, object] = {"policy": str(where)}
    make_release(
        table,
        wanted,
        out,
        options=head.options(),
        budget=budget,
        booked=booked,
        where_run=where_run,
        saying=saying,
        overwrite=overwrite,
        show=show,
        kept=PolicyFile(out=str(where), overwrite=overwrite).kept_if_done(text),
        more=more,
        key=key_in(key_file),
        vault=pseudonyms.open(table),
    )
    return 0
