"""A model of a service, as the service tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from halfmask._errors import TrainerError

__all__ = ["RemoteModel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteModel:
    """A model of a service.

    Parameters
    ----------
    name
        By which it is asked for.
    loss
        What it minimizes, such as ``"logistic"``.
    bits
        Its rows have indices below ``2 ** bits``.
    classes
        How many classes its labels tell apart.
    rows
        How many rows it has learned from.
    told
        All that the service tells of it.
    """

    name: str
    loss: str
    bits: int
    classes: int
    rows: int
    told: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, told: object) -> Self:
        """Return the model that an answer of a service is about.

        Raises
        ------
        TrainerError
            If the answer is about none.
        """
        if isinstance(told, dict):
            found = {**told.get("settings", {}), **told} if _plain(told) else told
            name, loss = found.get("name"), found.get("loss")
            counts = [found.get("bits"), found.get("classes", 2), found.get("rows", 0)]
            if isinstance(name, str) and isinstance(loss, str) and all(map(_is_count, counts)):
                return cls(
                    name=name,
                    loss=loss,
                    bits=counts[0],
                    classes=counts[1],
                    rows=counts[2],
                    told=found,
                )
        raise TrainerError("The service doesn't tell of a model in a way that is understood.")


def _plain(told: Mapping[str, Any]) -> bool:
    return isinstance(told.get("settings", {}), dict)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
