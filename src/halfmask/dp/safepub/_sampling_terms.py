"""The parameters of a release of SafePub, none of which depends on the table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingTerms:
    """What a release of SafePub was made by."""

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
