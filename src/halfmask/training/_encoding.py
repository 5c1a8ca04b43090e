"""Encoding: rows as numbers, and which columns depend on quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from halfmask._errors import ColumnNotFoundError, DataError, SchemaError
from halfmask._foreign import foreign
from halfmask.anonymize.given_rows import columns_of_array, is_frame
from halfmask.data import leaf_text, to_polars
from halfmask.data.arrays import table_like

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray


def as_table(rows: Any) -> pl.DataFrame:  # noqa: ANN401 # any table
    """Return rows as polars: a frame's columns by their names, an array's as x0, x1, ..."""
    if not is_frame(rows):
        if hasattr(rows, "tocsr"):
            raise DataError("Sparse rows are not supported.", hint="Call toarray() on them.")
        return columns_of_array(table_like(rows))
    return to_polars(rows)


def taken(rows: Any, places: NDArray[np.int64]) -> Any:  # noqa: ANN401 # any table
    """Return some rows: of pandas by position, of polars and arrays by index."""
    if hasattr(rows, "iloc"):
        return rows.iloc[places]
    if hasattr(rows, "take") and hasattr(rows, "schema") and not hasattr(rows, "lazy"):
        return rows.take(places)
    return rows[places] if hasattr(rows, "shape") else np.asarray(rows)[places]


def columns_match(rows: Any, n_columns: int) -> None:  # noqa: ANN401 # any array
    """Raise if an array has other columns than so many."""
    if np.ndim(rows) == 2 and np.shape(rows)[1] != n_columns:
        raise SchemaError(
            f"X has {np.shape(rows)[1]} features, but AnonymizedEstimator is expecting "
            f"{n_columns} features as input.",
            hint="Pass the columns of the fit.",
        )


def _kind(dtype: pl.DataType) -> str:
    """Return what cells of a type are, whatever their width or unit."""
    if dtype.is_numeric():
        return "numbers"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "texts"
    return "dates" if dtype in (pl.Date, pl.Datetime) else str(dtype.base_type())


def _types(table: pl.DataFrame) -> dict[str, pl.DataType]:
    """Return the type of each column that has any cell."""
    return {each.name: each.dtype for each in table if each.null_count() < len(each)}


def _other_type(name: str, at_fit: pl.DataType, now: pl.DataType, what: str = "") -> SchemaError:
    return SchemaError(
        f"Column {name!r} held {at_fit} at the fit. Got {now}{what}.",
        hint="Read the new table with the same column types.",
    )


def _places(column: pl.Series, categories: pl.Series, at_fit: pl.DataType) -> NDArray[np.int64]:
    """Return the place of each cell among the categories; -1 for missing and never seen."""
    same = _kind(column.dtype) == _kind(at_fit)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    texts = column.cast(pl.String) if same else leaf_text(column)
    numbers = pl.int_range(len(categories), eager=True)
    found = (
        texts.replace_strict(categories, numbers, default=None, return_dtype=pl.Int64)
        if len(categories)
        else pl.Series([None] * len(texts), dtype=pl.Int64)
    )
    strange = found.null_count() - texts.null_count()
    if strange and not same and len(categories):
        what = f", with {strange:,} cells that are none of its categories"
        raise _other_type(column.name, at_fit, column.dtype, what)
    return found.fill_null(-1).to_numpy()


def _like(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a column of dates in the unit of the fit; all others as they are."""
    if column.dtype == dtype or not (column.dtype.is_temporal() and dtype.is_temporal()):
        return column
    return column.cast(dtype)


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    """Return a column of numbers, dates or truths as floats; missing is NaN."""
    physical = column.to_physical() if column.dtype.is_temporal() else column
    failed = f"Column {column.name!r} held numbers at the fit. Got {column.dtype}"
    hint = "Read the new table with the same column types."
    with foreign(failed, hint=hint, told_as=SchemaError):
        numbers: NDArray[np.float64] = physical.cast(pl.Float64).to_numpy()
    return numbers


def _mean_and_deviation(numbers: NDArray[np.float64]) -> tuple[float, float]:
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return 0.0, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(known.mean()), float(known.std())
    if not np.isfinite([mean, deviation]).all():  # squares of huge numbers know no end
        most = float(np.abs(known).max())
        mean, deviation = float((known / most).mean()) * most, float((known / most).std()) * most
    # What is left of a constant is rounding, and nothing to divide by.
    return mean, deviation if deviation > 1e-14 * abs(mean) else 1.0


