"""Settings: what an estimator was given, with plain errors where it is something else."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from numbers import Integral
from typing import Any

from halfmask._errors import ParameterError
from halfmask._validation import number_between
from halfmask.anonymize.method import Method
from halfmask.data import Hierarchy, HierarchyRule
from halfmask.guarantees import Guarantee


def seeded(estimator: Any, seed: int) -> Any:  # noqa: ANN401 # scikit-learn's
    """Return a copy whose seeds are integers: it learns the same from the same rows."""
    from sklearn.base import clone  # noqa: PLC0415 # loads late

    copy = clone(estimator)
    settings = copy.get_params().items()
    seeds = [name for name, value in settings if not isinstance(value, Integral)]
    return copy.set_params(**{n: seed for n in seeds if n.split("__")[-1] == "random_state"})


def guarantees_given(guarantees: Any, *, owner: str) -> None:  # noqa: ANN401 # anything may be given
    """Raise unless these are a list of guarantees."""
    if not isinstance(guarantees, list | tuple) or not all(
        isinstance(each, Guarantee) for each in guarantees
    ):
        raise ParameterError(
            f"The 'guarantees' parameter of {owner} must be a list of guarantees. "
            f"Got {_kinds(guarantees)} instead.",
            hint="Write guarantees=[KAnonymity(k=...)].",
        )


def method_given(method: Any, *, owner: str) -> None:  # noqa: ANN401 # the same
    """Raise unless this is a method, or none."""
    if method is not None and (isinstance(method, type) or not isinstance(method, Method)):
        raise ParameterError(
            f"The 'method' parameter of {owner} must be a method, such as Guided() or Mondrian(). "
            f"Got {_kinds(method)} instead."
        )


def hierarchies_given(hierarchies: Any, *, owner: str) -> None:  # noqa: ANN401 # the same
    """Raise unless these are hierarchies, or their rules, by column, or none."""
    if hierarchies is None:
        return
    if not isinstance(hierarchies, Mapping):
        raise ParameterError(
            f"The 'hierarchies' parameter of {owner} must be hierarchies by column. "
            f"Got {_kinds(hierarchies)} instead."
        )
    for column, each in hierarchies.items():
        if not isinstance(column, str):
            raise ParameterError(
                f"The 'hierarchies' parameter of {owner} names columns by text. "
                f"Got {_kinds(column)} instead.",
                hint="Columns of arrays are named x0, x1 and so on.",
            )
        if not isinstance(each, Hierarchy | HierarchyRule):
            raise ParameterError(
                f"The 'hierarchies' parameter of {owner} has no hierarchy for column {column!r}. "
                f"Got {_kinds(each)} instead.",
                hint="Give one of read_hierarchy, or a rule such as Intervals(widths=[...]).",
            )


def weights_given(weights: Any, *, owner: str) -> None:  # noqa: ANN401 # the same
    """Raise unless these are weights by column, or none."""
    if weights is None:
        return
    if not isinstance(weights, Mapping) or not all(isinstance(each, str) for each in weights):
        raise ParameterError(
            f"The 'weights' parameter of {owner} must be weights by the column's name. "
            f"Got {_kinds(weights)} instead.",
            hint='Write weights={"age": 2.0}.',
        )
    for column, weight in weights.items():
        number_between(0.0, inf, owner=f"column {column!r}", low_open=True, weight=weight)


def levels_given(levels: Any, *, owner: str) -> None:  # noqa: ANN401 # the same
    """Raise unless these are pairs of levels by column, or none."""
    if levels is None:
        return
    pairs = levels.items() if isinstance(levels, Mapping) else [(None, None)]
    if not all(
        isinstance(name, str) and isinstance(pair, tuple | list) and len(pair) == 2
        for name, pair in pairs
    ):
        raise ParameterError(
            f"The 'levels' parameter of {owner} must be pairs of levels by the column's name. "
            f"Got {_kinds(levels)} instead.",
            hint='Write levels={"age": (1, 3)}, with None for an end of its own.',
        )


def several_names(*, owner: str, **given: object) -> None:
    """Raise if a text was given where several names belong: its letters would be taken for them."""
    for name, value in given.items():
        if isinstance(value, str):
            raise ParameterError(
                f"The {name!r} parameter of {owner} must be a list of columns. Got one text.",
                hint=f"Write {name}=[...].",
            )


def _kinds(value: object) -> str:
    if isinstance(value, list | tuple) and value:
        return f"a {type(value).__name__} with a {type(value[0]).__name__}"
    return "None" if value is None else f"a {type(value).__name__}"
