"""The parameters of a release of SafePub, none of which depends on the table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

__all__ = ["SamplingTerms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingTerms:
    """What a release of SafePub was made by.

    Attributes
    ----------
    epsilon, delta, sampling_fraction, search_epsilon
        As of `SafePub`.
    k
        The least number of rows of a class, which follows from them.
    columns
        The released columns.
    levels
        The level of each column, or the least and the greatest that may be chosen.
    person
        The column of persons of whom one row each is drawn from; ``None``: each row counts.
    """

    epsilon: float
    delta: float
    sampling_fraction: float
    search_epsilon: float
    k: int
    columns: tuple[str, ...]
    levels: Mapping[str, int | Sequence[int | None]]
    person: str | None

    @property
    def are_levels_given(self) -> bool:
        """Whether no level was chosen by a look at the rows."""
        return self.search_epsilon == 0

    @property
    def sha256(self) -> str:
        """The hash of the terms."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
