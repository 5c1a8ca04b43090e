"""Predictions of encoded targets, turned into predictions of the target at home."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import ColumnWarning, DataError, ParameterError, SchemaError
from halfmask.data import like, to_polars
from halfmask.encode._codes import Codes
from halfmask.encode._plan import inverse
from halfmask.encode._receipts import ROW, ROW_ID, home_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from halfmask.encode._plan import CodecPlan
    from halfmask.encode._receipts import EncodingReceipt
    from halfmask.encode._scaling import NumberTarget

_SHARES = 2
# One row may become so many at most.
_MAX_ROWS = 50_000_000


def decode_values(
    target: Codes | NumberTarget | None, predictions: NDArray[Any]
) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return decoded numbers or probabilities, or for predicted codes the numbers of classes."""
    if target is None:
        raise SchemaError("The codec was fitted without a target.")
    if predictions.dtype.kind not in "iufb":
        raise DataError("Predictions must be numbers.", hint="Give codes, probabilities or values.")
    if not np.isfinite(predictions).all():
        raise DataError(f"{int((~np.isfinite(predictions)).sum())} predictions are not finite.")
    if not isinstance(target, Codes):
        return target.predictions(predictions.astype(np.float64))
    if predictions.ndim == 1:
        with np.errstate(invalid="ignore"):  # what has no room isn't what it was
            codes = predictions.astype(np.int64)
        if (codes != predictions).any():
            raise DataError(
                "Predicted codes must be whole numbers.",
                hint="Probabilities have a column for each code.",
            )
        return target.places_of(codes, np.ones(len(codes), dtype=np.bool_))
    if predictions.ndim != 2 or predictions.shape[1] != len(target.value_of):
        raise DataError(
            f"There are probabilities for {predictions.shape[-1]} codes; the target has "
            f"{len(target.value_of)}.",
            hint="Give a column for each code, in ascending order, zeros for one never learnt.",
        )
    # Scores of a regression may lie beyond 0 and 1, too; the index of a frame has whole numbers.
    is_whole = (predictions == np.floor(predictions)).all(axis=0)
    if (is_whole & ((predictions < 0) | (predictions > 1)).any(axis=0)).any():
        raise DataError(
            "A column of probabilities has nothing but whole numbers, some below 0 or above 1.",
            hint="Give a column of probabilities for each code, and no other column.",
        )
    belongs = target.value_of[:, None] == np.arange(len(target.values))
    return np.asarray(predictions @ belongs, dtype=np.float64)


def come_home(
    plan: CodecPlan,
    predictions: Any,  # noqa: ANN401 # arrays
    *,
    number_of: Callable[[int], int | None],
) -> Any:  # noqa: ANN401 # arrays
    """Return predictions decoded, in the rows' order at home, as what they were given as.

    The order follows from the number that ``number_of`` returns for the number of rows.
    """
    is_frame = not isinstance(predictions, np.ndarray | pl.Series | list)
    array = predictions
    if is_frame:
        frame = to_polars(predictions)
        _codes_ascend(frame.columns)
        array = frame.to_numpy()
        array = array[:, 0] if array.shape[1] == 1 else array
    values = decode_values(plan.target, _as_array(array))
    number = number_of(len(values))
    order = None if number is None else plan.order(len(values), number)
    if order is not None:
        values = values[inverse(order)]
    answer = _name_columns(plan.target, values)
    if is_frame:
        return like(answer, predictions)
    if values.ndim == 2:
        return answer.to_numpy()
    column = answer.to_series()
    return column if isinstance(predictions, pl.Series) else column.to_numpy()


def warn_of_unseen(counts: Mapping[str, int]) -> None:
    """Say of each column how many cells came back missing, as their category was never seen."""
    for name, count in counts.items():
        warnings.warn(
            f"Column {name!r}: {count:,} cells held categories that weren't there at the fit. They "
            "come back missing.",
            ColumnWarning,
            stacklevel=3,
        )


