"""Masker: masks as a scikit-learn transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import polars as pl
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from halfmask._errors import ColumnNotFoundError, ParameterError, SchemaError
from halfmask._random import SecretBytes, check_key, fresh_key, secret_parameter
from halfmask.anonymize.given_rows import collected, is_frame, read
from halfmask.data import like, open_table, orders_of
from halfmask.masks._masked import SeenColumn, looked_at
from halfmask.masks._masked_table import MaskedTable, check_claimed_once
from halfmask.masks._ordered_columns import in_order, orders_for
from halfmask.masks._table_mask import TableMask
from halfmask.masks.pseudonym import scoped_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from halfmask.masks._mask import Mask
    from halfmask.masks._value_counts import ValueCounts


class Masker(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc] # untyped
    """Mask columns of rows: scikit-learn's form of `mask_table`.

    Parameters
    ----------
    masks : mapping of str to Mask, optional
        The mask of each column that has one. Columns of an array are called x0, x1, ...
    table_masks : sequence of TableMask, optional
        Masks of several columns, in order. Masks of rows can't be used here.
    key : bytes, optional
        32 secret bytes for draws and tokens; without one a fresh key is drawn at each fit.

    Attributes
    ----------
    n_features_in_ : int
        How many columns the fit saw.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where all are texts.

    See Also
    --------
    halfmask.mask : The same by a policy, with claims, measured risk and files.
    halfmask.Anonymizer : Classes with guarantees.

    Notes
    -----
    **Guarantees.** The same rows have the same masked values after one fit. Other rows have other
    draws, so that what is known of one batch says nothing of another. Bounds by share and the
    frequencies of PRAM are those of the fit.

    **Edge cases.** A mask of several columns is fitted to the rows that are transformed: ranks
    and groups are of these rows. A fitted object holds values and the key: keep it at home.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.masks import Masker, Rounding
    >>> people = pl.DataFrame({"pay": [41_300, 38_900], "age": [34, 51]})
    >>> Masker({"pay": Rounding(base=1000)}).fit_transform(people)["pay"].to_list()
    [41000, 39000]
    """

    key = secret_parameter("key", SecretBytes)

    def __init__(
        self,
        masks: Mapping[str, Mask] | None = None,
        *,
        table_masks: Sequence[TableMask] = (),
        key: bytes | None = None,
    ) -> None:
        self.masks = masks
        self.table_masks = table_masks
        self.key = key

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # noqa: ANN401 # any table
        """Look at the values of columns whose masks need them.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The rows.
        y
            Not used.
        """
        given: Mapping[str, Mask] = {} if self.masks is None else self.masks
        check_claimed_once(given, self.table_masks)
        masks = dict(given)
        table = read(self, X, reset=True)[1]
        if any(not isinstance(each, TableMask) for each in self.table_masks):
            raise ParameterError(
                "The 'table_masks' parameter of Masker takes masks of columns; rows stay.",
                hint="Sample with halfmask.masks.mask_table or halfmask.mask.",
            )
        self._orders = orders_of(X)
        table = self._typed(table)
        absent = [name for name in masks if name not in table.columns]
        if absent:
            raise ColumnNotFoundError.of(absent, table.columns, where="the table")
        key = self.key if self.key is not None else fresh_key()
        check_key(key)
        self._key = key
        self._dtypes = {name: table.schema[name] for name in masks}
        self._counts = {}
        for name, mask in masks.items():
            mask.written(name, table.schema[name])
            self._counts[name], _ = _seen(table[name], mask, key)
        self._fitted = masks
        return self

    def transform(self, X: Any) -> Any:  # noqa: ANN401 # any table
        """Return rows as the masks write them.

        Parameters
        ----------
        X
            The rows: a frame or an array, with the columns of the fit.

        Raises
        ------
        SchemaError
            If a masked column has another type than in the fit.
        """
        check_is_fitted(self)
        rows = collected(X)
        table = self._typed(read(self, rows, reset=False)[1])
        masked = table.with_columns(self._masked(table[name]) for name in self._fitted)
        if self.table_masks:
            behind = MaskedTable(masked=open_table(masked), unmasked=open_table(table))
            masked = behind.followed_by(self.table_masks, key=self._key).masked.read()
        masked = masked.cast({pl.Enum: pl.String})
        if not is_frame(X):
            return masked.to_numpy()
        found = like(masked, rows)
        if hasattr(X, "index") and hasattr(found, "index"):
            found.index, found.columns = X.index, X.columns
        return found

    def _typed(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the orders of the fit, for masks that take them."""
        of_tables = {name: each for each in self.table_masks for name in each.columns}
        masks: dict[str, object] = {**of_tables, **(self.masks or {})}
        orders = orders_for(masks, self._orders)
        return table.with_columns(
            in_order(table[name], order) for name, order in orders.items() if name in table.columns
        )

    def _masked(self, cells: pl.Series) -> pl.Series:
        """Return a column of other rows, with draws of its own."""
        name = cells.name
        mask = self._fitted[name]
        if cells.dtype != self._dtypes[name]:
            raise SchemaError(
                f"Column {name!r} has the type {cells.dtype.base_type().__name__}; the fit saw "
                f"{self._dtypes[name].base_type().__name__}.",
                hint="Give the types of the fit.",
            )
        _, key = _seen(cells, mask, self._key)  # other rows have other draws
        return mask.fit(name, cells.dtype, self._counts[name], key).apply(cells, 0).alias(name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 # scikit-learn ships no types
        """Return what the transformer takes: texts, categories and missing cells too."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # A draw is of a row's place among the rows that are transformed together.
        every = [*(self.masks or {}).values(), *self.table_masks]
        tags.non_deterministic = any(not getattr(each, "coarsens", True) for each in every)
        return tags


def _seen(cells: pl.Series, mask: Mask, key: bytes) -> tuple[ValueCounts | None, bytes]:
    """Return what a mask is fitted to: the column's values, and a key for these cells."""
    seen = SeenColumn()
    seen.see(*looked_at(cells, mask))
    # No vault is here: a mask with its scope is refused.
    return seen.of(cells.name, mask, scoped_key(mask, key=key, vault_key=None, table=""))
