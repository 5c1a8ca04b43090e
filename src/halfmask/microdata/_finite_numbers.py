"""Numbers of risk and utility as JSON has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def finite(values: Mapping[str, object]) -> dict[str, Any]:
    """Return numbers as JSON has them: an infinite one, or none, is null.

    Examples
    --------
    >>> finite({"largest": float("inf"), "shares": (0.5, float("nan"))})
    {'largest': None, 'shares': [0.5, None]}
    """

    def walk(value: object) -> Any:  # noqa: ANN401 # JSON
        if isinstance(value, dict):
            return {str(name): walk(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [walk(each) for each in value]
        if isinstance(value, float) and value - value != 0:
            return None
        return value

    return {name: walk(value) for name, value in values.items()}