def by_row(
    plan: CodecPlan,
    predictions: pl.DataFrame,
    receipts: Iterable[EncodingReceipt],
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return predictions with row ids, decoded, behind the place of their row at home, in order."""
    _, rows = home_rows(plan.row_key, predictions[ROW_ID], receipts)
    answers = predictions.select(columns or pl.exclude(ROW_ID))
    home: pl.DataFrame = come_home(plan, answers, number_of=lambda _: None)
    name = ROW
    while name in home.columns:
        name += "_"
    return home.insert_column(0, pl.Series(name, rows)).sort(name)


def _as_array(predictions: Any) -> NDArray[Any]:  # noqa: ANN401 # arrays, Series and lists
    try:
        array = np.asarray(predictions)
    except ValueError:  # lists of different lengths
        raise DataError("Predictions must have a row for each encoded row.") from None
    if array.ndim not in {1, 2}:
        raise DataError(
            f"Predictions have {array.ndim} dimensions.",
            hint="Give one for each row, or a row of probabilities.",
        )
    return array


def _codes_ascend(names: Sequence[str]) -> None:
    """Raise if columns are named by codes in another order: they are read by their position."""
    try:
        codes = [float(name) for name in names]
    except ValueError:
        return  # other names say nothing of codes
    if codes != sorted(codes):
        raise DataError(
            "The columns of probabilities are named by numbers that don't ascend.",
            hint="Order the columns by code.",
        )


def _name_columns(
    target: Codes | NumberTarget | None, values: NDArray[np.float64] | NDArray[np.int64]
) -> pl.DataFrame:
    """Return decoded predictions in columns with their names at home."""
    if not isinstance(target, Codes):
        return pl.DataFrame({target.name if target is not None else "": values})
    if values.ndim == 2:
        return pl.DataFrame(values, schema=[str(it) for it in target.values])
    return target.values.gather(pl.Series(values.astype(np.int64))).alias(target.name).to_frame()


def sibling_rows(
    plan: CodecPlan, batch: pl.DataFrame, column: str
) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """Return each row's encoding once for every code of its value in a column, and the shares."""
    codes = next((it for it in plan.codes if it.name == column and it.is_split), None)
    if codes is None:
        raise ParameterError(f"Column {column!r} is no feature that the codec has split.")
    encoded = plan.encoded(batch)
    places = codes.places(batch[column])
    grouped, starts = codes.siblings()
    n_each = np.where(places >= 0, np.diff(starts)[np.maximum(places, 0)], 1)
    if n_each.sum() > _MAX_ROWS:
        raise ParameterError(f"That would be {int(n_each.sum())} rows.", hint="Give fewer rows.")
    home = np.repeat(np.arange(batch.height), n_each)
    within = np.arange(len(home)) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    expanded, known = encoded[home], places[home] >= 0
    each = np.zeros(len(home), dtype=np.int64)
    each[known] = grouped[starts[places[home][known]] + within[known]]
    weights = np.where(known, codes.weights[each], 1.0)
    own = expanded[codes.token]
    coded = pl.DataFrame({"each": each, "own": own, "known": known}).select(
        pl.when("known").then("each").otherwise("own").alias(codes.token)
    )
    return expanded.with_columns(coded.to_series()), np.column_stack([home, weights])


def average_siblings(
    target: Codes | NumberTarget | None, predictions: NDArray[Any], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean of decoded predictions over siblings, one row for each row at home."""
    if shares.ndim != _SHARES or len(shares) != len(predictions):
        raise DataError(
            f"There are {len(predictions)} predictions for {len(shares)} rows of siblings."
        )
    if isinstance(target, Codes) and predictions.ndim == 1:
        raise ParameterError(
            "Classes of siblings have no mean.", hint="Give the probabilities of all codes."
        )
    values = decode_values(target, predictions).astype(np.float64)
    columns = values.reshape(len(values), -1)
    home, weights = shares[:, 0].astype(np.int64), shares[:, 1]
    n_rows = int(home.max()) + 1 if len(home) else 0
    total = np.bincount(home, weights=weights, minlength=n_rows)
    means = np.column_stack(
        [np.bincount(home, weights=weights * it, minlength=n_rows) / total for it in columns.T]
    )
    return means.reshape(n_rows) if values.ndim == 1 else means
