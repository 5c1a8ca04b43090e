"""halfmask: let others learn from data that they must not see.

Start with :func:`describe`, which proposes a policy; :func:`protect`, which makes a release by it;
and :func:`verify`, which counts again what the release claims. :class:`Anonymizer` is the same
protection as a scikit-learn estimator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask._errors import HalfmaskError
    from halfmask.anonymize import (
        Anonymizer,
        Centroid,
        Guided,
        Level,
        Mondrian,
        Ranges,
        Representative,
    )
    from halfmask.data import Hierarchy, Schema, describe, read_hierarchy
    from halfmask.guarantees import (
        DistinctLDiversity,
        EntropyLDiversity,
        KAnonymity,
        RecursiveCLDiversity,
        TCloseness,
        measure,
    )
    from halfmask.release import Policy, Release, protect, protect_to, verify

__version__ = "0.1.0"

_ROOMS = {
    "Anonymizer": "anonymize",
    "Centroid": "anonymize",
    "DistinctLDiversity": "guarantees",
    "EntropyLDiversity": "guarantees",
    "Guided": "anonymize",
    "HalfmaskError": "_errors",
    "Hierarchy": "data",
    "KAnonymity": "guarantees",
    "Level": "anonymize",
    "Mondrian": "anonymize",
    "Policy": "release",
    "Ranges": "anonymize",
    "RecursiveCLDiversity": "guarantees",
    "Release": "release",
    "Representative": "anonymize",
    "Schema": "data",
    "TCloseness": "guarantees",
    "describe": "data",
    "measure": "guarantees",
    "protect": "release",
    "protect_to": "release",
    "read_hierarchy": "data",
    "verify": "release",
}

__all__ = [
    "Anonymizer",
    "Centroid",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Guided",
    "HalfmaskError",
    "Hierarchy",
    "KAnonymity",
    "Level",
    "Mondrian",
    "Policy",
    "Ranges",
    "RecursiveCLDiversity",
    "Release",
    "Representative",
    "Schema",
    "TCloseness",
    "__version__",
    "describe",
    "measure",
    "protect",
    "protect_to",
    "read_hierarchy",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name from its room when it is first asked for: `--help` must not pay."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'halfmask' has no attribute {name!r}")
    return getattr(importlib.import_module(f"halfmask.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
