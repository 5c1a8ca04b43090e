"""Whether the files of one table have the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from halfmask._errors import SchemaError


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
                f"Column {name!r} is {dtype} in {what[0].lower()}{what[1:]} and {so_far[name]} "
                "before.",
                hint=f"Declare its type: dtypes={{{name!r}: ...}}.",
            )
        joint[name] = dtype
    return joint
