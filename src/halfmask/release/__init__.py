"""The main job, end to end: a policy and a table in, a verified release with its report out.

Start with `Policy`, what the owner wants, and `protect`, which makes a release by it; `verify`
counts again what a release claims.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask.release._manifest import Manifest
    from halfmask.release._manifest_reader import read_manifest
    from halfmask.release._policy import Policy
    from halfmask.release._protect import protect, protect_to
    from halfmask.release._release import Release
    from halfmask.release.verifier import ClaimCheck, Verification, verify

_HOMES = {
    "ClaimCheck": "verifier",
    "Manifest": "_manifest",
    "Policy": "_policy",
    "Release": "_release",
    "Verification": "verifier",
    "protect": "_protect",
    "protect_to": "_protect",
    "read_manifest": "_manifest_reader",
    "verify": "verifier",
}

__all__ = [
    "ClaimCheck",
    "Manifest",
    "Policy",
    "Release",
    "Verification",
    "protect",
    "protect_to",
    "read_manifest",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: the verifier must not load the rest."""
    if name not in _HOMES:
        raise AttributeError(f"module 'halfmask.release' has no attribute {name!r}")
    return getattr(importlib.import_module(f"halfmask.release.{_HOMES[name]}"), name)
