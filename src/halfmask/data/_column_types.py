"""The type of a column, decided by all its texts and by all files of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias

import polars as pl

from halfmask._errors import SchemaError

TextType: TypeAlias = Literal["integer", "float", "boolean", "date", "datetime", "instant"]

DTYPES: dict[TextType, pl.DataType] = {
    "integer": pl.Int64(),
    "float": pl.Float64(),
    "boolean": pl.Boolean(),
    "date": pl.Date(),
    "datetime": pl.Datetime("us"),
    "instant": pl.Datetime("us", "UTC"),
}
NUMBERS: tuple[TextType, ...] = ("integer", "float", "boolean")
TIMES: tuple[TextType, ...] = ("date", "datetime", "instant")

# No leading zero, no plus sign: "007" and "+49" are names of things. An integer among decimals
# must have at most 15 digits, which a float keeps.
_FLOAT = r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
FLOAT_WORD = r"^[+-]?(?:nan|NaN|NAN|inf|Inf|INF|infinity|Infinity)$"
LONG_INTEGER = r"^[+-]?[0-9]{16,}$"
# A float keeps 15 digits of any number; of more, or next to zero, it may be another number.
_LONG_FLOAT = r"^-?[0.]*[1-9](?:\.?[0-9]){15}|[eE]-[0-9]{3}"
_SHORT = 10**15
_GROUPED = r"^-?(?:[1-9][0-9]{0,2}\.[0-9]{3}|0|[1-9][0-9]{0,2})$"
_FEW = 1_000
# polars reads a leap second as the second after it, and years of five digits with a sign.
_TIME = r"[0-9]{2}:[0-9]{2}:[0-5][0-9](?:\.[0-9]{1,6})?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATETIME = rf"^{_DAY}[T ]{_TIME}$"
_UTC = r"(?:Z|\+00:00| ?UTC)$"
_INSTANT = rf"^{_DAY}[T ]{_TIME}{_UTC}"


class TextJudge:
    """Narrows down, batch by batch, which types hold every text of each column without loss.

    Guarantees
    ----------
    A column becomes a number only if every value that isn't missing is written as that number:
    ``"007"``, ``"+1"``, ``"1 "`` and a 20-digit number stay texts. The order of batches makes no
    difference.
    """

    def __init__(self, candidates: tuple[TextType, ...] = NUMBERS + TIMES) -> None:
        self._candidates = candidates
        self._alive: dict[str, list[TextType]] = {}
        # A column of "nan" and "inf" alone holds words; numbers among them make them numbers.
        self._has_value: dict[str, bool] = {}
        self._grouped: dict[str, _Groups] = {}

    def see(self, batch: pl.DataFrame) -> None:
        """Strike out the types that don't hold a batch of texts (columns of strings)."""
        for column in batch.get_columns():
            name = column.name
            alive = self._alive.setdefault(name, list(self._candidates))
            self._has_value.setdefault(name, False)
            if not alive or column.null_count() == len(column):
                continue
            values = column.drop_nulls()
            if "float" in alive:
                self._grouped.setdefault(name, _Groups()).see(values)
            # An integer is a float too (when short): where the first holds, the pattern of the
            # second needn't be tried.
            if "integer" in alive and (numbers := _integers(values)) is not None:
                alive[:] = [t for t in alive if t in {"integer", "float"}]
                short = numbers.is_between(-_SHORT, _SHORT, closed="none")
                if "float" in alive and not short.all():
                    alive.remove("float")
                self._has_value[name] = True
                continue
            alive[:] = [t for t in alive if t != "integer" and _HOLDS[t](values)]
            if alive == ["float"] and not self._has_value[name]:
                self._has_value[name] = not values.str.contains(FLOAT_WORD).all()
            elif alive:
                self._has_value[name] = True

    def dtypes(self) -> dict[str, pl.DataType]:
        """Return the narrowest type of each column that holds all texts seen so far."""
        return {
            name: DTYPES[alive[0]] if alive and self._has_value[name] else pl.String()
            for name, alive in self._alive.items()
        }

    def ambiguous(self) -> list[str]:
        """Return the columns of floats that could be whole numbers with points between thousands.

        ``1.234`` is 1234 in many countries. In these columns each number with a point has three
        digits behind it and up to three in front, and none without a point is longer.
        """
        dtypes = self.dtypes()
        return [
            name
            for name, groups in self._grouped.items()
            if groups.possible and groups.any_point and dtypes[name] == pl.Float64
        ]


class _Groups:
    """Whether the numbers of a column may have points between their thousands."""

    def __init__(self) -> None:
        self.possible, self.any_point = True, False

    def see(self, values: pl.Series) -> None:
        if not self.possible:
            return
        # Most columns are done with by a few cells.
        for some in (values.head(_FEW), values):
            self.possible = bool(some.str.contains(_GROUPED).all())
            if not self.possible:
                return
        self.any_point = self.any_point or bool(values.str.contains(".", literal=True).any())


