"""Secret tables: what is recoded to what, by how much dates are shifted and amounts scaled."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, TypeAlias, get_args

from halfmask._errors import DataError, ParameterError
from halfmask._policy_files import check_kind, near
from halfmask.events.block._words import Token, scalar_token
from halfmask.events.policy._sections import Duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.vault import Vault

TableKind: TypeAlias = Literal["recode", "recode-many", "shift", "scale", "names"]
_KINDS: Final = get_args(TableKind)
_CONTEXT: Final = "halfmask events table"
_MOST_PARTS: Final = 100
#: Factors beyond 18 digits can't be multiplied exactly.
_MOST_DIGITS: Final = 18
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ElementPart:
    """One of the elements that an element becomes."""

    set: Mapping[str, Token]
    times: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class SecretTable:
    """A table that must not be released: an attacker who has it can reverse it.

    Read one by `from_toml`, `from_csv` or `load`, keep it in a vault by `seal`, take it from there
    by `unseal`.

    Parameters
    ----------
    kind
        What it is for: ``recode``, ``recode-many``, ``shift``, ``scale`` or ``names``.
    values
        As TOML has them: what is written, by the value that is read; of ``names``, a list.

    Raises
    ------
    DataError
        If it says something that can't be; the message counts entries and quotes none.

    Notes
    -----
    **Guarantees.** Neither ``repr`` nor an error shows an entry.

    **Edge cases.** Values are looked up by their text: the number ``1.50`` and the text ``"1.5"``
    are both found under ``"1.5"``.

    Examples
    --------
    >>> table = SecretTable.from_toml('''
    ... halfmask-table = 1
    ... kind = "recode"
    ... [values]
    ... "1" = 1
    ... "10" = 11
    ... ''')
    >>> table
    SecretTable(kind='recode', 2 entries)
    """

    kind: TableKind
    values: Mapping[str, Any]

    _LIST: ClassVar[str] = "names"

    def __post_init__(self) -> None:
        if str(self.kind) not in _KINDS:
            raise DataError(
                "A secret table has a kind that there isn't.", hint=near(self.kind, _KINDS)
            )
        if not self.values:
            raise DataError("A secret table must have values, one at least.")
        read = _READERS[self.kind]
        for number, value in enumerate(self.values.values(), start=1):
            if read(value) is None:
                raise DataError(
                    f"Entry {number} of a secret table of kind {self.kind!r} isn't what it may be.",
                    hint=_WANTED[self.kind],
                )

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Read a table from TOML: ``halfmask-table = 1``, ``kind`` and ``values``.

        Parameters
        ----------
        text
            The text of the table.

        Raises
        ------
        DataError
            If it isn't TOML, or no table.
        """
        try:
            found = tomllib.loads(text, parse_float=Decimal)
        except (tomllib.TOMLDecodeError, RecursionError):
            raise DataError("The secret table isn't valid TOML.") from None
        check_kind(found, "halfmask-table", DataError)
        unknown = [key for key in found if key not in {"halfmask-table", "kind", "values"}]
        if unknown or found.get("halfmask-table") != 1 or "kind" not in found:
            raise DataError(
                "A secret table has the keys halfmask-table = 1, kind and values, and no others."
            )
        values = found.get("values")
        if found["kind"] == cls._LIST and isinstance(values, list):
            values = _check_names(values)
        return cls(kind=found["kind"], values=values if isinstance(values, Mapping) else {})

    @classmethod
    def from_csv(cls, text: str, *, kind: TableKind) -> Self:
        """Read a table from CSV with a header.

        Parameters
        ----------
        text
            ``from,to`` for ``recode``; ``from,by`` for ``shift``; ``from,times`` for ``scale``;
            ``from`` and ``set:name``, ``times:quantity`` for ``recode-many``, a row per element;
            ``name`` for ``names``. A number that is recoded to a number stays one.
        kind
            What it is for.

        Raises
        ------
        DataError
            If the header isn't that, a value stands twice, or a row has too few or many cells.
        """
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))
        header, cells = (rows[0], [row for row in rows[1:] if row]) if rows else ([], [])
        wrong = next((i for i, row in enumerate(cells) if len(row) != len(header)), None)
        if wrong is not None:
            raise DataError(f"Row {wrong + 2} of a secret table hasn't a cell for each column.")
        if kind == cls._LIST:
            _check_header(header, ["name"])
            return cls(kind=kind, values=_check_names([row[0] for row in cells]))
        if kind == "recode-many":
            return cls(kind=kind, values=_read_parts(header, cells))
        if kind not in _COLUMNS:
            raise DataError("A secret table has a kind that there isn't.", hint=near(kind, _KINDS))
        _check_header(header, ["from", _COLUMNS[kind]])
        targets: dict[str, str] = {}
        for number, (value, target) in enumerate(cells, start=2):
            if value in targets:
                raise DataError(f"Row {number} of a secret table has a value that stood before.")
            targets[value] = target
        numbers = {
            value: found
            for value, target in (targets if kind == "recode" else {}).items()
            if _number(value) is not None and (found := _number(target)) is not None
        }
        return cls(kind=kind, values={**targets, **numbers})

    @classmethod
    def load(cls, path: str | Path, *, kind: TableKind | None = None) -> Self:
        """Read a table from a file, TOML or CSV by its ending.

        Parameters
        ----------
        path
            Ends in ``.toml`` or ``.csv``; UTF-8.
        kind
            What a CSV file is for.

        Raises
        ------
        DataError
            If it can't be read.
        """
        where = Path(path)
        try:
            text = where.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise DataError(
                f"The secret table can't be read: {error.strerror or 'the system refused'}."
            ) from None
        except UnicodeDecodeError:
            raise DataError("The secret table isn't in UTF-8.") from None
        if where.suffix == ".toml":
            return cls.from_toml(text)
        if kind is None:
            raise ParameterError("'kind' is required for a secret table in CSV.")
        try:
            return cls.from_csv(text, kind=kind)
        except csv.Error:
            raise DataError("The secret table isn't valid CSV.") from None

    def seal(self, vault: Vault, name: str, *, overwrite: bool = False) -> None:
        """Keep the table in a vault under a name.

        Parameters
        ----------
        vault
            The vault that keeps it.
        name
            The name that rules call it.
        overwrite
            Whether one of that name may be replaced.

        Raises
        ------
        VaultError
            If the name is taken.
        """
        vault.seal(name, self.to_bytes(), context=_CONTEXT, overwrite=overwrite)

    @classmethod
    def unseal(cls, vault: Vault, name: str) -> Self:
        """Return the table that a vault keeps under a name.

        Parameters
        ----------
        vault
            The vault that keeps it.
        name
            The name that rules call it.

        Raises
        ------
        VaultError
            If there is none, or it isn't a table.
        """
        return cls.from_bytes(vault.unseal(name, context=_CONTEXT))

    def to_bytes(self) -> bytes:
        """Return the table as bytes; secret."""
        form = {"halfmask-table": 1, "kind": self.kind, "values": self.values}
        return json.dumps(form, ensure_ascii=False, default=_tag_decimal).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the table that `to_bytes` wrote.

        Parameters
        ----------
        data
            What a vault unsealed.

        Raises
        ------
        DataError
            If it didn't.
        """
        try:
            form = json.loads(data, object_hook=_untag_decimal)
            kind, values, version = form["kind"], form["values"], form["halfmask-table"]
        except (ValueError, TypeError, KeyError, InvalidOperation):
            raise DataError("The bytes hold no secret table, or a damaged one.") from None
        if version != 1:
            raise DataError("The secret table is of a version that this halfmask doesn't read.")
        return cls(kind=kind, values=values)

    def entries(self) -> dict[str, Any]:
        """Return each value's entry: token, parts, microseconds, factor, or True."""
        read = _READERS[self.kind]
        return {word: read(value) for word, value in self.values.items()}

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretTable) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash((self.kind, len(self)))

    def __repr__(self) -> str:
        return f"SecretTable(kind={self.kind!r}, {len(self)} entries)"


