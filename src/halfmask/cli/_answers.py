"""What a trainer answered, as the table that is written at home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from halfmask._errors import DataError
from halfmask.cli._failures import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from halfmask.hashing import LabelCodes

__all__ = ["frames_of"]


def frames_of(
    answers: Iterable[NDArray[np.float32]],
    codes: LabelCodes | None,
    *,
    margin: bool,
    probabilities: bool,
) -> Iterator[pl.DataFrame]:
    """Yield tables of answers: numbers as they came, or classes where their codes are known.

    Raises
    ------
    DataError
        If an answer is no probability where it has to be one, or is of other classes.
    """
    if codes is None and probabilities:
        raise UsageError(
            "--probabilities takes a hasher that knows the classes.", hint="Give --hasher."
        )
    if margin and probabilities:
        raise UsageError("Margins are no probabilities.", hint="Leave out one of the two.")
    for numbers in answers:
        if codes is None:
            yield _plain(numbers)
        elif margin:
            yield pl.DataFrame({"prediction": codes.decode((numbers > 0).astype(np.int64))})
        else:
            yield _decoded(numbers, codes, probabilities=probabilities)


def _plain(numbers: NDArray[np.float32]) -> pl.DataFrame:
    if numbers.ndim == 1:
        return pl.DataFrame({"prediction": numbers})
    return pl.DataFrame({f"class_{code}": numbers[:, code] for code in range(numbers.shape[1])})


def _decoded(
    numbers: NDArray[np.float32], codes: LabelCodes, *, probabilities: bool
) -> pl.DataFrame:
    if numbers.size and not 0 <= numbers.min() <= numbers.max() <= 1:
        raise DataError(
            "The model answers something else than probabilities.",
            hint="Give --margin where it learns by hinge; a model of numbers has no classes.",
        )
    shares = codes.decode_probabilities(numbers)
    names: list[Any] = codes.names.tolist()
    if probabilities:
        return pl.DataFrame({str(name): shares[:, at] for at, name in enumerate(names)})
    likeliest = shares.argmax(axis=1)
    surest = shares[np.arange(len(shares)), likeliest]
    return pl.DataFrame({"prediction": codes.names[likeliest], "probability": surest})