def typed(texts: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> tuple[pl.DataFrame, list[str]]:
    """Read texts as values of the given types."""
    wanted = [name for name in texts.columns if dtypes[name] != pl.String]
    values = texts.with_columns(_read(name, dtypes[name]) for name in wanted)
    misfits = [
        name for name in wanted if values[name].null_count() != texts.get_column(name).null_count()
    ]
    return values, misfits


def written_as(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return which texts are written as values of a type that was found in texts are.

    Examples
    --------
    >>> written_as(pl.Series(["7", "007", "+7", None]), pl.Int64()).to_list()
    [True, False, False, None]
    """
    if dtype.is_integer():
        return texts.cast(dtype, strict=False).cast(pl.String) == texts
    if dtype.is_float():
        return _written_as_float(texts)
    return texts.is_not_null()


def _read(name: str, dtype: pl.DataType) -> pl.Expr:
    text = pl.col(name)
    if dtype == pl.Boolean:
        return text.replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
        )
    if isinstance(dtype, pl.Datetime):
        plain = text.str.replace(_UTC, "").str.replace("T", " ", literal=True)
        moment = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
        moment = moment.cast(pl.Datetime(dtype.time_unit))
        return moment.dt.replace_time_zone(dtype.time_zone) if dtype.time_zone else moment
    if dtype == pl.Date:
        return text.str.to_date("%Y-%m-%d", strict=False)
    return text.cast(dtype, strict=False)


def _integers(values: pl.Series) -> pl.Series | None:
    """Return the integers that the texts are, or ``None`` if one isn't written as one."""
    numbers = values.cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers.cast(pl.String) == values).all():
        return None
    return numbers


def _is_float(values: pl.Series) -> bool:
    if not _written_as_float(values).all():
        return False
    numbers = values.cast(pl.Float64, strict=False)
    # Of digits that no float reaches, such as 1e400, infinity would be made.
    infinite = values.filter(numbers.is_infinite())
    return numbers.null_count() == 0 and bool(infinite.str.contains(FLOAT_WORD).all())


def _is_float_text(text: str) -> bool:
    """Return whether a text is what its float is written as, at its shortest or to its last digit.

    Examples
    --------
    >>> _is_float_text("0.30000000000000004"), _is_float_text("3.000000000000000000e-01")
    (True, True)
    >>> _is_float_text("9007199254740993.0"), _is_float_text("0.123456789012345678")
    (False, False)
    """
    try:
        number, exact = float(text), Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return False
    digits = len(exact.as_tuple().digits)
    return exact in (Decimal(repr(number)), Decimal(f"{number:.{digits - 1}e}"))


def _written_as_float(values: pl.Series) -> pl.Series:
    written = values.str.contains(_FLOAT) & ~values.str.contains(LONG_INTEGER)
    # Most writers take the shortest form, which is quick to compare.
    other = (written & (values.cast(pl.Float64, strict=False).cast(pl.String) != values)).arg_true()
    other = other.filter(values.gather(other).str.contains(_LONG_FLOAT))
    if len(other):
        written = written.scatter(other, [_is_float_text(text) for text in values.gather(other)])
    return written if written.all() else written | values.str.contains(FLOAT_WORD)


def _is_boolean(values: pl.Series) -> bool:
    return bool(values.is_in(["true", "false"]).all())


def _is_date(values: pl.Series) -> bool:
    if not values.str.contains(f"^{_DAY}$").all():
        return False
    dates = values.str.to_date("%Y-%m-%d", strict=False)
    return dates.null_count() == 0 and bool((dates.cast(pl.String) == values).all())


def _is_datetime(values: pl.Series) -> bool:
    return _is_moment(values, _DATETIME, DTYPES["datetime"])


def _is_instant(values: pl.Series) -> bool:
    return _is_moment(values, _INSTANT, DTYPES["instant"])


def _is_moment(values: pl.Series, pattern: str, dtype: pl.DataType) -> bool:
    if not values.str.contains(pattern).all():
        return False
    return not typed(values.rename("moment").to_frame(), {"moment": dtype})[1]


_HOLDS = {
    "float": _is_float,
    "boolean": _is_boolean,
    "date": _is_date,
    "datetime": _is_datetime,
    "instant": _is_instant,
}


def same_columns(columns: Sequence[str], first: Sequence[str], *, what: str) -> None:
    """Raise unless a file has the columns of the first file, in any order.

    The columns are counted and not named: without a header the names are somebody's data.
    """
    if set(columns) != set(first):
        raise SchemaError(
            f"{what} lacks {len(set(first) - set(columns))} columns of file 1 and has "
            f"{len(set(columns) - set(first))} that file 1 hasn't.",
            hint="Give files of one table, or one file.",
        )


def joint_dtypes(
    dtypes: Mapping[str, pl.DataType],
    so_far: Mapping[str, pl.DataType],
    *,
    declared: Mapping[str, pl.DataType],
    what: str,
) -> dict[str, pl.DataType]:
    """Return the types of columns that two files share.

    A column that is empty in one file (type Null) has the type of the other, and a declared
    column has the type that is declared.
    """
    joint = dict(so_far)
    for name, dtype in dtypes.items():
        if name in declared or so_far[name] == dtype or dtype == pl.Null:
            continue
        if so_far[name] != pl.Null:
            raise SchemaError(
                f"Column {name!r} is {_shown(dtype)} in {what[0].lower()}{what[1:]} and "
                f"{_shown(so_far[name])} before.",
                hint=f"Declare its type: dtypes={{{name!r}: ...}}.",
            )
        joint[name] = dtype
    return joint


def _shown(dtype: pl.DataType) -> str:
    """Return a type as errors may show it: ordered categories are values."""
    return f"Enum of {len(dtype.categories)}" if isinstance(dtype, pl.Enum) else str(dtype)
