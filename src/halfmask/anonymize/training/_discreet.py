"""Discreet: an estimator whose printed form doesn't show what is said of people."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["Discreet"]


class Discreet(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """Prints parameters as scikit-learn does, but no guide that is given: it has labels in it."""

    guide: Any

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super(Discreet, self._shown()).__repr__(N_CHAR_MAX)
        return text

    def _html_repr(self) -> str:
        text: str = super(Discreet, self._shown())._html_repr()
        return text

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 # as it has them
        return super(Discreet, self._shown())._get_params_html(*args, **kwargs)

    def _shown(self) -> Self:
        shown = copy(self)
        if not (isinstance(self.guide, str) or hasattr(self.guide, "predict")):
            shown.guide = "given"
        return shown