class Standard:
    """Numbers to mean 0 and deviation 1, a column of 0 and 1 for each category.

    Missing numbers become the mean, missing categories and those never seen zeros in all columns.
    Categories that come as numbers are read as hierarchies spell them: 1.0 is 1.
    The means, deviations and names of categories are those of the fitted rows.
    """

    def __repr__(self) -> str:
        return "Standard()"

    def fit(self, table: pl.DataFrame) -> Standard:
        """Learn means, deviations and categories."""
        self.numbers_: dict[str, tuple[float, float]] = {}
        self.categories_: dict[str, pl.Series] = {}
        self.types_ = dict(table.schema)
        for name in table.columns:
            column = table[name]
            if (
                column.dtype.is_numeric()
                or column.dtype.is_temporal()
                or column.dtype == pl.Boolean
            ):
                self.numbers_[name] = _mean_and_deviation(_numbers(column))
            else:
                texts = column.cast(pl.String)
                self.categories_[name] = texts.drop_nulls().unique().sort()
        return self

    def get_feature_names_out(self) -> list[str]:
        """Return what the columns are called, as scikit-learn's encoders call them."""
        ones = [
            f"{name}_{category}"
            for name, categories in self.categories_.items()
            for category in categories
        ]
        return [*self.numbers_, *ones]

    def sources(self) -> list[str]:
        """Return what column of the table each of its columns is made of."""
        categories = self.categories_.items()
        return [*self.numbers_, *(name for name, each in categories for _ in each)]

    def transform(self, table: pl.DataFrame) -> NDArray[np.float64]:
        """Return the rows as numbers."""
        lacking = [name for name in self.types_ if name not in table.columns]
        if lacking:
            raise ColumnNotFoundError.of(lacking, table.columns, where="the rows")
        parts = []
        for name, (mean, deviation) in self.numbers_.items():
            scaled = (_numbers(_like(table[name], self.types_[name])) - mean) / deviation
            parts.append(np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0)[:, None])
        for name, categories in self.categories_.items():
            codes = _places(table[name], categories, self.types_[name])
            parts.append(np.equal(codes[:, None], np.arange(len(categories))).astype(np.float64))
        return np.hstack(parts)


