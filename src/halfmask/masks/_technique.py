"""Facts about a technique: the rows of the table of techniques in the documentation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Technique:
    """Source of a technique, what it keeps, and what its tests compare it with.

    Parameters
    ----------
    source
        The paper or standard, or ``"practice"`` where there is none.
    keeps
        What analysts can still rely on.
    oracle
        What the tests compare the technique with.
    """

    source: str
    keeps: str
    oracle: str