def _read_part(value: object) -> ElementPart | None:
    if not isinstance(value, Mapping) or not set(value) <= {"set", "times"}:
        return None
    kept, times = value.get("set", {}), value.get("times", {})
    if not isinstance(kept, Mapping) or not isinstance(times, Mapping) or {*kept} & {*times}:
        return None
    tokens = {path: scalar_token(cell) for path, cell in kept.items()}
    factors = {path: _read_factor(cell) for path, cell in times.items()}
    if None in tokens.values() or None in factors.values():
        return None
    return ElementPart(
        set={path: token for path, token in tokens.items() if token is not None},
        times={path: factor for path, factor in factors.items() if factor is not None},
    )


def _read_elements(value: object) -> tuple[ElementPart, ...] | None:
    if not isinstance(value, list) or not 1 <= len(value) <= _MOST_PARTS:
        return None
    parts = [_read_part(each) for each in value]
    return None if None in parts else tuple(part for part in parts if part is not None)


def _read_factor(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        factor = Decimal(str(value))
    except InvalidOperation:
        return None
    if not factor.is_finite():
        return None
    _, digits, exponent = factor.as_tuple()
    fits = isinstance(exponent, int) and len(digits) <= _MOST_DIGITS and -exponent <= _MOST_DIGITS
    return factor if fits and factor.adjusted() < _MOST_DIGITS else None


def _read_duration(value: object) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        duration = Duration.parse(value)
    except ParameterError:
        return None
    return None if duration.months else duration.micros


_READERS: dict[str, Callable[[object], Any]] = {
    "recode": scalar_token,
    "recode-many": _read_elements,
    "shift": _read_duration,
    "scale": _read_factor,
    "names": lambda value: True if value is True else None,
}
_WANTED = {
    "recode": "Write a text, a number, true or false.",
    "recode-many": "Write a list of elements, each with set, times or both.",
    "shift": 'Write a duration such as "-3 days" or "4 minutes 30 seconds", without months.',
    "scale": "Write a number of up to 18 digits.",
    "names": "Write a list of texts.",
}
_COLUMNS = {"recode": "to", "shift": "by", "scale": "times"}


def _number(cell: str) -> Decimal | None:
    return Decimal(cell) if _NUMBER.fullmatch(cell) else None


def _check_names(names: Sequence[object]) -> dict[str, bool]:
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise DataError("A secret table of names must be a list of texts, none empty.")
    return dict.fromkeys(map(str, names), True)


def _check_header(header: Sequence[str], wanted: Sequence[str]) -> None:
    if list(header) != list(wanted):
        raise DataError(f"The header of a secret table must be {','.join(wanted)!r}.")


def _read_parts(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> dict[str, list[dict[str, Any]]]:
    fields = [column.partition(":") for column in header[1:]]
    if header[:1] != ["from"] or any(
        word not in {"set", "times"} or not path for word, _, path in fields
    ):
        raise DataError(
            "The header of a secret table of kind 'recode-many' must be 'from', then columns such "
            "as 'set:name' and 'times:quantity'."
        )
    parts: dict[str, list[dict[str, Any]]] = {}
    for value, *cells in rows:
        part: dict[str, dict[str, str]] = {"set": {}, "times": {}}
        for (word, _, path), cell in zip(fields, cells, strict=True):
            if cell:
                part[word][path] = cell
        parts.setdefault(value, []).append(part)
    return parts


def _tag_decimal(value: object) -> dict[str, str]:
    if isinstance(value, Decimal):
        return {"\0decimal": str(value)}
    raise TypeError


def _untag_decimal(found: dict[str, Any]) -> Any:  # noqa: ANN401 # what JSON held
    return Decimal(found["\0decimal"]) if list(found) == ["\0decimal"] else found
