"""Which columns of a table are ordered, which are categories, and what is predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask._validation import one_of
from halfmask.encode._ticks import is_ordered

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from halfmask.data import Schema

#: What the target is: classes or numbers.
Task: TypeAlias = Literal["classification", "regression"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What becomes of each column of a table."""

    dtypes: Mapping[str, pl.DataType]
    ordered: tuple[str, ...]
    coded: tuple[str, ...]
    target: str
    task: Task

    @classmethod
    def of(
        cls,
        dtypes: Mapping[str, pl.DataType],
        *,
        schema: Schema | None,
        target: str | None,
        task: Task | None,
    ) -> Roles:
        """Decide by the schema, or by the types where there is none."""
        if target is not None and target not in dtypes:
            raise ColumnNotFoundError.of([target], dtypes, where="the table")
        if schema is not None:
            schema.check(dtypes)
        features = [name for name in dtypes if name != target]
        if not features:
            raise SchemaError("The table has no column but the target.")
        is_number = {name: _is_number(name, dtypes[name], schema) for name in features}
        return cls(
            dtypes=dict(dtypes),
            ordered=tuple(name for name in features if is_number[name]),
            coded=tuple(name for name in features if not is_number[name]),
            target=target or "",
            task="classification" if target is None else _task(target, dtypes[target], task),
        )


def _is_number(name: str, dtype: pl.DataType, schema: Schema | None) -> bool:
    if schema is None:
        return is_ordered(dtype)
    column = schema[name]
    if column.role == "identifier" or column.kind in {"text", "geo"}:
        what = "an identifier" if column.role == "identifier" else f"of kind {column.kind}"
        raise SchemaError(
            f"Column {name!r} is {what}: a code for each of its values would protect nothing.",
            hint="Leave the column out of the table.",
        )
    if column.kind not in {"numeric", "datetime"}:
        return False
    if not is_ordered(dtype):
        raise SchemaError(
            f"Column {name!r} is declared {column.kind} and holds {dtype}.",
            hint="Read it with the type that it is of, or call it categorical.",
        )
    return True


def _task(target: str, dtype: pl.DataType, task: Task | None) -> Task:
    if task is not None:
        one_of(("classification", "regression"), owner="Codec.fit", task=task)
        if task == "regression" and not dtype.is_numeric():
            raise SchemaError(f"Column {target!r} holds {dtype}, which no regression predicts.")
        return task
    if dtype.is_integer():
        raise ParameterError(
            f"Target {target!r} holds integers: classes, or numbers?",
            hint='Say task="classification" or task="regression".',
        )
    return "regression" if dtype.is_numeric() else "classification"