class Encoding:
    """A fitted encoder that knows which columns depend on quasi-identifiers.

    Parameters
    ----------
    encoder
        Any object with ``fit`` and ``transform`` that turns the given rows into numbers. ``None``
        standardizes numbers and one-hot encodes categories.
    quasi_identifiers
        Names of the quasi-identifiers in the table.

    Notes
    -----
    `fit` tests which columns of an ``encoder`` depend on quasi-identifiers. It gives each row the
    quasi-identifiers of another row and encodes the table again, for several shifts of the rows. An
    encoded column that changes depends on quasi-identifiers.
    """

    def __init__(self, encoder: Any, quasi_identifiers: Sequence[str]) -> None:  # noqa: ANN401
        self.encoder = encoder
        self.quasi_identifiers = tuple(quasi_identifiers)

    def fit(self, rows: Any) -> Encoding:  # noqa: ANN401 # any table
        """Fit the encoder, and find the columns that depend on quasi-identifiers.

        Parameters
        ----------
        rows
            The training rows.
        """
        table = as_table(rows)
        self.types_ = _types(table)
        self.fitted_ = self._fitted(rows, table)
        encoded = self.encode(rows)

        def changed(names: Sequence[str], shift: int) -> NDArray[np.bool_]:
            if self.encoder is None:  # it knows what each of its columns is made of
                varies = np.not_equal(encoded, encoded[:1]).any(axis=0)
                return np.asarray(varies & np.isin(self.fitted_.sources(), names))
            swapped = self.encode(self._swapped(rows, table, names, shift))
            return np.asarray(~np.equal(swapped, encoded).all(axis=0))

        shifts = {1}
        if self.encoder is not None:
            shifts |= {max(1, table.height // 2), max(1, table.height // 3)}
            # A column of two, one of them rare, changes with few of the orders.
            shifts |= set(np.random.default_rng(0).integers(1, max(2, table.height), 20).tolist())
        self.depends_ = np.zeros(encoded.shape[1], dtype=np.bool_)
        for shift in sorted(shifts):
            if self.depends_.all():
                break
            self.depends_ |= changed(self.quasi_identifiers, shift)
        places = np.cumsum(self.depends_) - 1
        self.parts_ = [
            places[self.depends_ & changed((name,), 1)].astype(np.int64)
            for name in self.quasi_identifiers
        ]
        return self

    def _fitted(self, rows: Any, table: pl.DataFrame) -> Any:  # noqa: ANN401 # any encoder
        if self.encoder is None:
            return Standard().fit(table)
        if isinstance(self.encoder, FrozenEstimator):
            return self.encoder
        with _encoding(rows):
            return clone(self.encoder).fit(rows)

    def encode(self, rows: Any) -> NDArray[np.float64]:  # noqa: ANN401 # any table
        """Return rows as the model sees them.

        Parameters
        ----------
        rows
            Rows with the columns of the fit.

        Raises
        ------
        DataError
            If the encoder fails, or its numbers aren't finite, or not one row for each.
        """
        if self.encoder is None:
            dense: NDArray[Any] = self.fitted_.transform(as_table(rows))
        else:
            with _encoding(rows):
                encoded = self.fitted_.transform(rows)
                dense = np.asarray(encoded.toarray() if hasattr(encoded, "toarray") else encoded)
                if dense.dtype != np.float32:
                    dense = dense.astype(np.float64)
        if self._is_narrow:
            dense = dense.astype(np.float32)
        if dense.ndim != 2 or len(dense) != len(rows):
            raise DataError(f"The encoder must return a row for each. Got shape {dense.shape}.")
        if not np.isfinite(dense).all():
            raise DataError(
                f"The encoder returns missing or infinite numbers in "
                f"{int((~np.isfinite(dense)).any(axis=0).sum())} of its columns.",
                hint="Let it fill in what is missing.",
            )
        return dense

    @property
    def _is_narrow(self) -> bool:
        """Whether rows are in single precision, so that the model gets them so."""
        numbers = {dtype for dtype in self.types_.values() if dtype.is_numeric()}
        return self.encoder is None and numbers == {pl.Float32()}

    def types_match(self, rows: Any) -> None:  # noqa: ANN401 # any table
        """Raise if a column holds another kind of cells than at the fit.

        Texts may come as numbers, dates or truths if this encodes them itself, which knows by their
        categories what they are.

        Parameters
        ----------
        rows
            The rows to check.

        Raises
        ------
        SchemaError
            If one does.
        """
        table = as_table(rows)
        for name, now in _types(table).items():
            at_fit = self.types_.get(name, now)
            if _kind(now) == _kind(at_fit):
                continue
            if self.encoder is not None or _kind(at_fit) != "texts":
                raise _other_type(name, at_fit, now)

    def names(self) -> list[str]:
        """Return what the encoder calls its columns; numbered where it can't say."""
        try:
            return [str(name) for name in self.fitted_.get_feature_names_out()]
        except Exception:  # noqa: BLE001 # an encoder of others, which may need other settings
            return [f"x{place}" for place in range(len(self.depends_))]

    @staticmethod
    def _swapped(
        rows: Any,  # noqa: ANN401 # any table
        table: pl.DataFrame,
        names: Sequence[str],
        shift: int,
    ) -> Any:  # noqa: ANN401 # the same
        """Return the rows, each with another's values of some columns."""
        order = np.roll(np.arange(table.height), shift)
        places = [table.columns.index(name) for name in names]
        if not is_frame(rows):
            array = np.asarray(rows).copy()
            array[:, places] = array[order][:, places]
            return array
        if hasattr(rows, "iloc"):
            frame = rows.copy()
            for place in places:  # names may be numbers, and types must stay
                frame.isetitem(place, rows.iloc[:, place].array.take(order))
            return frame
        return table.with_columns(table.select(list(names))[order])


def _encoding(rows: Any) -> AbstractContextManager[None]:  # noqa: ANN401 # any table
    hint = "Call it on these rows yourself to see why."
    return foreign(f"The encoder failed on {len(rows)} rows", hint=hint)
