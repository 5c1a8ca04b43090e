"""The recount: classes in what a model is given keep the guarantees, and labels are there."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from halfmask._errors import DataError, GuaranteeNotMetError
from halfmask.data.arrays import is_missing
from halfmask.guarantees import Classes, size_asked, value_codes
from halfmask.training._representatives import alike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from halfmask.guarantees import Guarantee
    from halfmask.training._candidates import Partitioned, Written


DEFECT = "This is a defect of halfmask: please report it."


def count_again(written: NDArray[np.float64], *, guarantees: Sequence[Guarantee]) -> None:
    """Raise if rows that a model can't tell apart are fewer than any guarantee asks for."""
    least = size_asked(guarantees)
    counts = np.array([len(written)])  # without columns nobody can tell any of them apart
    if written.shape[1]:
        counts = np.bincount(alike(written))
    if counts.min() < least:
        raise GuaranteeNotMetError(
            f"In what the model would be given {int((counts < least).sum())} classes have "
            f"fewer than {least} rows.",
            hint=DEFECT,
        )


def judge_again(
    written: NDArray[np.float64],
    columns: Mapping[str, pl.Series],
    *,
    guarantees: Sequence[Guarantee],
) -> None:
    """Raise if rows that a model can't tell apart miss a guarantee on a column."""
    classes = np.zeros(len(written), dtype=np.int64)
    if written.shape[1]:
        classes = alike(written)
    for guarantee in guarantees:
        if guarantee.column is None and not guarantee.of_table:
            continue
        judged = {
            name: value_codes(columns[name], order=guarantee.order)
            for name in [guarantee.column]
            if name is not None
        }
        counted = Classes.from_codes(classes, int(classes.max()) + 1, judged)
        failing = guarantee.judge(counted).failing
        if len(failing):
            raise GuaranteeNotMetError(
                f"In what the model would be given {len(failing)} classes miss {guarantee!r}.",
                hint=DEFECT,
            )


def recounted(written: Written, found: Partitioned) -> None:
    """Count the classes of what the model will be given, all representatives together."""
    data, judgements = found.data, found.anonymizer.judgements_
    guarantees = [each.guarantee for each in judgements]
    several = np.split(written.rows[:, data.encoding.depends_], written.several)
    classes = alike(np.hstack(several))[written.places].astype(np.float64)[:, None]
    count_again(classes, guarantees=guarantees)
    columns = {name: data.table[name] for name in data.table.columns}
    judge_again(classes, columns, guarantees=guarantees)


def labels_known(labels: NDArray[Any]) -> None:
    """Raise if a label is missing, or labels are of types that have no order."""
    if labels.ndim != 1:
        return  # their shape is judged beside the rows'
    if labels.dtype.kind != "O":
        missing = int(np.isnan(labels).sum()) if labels.dtype.kind == "f" else 0
    else:
        missing = sum(map(is_missing, labels.ravel()))
        if not missing and len({isinstance(each, str) for each in labels.ravel()}) > 1:
            raise DataError("y holds texts and other things.", hint="Give labels one type.")
    if missing:
        raise DataError(
            f"y is missing in {missing} of {len(labels)} rows.", hint="Leave these rows out."
        )


class Withheld:
    """Stands in a notebook for a fitted attribute."""

    def __repr__(self) -> str:
        return "not shown"


class RedactedReprMixin(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Prints parameters as scikit-learn does, except split targets that were given row by row.

    A notebook shows fitted attributes that are numbers or words of ours; representatives hold
    values of rows, and the encoder's columns are named after categories.
    """

    split_targets: Any = None

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super(RedactedReprMixin, self._shown()).__repr__(N_CHAR_MAX)
        return text

    def _html_repr(self) -> str:
        shown = self._shown()
        shown.get_feature_names_out = _no_names
        text: str = super(RedactedReprMixin, shown)._html_repr()
        return text

    def _get_fitted_attr_html(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 # as it has them
        found = super()._get_fitted_attr_html(*args, **kwargs)
        for attribute in found.values():
            if not isinstance(attribute["value"], bool | int | str):
                attribute["value"] = Withheld()
        return found

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 # as it has them
        return super(RedactedReprMixin, self._shown())._get_params_html(*args, **kwargs)

    def _shown(self) -> Self:
        shown = copy(self)
        named = self.split_targets is None or isinstance(self.split_targets, str)
        if not (named or hasattr(self.split_targets, "predict")):
            shown.split_targets = "given"
        return shown


def _no_names() -> None:
    """Take the place of what names columns: where that fails scikit-learn shows none."""
    raise NotImplementedError
