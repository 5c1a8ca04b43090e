"""Which versions the workers of a cluster have: others would make other releases."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from halfmask._errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Programs whose versions shape a release, or what is sent.
_SAME = ("halfmask", "polars", "numpy", "pyarrow")


def versions(*_ignored: object) -> dict[str, str]:
    """Return the versions that this process has."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: version(name) for name in _SAME}}


def check_versions(of_workers: Iterable[Mapping[str, str]]) -> None:
    """Raise if a worker has another version of something than this process."""
    ours, workers = versions(), list(of_workers)
    for name, here in ours.items():
        others = sorted({it.get(name, "none") for it in workers if it.get(name) != here})
        if others:
            count = sum(it.get(name) != here for it in workers)
            raise EngineError(
                f"{count} of {len(workers)} workers have another version of {name}: "
                f"{', '.join(others)}. This process has {here}.",
                hint="Install the same versions of halfmask and what it needs on all machines.",
            )
