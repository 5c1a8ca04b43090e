"""RedactedReprMixin: an estimator whose printed form shows nothing of the rows."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator


class Withheld:
    """Stands in a notebook for a fitted attribute."""

    def __repr__(self) -> str:
        return "not shown"


class RedactedReprMixin(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Prints parameters as scikit-learn does, except split targets that were given row by row.

    A notebook shows fitted attributes that are numbers or words of ours; representatives hold
    values of rows, and the encoder's columns are named after categories.
    """

    split_targets: Any

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
