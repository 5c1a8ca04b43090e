"""Options of commands under a budget: the ledger, what is declared, and its data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask._errors import ColumnNotFoundError
from halfmask.cli._comma_lists import items_of
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import option, required

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import polars as pl

    from halfmask.dp.ledger import PrivacyLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    """Where the ledger of a data set is."""

    vault: str = required("--vault VAULT: The private folder of the ledger, such as a vault's.")
    dataset: str | None = option(
        "--dataset NAME: The data set's name; without, the name of TABLE without its ending."
    )

    def name_of(self, table: str) -> str:
        """Return the name of the data set that a table holds."""
        if self.dataset is not None:
            return self.dataset
        from halfmask.data import DatabaseUrl, is_database_url  # noqa: PLC0415 # half a second

        if is_database_url(table):
            name = (DatabaseUrl.parse(table).table or "").rpartition(".")[2]
        else:
            name = Path(table).name.partition(".")[0]
        if not name or name == "-":
            raise UsageError("TABLE has no name.", hint="Give --dataset.")
        return name

    def open(self, table: str) -> PrivacyLedger:
        """Open the ledger of a table."""
        name = self.name_of(table)
        from halfmask.dp.ledger import PrivacyLedger  # noqa: PLC0415 # half a second

        return PrivacyLedger.open(self.vault, dataset=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLedger:
    """The ledger that a release under an epsilon is charged to, if there is one."""

    ledger: str | None = option(
        "--ledger VAULT: For a policy with epsilon: the private folder of TABLE's ledger, made "
        "by halfmask budget set. The release is charged before anything is drawn."
    )
    dataset: str | None = option(
        "--dataset NAME: With --ledger, the data set's name; without, the name of TABLE without "
        "its ending."
    )

    def open(self, table: str, *, is_read_otherwise: bool) -> PrivacyLedger | None:
        """Open the ledger of a table, if one is named."""
        if self.ledger is None:
            if self.dataset is not None:
                raise UsageError(
                    "--dataset names a ledger, and none is given.", hint="Add --ledger."
                )
            return None
        if is_read_otherwise:
            raise UsageError(
                "--ledger doesn't go with options for reading TABLE.",
                hint="Write them into [input] of POLICY.",
            )
        return LedgerOptions(vault=self.ledger, dataset=self.dataset).open(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Bounds and keys that are known without the data."""

    bounds: list[str] | None = option(
        "--bounds COLUMN=LOW:HIGH: The least and greatest value of a column, known without the "
        "data; may be given more than once. Values beyond are clamped."
    )
    keys: list[str] | None = option(
        "--keys COLUMN=KEY,KEY: The keys of a column to group by, known without the data; may be "
        'given more than once. Quote a key that has a comma: town="A, b",C.'
    )

    def declared_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds by column."""
        found = {}
        for column, text in pairs(self.bounds, "--bounds COLUMN=LOW:HIGH"):
            low, colon, high = text.partition(":")
            try:
                found[column] = (_number(low), _number(high))
            except ValueError:
                colon = ""
            if not colon:
                raise UsageError(f"The bounds of {column!r} must be LOW:HIGH, two numbers.")
        return found

    def declared_keys(self, dtypes: dict[str, pl.DataType]) -> dict[str, list[Any]]:
        """Return the keys by column, as values of its type."""
        found: dict[str, list[Any]] = {}
        for column, text in pairs(self.keys, "--keys COLUMN=KEY,KEY", names=dtypes):
            if column not in dtypes:
                raise ColumnNotFoundError.of([column], dtypes, where="the table")
            listed = items_of(text, f"A key of {column!r}")
            try:
                found[column] = [_key(each, dtypes[column]) for each in listed]
            except ValueError:
                raise UsageError(f"A key of {column!r} isn't of its type.") from None
        return found


def pairs(
    given: Sequence[str] | None, form: str, *, names: Collection[str] = (), is_file: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the names and values of options of the form NAME=VALUE.

    The value begins after the first equals sign that ends one of the names, else after the last;
    the name of a file after the first.
    """
    seen: set[str] = set()
    for each in given or ():
        ends = [at for at, letter in enumerate(each) if letter == "=" and each[:at] in names]
        name, equals, value = each.partition("=") if is_file else each.rpartition("=")
        if ends:
            name, value = each[: ends[0]], each[ends[0] + 1 :]
        if not equals or not name or not value:
            raise UsageError(f"An option has another form than {form}.")
        if name in seen:
            raise UsageError(f"{form.partition(' ')[0]} is given twice for {name!r}.")
        seen.add(name)
        yield name, value


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _key(text: str, dtype: pl.DataType) -> Any:  # noqa: ANN401 # a key of any type
    if dtype.is_integer():
        return int(text)
    if str(dtype) == "Boolean":
        if text not in {"true", "false"}:
            raise ValueError(text)
        return text == "true"
    return text
