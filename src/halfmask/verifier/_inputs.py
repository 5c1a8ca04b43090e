"""VerifyInputs: what claims are checked against and no release holds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from halfmask.claims import EventGuarantees
    from halfmask.verifier._workers import Workers
#: A folder with a file for each column, such as ``town.csv``; or a file, or its rows, by column.
HierarchyFiles: TypeAlias = "str | os.PathLike[str] | Mapping[str, object]"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyInputs:
    """What the owner of a release hands the verifier besides; see `halfmask.verify`.

    Parameters
    ----------
    persons, population, hierarchies, originals, engine
        As of `halfmask.verify`.
    required
        What a policy guarantees of an output of events: the manifest must claim it.
    """

    persons: str | Path | None = None
    population: object = None
    hierarchies: HierarchyFiles | None = None
    originals: object = None
    engine: Workers | None = None
    required: EventGuarantees | None = None

    def given(self) -> list[str]:
        """Return the names of the inputs that are there."""
        return [each.name for each in fields(self) if getattr(self, each.name) is not None]


#: Each input in words.
IN_WORDS: Final[Mapping[str, str]] = {
    "persons": "file of persons",
    "population": "population",
    "hierarchies": "hierarchies",
    "originals": "original rows",
    "engine": "engine",
    "required": "policy of events",
}
