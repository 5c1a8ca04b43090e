"""halfmask: let others learn from data that they must not see.

Start with :func:`describe`, which proposes a policy; :func:`protect`, which makes a release by it;
and :func:`verify`, which counts again what the release claims.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halfmask._errors import HalfmaskError

__version__ = "0.1.0"

_ROOMS = {
    "HalfmaskError": "halfmask._errors",
}

__all__ = [
    "HalfmaskError",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Import a public name from its room when it is first asked for: `--help` must not pay."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'halfmask' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
