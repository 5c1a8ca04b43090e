"""RemoteModel: a model of a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from halfmask._errors import TrainerError


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
        How many classes its labels have.
    rows
        How many rows it has learned from.
    info
        All facts from the service, by name.
    """

    name: str
    loss: str
    bits: int
    classes: int
    rows: int
    info: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, info: object) -> Self:
        """Return the model that an answer of a service is about.

        Parameters
        ----------
        info
            The JSON object of the answer.

        Raises
        ------
        TrainerError
            If the answer is about none.
        """
        if isinstance(info, dict):
            found = {**info.get("settings", {}), **info} if _plain(info) else info
            name, loss = found.get("name"), found.get("loss")
            counts = [found.get("bits"), found.get("classes", 2), found.get("rows", 0)]
            if isinstance(name, str) and isinstance(loss, str) and all(map(_is_count, counts)):
                return cls(
                    name=name,
                    loss=loss,
                    bits=counts[0],
                    classes=counts[1],
                    rows=counts[2],
                    info=found,
                )
        raise TrainerError("The service's answer describes no model.")


def _plain(info: Mapping[str, Any]) -> bool:
    return isinstance(info.get("settings", {}), dict)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
