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


def check_loss(loss: str, *, margin: bool) -> None:
    """Raise unless a model of that loss answers what is going to be decoded."""
    if loss in {"squared", "quantile"}:
        raise DataError(
            "The model predicts numbers, and the hasher knows classes.",
            hint="Predict without a hasher (rows that halfmask hash wrote), or with its own.",
        )
    if margin != (loss == "hinge"):
        what, give = ("margins", "Give") if loss == "hinge" else ("probabilities", "Leave out")
        raise DataError(f"The model answers {what}: its loss is {loss}.", hint=f"{give} --margin.")


def frames_of(
    answers: Iterable[NDArray[np.float32]],
    codes: LabelCodes | None,
    *,
    margin: bool,
    probabilities: bool,
    sure: bool,
) -> Iterator[pl.DataFrame]:
    """Yield tables of answers: numbers as they came, or classes where their codes are known."""
    if codes is None and (probabilities or margin):
        option = "--probabilities" if probabilities else "--margin"
        raise UsageError(f"{option} takes a hasher that knows the classes.", hint="Give --hasher.")
    if margin and probabilities:
        raise UsageError("Margins are no probabilities.", hint="Leave out one of the two.")
    for numbers in answers:
        sure = sure or bool(((numbers < 0) | (numbers > 1)).any())
        if codes is None:
            yield _plain(numbers)
        elif margin:
            yield pl.DataFrame({"prediction": codes.decode((numbers > 0).astype(np.int64))})
        else:
            yield _decoded(numbers, codes, probabilities=probabilities)
    if margin and not sure:
        raise DataError(
            "All answers are from 0 to 1, as probabilities are, and the token may not see what the "
            "model minimizes.",
            hint="Leave out --margin, or give a token with the scope read.",
        )


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
