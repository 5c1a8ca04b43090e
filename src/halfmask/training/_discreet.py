"""Discreet: an estimator whose printed form doesn't show what is said of people."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["Discreet"]


class Withheld:
    """What stands in a notebook for what a fit has found."""

    def __repr__(self) -> str:
        return "not shown"


class Discreet(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Prints parameters as scikit-learn does, but no guide that is given: it has labels in it.

    Nor does a notebook show what a fit has found, but for numbers and words of ours: points may be
    somebody's row, and the encoder's columns are named after categories.
    """

    guide: Any

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super(Discreet, self._shown()).__repr__(N_CHAR_MAX)
        return text

    def _html_repr(self) -> str:
        shown = self._shown()
        shown.get_feature_names_out = _say_nothing
        text: str = super(Discreet, shown)._html_repr()
        return text

    def _get_fitted_attr_html(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 # as it has them
        found = super()._get_fitted_attr_html(*args, **kwargs)
        for told in found.values():
            if not isinstance(told["value"], bool | int | str):
                told["value"] = Withheld()
        return found

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 # as it has them
        return super(Discreet, self._shown())._get_params_html(*args, **kwargs)

    def _shown(self) -> Self:
        shown = copy(self)
        if not (isinstance(self.guide, str) or hasattr(self.guide, "predict")):
            shown.guide = "given"
        return shown


def _say_nothing() -> None:
    """Take the place of what names columns: where that fails scikit-learn shows none."""
    raise NotImplementedError
