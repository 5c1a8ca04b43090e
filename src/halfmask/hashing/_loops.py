"""The loops of hashing: compiled where numba is installed, by numpy where it isn't."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def siphash() -> Any:  # noqa: ANN401 # a module
    """Return `halfmask.kernels.hashing.siphash`, or what stands in for it without a compiler."""
    return _compiled_or_numpy("siphash")


@cache
def grams() -> Any:  # noqa: ANN401 # a module
    """Return `halfmask.kernels.hashing.grams`, or what stands in for it without a compiler."""
    return _compiled_or_numpy("grams")


def _compiled_or_numpy(name: str) -> Any:  # noqa: ANN401 # a module
    try:
        return import_module(f"halfmask.kernels.hashing.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"numba", "llvmlite"}:
            raise
        return import_module(f"halfmask.kernels.hashing.{name}_numpy")
